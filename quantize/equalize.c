/* SPDX-License-Identifier: MIT */
/* equalize.c - cross-layer equalisation (Nagel, van Baalen, Blankevoort & Welling, "Data-Free
 * Quantization Through Weight Equalization and Bias Correction", 2019, section 4.1).
 *
 * Relu(s x) = s Relu(x) for s > 0, and pools keep such factors too. So row i of a layer's weights may
 * be divided by s[i], its bias as well, where column i of the next layer is multiplied by it. With r1
 * and r2 the largest magnitudes of row and column, s = sqrt(r1 / r2) makes both sqrt(r1 r2): of all
 * factors this gives each channel the largest share of a common range on both sides.
 *
 * Factors are rounded to powers of two, so nothing is rounded and the network stays what it was, to
 * the bit; channels then differ in size by less than two where factors could make them equal. Pairs
 * are visited until nothing moves: each moves its neighbours a little.
 *
 * A Clip such as Relu6 does not keep factors, so it ends a pair. */
#include "equalize.h"

#include <math.h>
#include <stdlib.h>

#include "error_fill.h"
#include "fold_affine.h"
#include "op.h"

#define SWEEPS 20

/* A weight by input or output channels: element(i, k), k < n, of channel i. */
struct layer_weight {
    float *w;
    uint64_t rows, cols;    /* [O, C/group * taps] */
    uint64_t taps, per_group, rows_of_group;
    float *bias; /* [rows]; NULL: none */
};

struct pair {
    struct layer_weight first, second;
    uint64_t channels;
    bool moved;
};

/* ---- finding pairs
 * ------------------------------------------------------------------------------- */

struct reading {
    const struct pith_model *m;
    uint32_t *uses, *reader; /* [n_values]; reader: some node, or UINT32_MAX */
};

static bool keeps_factors(const struct pith_model *m, const struct pith_node *node, uint64_t channels)
{
    switch (node->op) {
    case PITH_OP_RELU:
    case PITH_OP_LEAKY_RELU:
    case PITH_OP_MAX_POOL:
    case PITH_OP_AVERAGE_POOL:
    case PITH_OP_GLOBAL_AVERAGE_POOL:
    case PITH_OP_GLOBAL_MAX_POOL:
        return true;
    case PITH_OP_FLATTEN:
    case PITH_OP_RESHAPE: { /* of channels with one number each */
        const struct pith_value *y = &m->values[node->out[0]];
        return y->rank == 2 && y->dim[0] == 1 && y->dim[1] == channels;
    }
    default:
        return false;
    }
}

static bool own_constant(const struct reading *r, const struct pith_node *node, uint32_t i)
{
    const struct pith_value *v = &r->m->values[node->in[i]];
    return v->constant && v->type == PITH_F32 && !v->constant->codebook && r->uses[node->in[i]] == 1;
}

static bool has_bias(const struct pith_node *node)
{
    return node->n_in > 2 && node->in[2] != PITH_VALUE_NONE;
}

/* False: factors cannot go into this node. */
static bool read_layer(const struct reading *r, const struct pith_node *node, struct layer_weight *l)
{
    bool conv = node->op == PITH_OP_CONV;
    bool gemm = node->op == PITH_OP_GEMM && node->attr[ATTR_GEMM_TRANS_B] &&
                !node->attr[ATTR_GEMM_TRANS_A];
    if ((!conv && !gemm) || !own_constant(r, node, 1) || (has_bias(node) && !own_constant(r, node, 2)))
        return false;
    const struct pith_value *w = &r->m->values[node->in[1]];
    uint64_t groups = conv ? (uint64_t)node->attr[ATTR_CONV_GROUP] : 1;
    *l = (struct layer_weight){.w = w->constant->data, .rows = w->dim[0], .per_group = w->dim[1]};
    l->cols = w->constant->count / l->rows;
    l->taps = l->cols / l->per_group;
    l->rows_of_group = l->rows / groups;
    if (has_bias(node)) {
        const struct pith_const *b = r->m->values[node->in[2]].constant;
        l->bias = b->data;
        return b->count == l->rows;
    }
    return true;
}

static bool find_pair(const struct reading *r, const struct pith_node *node, struct pair *p)
{
    *p = (struct pair){0};
    if (!read_layer(r, node, &p->first))
        return false;
    p->channels = p->first.rows;
    uint32_t v = node->out[0];
    while (r->uses[v] == 1 && r->reader[v] != UINT32_MAX) {
        const struct pith_node *next = &r->m->nodes[r->reader[v]];
        if (next->in[0] != v)
            return false;
        if (!keeps_factors(r->m, next, p->channels))
            return read_layer(r, next, &p->second) &&
                   p->second.per_group * (p->second.rows / p->second.rows_of_group) == p->channels;
        v = next->out[0];
    }
    return false;
}

/* ---- moving factors
 * ------------------------------------------------------------------------------ */

/* Column i of the second layer: rows of the group that reads channel i, some elements of each. */
static double column_size(const struct layer_weight *l, uint64_t i)
{
    uint64_t group = i / l->per_group, first = i % l->per_group * l->taps;
    double size = 0;
    for (uint64_t o = group * l->rows_of_group; o < (group + 1) * l->rows_of_group; o++)
        for (uint64_t k = 0; k < l->taps; k++)
            size = fmax(size, fabs((double)l->w[o * l->cols + first + k]));
    return size;
}

static void scale_column(struct layer_weight *l, uint64_t i, int exponent)
{
    uint64_t group = i / l->per_group, first = i % l->per_group * l->taps;
    for (uint64_t o = group * l->rows_of_group; o < (group + 1) * l->rows_of_group; o++)
        for (uint64_t k = 0; k < l->taps; k++)
            l->w[o * l->cols + first + k] = ldexpf(l->w[o * l->cols + first + k], exponent);
}

static double row_size(const struct layer_weight *l, uint64_t i)
{
    double size = 0;
    for (uint64_t k = 0; k < l->cols; k++)
        size = fmax(size, fabs((double)l->w[i * l->cols + k]));
    return size;
}

static void scale_row(struct layer_weight *l, uint64_t i, int exponent)
{
    for (uint64_t k = 0; k < l->cols; k++)
        l->w[i * l->cols + k] = ldexpf(l->w[i * l->cols + k], exponent);
    if (l->bias)
        l->bias[i] = ldexpf(l->bias[i], exponent);
}

/* False: nothing moved. A channel that one side does not use has no size to match; sizes far from 1
 * stay, lest numbers leave the range of floats. */
static bool equalize(struct pair *p)
{
    bool moved = false;
    for (uint64_t i = 0; i < p->channels; i++) {
        double r1 = row_size(&p->first, i), r2 = column_size(&p->second, i);
        if (!(r1 > 0x1p-60 && r1 < 0x1p60 && r2 > 0x1p-60 && r2 < 0x1p60))
            continue;
        int exponent = (int)(log2(r1 / r2) / 2); /* towards 0: what is nearly equal stays */
        if (exponent == 0)
            continue;
        scale_row(&p->first, i, -exponent);
        scale_column(&p->second, i, exponent);
        moved = true;
    }
    p->moved |= moved;
    return moved;
}

static uint32_t find_pairs(const struct reading *r, struct pair *pairs)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->m->n_nodes; i++)
        n += find_pair(r, &r->m->nodes[i], &pairs[n]);
    return n;
}

static bool start(struct reading *r, struct pith_model *m, struct pair **pairs)
{
    size_t n = m->n_values + (size_t)1;
    *r = (struct reading){.m = m,
                          .uses = calloc(n, sizeof *r->uses),
                          .reader = malloc(n * sizeof *r->reader)};
    *pairs = calloc(m->n_nodes + (size_t)1, sizeof **pairs);
    if (!r->uses || !r->reader || !*pairs)
        return false;
    pith_model_count_uses(m, m->n_values, r->uses, NULL);
    for (uint32_t v = 0; v < m->n_values; v++)
        r->reader[v] = UINT32_MAX;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        for (uint32_t k = 0; k < m->nodes[i].n_in; k++)
            if (m->nodes[i].in[k] != PITH_VALUE_NONE)
                r->reader[m->nodes[i].in[k]] = i;
    return true;
}

enum pith_status pith_equalize(struct pith_model *m, uint32_t *n_pairs, struct pith_error *err)
{
    struct reading r = {0};
    struct pair *pairs = NULL;
    uint32_t n = 0, moved = 0;
    enum pith_status st = pith_model_fold_batch_norm(m, NULL, err);
    if (!st)
        st = pith_fold_affine(m, err);
    if (st)
        return st;
    if (start(&r, m, &pairs))
        n = find_pairs(&r, pairs);
    else
        st = pith_error_no_memory(err);
    bool any = n > 0;
    for (int sweep = 0; sweep < SWEEPS && any; sweep++) {
        any = false;
        for (uint32_t i = 0; i < n; i++)
            any |= equalize(&pairs[i]);
    }
    for (uint32_t i = 0; i < n; i++)
        moved += pairs[i].moved;
    if (n_pairs)
        *n_pairs = moved;
    free(r.uses);
    free(r.reader);
    free(pairs);
    return st;
}
