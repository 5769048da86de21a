/* SPDX-License-Identifier: MIT */
/* model_state.c - for each f32 constant, in the model's order: a head, its elements, its mask, its
 * centroids, its indices. */
#include "model_state.h"
#include "pith_bytes.h"

#include <stdlib.h>
#include <string.h>

struct head {
    uint64_t value, masked, n_groups, n_centroids, group_elems; /* n_groups 0: no codebook */
};

static struct head head_of(const struct pith_model *m, uint32_t value)
{
    const struct pith_const *c = m->values[value].constant;
    struct head h = {.value = value, .masked = c->mask != NULL};
    if (c->codebook) {
        h.n_groups = c->codebook->n_groups;
        h.n_centroids = c->codebook->n_centroids;
        h.group_elems = c->codebook->group_elems;
    }
    return h;
}

static bool is_state(const struct pith_model *m, uint32_t value)
{
    return m->values[value].constant && m->values[value].type == PITH_F32;
}

/* ---- saving ---------------------------------------------------------------------------------- */

/* At p, or nowhere where p is NULL; returns the bytes after it. */
static size_t put(uint8_t *p, size_t at, const void *data, size_t n)
{
    if (p && n)
        memcpy(p + at, data, n);
    return at + n;
}

static size_t put_all(const struct pith_model *m, uint8_t *p)
{
    size_t at = 0;
    for (uint32_t i = 0; i < m->n_values; i++) {
        if (!is_state(m, i))
            continue;
        struct head h = head_of(m, i);
        const struct pith_const *c = m->values[i].constant;
        at = put(p, at, &h, sizeof h);
        at = put(p, at, c->data, (size_t)c->count * sizeof(float));
        at = put(p, at, c->mask, h.masked ? (size_t)c->count : 0);
        if (!h.n_groups)
            continue;
        at =
            put(p, at, c->codebook->centroid, (size_t)(h.n_groups * h.n_centroids) * sizeof(float));
        at = put(p, at, c->codebook->index, (size_t)c->count);
    }
    return at;
}

enum pith_status pith_model_state_save(const struct pith_model *m, struct pith_buffer *state)
{
    size_t n = put_all(m, NULL);
    pith_buffer_free(state);
    *state = (struct pith_buffer){malloc(n + 1), n};
    if (!state->data) {
        state->bytes = 0;
        return PITH_ERR_MEMORY;
    }
    put_all(m, state->data);
    return PITH_OK;
}

/* ---- loading --------------------------------------------------------------------------------- */

/* What has not been read. */
struct rest {
    const uint8_t *p;
    size_t n;
};

static bool take(struct rest *r, void *to, uint64_t n)
{
    if (n > r->n)
        return false;
    if (n)
        memcpy(to, r->p, (size_t)n);
    r->p += n;
    r->n -= (size_t)n;
    return true;
}

static bool head_fits(const struct head *h, uint32_t value, uint64_t count)
{
    uint64_t elems;
    if (h->value != value || h->masked > 1)
        return false;
    return h->n_groups == 0 ||
           (h->n_centroids >= 1 && h->n_centroids <= 256 && h->n_groups <= count &&
            mul_ok(h->n_groups, h->group_elems, &elems) && elems == count);
}

/* A codebook of the head's sizes: the model's own, where it has them. NULL: no memory. */
static struct pith_codebook *codebook_for(struct pith_model *m, const struct pith_const *c,
                                          const struct head *h)
{
    struct pith_codebook *b = c->codebook;
    if (b && b->n_groups == h->n_groups && b->n_centroids == h->n_centroids)
        return b;
    b = pith_model_alloc(m, 1, sizeof *b);
    if (!b)
        return NULL;
    *b = (struct pith_codebook){
        .n_centroids = (uint32_t)h->n_centroids,
        .group_elems = h->group_elems,
        .n_groups = h->n_groups,
        .centroid = pith_model_alloc(m, h->n_groups * h->n_centroids, sizeof *b->centroid),
        .index = pith_model_alloc(m, c->count, 1)};
    return b->centroid && b->index ? b : NULL;
}

static bool indices_hold(const struct pith_codebook *b, uint64_t count)
{
    for (uint64_t k = 0; k < count; k++)
        if (b->index[k] >= b->n_centroids)
            return false;
    return true;
}

static enum pith_status load_codebook(struct rest *r, const struct head *h, struct pith_model *m,
                                      struct pith_const *c)
{
    if (!h->n_groups) {
        c->codebook = NULL;
        return PITH_OK;
    }
    c->codebook = codebook_for(m, c, h);
    if (!c->codebook)
        return PITH_ERR_MEMORY;
    return take(r, c->codebook->centroid, h->n_groups * h->n_centroids * sizeof(float)) &&
                   take(r, c->codebook->index, c->count) && indices_hold(c->codebook, c->count)
               ? PITH_OK
               : PITH_ERR_CORRUPT;
}

static enum pith_status load_constant(struct rest *r, struct pith_model *m, uint32_t value)
{
    struct head h;
    struct pith_const *c = m->values[value].constant;
    if (!take(r, &h, sizeof h) || !head_fits(&h, value, c->count) ||
        !take(r, c->data, c->count * sizeof(float)))
        return PITH_ERR_CORRUPT;
    if (!h.masked)
        c->mask = NULL;
    else if (!c->mask && (c->mask = pith_model_alloc(m, c->count, 1)) == NULL)
        return PITH_ERR_MEMORY;
    if (h.masked && !take(r, c->mask, c->count))
        return PITH_ERR_CORRUPT;
    return load_codebook(r, &h, m, c);
}

enum pith_status pith_model_state_load(const struct pith_buffer *state, struct pith_model *m)
{
    struct rest r = {state->data, state->bytes};
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < m->n_values && !status; i++)
        if (is_state(m, i))
            status = load_constant(&r, m, i);
    return status ? status : r.n ? PITH_ERR_CORRUPT : PITH_OK;
}
