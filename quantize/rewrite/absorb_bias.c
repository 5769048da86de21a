/* SPDX-License-Identifier: MIT */
/* absorb_bias.c - absorbing high biases (Nagel, van Baalen, Blankevoort & Welling, "Data-Free
 * Quantization Through Weight Equalization and Bias Correction", 2019, section 4.1.3).
 *
 * Relu(x - c) = Relu(x) - c for x >= c >= 0. So a channel that is never below c > 0 may have c
 * taken off its bias, where the next layer's biases get what its weights W make of it, W c over all
 * taps: between them the channel has numbers from 0 to max - c instead of from 0 to max, and finer
 * steps.
 *
 * The paper takes c from batch normalisation (beta - 3 gamma). Here it is what the samples show
 * before the Relu: min - (max - min) / 10, as others may go a little below what these did.
 * Deliberately not done without samples: normalisations are folded by then.
 *
 * Max pools keep such a shift and means do, if no padding counts in them. A second layer with zeros
 * around its input would miss c there, so it ends a pair. */
#include "pith_absorb_bias.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pith_error_fill.h"
#include "layer_pair.h"
#include "pith_op_semantics.h"
#include "pith_value_stats.h"

#define MARGIN 0.1 /* of the range seen */

/* pads: a list of attributes; empty: none. */
static bool is_padded(const struct pith_node *node, uint32_t pads)
{
    for (uint32_t i = 0; i < attr_count(node->attr, pads); i++)
        if (attr_item(node->attr, pads, i, 0) != 0)
            return true;
    return false;
}

/* Windows that count padding, or that dilation may put into nothing but padding, are no means or
 * maxima of the channel. */
static bool keeps_shifts(const struct pith_model *m, const struct pith_node *node,
                         uint64_t channels)
{
    bool mean = node->op == PITH_OP_AVERAGE_POOL;
    if ((mean || node->op == PITH_OP_MAX_POOL) && is_padded(node, ATTR_POOL_PADS) &&
        ((mean && node->attr[ATTR_POOL_INCLUDE_PAD]) ||
         attr_count(node->attr, ATTR_POOL_DILATIONS)))
        return false;
    return pith_keeps_factors(m, node, channels);
}

/* y = W x + b, and nothing else. */
static bool is_plain(const struct pith_node *node)
{
    return node->op != PITH_OP_GEMM || (attr_f32(node->attr, ATTR_GEMM_ALPHA) == 1 &&
                                        attr_f32(node->attr, ATTR_GEMM_BETA) == 1);
}

static bool is_sum_of_all(const struct pith_node *node)
{
    return is_plain(node) && (node->op != PITH_OP_CONV || !is_padded(node, ATTR_CONV_PADS));
}

/* ---- how much -------------------------------------------------------------------------------- */

static double least(const struct pith_channel_stats *s)
{
    double min = (double)s->min, c = min - MARGIN * ((double)s->max - min);
    return isfinite(c) && c > 0 ? c : 0;
}

/* c: [p->channels], what may be taken off each. Returns of how many something. */
static uint32_t find_shifts(const struct pith_model *m, const struct layer_pair *p, double *c)
{
    const struct pith_node *first = &m->nodes[p->first.node];
    const struct pith_value *y = &m->values[first->out[0]];
    const struct pith_value_stats *s = y->stats;
    uint32_t axis = pith_op_channel_axis(first->op, y->rank), n = 0;
    if (!s || s->n_channels != p->channels || s->channel_axis != axis || !is_plain(first) ||
        !is_sum_of_all(&m->nodes[p->second.node]))
        return 0;
    for (uint64_t i = 0; i < p->channels; i++) {
        c[i] = least(&s->channel[i]);
        n += c[i] > 0;
    }
    return n;
}

/* ---- biases ---------------------------------------------------------------------------------- */

/* Room for biases of all layers: two of a pair. */
static bool make_room(struct pith_model *m, uint32_t n_pairs)
{
    struct pith_value *values =
        pith_model_alloc(m, m->n_values + 2 * (uint64_t)n_pairs + 1, sizeof *values);
    if (!values)
        return false;
    if (m->n_values)
        memcpy(values, m->values, m->n_values * sizeof *values);
    m->values = values;
    return true;
}

/* A bias of zeros. False: no memory. */
static bool add_bias(struct pith_model *m, struct pith_node *node, uint64_t rows)
{
    struct pith_const *bias = pith_model_alloc(m, 1, sizeof *bias);
    float *data = pith_model_alloc(m, rows, sizeof *data);
    uint32_t *in = pith_model_alloc(m, 3, sizeof *in);
    char *name = pith_model_strdup(m, "");
    if (!bias || !data || !in || !name)
        return false;
    bias->count = rows;
    bias->data = data;
    memcpy(in, node->in, 2 * sizeof *in);
    in[2] = m->n_values;
    m->values[m->n_values++] = (struct pith_value){.name = name,
                                                   .type = PITH_F32,
                                                   .rank = 1,
                                                   .dim = {(uint32_t)rows},
                                                   .constant = bias,
                                                   .min = 1,
                                                   .max = 0};
    node->in = in;
    node->n_in = 3;
    return true;
}

/* [rows]; NULL: no memory. Not the pair's pointer: another pair may have given this layer its bias.
 */
static float *bias_of(struct pith_model *m, const struct layer_weight *l)
{
    struct pith_node *node = &m->nodes[l->node];
    bool has = node->n_in > 2 && node->in[2] != PITH_VALUE_NONE;
    return has || add_bias(m, node, l->rows) ? m->values[node->in[2]].constant->data : NULL;
}

/* The second layer gets what the first one's bias lost as a float, so only sums are rounded.
 * gain: [p->second.rows] zeros. */
static void add_up(const struct layer_pair *p, const float *bias, const double *c, double *gain)
{
    const struct layer_weight *l = &p->second;
    for (uint64_t i = 0; i < p->channels; i++) {
        double lost = (double)bias[i] - (double)(float)((double)bias[i] - c[i]);
        const float *w = pith_column(l, i);
        for (uint64_t o = 0; o < l->rows_of_group && c[i] > 0; o++)
            for (uint64_t k = 0; k < l->taps; k++)
                gain[i / l->per_group * l->rows_of_group + o] += (double)w[o * l->cols + k] * lost;
    }
}

static bool are_finite(const struct layer_pair *p, const float *first, const float *second,
                       const double *c, const double *gain)
{
    bool finite = true;
    for (uint64_t i = 0; i < p->channels; i++)
        finite = finite && isfinite((float)((double)first[i] - c[i]));
    for (uint64_t o = 0; o < p->second.rows; o++)
        finite = finite && isfinite((float)((double)second[o] + gain[o]));
    return finite;
}

/* c, gain: as in add_up. *n grows by the channels absorbed from. */
static enum pith_status absorb(struct pith_model *m, const struct layer_pair *p, double *c,
                               double *gain, uint32_t *n)
{
    uint32_t found = find_shifts(m, p, c);
    if (found == 0)
        return PITH_OK;
    float *first = bias_of(m, &p->first), *second = first ? bias_of(m, &p->second) : NULL;
    if (!second)
        return PITH_ERR_MEMORY;
    add_up(p, first, c, gain);
    if (!are_finite(p, first, second, c, gain))
        return PITH_OK;
    for (uint64_t i = 0; i < p->channels; i++)
        first[i] = (float)((double)first[i] - c[i]);
    for (uint64_t o = 0; o < p->second.rows; o++)
        second[o] = (float)((double)second[o] + gain[o]);
    *n += found;
    return PITH_OK;
}

static enum pith_status absorb_pair(struct pith_model *m, const struct layer_pair *p, uint32_t *n)
{
    double *c = calloc(p->channels, sizeof *c), *gain = calloc(p->second.rows, sizeof *gain);
    enum pith_status st = c && gain ? absorb(m, p, c, gain, n) : PITH_ERR_MEMORY;
    free(c);
    free(gain);
    return st;
}

enum pith_status pith_absorb_biases(struct pith_model *m, uint32_t *n_channels,
                                    struct pith_error *err)
{
    struct layer_pair *pairs;
    uint32_t n_pairs, n = 0;
    enum pith_status st = pith_find_layer_pairs(m, keeps_shifts, &pairs, &n_pairs, err);
    if (st)
        return st;
    if (!make_room(m, n_pairs))
        st = PITH_ERR_MEMORY;
    for (uint32_t i = 0; i < n_pairs && !st; i++)
        st = absorb_pair(m, &pairs[i], &n);
    free(pairs);
    if (st)
        return pith_error_no_memory(err);
    if (n_channels)
        *n_channels = n;
    return PITH_OK;
}
