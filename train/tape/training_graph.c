/* SPDX-License-Identifier: MIT */
/* training_graph.c - a copy of the graph that can grow. */
#include "training_graph.h"
#include "core/op_number.h"
#include "model/model_sizes.h"
#include "op_interface/op_info.h"
#include "pith_host.h"

#include <stdlib.h>
#include <string.h>

/* ---- growing --------------------------------------------------------------------------------- */

/* Room for one more; the old list stays in the arena. */
static void *room(struct training_graph *g, void *list, uint32_t n, uint32_t *cap, size_t each)
{
    if (n < *cap)
        return list;
    uint32_t wanted = n < 64 ? 128 : n > UINT32_MAX / 2 ? n : n * 2;
    void *grown = wanted > n ? pith_model_alloc(g->m, wanted, each) : NULL;
    if (!grown)
        return NULL;
    if (n)
        memcpy(grown, list, n * each);
    *cap = wanted;
    return grown;
}

uint32_t pith_graph_value(struct training_graph *g, uint32_t like)
{
    struct pith_model *m = g->m;
    struct pith_value *values = room(g, m->values, m->n_values, &g->cap_values, sizeof *values);
    if (!values)
        return PITH_VALUE_NONE;
    m->values = values;
    values[m->n_values] = values[like];
    values[m->n_values].constant = NULL;
    return m->n_values++;
}

bool pith_graph_append(struct training_graph *g, const struct pith_node *node)
{
    struct pith_model *m = g->m;
    struct pith_node *nodes = room(g, m->nodes, m->n_nodes, &g->cap_nodes, sizeof *nodes);
    if (!nodes)
        return false;
    m->nodes = nodes;
    nodes[m->n_nodes++] = *node;
    return true;
}

struct pith_node *pith_graph_node(struct training_graph *g, uint32_t op, char *name, uint32_t n_in,
                                  uint32_t *in, uint32_t out)
{
    const struct pith_node like = {
        .op = op, .name = name, .n_in = n_in, .in = in, .n_out = 1, .out = &out};
    struct pith_node node;
    if (!pith_model_make_node(g->m, &like, &node))
        return NULL;
    return pith_graph_append(g, &node) ? &g->m->nodes[g->m->n_nodes - 1] : NULL;
}

struct pith_node *pith_graph_take_nodes(struct training_graph *g, uint32_t *n)
{
    struct pith_node *taken = g->m->nodes;
    *n = g->m->n_nodes;
    g->m->nodes = NULL;
    g->m->n_nodes = g->cap_nodes = 0;
    return taken;
}

/* An Identity that rounds (grad_fake_quant.c) has inputs that only the tape knows. */
enum pith_status pith_graph_infer(const struct training_graph *g, uint32_t first,
                                  struct pith_error *err)
{
    struct pith_model some = *g->m;
    some.n_nodes -= first;
    some.nodes = malloc((some.n_nodes + (size_t)1) * sizeof *some.nodes);
    if (!some.nodes)
        return pith_tape_no_memory(err);
    for (uint32_t i = 0; i < some.n_nodes; i++) {
        some.nodes[i] = g->m->nodes[first + i];
        if (some.nodes[i].op == PITH_OP_IDENTITY)
            some.nodes[i].n_in = 1;
    }
    enum pith_status status = pith_model_infer_shapes(&some, err);
    free(some.nodes);
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool has_loop(const struct pith_model *m)
{
    bool found = false;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        found = found || m->nodes[i].op == PITH_OP_LOOP;
    return found;
}

static bool has_empty_size(const struct pith_model *m)
{
    bool found = false;
    for (uint32_t i = 0; i < m->n_sizes; i++)
        found = found || m->sizes[i].value == 0;
    return found;
}

bool pith_training_graph_wanted(const struct pith_model *m, uint32_t samples)
{
    return has_loop(m) || has_empty_size(m) || (!m->batch_open && samples > 1);
}

/* Lists of its own; names, attributes and constants are those of m. */
static bool copy_lists(struct training_graph *g, const struct pith_model *m)
{
    struct pith_model *to = g->m;
    g->cap_values = m->n_values;
    g->cap_nodes = m->n_nodes;
    to->values = pith_model_alloc(to, m->n_values + 1u, sizeof *to->values);
    to->nodes = pith_model_alloc(to, m->n_nodes + 1u, sizeof *to->nodes);
    if (!to->values || !to->nodes)
        return false;
    memcpy(to->values, m->values, m->n_values * sizeof *m->values);
    to->n_values = m->n_values;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        struct pith_node *node = &to->nodes[to->n_nodes];
        *node = m->nodes[i];
        node->in = pith_model_alloc(to, node->n_in + 1u, sizeof *node->in);
        if (!node->in)
            return false;
        node->n_in = pith_node_filled_inputs(m, &m->nodes[i], node->in);
        to->n_nodes += node->n_in != UINT32_MAX;
    }
    to->inputs = m->inputs;
    to->n_inputs = m->n_inputs;
    to->outputs = m->outputs;
    to->n_outputs = m->n_outputs;
    to->batch_open = m->batch_open;
    return true;
}

enum pith_status pith_training_graph(const struct pith_model *m, uint32_t samples,
                                     struct pith_model **made, struct pith_error *err)
{
    struct training_graph g = {.err = err};
    if (pith_model_new(NULL, &g.m))
        return pith_tape_no_memory(g.err);
    enum pith_status status = copy_lists(&g, m) ? PITH_OK : pith_tape_no_memory(g.err);
    if (!status)
        status = pith_unroll_loops(&g);
    if (!status && !m->batch_open && samples > 1)
        status = pith_open_batch(&g, samples);
    if (status)
        pith_model_free(g.m);
    else
        *made = g.m;
    return status;
}
