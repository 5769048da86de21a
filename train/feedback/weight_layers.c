/* SPDX-License-Identifier: MIT */
#include "weight_layers.h"

#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"
#include "pith_host.h"
#include "op_interface/op_traits.h"
#include "model/plain_copy.h"

#define MEMORY_BYTES (UINT64_C(32) << 20) /* of both walks' values; the others are in files */

/* ---- readers of a weight --------------------------------------------------------------------- */

static bool multiplies(const struct pith_node *node, uint32_t value)
{
    return node->n_in > 1 && node->in[1] == value;
}

uint32_t pith_weight_first_use(const struct pith_model *m, uint32_t value)
{
    uint32_t i = 0;
    while (i < m->n_nodes && !multiplies(&m->nodes[i], value))
        i++;
    return i;
}

/* Matrix products and convolutions of one number of groups. */
static bool can_sum(const struct pith_model *m, uint32_t value)
{
    const uint32_t first = pith_weight_first_use(m, value);
    bool can = first < m->n_nodes;
    for (uint32_t i = first; i < m->n_nodes && can; i++) {
        const struct pith_node *node = &m->nodes[i], *as = &m->nodes[first];
        if (multiplies(node, value))
            can = !pith_op_is(node->op, TRAIT_RECURS) && pith_layer_blocks(m, node) == 1 &&
                  pith_op_groups(node->op, node->attr) == pith_op_groups(as->op, as->attr);
    }
    return can;
}

/* ---- moments --------------------------------------------------------------------------------- */

/* From the first reader, or the body that it is in, to the last: what is made between is recorded,
 * as the first reader's results are not what they will be. */
static struct body_span span_of(const struct weight_walk *w, uint32_t value)
{
    struct body_span span = {UINT32_MAX, 0};
    uint32_t readers = 0;
    for (uint32_t i = 0; i < w->was->n_nodes; i++) {
        const struct body_span body = pith_layer_walk_body(w->pair.walk[0], i);
        if (!multiplies(&w->was->nodes[i], value))
            continue;
        span.begin = span.begin == UINT32_MAX ? (body.end ? body.begin : i) : span.begin;
        span.end = body.end ? body.end : i + 1;
        readers += body.end ? 2 : 1;
    }
    return readers > 1 ? span : (struct body_span){span.begin, span.begin};
}

static void add(struct layer_moments *to, const struct layer_moments *m)
{
    const size_t square = m->n * m->n;
    const double all = to->places + m->places, part[] = {to->places / all, m->places / all};
    for (size_t i = 0; i < m->groups * square; i++) {
        to->h[i] += m->h[i];
        if (m->cross)
            to->cross[i] += m->cross[i];
    }
    for (int net = 0; net < 2; net++)
        for (size_t i = 0; i < m->groups * m->n && m->mean[net]; i++)
            to->mean[net][i] = part[0] * to->mean[net][i] + part[1] * m->mean[net][i];
    to->places = all;
    to->shrinkage = part[0] * to->shrinkage + part[1] * m->shrinkage;
}

enum pith_status pith_weight_moments(struct weight_walk *w, uint32_t value, struct layer_moments *m)
{
    *m = (struct layer_moments){0};
    if (!can_sum(w->was, value))
        return PITH_OK;
    const struct body_span span = span_of(w, value);
    const uint32_t first = pith_weight_first_use(w->was, value),
                   last = span.end > first ? span.end : first + 1;
    const struct moments_opts o = {.centre = PITH_BIAS_SHARE, .runtime = &w->runtime};
    enum pith_status status = PITH_OK;
    bool all = true;
    for (uint32_t i = first; i < last && all && !status; i++) {
        struct layer_moments one = {0};
        if (!multiplies(&w->was->nodes[i], value))
            continue;
        status = pith_network_pair_moments(&w->pair, i, span, &o, &one, w->err);
        all = one.n > 0;
        if (!status && all && m->n)
            add(m, &one);
        else if (!status && all) {
            *m = one;
            one = (struct layer_moments){0};
        }
        pith_layer_moments_end(&one);
    }
    if (!all)
        pith_layer_moments_end(m);
    return status;
}

enum pith_status pith_weight_become(struct weight_walk *w, uint32_t value, const float *data)
{
    struct pith_const *c = w->now->values[value].constant;
    if (c->data == w->was->values[value].constant->data)
        c->data = pith_model_alloc(w->now, c->count, sizeof *data);
    if (!c->data)
        return pith_error_no_memory(w->err);
    memcpy(c->data, data, (size_t)c->count * sizeof *data);
    return PITH_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

static enum pith_status open_feed(struct weight_walk *w, struct pith_data *data, uint64_t samples)
{
    const struct pith_model *m = w->was;
    uint64_t most = 1;
    for (uint32_t i = 0; i < m->n_inputs; i++) {
        const struct pith_value *v = &m->values[m->inputs[i]];
        const uint64_t bytes = pith_value_elems(v) * sizeof(int64_t);
        most = bytes > most ? bytes : most;
    }
    w->zeros = calloc((size_t)most, 1);
    w->input = calloc(m->n_inputs + (size_t)1, sizeof *w->input);
    if (!w->zeros || !w->input)
        return pith_error_no_memory(w->err);
    for (uint32_t i = 1; i < m->n_inputs; i++)
        w->input[i].constant = w->zeros;
    w->input[0].data = data;
    const struct pith_feed feed = {
        .size_bytes = sizeof feed, .n_inputs = m->n_inputs, .input = w->input};
    return pith_recorded_feed_open(m, &feed, NULL, samples, &w->feed, w->err);
}

enum pith_status pith_weight_walk_open(struct weight_walk *w, struct pith_data *data,
                                       uint64_t samples, uint32_t threads)
{
    pith_opts_init(&w->runtime, sizeof w->runtime);
    enum pith_status status = threads > 1 ? pith_threads_start(&w->runtime, threads) : PITH_OK;
    if (status)
        return pith_error_fill(w->err, status, "cannot start threads");
    status = open_feed(w, data, samples);
    if (!status && w->changes)
        status = pith_model_copy_weights(w->was, &w->now, w->err);
    const struct layer_walk_opts o = {
        .feed = w->feed, .runtime = &w->runtime, .memory_bytes = MEMORY_BYTES / 2};
    return status ? status : pith_network_pair_open(w->was, w->now, &o, &w->pair, w->err);
}

void pith_weight_walk_close(struct weight_walk *w)
{
    pith_network_pair_close(&w->pair);
    pith_recorded_feed_close(w->feed);
    pith_model_free(w->now);
    pith_threads_stop(&w->runtime);
    free(w->input);
    free(w->zeros);
}
