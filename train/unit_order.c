/* SPDX-License-Identifier: MIT */
#include "unit_order.h"

#include <stdlib.h>
#include <string.h>

#include "op.h"
#include "pith_host.h"
#include "unit_links.h"

struct unit {
    uint32_t number; /* its row */
    uint64_t kept;   /* weights of the row that are not 0 */
    bool has_bias;   /* it is not 0 */
};

/* Full rows first, dead ones last. */
static int compare_units(const void *a, const void *b)
{
    const struct unit *x = a, *y = b;
    if (x->kept != y->kept)
        return x->kept > y->kept ? -1 : 1;
    if (x->has_bias != y->has_bias)
        return x->has_bias ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

/* p: [outer][n][bytes]; the n blocks of each into the order of unit. room: [n][bytes]. */
static void move_blocks(void *p, uint64_t outer, uint64_t n, size_t bytes, const struct unit *unit,
                        uint8_t *room)
{
    uint8_t *at = p;
    for (uint64_t o = 0; p && o < outer; o++, at += n * bytes) {
        memcpy(room, at, n * bytes);
        for (uint64_t i = 0; i < n; i++)
            memcpy(at + i * bytes, room + unit[i].number * bytes, bytes);
    }
}

static uint64_t groups_of(const struct pith_const *c)
{
    return c->codebook ? c->codebook->n_groups : 1;
}

/* c as [outer][n][inner]. A codebook for each block moves with it. */
static void move_units(struct pith_const *c, uint64_t outer, uint64_t n, const struct unit *unit,
                       uint8_t *room)
{
    size_t inner = (size_t)(c->count / outer / n);
    move_blocks(c->data, outer, n, inner * sizeof(float), unit, room);
    move_blocks(c->mask, outer, n, inner, unit, room);
    if (!c->codebook)
        return;
    move_blocks(c->codebook->index, outer, n, inner, unit, room);
    if (outer == 1 && groups_of(c) == n && n > 1)
        move_blocks(c->codebook->centroid, 1, n, c->codebook->n_centroids * sizeof(float), unit,
                    room);
}

static uint32_t times_read(const struct pith_model *m, uint32_t value)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        for (uint32_t k = 0; k < m->nodes[i].n_in; k++)
            n += m->nodes[i].in[k] == value;
    return n;
}

/* Nothing but the row, the bias and the reader's columns knows where a unit stands. */
static bool may_move(const struct pith_model *m, const struct pith_weight_ref *w,
                     const struct unit_link *link, const struct pith_weight_ref *reader)
{
    const struct pith_node *node = &m->nodes[w->node];
    const struct pith_const *c = m->values[w->value].constant,
                            *r = m->values[reader->value].constant;
    bool biased = node->n_in > 2 && node->in[2] != PITH_VALUE_NONE;
    if (m->values[w->value].type != PITH_F32 || m->values[reader->value].type != PITH_F32 ||
        (groups_of(c) != 1 && groups_of(c) != w->rows) ||
        (groups_of(r) != 1 && groups_of(r) != reader->rows))
        return false;
    return !biased || (link->bias != PITH_VALUE_NONE && times_read(m, link->bias) == 1 &&
                       groups_of(m->values[link->bias].constant) == 1);
}

static void rank_units(const struct pith_const *w, const struct pith_const *bias, uint64_t rows,
                       struct unit *unit)
{
    const float *data = w->data, *b = bias ? bias->data : NULL;
    uint64_t cols = w->count / rows;
    for (uint32_t i = 0; i < rows; i++) {
        unit[i] = (struct unit){.number = i, .has_bias = b && b[i] != 0};
        for (uint64_t k = 0; k < cols; k++)
            unit[i].kept += data[i * cols + k] != 0;
    }
    qsort(unit, (size_t)rows, sizeof *unit, compare_units);
}

static enum pith_status order_layer(struct pith_model *m, const struct pith_weight_ref *w,
                                    const struct unit_link *link,
                                    const struct pith_weight_ref *reader)
{
    struct pith_const *c = m->values[w->value].constant, *r = m->values[reader->value].constant;
    struct pith_const *bias = link->bias == PITH_VALUE_NONE ? NULL : m->values[link->bias].constant;
    size_t most = (size_t)(c->count > reader->cols ? c->count : reader->cols);
    most = most > w->rows * 256 ? most : (size_t)w->rows * 256; /* a group's centroids */
    struct unit *unit = malloc((size_t)w->rows * sizeof *unit);
    uint8_t *room = malloc(most * sizeof(float));
    bool ok = unit && room;
    if (ok) {
        rank_units(c, bias, w->rows, unit);
        move_units(c, 1, w->rows, unit, room);
        if (bias)
            move_units(bias, 1, w->rows, unit, room);
        move_units(r, reader->rows, w->rows, unit, room);
    }
    free(unit);
    free(room);
    return ok ? PITH_OK : PITH_ERR_MEMORY;
}

/* ---- taking out ---------------------------------------------------------------------------------
 */

/* Whether the number of units stands in an attribute between the two. */
static bool counted_between(const struct pith_model *m, uint32_t from, uint32_t to)
{
    uint32_t value = m->nodes[to].in[0];
    for (uint32_t i = m->n_nodes; i-- > 0;)
        if (m->nodes[i].out[0] == value) {
            if (i == from)
                return false;
            if (m->nodes[i].op == PITH_OP_RESHAPE)
                return true;
            value = m->nodes[i].in[0];
        }
    return true;
}

/* Units before the last ones that no column reads; at least one. */
static uint64_t units_read(const struct pith_const *reader, uint64_t rows, uint64_t units)
{
    const float *data = reader->data;
    uint64_t cols = reader->count / rows, each = cols / units;
    for (uint64_t n = units; n > 1; n--)
        for (uint64_t i = 0; i < rows; i++)
            for (uint64_t k = 0; k < each; k++)
                if (data[i * cols + (n - 1) * each + k] != 0)
                    return n;
    return 1;
}

/* p: [outer][n][bytes], of each n the first `keep` blocks. */
static void cut_blocks(void *p, uint64_t outer, uint64_t n, uint64_t keep, size_t bytes)
{
    uint8_t *at = p;
    for (uint64_t o = 0; p && o < outer; o++)
        memmove(at + o * keep * bytes, at + o * n * bytes, keep * bytes);
}

/* c as [outer][n][inner]. */
static void cut_units(struct pith_const *c, uint64_t outer, uint64_t n, uint64_t keep)
{
    size_t inner = (size_t)(c->count / outer / n);
    cut_blocks(c->data, outer, n, keep, inner * sizeof(float));
    cut_blocks(c->mask, outer, n, keep, inner);
    c->count = outer * keep * inner;
    if (!c->codebook)
        return;
    cut_blocks(c->codebook->index, outer, n, keep, inner);
    if (c->codebook->n_groups != 1 && outer == 1)
        c->codebook->n_groups = keep;
    c->codebook->group_elems = c->count / c->codebook->n_groups;
}

static uint64_t drop_of_layer(struct pith_model *m, const struct pith_weight_ref *w,
                              const struct unit_link *link, const struct pith_weight_ref *reader)
{
    struct pith_value *makes = &m->values[w->value], *reads = &m->values[reader->value];
    uint64_t units = makes->dim[0], rows = reads->dim[0];
    uint64_t keep = units_read(reads->constant, rows, units);
    if (keep == units || counted_between(m, w->node, reader->node))
        return 0;
    cut_units(makes->constant, 1, units, keep);
    makes->dim[0] = (uint32_t)keep;
    if (link->bias != PITH_VALUE_NONE) {
        cut_units(m->values[link->bias].constant, 1, units, keep);
        m->values[link->bias].dim[m->values[link->bias].rank - 1] = (uint32_t)keep;
    }
    cut_units(reads->constant, rows, units, keep);
    reads->dim[1] = (uint32_t)(reads->dim[1] / units * keep);
    return units - keep;
}

/* ---- all layers ---------------------------------------------------------------------------------
 */

enum pith_status pith_drop_units(struct pith_model *m, uint64_t *n_dropped, struct pith_error *err)
{
    uint64_t dropped = 0;
    uint32_t n = 0;
    struct unit_link *link = calloc(m->n_nodes + 1u, sizeof *link);
    struct pith_weight_ref *refs = calloc(m->n_nodes + 1u, sizeof *refs);
    enum pith_status st = link && refs ? pith_unit_links(m, link, refs, &n) : PITH_ERR_MEMORY;
    for (uint32_t i = 0; i < n && !st; i++) {
        uint32_t source = link[i].source;
        if (source != PITH_VALUE_NONE && may_move(m, &refs[source], &link[source], &refs[i]))
            dropped += drop_of_layer(m, &refs[source], &link[source], &refs[i]);
    }
    free(link);
    free(refs);
    if (st)
        return pith_error_set(err, st, "not enough memory to take units out");
    if (n_dropped)
        *n_dropped = dropped;
    return dropped ? pith_model_infer_shapes(m, err) : PITH_OK;
}

enum pith_status pith_order_units(struct pith_model *m)
{
    uint32_t n = 0;
    struct unit_link *link = calloc(m->n_nodes + 1u, sizeof *link);
    struct pith_weight_ref *refs = calloc(m->n_nodes + 1u, sizeof *refs);
    enum pith_status st = link && refs ? pith_unit_links(m, link, refs, &n) : PITH_ERR_MEMORY;
    for (uint32_t i = 0; i < n && !st; i++) {
        uint32_t source = link[i].source;
        if (source != PITH_VALUE_NONE && may_move(m, &refs[source], &link[source], &refs[i]))
            st = order_layer(m, &refs[source], &link[source], &refs[i]);
    }
    free(link);
    free(refs);
    return st;
}
