/* SPDX-License-Identifier: MIT */
/* shared_weight.c - which layers can have the same integers for one float weight.
 *
 * Real weights are q * scale, the same for all who read them, while biases and factors are each
 * layer's own. So it takes one weight and one Gemm's alpha (it is rounded with the weights), and of
 * convolutions as many groups, by which rows are rounded together. A layer whose weights take up
 * what the scales of its input's channels differ by has weights of its own.
 *
 * Bias and factor are 8 bytes an output channel for each reader. Where that is more than a
 * hundredth of the weight, sums become floats first, and are then multiplied by the weight's
 * scales, which all readers (a table, too) have in common, and by the input's one scale, and the
 * float bias is added: slower by some passes over the output, and nothing but nodes is each
 * reader's own. Convolutions have an output for each place, and with the passes take 1.4 times as
 * long; so they are done so only where theirs are more than a hundredth of all weights.
 *
 * What some products read as it is and others transposed has rows that are others' columns, so the
 * only scale that suits all is one for the whole. It is taken where rounding to it leaves the
 * weight LEAST_SNR_DB above its error (numbers of at most 7 times their root mean square), which
 * is less than rounding the inputs to bytes adds; else each way has integers of its own. Rounding
 * is to nearest: what feedback makes up for in the rows of one way is lost in those of the other.
 */
#include "shared_weight.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"
#include "integer_layer.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_traits.h"

#define OWN_BITS 64u /* of an output channel of each reader: bias, factor */

static bool are_alike(const struct integer_plan *p, uint32_t a, uint32_t b)
{
    const struct pith_model *m = p->m;
    struct weight_factor x = pith_weight_factor(p, a), y = pith_weight_factor(p, b);
    bool one_kind =
        pith_op_traits(m->nodes[a].op).integer_op == pith_op_traits(m->nodes[b].op).integer_op;
    return one_kind && x.weight == y.weight && !x.scales_weights && !y.scales_weights &&
           pith_layer_shape(m, &m->nodes[a]).groups == pith_layer_shape(m, &m->nodes[b]).groups;
}

enum pith_status pith_share_weights(struct integer_plan *p, struct pith_error *err)
{
    uint32_t *reader = malloc((p->m->n_values + (size_t)1) * sizeof *reader); /* the first layer */
    if (!reader)
        return pith_error_no_memory(err);
    for (uint32_t v = 0; v < p->m->n_values; v++)
        reader[v] = NODE_NONE;
    for (uint32_t i = 0; i < p->m->n_nodes; i++) {
        p->node[i].weight_of = i;
        p->node[i].turned_of = NODE_NONE;
        if (p->node[i].role != ROLE_LAYER)
            continue;
        uint32_t *first = &reader[p->m->nodes[i].in[1]];
        if (*first == NODE_NONE)
            *first = i;
        else if (are_alike(p, *first, i))
            p->node[i].weight_of = *first;
    }
    free(reader);
    return PITH_OK;
}

void pith_share_widths(struct integer_plan *p)
{
    for (uint32_t i = 0; i < p->m->n_nodes; i++) {
        struct node_plan *first = &p->node[p->node[i].weight_of];
        if (p->node[i].role != ROLE_LAYER || p->node[i].weight_of == i || first->wide)
            continue;
        first->wide = pith_layer_is_wide(p, i) || pith_layer_is_wide(p, p->node[i].weight_of);
    }
}

/* Fixed point shifts its sums, and sums of 64 bits are more than a float holds. */
static bool may_be_apart(const struct integer_plan *p, uint32_t i, bool convolutions)
{
    const struct pith_node *node = &p->m->nodes[i];
    bool plain_bias = node->op != PITH_OP_GEMM || pith_node_bias(node) == PITH_VALUE_NONE ||
                      attr_f32(node->attr, ATTR_GEMM_BETA) == 1;
    return (convolutions || node->op != PITH_OP_CONV) && plain_bias &&
           pith_plan_grid(p, node->in[0])->n == 1 && !p->opts->as_trained && !p->opts->fixed_bits &&
           !p->node[p->node[i].weight_of].wide && !pith_layer_is_wide(p, i);
}

/* What convolutions have of their own beside the weight of another, of the whole network. */
static bool convolutions_cost_much(const struct integer_plan *p)
{
    uint64_t own_bits = 0, weight_bits = 0;
    for (uint32_t i = 0; i < p->m->n_nodes; i++) {
        const struct pith_node *node = &p->m->nodes[i];
        if (p->node[i].role != ROLE_LAYER)
            continue;
        struct layer_shape s = pith_layer_shape(p->m, node);
        if (p->node[i].weight_of == i)
            weight_bits += s.rows * s.cols * p->node[i].weight_bits;
        else if (node->op == PITH_OP_CONV)
            own_bits += s.rows * OWN_BITS;
    }
    return own_bits * 100 > weight_bits;
}

/* readers: [n_values] of constants, tables and layers that can be apart; 0: one of them cannot. */
static void count_readers(const struct integer_plan *p, uint32_t *readers)
{
    const struct pith_model *m = p->m;
    bool convolutions = convolutions_cost_much(p);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (p->node[i].table)
            readers[m->nodes[i].in[0]] = 1;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (p->node[i].role == ROLE_LAYER)
            readers[m->nodes[i].in[1]]++;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (p->node[i].role == ROLE_LAYER && !may_be_apart(p, i, convolutions))
            readers[m->nodes[i].in[1]] = 0;
}

/* Is what the others than the first have of their own more than a hundredth of the weight? */
static bool costs_much(const struct integer_plan *p, uint32_t i, uint64_t readers)
{
    struct layer_shape s = pith_layer_shape(p->m, &p->m->nodes[i]);
    return readers > 1 && (readers - 1) * OWN_BITS * 100 > s.cols * p->node[i].weight_bits;
}

enum pith_status pith_set_scales_apart(struct integer_plan *p, struct pith_error *err)
{
    uint32_t *readers = calloc(p->m->n_values + (size_t)1, sizeof *readers);
    if (!readers)
        return pith_error_no_memory(err);
    count_readers(p, readers);
    for (uint32_t i = 0; i < p->m->n_nodes; i++)
        p->node[i].apart =
            p->node[i].role == ROLE_LAYER && costs_much(p, i, readers[p->m->nodes[i].in[1]]);
    free(readers);
    return PITH_OK;
}

/* ---- both ways round ------------------------------------------------------------------------- */

#define LEAST_SNR_DB 36.0
#define MOST_COLUMNS 33155u /* times 127 * 255 it is at most 2^30 (integer_layer.c) */

/* The first of the layers that read a weight one way. */
struct one_way {
    uint32_t node, n_readers;
    const struct pith_value *weight;
};

static const float *numbers(const struct one_way *x)
{
    return x->weight->constant->data;
}

/* A matrix and its transpose have the same count and the same numbers in two of their corners. */
static int by_corners(const void *a, const void *b)
{
    const struct one_way *x = a, *y = b;
    uint64_t n = x->weight->constant->count, m = y->weight->constant->count;
    if (n != m)
        return n < m ? -1 : 1;
    int order = memcmp(&numbers(x)[0], &numbers(y)[0], sizeof(float));
    if (!order)
        order = memcmp(&numbers(x)[n - 1], &numbers(y)[n - 1], sizeof(float));
    return order ? order : x->node < y->node ? -1 : x->node > y->node;
}

static bool are_transposes(const struct pith_value *a, const struct pith_value *b)
{
    const uint32_t *x = a->constant->data, *y = b->constant->data; /* bits of floats */
    uint64_t rows = a->dim[0], cols = a->dim[1];
    if (rows != b->dim[1] || cols != b->dim[0])
        return false;
    for (uint64_t i = 0; i < rows * cols; i++)
        if (x[i] != y[i % cols * rows + i / cols])
            return false;
    return true;
}

/* The scale for all numbers times alpha; 0: too coarse for them, or they are not finite. */
static double one_scale_of(const struct pith_const *c, double alpha)
{
    const float *x = c->data;
    double most = 0, signal = 0, noise = 0;
    for (uint64_t i = 0; i < c->count; i++)
        most = fmax(most, fabs((double)x[i] * alpha));
    double scale = most / 127;
    if (!(scale >= (double)FLT_MIN && scale <= (double)FLT_MAX))
        return 0;
    for (uint64_t i = 0; i < c->count; i++) {
        double w = (double)x[i] * alpha, d = w - nearbyint(w / scale) * scale;
        signal += w * w;
        noise += d * d;
    }
    return signal >= noise * pow(10, LEAST_SNR_DB / 10) ? scale : 0;
}

static bool may_turn(const struct integer_plan *p, const struct one_way *x, uint32_t readers)
{
    uint32_t n = x->weight->dim[0] > x->weight->dim[1] ? x->weight->dim[0] : x->weight->dim[1];
    return x->n_readers == readers && p->node[x->node].weight_bits == 8 && n <= MOST_COLUMNS;
}

/* y gets the integers of x, which comes before it. readers: as of count_readers. */
static bool join_ways(struct integer_plan *p, const struct one_way *x, const struct one_way *y,
                      const uint32_t *readers)
{
    const uint32_t *in_x = p->m->nodes[x->node].in, *in_y = p->m->nodes[y->node].in;
    double alpha = pith_weight_factor(p, x->node).weight;
    if (!may_turn(p, x, readers[in_x[1]]) || !may_turn(p, y, readers[in_y[1]]) ||
        alpha != pith_weight_factor(p, y->node).weight || !are_transposes(x->weight, y->weight))
        return false;
    double scale = one_scale_of(x->weight->constant, alpha);
    if (scale == 0)
        return false;
    p->node[x->node].one_scale = p->node[y->node].one_scale = scale;
    p->node[y->node].turned_of = x->node;
    return true;
}

/* ways: [p->n_layers]. Returns how many matrices layers read. */
static uint32_t find_ways(const struct integer_plan *p, struct one_way *ways, uint32_t *at)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->m->n_nodes; i++) {
        const struct pith_node *node = &p->m->nodes[i];
        if (p->node[i].role != ROLE_LAYER || p->m->values[node->in[1]].rank != 2)
            continue;
        if (p->node[i].weight_of == i) {
            at[i] = n;
            ways[n++] = (struct one_way){.node = i, .weight = &p->m->values[node->in[1]]};
        }
        ways[at[p->node[i].weight_of]].n_readers++;
    }
    return n;
}

enum pith_status pith_share_both_ways(struct integer_plan *p, struct pith_error *err)
{
    uint32_t *readers = calloc(p->m->n_values + (size_t)1, sizeof *readers);
    uint32_t *at = calloc(p->m->n_nodes + (size_t)1, sizeof *at);
    struct one_way *ways = calloc(p->n_layers + (size_t)1, sizeof *ways);
    bool room = readers && at && ways;
    if (room) {
        count_readers(p, readers);
        uint32_t n = find_ways(p, ways, at);
        qsort(ways, n, sizeof *ways, by_corners);
        for (uint32_t i = 1; i < n; i++)
            if (join_ways(p, &ways[i - 1], &ways[i], readers))
                i++;
    }
    for (uint32_t i = 0; i < p->m->n_nodes && room; i++)
        p->node[i].apart |=
            p->node[i].role == ROLE_LAYER && p->node[p->node[i].weight_of].one_scale > 0;
    free(readers);
    free(at);
    free(ways);
    return room ? PITH_OK : pith_error_no_memory(err);
}
