/* SPDX-License-Identifier: MIT */
#include "weight_layers.h"

#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"
#include "pith_host.h"
#include "op_interface/op_semantics.h"
#include "model/plain_copy.h"

#define MEMORY_BYTES (UINT64_C(32) << 20) /* of both walks' values; the others are in files */
#define ROWS_PER_COLUMN 256u              /* of moments */
#define LEAST_ROWS 32768u

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

uint32_t pith_weight_bias(const struct pith_model *m, uint32_t value)
{
    const struct pith_node *first = &m->nodes[pith_weight_first_use(m, value)];
    const uint32_t bias = pith_node_bias(first);
    if (bias == PITH_VALUE_NONE)
        return bias;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *node = &m->nodes[i];
        const bool scales =
            node->op == PITH_OP_GEMM && (attr_f32(node->attr, ATTR_GEMM_ALPHA) != 1.0f ||
                                         attr_f32(node->attr, ATTR_GEMM_BETA) != 1.0f);
        if (multiplies(node, value) && (pith_node_bias(node) != bias || scales))
            return PITH_VALUE_NONE;
        for (uint32_t k = 0; k < node->n_in; k++)
            if (node->in[k] == bias && (k != 2 || !multiplies(node, value)))
                return PITH_VALUE_NONE;
    }
    return bias;
}

/* ---- moments --------------------------------------------------------------------------------- */

/* From the first reader, or the body that it is in, to the last: what is made between is recorded,
 * as the first reader's results are not what they will be. */
static struct body_span span_of(const struct weight_walk *w, uint32_t value)
{
    struct body_span span = {UINT32_MAX, 0};
    uint32_t readers = 0;
    for (uint32_t i = 0; i < w->was->n_nodes; i++) {
        const struct body_span *body = &w->body[i];
        if (!multiplies(&w->was->nodes[i], value))
            continue;
        span.begin = span.begin == UINT32_MAX ? (body->end ? body->begin : i) : span.begin;
        span.end = body->end ? body->end : i + 1;
        readers += body->end ? 2 : 1;
    }
    return readers > 1 ? span : (struct body_span){span.begin, span.begin};
}

static enum pith_status sum_up(struct weight_walk *w, const struct layer_input in[2],
                               struct layer_moments *m)
{
    const struct moments_opts o = {.samples = pith_recorded_feed_calls(w->feed),
                                   .per_column = ROWS_PER_COLUMN,
                                   .least_rows = LEAST_ROWS,
                                   .centre = PITH_BIAS_SHARE,
                                   .runtime = &w->runtime};
    struct layer_rows rows[2] = {{0}};
    enum pith_status status = PITH_OK;
    for (int i = 0; i < (w->now ? 2 : 1) && !status; i++)
        status = pith_layer_rows_of(&in[i], &rows[i], w->err);
    if (!status)
        status = pith_layer_moments(&rows[0], w->now ? &rows[1] : NULL, &o, m, w->err);
    pith_layer_rows_end(&rows[0]);
    pith_layer_rows_end(&rows[1]);
    return status;
}

/* One reader's. m->n stays 0 where its inputs are not to be had. */
static enum pith_status of_reader(struct weight_walk *w, uint32_t node, struct body_span span,
                                  struct layer_moments *m)
{
    struct layer_input in[2] = {{0}};
    enum pith_status status = PITH_OK;
    for (int i = 0; i < (w->now ? 2 : 1) && !status; i++)
        status = pith_layer_input_open(w->walk[i], node, span, &in[i], w->err);
    if (!status && in[0].elems > 0 && (!w->now || in[0].elems == in[1].elems))
        status = sum_up(w, in, m);
    pith_layer_input_close(&in[0]);
    pith_layer_input_close(&in[1]);
    return status;
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
    enum pith_status status = PITH_OK;
    bool all = true;
    for (int i = 0; i < 2 && w->walk[i] && !status; i++)
        status = pith_layer_walk_to(w->walk[i], span.begin, w->err);
    for (uint32_t i = first; i < last && all && !status; i++) {
        struct layer_moments one = {0};
        if (!multiplies(&w->was->nodes[i], value))
            continue;
        status = of_reader(w, i, span, &one);
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
    return pith_recorded_feed_open(m, &feed, samples, &w->feed, w->err);
}

/* Numbers are those of the network as it came, until they become others. */
static enum pith_status copy_network(struct weight_walk *w)
{
    bool *plain = malloc((w->was->n_values + (size_t)1) * sizeof *plain);
    if (!plain)
        return pith_error_no_memory(w->err);
    memset(plain, true, w->was->n_values * sizeof *plain);
    enum pith_status status = pith_model_copy_plain(w->was, plain, true, &w->now, w->err);
    free(plain);
    return status;
}

enum pith_status pith_weight_walk_open(const struct pith_model *m, struct pith_data *data,
                                       uint64_t samples, uint32_t threads, bool changes,
                                       struct weight_walk *w, struct pith_error *err)
{
    *w = (struct weight_walk){.was = m, .err = err};
    pith_opts_init(&w->runtime, sizeof w->runtime);
    w->body = malloc((m->n_nodes + (size_t)1) * sizeof *w->body);
    if (!w->body)
        return pith_error_no_memory(err);
    pith_layer_bodies(m, w->body);
    enum pith_status status = threads > 1 ? pith_threads_start(&w->runtime, threads) : PITH_OK;
    if (status)
        return pith_error_fill(err, status, "cannot start threads");
    status = open_feed(w, data, samples);
    if (!status && changes)
        status = copy_network(w);
    const struct layer_walk_opts o = {
        .feed = w->feed, .runtime = &w->runtime, .memory_bytes = MEMORY_BYTES / 2};
    if (!status && changes)
        status = pith_layer_walk_open(w->now, &o, &w->walk[0], err);
    return status ? status : pith_layer_walk_open(m, &o, &w->walk[changes], err);
}

void pith_weight_walk_close(struct weight_walk *w)
{
    pith_layer_walk_close(w->walk[0]);
    pith_layer_walk_close(w->walk[1]);
    pith_recorded_feed_close(w->feed);
    pith_model_free(w->now);
    pith_threads_stop(&w->runtime);
    free(w->input);
    free(w->zeros);
    free(w->body);
}
