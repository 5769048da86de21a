/* SPDX-License-Identifier: MIT */
/* smooth.c - scale migration (Xiao, Lin, Seznec, Wu, Demouth & Han, "SmoothQuant", 2023, section
 * 4).
 *
 * Behind the normalizations and activations of transformers a few channels are a hundred times as
 * large as the others, always the same ones; a grid for all of them leaves the others nothing.
 * Weights are alike in size, and X W = (X / s) (s W) where s[j] divides column j of X and
 * multiplies row j of W. With x and w the largest magnitudes of the two, s = x^a / w^(1 - a), a
 * being SHARE.
 *
 * What a normalization gives to nothing but products is divided in its scale and bias. Anything
 * else, as what a residual connection reads, too, is divided by an operator of its own for the
 * products alone: the others then read what never was on a grid.
 *
 * Factors are rounded to powers of two, so nothing is rounded and the network stays what it was, to
 * the bit. */
#include "smooth.h"

#include <math.h>
#include <stdlib.h>

#include "base/error_fill.h"
#include "node_list.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_traits.h"
#include "pith_value_stats.h"

/* all-MiniLM-L6-v2, all of its layers rounded to nearest with 0.5, 0.7, 0.8, 0.85, 0.9: 16.7, 22.5,
 * 23.6, 23.9, 23.9 dB; 18.9 without. */
#define SMALLEST_SIZE 0x1p-60 /* products of such factors stay within f32 */
#define LARGEST_SIZE 0x1p60
#define SHARE 0.85
#define PAYS 4.0 /* noise of the input over what it becomes, for an operator of its own */

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

/* The products that read v; returns how many. reader: their nodes. */
static uint32_t read_products(const struct reading *r, uint32_t v, uint64_t channels,
                              struct rows *rows, uint32_t *reader)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->m->n_nodes; i++)
        if (read_product(r, &r->m->nodes[i], v, channels, &rows[n]))
            reader[n++] = i;
    return n;
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
    bool usual =
        size > SMALLEST_SIZE && size < LARGEST_SIZE && w > SMALLEST_SIZE && w < LARGEST_SIZE;
    return usual ? (int)lrint(SHARE * log2(size) - (1 - SHARE) * log2(w)) : 0;
}

static int compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* By how much each channel is to move, and returns the most. Channels move by what they are away
 * from the median: a factor of all of them together gains nothing. exponent: room for 2 * channels.
 */
static uint32_t find_exponents(const struct pith_value_stats *s, const struct rows *rows,
                               uint32_t n, int *exponent)
{
    const uint64_t channels = s->n_channels;
    int *sorted = exponent + channels, most = 0;
    for (uint64_t j = 0; j < channels; j++)
        sorted[j] = exponent[j] = exponent_of(&s->channel[j], largest(rows, n, j));
    qsort(sorted, channels, sizeof *sorted, compare_ints);
    int usual = sorted[channels / 2];
    for (uint64_t j = 0; j < channels; j++) {
        exponent[j] -= usual;
        most = abs(exponent[j]) > most ? abs(exponent[j]) : most;
    }
    return (uint32_t)most;
}

static double power_of_row(const struct rows *rows, uint32_t n, uint64_t j)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint64_t k = 0; k < rows[i].n; k++) {
            double w = (double)rows[i].w[j * rows[i].channel + k * rows[i].step];
            sum += w * w;
        }
    return sum;
}

/* What rounding to steps of one size for all channels does to the products: before over after. */
static double gain_of(const struct pith_value_stats *s, const struct rows *rows, uint32_t n,
                      const int *exponent)
{
    double low[2] = {0, 0}, high[2] = {0, 0}, power[2] = {0, 0};
    for (uint64_t j = 0; j < s->n_channels; j++) {
        const double row = power_of_row(rows, n, j), by[2] = {1, ldexp(1, exponent[j])};
        for (int i = 0; i < 2; i++) {
            low[i] = fmin(low[i], (double)s->channel[j].min / by[i]);
            high[i] = fmax(high[i], (double)s->channel[j].max / by[i]);
            power[i] += by[i] * by[i] * row;
        }
    }
    double before = high[0] - low[0], after = high[1] - low[1];
    return before * before * power[0] / (after * after * power[1]);
}

/* ---- what divides ---------------------------------------------------------------------------- */

/* The value for those of v's readers that are products. */
struct divided {
    uint32_t value;
    float *by; /* the model's: [channels] that it is multiplied with; NULL: none */
    uint32_t channels, now;
};

struct smoothing {
    struct reading r;
    struct divided *of_node; /* [n_nodes] of its first output */
    uint32_t *divided;       /* [n_nodes] that node's number, whose divided output it reads, + 1 */
    struct rows *rows;
    uint32_t *reader;
    int *exponent;
    uint32_t n_divided, n_moved;
};

static bool divide_norm(const struct smoothing *s, const struct pith_node *norm, uint32_t n)
{
    const struct pith_value *v = &s->r.m->values[norm->out[0]];
    const uint64_t channels = v->stats->n_channels;
    bool biased = norm->n_in > 2 && norm->in[2] != PITH_VALUE_NONE;
    if (norm->op != PITH_OP_LAYER_NORM || norm->n_in < 2 || n != s->r.uses[norm->out[0]])
        return false;
    float *scale = own_floats(&s->r, norm->in[1], channels);
    float *bias = biased ? own_floats(&s->r, norm->in[2], channels) : NULL;
    if (!scale || (biased && !bias))
        return false;
    for (uint64_t j = 0; j < channels; j++) {
        scale[j] = ldexpf(scale[j], -s->exponent[j]);
        if (bias)
            bias[j] = ldexpf(bias[j], -s->exponent[j]);
    }
    return true;
}

/* false: no memory. */
static bool divide_value(struct smoothing *s, struct pith_model *m, uint32_t node, uint32_t n)
{
    const uint32_t v = m->nodes[node].out[0], channels = m->values[v].stats->n_channels;
    struct divided d = {v, pith_model_alloc(m, channels, sizeof *d.by), channels, 0};
    if (!d.by)
        return false;
    for (uint32_t j = 0; j < channels; j++)
        d.by[j] = ldexpf(1, -s->exponent[j]);
    s->of_node[node] = d;
    s->n_divided++;
    for (uint32_t i = 0; i < n; i++)
        s->divided[s->reader[i]] = node + 1;
    return true;
}

/* What a node gives. false: no memory. */
static bool smooth(struct smoothing *s, struct pith_model *m, uint32_t node, uint32_t least)
{
    const uint32_t v = m->nodes[node].out[0];
    const struct pith_value *value = &m->values[v];
    const struct pith_value_stats *stats = value->stats;
    if (value->rank == 0 || !stats || stats->n_channels != value->dim[value->rank - 1] ||
        stats->channel_axis != value->rank - 1)
        return true;
    const uint32_t n = read_products(&s->r, v, stats->n_channels, s->rows, s->reader);
    const uint32_t most = n ? find_exponents(stats, s->rows, n, s->exponent) : 0;
    if (most == 0 || most < least)
        return true;
    if (!divide_norm(s, &m->nodes[node], n)) {
        if (gain_of(stats, s->rows, n, s->exponent) < (least ? PAYS : 1))
            return true;
        if (!divide_value(s, m, node, n))
            return false;
    }
    for (uint64_t j = 0; j < stats->n_channels; j++)
        for (uint32_t i = 0; i < n; i++)
            scale_row(&s->rows[i], j, s->exponent[j]);
    s->n_moved++;
    return true;
}

static void write_divided(struct node_list *l, struct divided *d)
{
    const struct pith_value like = l->m->values[d->value];
    uint32_t by = pith_list_constant(l, PITH_F32, 1, &d->channels, d->by);
    d->now = pith_list_value(l, PITH_F32, like.rank, like.dim);
    pith_list_node(l, "", PITH_OP_MUL, 2, (uint32_t[]){d->value, by}, d->now);
}

static enum pith_status write_all(const struct smoothing *s, struct pith_model *m,
                                  struct pith_error *err)
{
    struct node_list l;
    if (s->n_divided == 0)
        return PITH_OK;
    if (!pith_node_list_begin(&l, m, s->n_divided, 2 * (uint64_t)s->n_divided))
        return pith_error_no_memory(err);
    for (uint32_t i = 0; i < m->n_nodes && !l.failed; i++) {
        pith_list_copy(&l, &m->nodes[i]);
        if (s->divided[i] && !l.failed)
            l.node[l.n - 1].in[0] = s->of_node[s->divided[i] - 1].now;
        if (s->of_node[i].by && !l.failed)
            write_divided(&l, &s->of_node[i]);
    }
    return pith_node_list_end(&l, err);
}

/* ---- the whole ------------------------------------------------------------------------------- */

bool pith_may_smooth(const struct pith_model *m)
{
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i].op == PITH_OP_LAYER_NORM && m->nodes[i].n_in >= 2)
            return true;
    return false;
}

static bool open_smoothing(struct smoothing *s, const struct pith_model *m)
{
    const size_t values = m->n_values + (size_t)1, nodes = m->n_nodes + (size_t)1;
    size_t widest = 1;
    for (uint32_t v = 0; v < m->n_values; v++)
        if (m->values[v].rank > 0 && m->values[v].dim[m->values[v].rank - 1] > widest)
            widest = m->values[v].dim[m->values[v].rank - 1];
    *s = (struct smoothing){.r = {m, calloc(values, sizeof *s->r.uses)},
                            .of_node = calloc(nodes, sizeof *s->of_node),
                            .divided = calloc(nodes, sizeof *s->divided),
                            .rows = calloc(nodes, sizeof *s->rows),
                            .reader = calloc(nodes, sizeof *s->reader),
                            .exponent = calloc(2 * widest, sizeof *s->exponent)};
    bool room = s->r.uses && s->of_node && s->divided && s->rows && s->reader && s->exponent;
    if (room)
        pith_model_count_uses(m, m->n_values, s->r.uses, NULL);
    return room;
}

enum pith_status pith_smooth(struct pith_model *m, uint32_t least, uint32_t *n_values,
                             struct pith_error *err)
{
    struct smoothing s;
    bool ok = open_smoothing(&s, m);
    for (uint32_t i = 0; i < m->n_nodes && ok; i++)
        ok = m->nodes[i].n_out == 0 || smooth(&s, m, i, least);
    enum pith_status st = ok ? write_all(&s, m, err) : pith_error_no_memory(err);
    if (n_values && !st)
        *n_values = s.n_moved;
    free(s.r.uses);
    free(s.of_node);
    free(s.divided);
    free(s.rows);
    free(s.reader);
    free(s.exponent);
    return st;
}
