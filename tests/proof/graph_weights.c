/* SPDX-License-Identifier: MIT */
/* The description of a tensor: any bytes of any length, behind any tensors. No division by zero,
 * and no dim outside of its shape, is read. */
#include "any_reader.h"
#include "runtime/validate/weight_head.c"
#include "runtime/core/tensor.c"

static uint8_t bytes[1];
static const struct image image = {.blob = bytes};
static struct pith_error error;

enum pith_status pith_parse_corrupt(struct graph_parse *p)
{
    return p->err ? PITH_ERR_CORRUPT : PITH_ERR_CORRUPT;
}

enum pith_status pith_parse_unsupported(struct graph_parse *p)
{
    return p->err ? PITH_ERR_UNSUPPORTED : PITH_ERR_UNSUPPORTED;
}

static bool any_bool(void)
{
    return Frama_C_interval(0, 1);
}

/* What the coders can do bounds nothing that is read here. */
bool pith_adaptive_allows(const struct weight *w)
{
    return w->count > 0 && any_bool();
}

/* Of shapes before, only that they were accepted is known: a rank that there is. */
static struct graph_parse any_place(void)
{
    struct graph_parse p = {.im = &image, .err = &error, .r = reader_of(bytes, 1)};
    p.has_prev = any_bool();
    any_bytes((uint8_t *)&p.prev_shape, sizeof p.prev_shape);
    p.prev_shape.rank = (uint32_t)Frama_C_interval(0, PITH_MAX_RANK);
    any_bytes((uint8_t *)p.prev_centroids, sizeof p.prev_centroids);
    p.weight_at = (uint32_t)Frama_C_interval(0, MAX_WEIGHTS);
    p.g.n_weights = (uint32_t)Frama_C_interval(0, MAX_WEIGHTS);
    return p;
}

int main(void)
{
    struct weight w;
    any_bytes(bytes, sizeof bytes);
    struct graph_parse p = any_place();
    memset(&w, 0, sizeof w);
    if (pith_parse_head(&p, &w) == PITH_OK) {
        //@ assert w.count <= 1099511627776;
        //@ assert w.shape.rank <= 8;
    }
    return 0;
}
