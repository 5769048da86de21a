/* SPDX-License-Identifier: MIT */
/* unroll_loop.c - a loop of known length becomes its body, as often as it runs: what follows needs
 * no notion of time, and the gradient goes back through the iterations by itself.
 *
 * Innermost loops come first; so a body is a plain list of nodes. */
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "pith_host.h"
#include "training_graph.h"

#include <string.h>

enum { MOST_NODES = 1 << 20 };

struct unroll {
    struct training_graph *g;
    const struct pith_node *start, *end; /* Loop, LoopEnd; the body lies between */
    uint32_t first_state, n_states, n_collected, trips;
    const uint32_t *next, *collected; /* values at the end of the body */
    uint32_t *now;                    /* [n_values] which value stands for a value of the loop */
    uint32_t *state;                  /* [n_states] */
    uint32_t *piece;                  /* [n_collected][trips] */
};

static enum pith_status open_ended(const struct unroll *u)
{
    return pith_error_set(
        u->g->err, PITH_ERR_UNSUPPORTED,
        "node '%.100s' (Loop): how often it runs depends on the data: it cannot be "
        "trained",
        u->start->name);
}

static const void *constant_of(const struct unroll *u, uint32_t value)
{
    const struct pith_const *c = u->g->m->values[value].constant;
    return c ? c->data : NULL;
}

static enum pith_status count_trips(struct unroll *u)
{
    const struct pith_node *s = u->start, *e = u->end;
    bool counts = s->attr[ATTR_LOOP_HAS_COUNT] != 0, has_cond = s->attr[ATTR_LOOP_HAS_COND] != 0;
    u->trips = (uint32_t)s->attr[ATTR_LOOP_TRIPS];
    if (counts) {
        const int64_t *count = constant_of(u, s->in[0]);
        if (!count)
            return open_ended(u);
        if (*count < (int64_t)u->trips)
            u->trips = *count > 0 ? (uint32_t)*count : 0;
    }
    if (has_cond) {
        const uint8_t *first = constant_of(u, s->in[counts]), *again = constant_of(u, e->in[0]);
        if (!first || !again || (*first && !*again && u->trips > 1))
            return open_ended(u);
        u->trips = *first ? u->trips : 0;
    }
    uint64_t body = (uint64_t)(e - s);
    if (u->trips * body > MOST_NODES)
        return pith_error_set(u->g->err, PITH_ERR_UNSUPPORTED,
                              "node '%.100s' (Loop): %u iterations are too many to train", s->name,
                              u->trips);
    u->first_state = (uint32_t)counts + has_cond;
    u->n_states = s->n_in - u->first_state;
    u->next = e->in + has_cond + u->n_states;
    u->collected = u->next + u->n_states;
    u->n_collected = e->n_in - has_cond - 2 * u->n_states;
    return PITH_OK;
}

static uint32_t standing_for(const struct unroll *u, uint32_t value)
{
    return value == PITH_VALUE_NONE ? value : u->now[value];
}

/* The number of the iteration, as the body reads it. */
static bool set_iteration(struct unroll *u, uint32_t trip)
{
    struct training_graph *g = u->g;
    uint32_t value = pith_graph_value(g, u->start->out[0]);
    struct pith_const *c = pith_model_alloc(g->m, 1, sizeof *c);
    int64_t *number = pith_model_alloc(g->m, 1, sizeof *number);
    if (value == PITH_VALUE_NONE || !c || !number)
        return false;
    *number = trip;
    *c = (struct pith_const){.count = 1, .data = number};
    g->m->values[value].constant = c;
    u->now[u->start->out[0]] = value;
    return true;
}

/* Initial states go through a node: a constant one is no weight, whatever reads it. */
static bool set_states(struct unroll *u, uint32_t trip)
{
    for (uint32_t i = 0; i < u->n_states; i++) {
        uint32_t inside = u->start->out[1 + i];
        u->now[inside] = trip ? u->state[i] : inside;
        if (trip == 0 &&
            !pith_graph_node(u->g, PITH_OP_IDENTITY, u->start->name, 1, &u->state[i], inside))
            return false;
    }
    return true;
}

static bool copy_node(struct unroll *u, const struct pith_node *node, uint32_t trip)
{
    struct pith_node copy = *node;
    copy.in = pith_model_alloc(u->g->m, node->n_in + 1u, sizeof *copy.in);
    copy.out = pith_model_alloc(u->g->m, node->n_out + 1u, sizeof *copy.out);
    if (!copy.in || !copy.out)
        return false;
    for (uint32_t i = 0; i < node->n_in; i++)
        copy.in[i] = standing_for(u, node->in[i]);
    for (uint32_t i = 0; i < node->n_out; i++) {
        copy.out[i] = trip ? pith_graph_value(u->g, node->out[i]) : node->out[i];
        if (copy.out[i] == PITH_VALUE_NONE)
            return false;
        u->now[node->out[i]] = copy.out[i];
    }
    return pith_graph_append(u->g, &copy);
}

static bool add_iteration(struct unroll *u, uint32_t trip)
{
    if (!set_iteration(u, trip) || !set_states(u, trip))
        return false;
    for (const struct pith_node *node = u->start + 1; node < u->end; node++)
        if (!copy_node(u, node, trip))
            return false;
    for (uint32_t i = 0; i < u->n_states; i++)
        u->state[i] = standing_for(u, u->next[i]);
    for (uint32_t i = 0; i < u->n_collected; i++) {
        uint32_t from = standing_for(u, u->collected[i]), to = pith_graph_value(u->g, from);
        struct pith_node *row = to == PITH_VALUE_NONE ? NULL
                                                      : pith_graph_node(u->g, PITH_OP_UNSQUEEZE,
                                                                        u->end->name, 1, &from, to);
        if (!row)
            return false;
        row->attr[ATTR_AXES] = 1; /* one axis: 0 */
        u->piece[(size_t)i * u->trips + trip] = to;
    }
    return true;
}

/* What the loop leaves behind has the numbers that LoopEnd gave it. */
static bool add_results(struct unroll *u)
{
    for (uint32_t i = 0; i < u->n_states; i++)
        if (!pith_graph_node(u->g, PITH_OP_IDENTITY, u->end->name, 1, &u->state[i], u->end->out[i]))
            return false;
    for (uint32_t i = 0; i < u->n_collected; i++) {
        struct pith_node *all =
            pith_graph_node(u->g, PITH_OP_CONCAT, u->end->name, u->trips,
                            u->piece + (size_t)i * u->trips, u->end->out[u->n_states + i]);
        if (!all)
            return false;
        all->attr[ATTR_AXIS] = 0;
    }
    return true;
}

static enum pith_status unroll(struct training_graph *g, const struct pith_node *start,
                               const struct pith_node *end)
{
    struct unroll u = {.g = g, .start = start, .end = end};
    enum pith_status status = count_trips(&u);
    if (status)
        return status;
    uint32_t n = g->m->n_values;
    u.now = pith_model_alloc(g->m, n + 1u, sizeof *u.now);
    u.state = pith_model_alloc(g->m, u.n_states + 1u, sizeof *u.state);
    u.piece = pith_model_alloc(g->m, (uint64_t)u.n_collected * u.trips + 1, sizeof *u.piece);
    if (!u.now || !u.state || !u.piece)
        return pith_tape_no_memory(g->err);
    for (uint32_t i = 0; i < n; i++)
        u.now[i] = i;
    memcpy(u.state, start->in + u.first_state, u.n_states * sizeof *u.state);
    for (uint32_t trip = 0; trip < u.trips; trip++)
        if (!add_iteration(&u, trip))
            return pith_tape_no_memory(g->err);
    return add_results(&u) ? PITH_OK : pith_tape_no_memory(g->err);
}

/* The first loop that has no loop in it. */
static bool find_loop(const struct pith_model *m, uint32_t *start, uint32_t *end)
{
    *start = UINT32_MAX;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        if (m->nodes[i].op == PITH_OP_LOOP)
            *start = i;
        *end = i;
        if (m->nodes[i].op == PITH_OP_LOOP_END && *start != UINT32_MAX)
            return true;
    }
    return false;
}

enum pith_status pith_unroll_loops(struct training_graph *g)
{
    uint32_t start, end, n;
    bool any = false;
    while (find_loop(g->m, &start, &end)) {
        const struct pith_node *old = pith_graph_take_nodes(g, &n);
        bool room = true;
        for (uint32_t i = 0; i < start && room; i++)
            room = pith_graph_append(g, &old[i]);
        enum pith_status status = room ? unroll(g, &old[start], &old[end]) : PITH_OK;
        for (uint32_t i = end + 1; i < n && room && !status; i++)
            room = pith_graph_append(g, &old[i]);
        if (status || !room)
            return status ? status : pith_tape_no_memory(g->err);
        any = true;
    }
    return any ? pith_graph_infer(g, 0, g->err) : PITH_OK;
}
