/* SPDX-License-Identifier: MIT */
/* smooth.c - scale migration (Xiao, Lin, Seznec, Wu, Demouth & Han, "SmoothQuant", 2023, section
 * 4).
 *
 * Behind the normalizations of transformers a few channels are a hundred times as large as the
 * others, always the same ones; a grid for all of them leaves the others nothing. Weights are alike
 * in size, and X W = (X / s) (s W) where s[j] divides column j of X and multiplies row j of W. With
 * x and w the largest magnitudes of the two, s = sqrt(x / w) (the paper's alpha of one half) makes
 * both sqrt(x w).
 *
 * Factors are rounded to powers of two, so nothing is rounded and the network stays what it was, to
 * the bit. */
#include "pith_smooth.h"

#include <math.h>
#include <stdlib.h>

#include "pith_error_fill.h"
#include "pith_op_semantics.h"
#include "pith_value_stats.h"

struct reading {
    const struct pith_model *m;
    uint32_t *uses; /* [n_values] */
};

/* A weight by the channels of what it is multiplied with: element (j, k) is at j * channel + k *
 * step. */
struct rows {
    float *w;
    uint64_t n, channel, step;
};

static float *own_floats(const struct reading *r, uint32_t v, uint64_t count)
{
    const struct pith_value *value = &r->m->values[v];
    bool own = value->constant && value->type == PITH_F32 && !value->constant->codebook &&
               r->uses[v] == 1 && value->constant->count == count;
    return own ? value->constant->data : NULL;
}

/* False: node does more with v, of so many channels, than multiply it by a weight of its own. */
static bool read_product(const struct reading *r, const struct pith_node *node, uint32_t v,
                         uint64_t channels, struct rows *rows)
{
    uint32_t slot = pith_op_trans_slot(node->op);
    bool turns_x = node->op == PITH_OP_GEMM && node->attr[ATTR_GEMM_TRANS_A];
    if (slot == OP_NO_SLOT || turns_x || node->in[0] != v || node->in[1] == v ||
        pith_node_bias(node) == v)
        return false;
    const struct pith_value *w = &r->m->values[node->in[1]];
    bool columns = node->attr[slot] != 0;
    if (w->rank != 2 || w->dim[columns ? 1 : 0] != channels)
        return false;
    uint64_t n = w->dim[columns ? 0 : 1];
    *rows = (struct rows){own_floats(r, node->in[1], channels * n), n, columns ? 1 : n,
                          columns ? channels : 1};
    return rows->w != NULL;
}

/* All readers of v; returns how many, 0 where one of them is something else. */
static uint32_t read_products(const struct reading *r, uint32_t v, uint64_t channels,
                              struct rows *rows)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->m->n_nodes; i++)
        for (uint32_t k = 0; k < r->m->nodes[i].n_in; k++)
            if (r->m->nodes[i].in[k] == v &&
                !read_product(r, &r->m->nodes[i], v, channels, &rows[n++]))
                return 0;
    return n == r->uses[v] ? n : 0; /* an output is read, too */
}

static double largest(const struct rows *rows, uint32_t n, uint64_t j)
{
    double size = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint64_t k = 0; k < rows[i].n; k++)
            size = fmax(size, fabs((double)rows[i].w[j * rows[i].channel + k * rows[i].step]));
    return size;
}

static void scale_row(struct rows *rows, uint64_t j, int exponent)
{
    for (uint64_t k = 0; k < rows->n; k++) {
        float *w = &rows->w[j * rows->channel + k * rows->step];
        *w = ldexpf(*w, exponent);
    }
}

/* Of channel j; sizes far from 1 stay, lest numbers leave the range of floats. */
static int exponent_of(const struct pith_channel_stats *x, double w)
{
    double size = fmax(fabs((double)x->min), fabs((double)x->max));
    bool usual = size > 0x1p-60 && size < 0x1p60 && w > 0x1p-60 && w < 0x1p60;
    return usual ? (int)lrint(log2(size / w) / 2) : 0;
}

static int compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Channels move by what they are away from the median: a factor of all of them together gains
 * nothing. exponent: room for 2 * channels. */
static bool move(float *scale, float *bias, uint64_t channels, const struct pith_value_stats *s,
                 struct rows *rows, uint32_t n, int *exponent, uint32_t least)
{
    int *sorted = exponent + channels, most = 0;
    for (uint64_t j = 0; j < channels; j++)
        sorted[j] = exponent[j] = exponent_of(&s->channel[j], largest(rows, n, j));
    qsort(sorted, channels, sizeof *sorted, compare_ints);
    int usual = sorted[channels / 2];
    for (uint64_t j = 0; j < channels; j++)
        most = abs(exponent[j] - usual) > most ? abs(exponent[j] - usual) : most;
    if (most == 0 || (uint32_t)most < least)
        return false;
    for (uint64_t j = 0; j < channels; j++) {
        int by = exponent[j] - usual;
        scale[j] = ldexpf(scale[j], -by);
        if (bias)
            bias[j] = ldexpf(bias[j], -by);
        for (uint32_t i = 0; i < n; i++)
            scale_row(&rows[i], j, by);
    }
    return true;
}

/* 1: something moved. */
static uint32_t smooth(const struct reading *r, const struct pith_node *norm, struct rows *rows,
                       int *exponent, uint32_t least)
{
    uint32_t v = norm->out[0];
    const struct pith_value *value = &r->m->values[v];
    const struct pith_value_stats *s = value->stats;
    if (norm->op != PITH_OP_LAYER_NORM || norm->n_in < 2 || value->rank == 0 || !s)
        return 0;
    uint64_t channels = value->dim[value->rank - 1];
    bool biased = norm->n_in > 2 && norm->in[2] != PITH_VALUE_NONE;
    float *scale = own_floats(r, norm->in[1], channels);
    float *bias = biased ? own_floats(r, norm->in[2], channels) : NULL;
    if (s->n_channels != channels || s->channel_axis != value->rank - 1 || !scale ||
        (biased && !bias))
        return 0;
    uint32_t n = read_products(r, v, channels, rows);
    return n > 0 && move(scale, bias, channels, s, rows, n, exponent, least);
}

bool pith_may_smooth(const struct pith_model *m)
{
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i].op == PITH_OP_LAYER_NORM && m->nodes[i].n_in >= 2)
            return true;
    return false;
}

enum pith_status pith_smooth(struct pith_model *m, uint32_t least, uint32_t *n_values,
                             struct pith_error *err)
{
    size_t n = m->n_values + (size_t)1, reads = 1, widest = 1;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        reads += m->nodes[i].n_in;
    for (uint32_t v = 0; v < m->n_values; v++)
        if (m->values[v].rank > 0 && m->values[v].dim[m->values[v].rank - 1] > widest)
            widest = m->values[v].dim[m->values[v].rank - 1];
    struct reading r = {m, calloc(n, sizeof *r.uses)};
    struct rows *rows = calloc(reads, sizeof *rows);
    int *exponent = calloc(2 * widest, sizeof *exponent);
    uint32_t moved = 0;
    bool ready = r.uses && rows && exponent;
    if (ready) {
        pith_model_count_uses(m, m->n_values, r.uses, NULL);
        for (uint32_t i = 0; i < m->n_nodes; i++)
            moved += smooth(&r, &m->nodes[i], rows, exponent, least);
    }
    if (n_values)
        *n_values = moved;
    free(r.uses);
    free(rows);
    free(exponent);
    return ready ? PITH_OK : pith_error_no_memory(err);
}
