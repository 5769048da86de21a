/* SPDX-License-Identifier: MIT */
#include "channel_permutation.h"

#include <stdlib.h>
#include <string.h>

#include "model/fold_grid.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "pith_host.h"
#include "channel_dependency.h"

struct unit {
    uint32_t number; /* its row */
    uint64_t kept;   /* weights of its rows that are not 0 */
    bool has_bias;   /* one is not 0 */
    float step;      /* of its row, where each row has a grid of its own; else 0 */
};

/* The units that the columns of a weight read, through depthwise weights perhaps. */
struct layer {
    struct pith_model *m;
    const struct channel_link *link;
    const struct pith_weight_ref *refs;
    uint32_t reader, makes; /* numbers of links; makes: whose rows come first */
    uint64_t units;
};

static bool is_dead(const struct unit *u)
{
    return u->kept == 0 && !u->has_bias;
}

/* Coarse steps first, then full rows; dead ones last. */
static int compare_units(const void *a, const void *b)
{
    const struct unit *x = a, *y = b;
    if (is_dead(x) != is_dead(y))
        return is_dead(x) ? 1 : -1;
    if (x->step != y->step)
        return x->step > y->step ? -1 : 1;
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

static struct pith_const *weight_of(const struct layer *l, uint32_t link)
{
    return l->m->values[l->link[link].value].constant;
}

static struct pith_const *bias_of(const struct layer *l, uint32_t link)
{
    return l->link[link].bias == PITH_VALUE_NONE ? NULL : l->m->values[l->link[link].bias].constant;
}

static bool may_move_columns(const struct layer *l)
{
    uint64_t groups = groups_of(weight_of(l, l->reader));
    return l->m->values[l->link[l->reader].value].type == PITH_F32 &&
           (groups == 1 || groups == l->refs[l->reader].rows);
}

/* Nothing but the row and its bias knows where a unit stands. */
static bool may_move_rows(const struct layer *l, uint32_t link)
{
    const struct pith_const *bias = bias_of(l, link);
    uint64_t groups = groups_of(weight_of(l, link));
    return l->m->values[l->link[link].value].type == PITH_F32 &&
           (groups == 1 || groups == l->units) && (!bias || groups_of(bias) == 1) &&
           pith_channel_bias_is_own(l->m, &l->link[link], &l->refs[link]);
}

/* False: the reader's columns stay where they are. */
static bool find_layer(struct layer *l)
{
    l->makes = l->link[l->reader].source;
    if (l->link[l->reader].by_row || l->makes == PITH_VALUE_NONE || !may_move_columns(l))
        return false;
    l->units = l->refs[l->makes].rows;
    uint32_t at = l->makes;
    while (may_move_rows(l, at) && l->link[at].by_row && l->link[at].source != PITH_VALUE_NONE)
        at = l->link[at].source;
    return may_move_rows(l, at) && !l->link[at].by_row;
}

/* The weight in front of depthwise ones; the first that is plain is the last. */
static uint32_t before(const struct layer *l, uint32_t link)
{
    return l->link[link].by_row ? l->link[link].source : PITH_VALUE_NONE;
}

static float step_of(const struct pith_codebook *b, uint64_t group)
{
    struct uniform_grid grid;
    return pith_grid_find(b->centroid + group * b->n_centroids, b->n_centroids, &grid) ? grid.step
                                                                                       : 0;
}

static void add_rows(const struct pith_const *w, const struct pith_const *bias, uint64_t rows,
                     struct unit *unit)
{
    const float *data = w->data, *b = bias ? bias->data : NULL;
    const struct pith_codebook *book = groups_of(w) > 1 ? w->codebook : NULL;
    uint64_t cols = w->count / rows;
    for (uint32_t i = 0; i < rows; i++) {
        unit[i].has_bias |= b && b[i] != 0;
        if (book && unit[i].step == 0)
            unit[i].step = step_of(book, i);
        for (uint64_t k = 0; k < cols; k++)
            unit[i].kept += data[i * cols + k] != 0;
    }
}

static void rank_units(const struct layer *l, struct unit *unit)
{
    for (uint32_t i = 0; i < l->units; i++)
        unit[i] = (struct unit){.number = i};
    for (uint32_t at = l->makes; at != PITH_VALUE_NONE; at = before(l, at))
        add_rows(weight_of(l, at), bias_of(l, at), l->units, unit);
    qsort(unit, (size_t)l->units, sizeof *unit, compare_units);
}

/* Floats: a row of the reader, the rows of any other weight, a group's centroids. */
static size_t room_of(const struct layer *l)
{
    uint64_t most = l->refs[l->reader].cols;
    for (uint32_t at = l->makes; at != PITH_VALUE_NONE; at = before(l, at))
        most = weight_of(l, at)->count > most ? weight_of(l, at)->count : most;
    return (size_t)(most > l->units * 256 ? most : l->units * 256);
}

static enum pith_status order_layer(const struct layer *l, uint64_t *n_dropped)
{
    (void)n_dropped;
    struct unit *unit = malloc((size_t)l->units * sizeof *unit);
    uint8_t *room = malloc(room_of(l) * sizeof(float));
    bool ok = unit && room;
    if (ok) {
        rank_units(l, unit);
        for (uint32_t at = l->makes; at != PITH_VALUE_NONE; at = before(l, at)) {
            move_units(weight_of(l, at), 1, l->units, unit, room);
            if (bias_of(l, at))
                move_units(bias_of(l, at), 1, l->units, unit, room);
        }
        move_units(weight_of(l, l->reader), l->refs[l->reader].rows, l->units, unit, room);
    }
    free(unit);
    free(room);
    return ok ? PITH_OK : PITH_ERR_MEMORY;
}

/* ---- taking out ------------------------------------------------------------------------------ */

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

static void cut_rows(const struct layer *l, uint32_t link, uint64_t keep)
{
    struct pith_value *w = &l->m->values[l->link[link].value];
    cut_units(w->constant, 1, l->units, keep);
    w->dim[0] = (uint32_t)keep;
    if (l->link[link].by_row)
        l->m->nodes[l->refs[link].node].attr[ATTR_CONV_GROUP] = (int32_t)keep;
    if (l->link[link].bias != PITH_VALUE_NONE) {
        struct pith_value *bias = &l->m->values[l->link[link].bias];
        cut_units(bias->constant, 1, l->units, keep);
        bias->dim[bias->rank - 1] = (uint32_t)keep;
    }
}

static bool is_counted(const struct layer *l)
{
    uint32_t to = l->reader;
    bool counted = false;
    for (uint32_t at = l->makes; at != PITH_VALUE_NONE; to = at, at = before(l, at))
        counted |= counted_between(l->m, l->refs[at].node, l->refs[to].node);
    return counted;
}

static enum pith_status drop_of_layer(const struct layer *l, uint64_t *n_dropped)
{
    struct pith_value *reads = &l->m->values[l->link[l->reader].value];
    uint64_t rows = reads->dim[0], keep = units_read(reads->constant, rows, l->units);
    if (keep == l->units || is_counted(l))
        return PITH_OK;
    for (uint32_t at = l->makes; at != PITH_VALUE_NONE; at = before(l, at))
        cut_rows(l, at, keep);
    cut_units(reads->constant, rows, l->units, keep);
    reads->dim[1] = (uint32_t)(reads->dim[1] / l->units * keep);
    *n_dropped += l->units - keep;
    return PITH_OK;
}

/* ---- all layers ------------------------------------------------------------------------------ */

static enum pith_status each_layer(struct pith_model *m, uint64_t *n_dropped,
                                   enum pith_status (*change)(const struct layer *, uint64_t *))
{
    uint32_t n = 0;
    struct channel_link *link = calloc(m->n_nodes + 1u, sizeof *link);
    struct pith_weight_ref *refs = calloc(m->n_nodes + 1u, sizeof *refs);
    enum pith_status st =
        link && refs ? pith_channel_dependencies(m, link, refs, &n) : PITH_ERR_MEMORY;
    for (uint32_t i = 0; i < n && !st; i++) {
        struct layer l = {m, link, refs, i, 0, 0};
        if (find_layer(&l))
            st = change(&l, n_dropped);
    }
    free(link);
    free(refs);
    return st;
}

enum pith_status pith_remove_dead_channels(struct pith_model *m, uint64_t *n_dropped,
                                           struct pith_error *err)
{
    uint64_t dropped = 0;
    enum pith_status st = each_layer(m, &dropped, drop_of_layer);
    if (st)
        return pith_error_set(err, st, "not enough memory to take units out");
    if (n_dropped)
        *n_dropped = dropped;
    return dropped ? pith_model_infer_shapes(m, err) : PITH_OK;
}

enum pith_status pith_permute_channels(struct pith_model *m)
{
    return each_layer(m, NULL, order_layer);
}
