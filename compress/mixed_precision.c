/* SPDX-License-Identifier: MIT */
/* mixed_precision.c - more than a byte where that is not enough.
 *
 * Errors of roundings add up (range_search.c), so what the network of integers will be like is
 * known before it is made. Where its outputs would be too near their error, layers whose inputs
 * cost most for what they would take get them finer: as two bytes (int16_input.h), or as floats.
 * That is paid for by products and by passes over values, so it ends at a share of all products;
 * and no layer pays for what changes next to nothing.
 *
 * A layer that stays float has float outputs, too, so what would round these is gone as well. The
 * depthwise layer in front of one stays float with it: kernels of bytes write bytes. */
#include "mixed_precision.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "pith_error_fill.h"
#include "pith_integer_plan.h"
#include "pith_op_semantics.h"
#include "pith_two_inputs.h"

#define LEAST 0.02 /* of all error */

static double count_of(const struct pith_value *v)
{
    double n = 1;
    for (uint32_t i = 0; i < v->rank; i++)
        n *= v->dim[i];
    return n;
}

/* Multiplications of a layer with weights. */
static double products_of(const struct pith_model *m, const struct pith_node *node)
{
    const struct pith_value *w = &m->values[node->in[1]];
    return count_of(&m->values[node->out[0]]) * (double)w->constant->count / w->dim[0];
}

static double products_of_all(const struct pith_model *m)
{
    double sum = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (pith_has_weight(m, &m->nodes[i]))
            sum += products_of(m, &m->nodes[i]);
    return sum;
}

/* ---- what becomes finer ---------------------------------------------------------------------- */

/* The depthwise layer that writes v, itself or through activations; NULL: none does. */
static const struct pith_node *depthwise_before(const struct pith_model *m, uint32_t v)
{
    const struct pith_node *node = pith_model_producer(m, v);
    while (node && pith_op_is(node->op, TRAIT_CLAMPS))
        node = pith_model_producer(m, node->in[0]);
    return node && pith_has_weight(m, node) && pith_node_is_depthwise(m, node) ? node : NULL;
}

static bool may_stay_float(const struct pith_model *m, uint32_t v)
{
    return pith_layers_read(m, v, NULL);
}

/* In products: what reads v otherwise, and the passes over what has to be converted. */
static double price(const struct pith_model *m, const struct finer_way *way, uint32_t v,
                    uint32_t *layers)
{
    const struct pith_node *before = way->floats ? depthwise_before(m, v) : NULL;
    double numbers = count_of(&m->values[v]), products = before ? products_of(m, before) : 0;
    *layers = before != NULL;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *node = &m->nodes[i];
        if (!pith_layer_reads(m, node, v))
            continue;
        products += products_of(m, node);
        numbers += way->floats ? count_of(&m->values[node->out[0]]) : 0;
        ++*layers;
    }
    return products + way->passes * numbers;
}

static bool add_layer(struct pith_model *m, const struct pith_node *node, const char *why,
                      struct wider_layers *wider)
{
    const char *name = node->name[0] ? node->name : m->values[node->out[0]].name;
    wider->name[wider->n] = name;
    wider->why[wider->n] = why;
    wider->layer[wider->n] = pith_weight_pattern(m, name);
    return wider->layer[wider->n++] != NULL;
}

/* alone: dB of the outputs with no rounding but that of v */
static bool add_readers(struct pith_model *m, const struct finer_way *way, uint32_t v, double alone,
                        struct wider_layers *wider)
{
    const struct pith_node *before = way->floats ? depthwise_before(m, v) : NULL;
    char text[96];
    snprintf(text, sizeof text, "kept: 8-bit input alone gives %.1f dB", alone);
    const char *why = way->floats ? pith_model_strdup(m, text) : NULL;
    bool ok = why || !way->floats;
    for (uint32_t i = 0; i < m->n_nodes && ok; i++) {
        const struct pith_node *node = &m->nodes[i];
        if (node == before)
            ok = add_layer(m, node, "kept: the layer behind it is float", wider);
        else if (pith_layer_reads(m, node, v))
            ok = add_layer(m, node, why, wider);
    }
    return ok;
}

/* ---- how much of it -------------------------------------------------------------------------- */

struct offer {
    struct value_cost cost;
    double price;
    uint32_t layers;
};

/* Most error for its price first. */
static int by_worth(const void *a, const void *b)
{
    const struct offer *x = a, *y = b;
    double p = x->cost.error * y->price, q = y->cost.error * x->price;
    if (p != q)
        return p > q ? -1 : 1;
    return x->cost.value < y->cost.value ? -1 : 1;
}

static double below(double signal, double db)
{
    return signal * pow(10, -db / 10);
}

const struct finer_way pith_way_int16 = {.may = pith_readers_mix_channels,
                                         .left = 0.1,
                                         .enough = 28,
                                         .wanted = 28,
                                         .share = 0.12,
                                         .passes = 8},
                       pith_way_float = {.may = may_stay_float,
                                         .left = 0,
                                         .enough = 25,
                                         .wanted = 28,
                                         .share = 0.25,
                                         .passes = 40,
                                         .floats = true};

static enum pith_status choose(struct pith_model *m, const struct finer_way *way,
                               const struct offer *offer, uint32_t n, double total, double signal,
                               struct wider_layers *wider, struct pith_error *err)
{
    double budget = way->share * products_of_all(m), left = total;
    for (uint32_t i = 0; i < n && left > below(signal, way->wanted); i++) {
        const struct offer *o = &offer[i];
        if (o->price > budget || wider->n + o->layers > PITH_STAGE_LAYERS)
            continue;
        if (!add_readers(m, way, o->cost.value, 10 * log10(signal / o->cost.error), wider))
            return pith_error_no_memory(err);
        budget -= o->price;
        left -= (1 - way->left) * o->cost.error;
    }
    return PITH_OK;
}

enum pith_status pith_choose_precision(struct pith_model *m, const struct finer_way *way,
                                       const struct value_cost *cost, uint32_t n, double rest,
                                       double signal, struct wider_layers *wider,
                                       struct pith_error *err)
{
    double total = rest;
    uint32_t offers = 0;
    struct offer *offer = malloc((n + (size_t)1) * sizeof *offer);
    if (!offer)
        return pith_error_no_memory(err);
    for (uint32_t i = 0; i < n; i++)
        total += cost[i].error;
    for (uint32_t i = 0; i < n; i++) {
        struct offer *o = &offer[offers];
        o->cost = cost[i];
        if (cost[i].error <= LEAST * total || !way->may(m, cost[i].value))
            continue;
        o->price = price(m, way, cost[i].value, &o->layers);
        offers++;
    }
    qsort(offer, offers, sizeof *offer, by_worth);
    enum pith_status st = PITH_OK;
    if (total > below(signal, way->enough))
        st = choose(m, way, offer, offers, total, signal, wider, err);
    free(offer);
    return st;
}
