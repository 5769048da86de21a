/* SPDX-License-Identifier: MIT */
/* layer_bits.c - bits of each layer's weights.
 *
 * One bit more takes three quarters of a layer's rounding error away, whatever its size, and costs
 * as many bits as it has weights: layers of few weights get theirs nearly for nothing. As if all
 * layers did the same harm, the next bit goes where harm / weights is largest, until a
 * PITH_WIDER_PART of what all layers have is spent. Among equals the first layer goes first: its
 * error passes through all others.
 *
 * In short rows, such as those of a depthwise convolution, no other weight can make up for an error
 * (gptq_round.c). They count as much as layers of SHORT_HARM times their rounding error.
 *
 * Layers that stay float are counted like the others: so what a layer gets does not depend on them.
 * A weight that several layers read is counted once. */
#include "layer_bits.h"

#include <math.h>

#include "op_interface/op_traits.h"

#define SHORT_ROW 32u
#define SHORT_HARM 16.0
#define MOST_BITS 8u

static bool is_counted(const struct integer_plan *p, uint32_t node)
{
    bool again = p->node[node].role == ROLE_LAYER && p->node[node].weight_of != node;
    return pith_has_weight(p->m, &p->m->nodes[node]) && !again &&
           pith_op_traits(p->m->nodes[node].op).integer_op != 0;
}

static uint64_t count_weights(const struct integer_plan *p, uint32_t node)
{
    return p->m->values[p->m->nodes[node].in[1]].constant->count;
}

/* For each weight that would get one more bit. */
static double harm(const struct integer_plan *p, uint32_t node, uint32_t bits)
{
    double of_row = pith_layer_shape(p->m, &p->m->nodes[node]).cols < SHORT_ROW ? SHORT_HARM : 1;
    return ldexp(of_row, -2 * (int)bits) / (double)count_weights(p, node);
}

/* Gives one bit to the layer that gains most by it, of those that `left` bits suffice for. */
static bool give_one(struct integer_plan *p, uint64_t *left)
{
    uint32_t best = NODE_NONE;
    double most = 0;
    for (uint32_t i = 0; i < p->m->n_nodes; i++) {
        uint32_t bits = p->node[i].weight_bits;
        if (!is_counted(p, i) || bits >= MOST_BITS || count_weights(p, i) > *left)
            continue;
        double h = harm(p, i, bits);
        if (h > most) {
            most = h;
            best = i;
        }
    }
    if (best == NODE_NONE)
        return false;
    p->node[best].weight_bits++;
    *left -= count_weights(p, best);
    return true;
}

void pith_choose_layer_bits(struct integer_plan *p)
{
    const struct pith_quantize_opts *o = p->opts;
    uint32_t bits = pith_weight_bits(o);
    uint64_t n = 0;
    for (uint32_t i = 0; i < p->m->n_nodes; i++) {
        p->node[i].weight_bits = bits;
        n += is_counted(p, i) ? count_weights(p, i) : 0;
    }
    uint64_t left = n * bits / PITH_WIDER_PART;
    bool mixed = bits < MOST_BITS && !o->same_bits && !o->fixed_bits && !o->as_trained;
    while (mixed && give_one(p, &left)) {
    }
    for (uint32_t i = 0; i < p->m->n_nodes; i++)
        if (p->node[i].role == ROLE_LAYER)
            p->node[i].weight_bits = p->node[p->node[i].weight_of].weight_bits;
}
