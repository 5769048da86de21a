/* SPDX-License-Identifier: MIT */
#include "fake_quant_graph.h"

#include "core/op_number.h"
#include "pith_host.h"
#include "pith_value_stats.h"
#include "tape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct fake_graph {
    const struct pith_train_integers *integers; /* borrowed */
    struct pith_node *plain, *rounding;         /* the model's memory; `plain` is what was there */
    uint32_t n_plain, n_rounding;
    uint32_t n_values, n_all_values;
    struct pith_grid **was; /* [integers->n_values] */
    uint32_t *number;       /* [integers->n_values] of an owner: its numbers, its facts */
    uint32_t *fact;
    uint32_t *rounded; /* [n_values] what stands for a value, itself where nothing rounds it */
};

/* ---- checks of the options ------------------------------------------------------------------- */

/* In the list of values; UINT32_MAX: not there. */
static uint32_t find(const struct pith_train_integers *q, uint32_t value)
{
    for (uint32_t i = 0; i < q->n_values; i++)
        if (q->values[i].value == value)
            return i;
    return UINT32_MAX;
}

static const char *wrong_value(const struct pith_model *m, const struct pith_train_integers *q,
                               const struct pith_train_value *v)
{
    uint32_t owner = find(q, v->like);
    if (v->value >= m->n_values || m->values[v->value].constant ||
        m->values[v->value].type != PITH_F32 || v->like >= m->n_values || owner == UINT32_MAX ||
        q->values[owner].like != v->like || find(q, v->value) != (uint32_t)(v - q->values))
        return "integers are requested for something that is no value, or whose grid is not "
               "listed, or "
               "twice";
    const struct pith_grid *g = m->values[v->like].grid;
    if (!g || g->n != 1 || !(g->scale[0] > 0) || !isfinite(g->scale[0]))
        return "a value that shall be integers has no grid of one scale";
    return NULL;
}

static const char *wrong_weight(const struct pith_model *m, const struct pith_train_weight *w)
{
    const struct pith_value *v = w->value < m->n_values ? &m->values[w->value] : NULL;
    if (!v || !v->constant || v->type != PITH_F32 || v->rank < 2 || v->constant->count == 0)
        return "integers are requested for something that is no weight";
    if (v->constant->codebook)
        return "a weight that shall be integers has a codebook already";
    if (w->lowest > -1 || w->highest < 1 || w->highest > 127 || w->lowest < -128)
        return "weights are integers from -128 to 127";
    return NULL;
}

static enum pith_status check(const struct pith_model *m, const struct pith_train_integers *q,
                              struct pith_error *err)
{
    const char *wrong = NULL;
    for (uint32_t i = 0; i < q->n_values && !wrong; i++)
        wrong = wrong_value(m, q, &q->values[i]);
    for (uint32_t i = 0; i < q->n_weights && !wrong; i++)
        wrong = wrong_weight(m, &q->weights[i]);
    return wrong ? pith_error_set(err, PITH_ERR_ARGUMENT, "%s", wrong) : PITH_OK;
}

/* ---- making ---------------------------------------------------------------------------------- */

static uint32_t add_constant(struct fake_graph *g, struct pith_model *m, uint32_t n,
                             const float *number)
{
    struct pith_value *v = &m->values[g->n_all_values];
    struct pith_const *c = pith_model_alloc(m, 1, sizeof *c);
    *v = (struct pith_value){
        .name = "", .type = PITH_F32, .rank = 1, .dim = {n}, .constant = c, .min = 1, .max = 0};
    if (!c || !(c->data = pith_model_alloc(m, n, sizeof *number)))
        return UINT32_MAX;
    c->count = n;
    memcpy(c->data, number, n * sizeof *number);
    return g->n_all_values++;
}

static bool add_grid(struct fake_graph *g, struct pith_model *m, uint32_t i)
{
    const struct pith_train_value *v = &g->integers->values[i];
    const struct pith_grid *is = m->values[v->value].grid;
    float low = (float)pith_grid_lowest(is), high = (float)pith_grid_highest(is);
    const float zero = (float)is->zero_point / (high - low);
    const float fact[FACTS] = {[FACT_FIRST] = is->scale[0],
                               [FACT_LOWEST] = low,
                               [FACT_HIGHEST] = high,
                               [FACT_RADIX] = g->integers->radix,
                               [FACT_MOVES_ZERO] = v->moves_zero,
                               [FACT_ZERO] = zero};
    g->fact[i] = add_constant(g, m, FACTS, fact);
    g->number[i] = v->learned ? add_constant(g, m, 2, (const float[]){1, zero}) : PITH_VALUE_NONE;
    return g->fact[i] != UINT32_MAX && (!v->learned || g->number[i] != UINT32_MAX);
}

/* Behind what gives v: the node that rounds it, and the value that everybody reads. */
static bool round_value(struct fake_graph *g, struct pith_model *m, uint32_t v)
{
    uint32_t at = find(g->integers, v);
    if (at == UINT32_MAX || g->integers->values[at].rounded)
        return true;
    uint32_t owner = find(g->integers, g->integers->values[at].like), to = g->n_all_values++;
    struct pith_node *node = &g->rounding[g->n_rounding++];
    *node = (struct pith_node){.name = "",
                               .op = PITH_OP_IDENTITY,
                               .attr = pith_model_alloc(m, 1, sizeof *node->attr),
                               .n_in = 3,
                               .n_out = 1,
                               .in = pith_model_alloc(m, 3, sizeof *node->in),
                               .out = pith_model_alloc(m, 1, sizeof *node->out)};
    if (!node->attr || !node->in || !node->out)
        return false;
    m->values[to] = m->values[v];
    m->values[to].name = "";
    m->values[to].grid = NULL;
    m->values[to].stats = NULL;
    node->in[0] = v;
    node->in[1] = g->number[owner];
    node->in[2] = g->fact[owner];
    node->out[0] = g->rounded[v] = to;
    return true;
}

static bool copy_node(struct fake_graph *g, struct pith_model *m, const struct pith_node *from)
{
    struct pith_node *node = &g->rounding[g->n_rounding++];
    *node = *from;
    node->in = pith_model_alloc(m, from->n_in + (uint64_t)1, sizeof *node->in);
    for (uint32_t k = 0; k < from->n_in && node->in; k++)
        node->in[k] = from->in[k] == PITH_VALUE_NONE ? PITH_VALUE_NONE : g->rounded[from->in[k]];
    for (uint32_t k = 0; k < from->n_out && node->in; k++)
        if (!round_value(g, m, from->out[k]))
            return false;
    return node->in != NULL;
}

static bool make(struct fake_graph *g, struct pith_model *m)
{
    const uint32_t n = g->integers->n_values;
    bool ok = true;
    for (uint32_t v = 0; v < m->n_values; v++)
        g->rounded[v] = v;
    for (uint32_t i = 0; i < n; i++)
        g->was[i] = m->values[g->integers->values[i].value].grid;
    for (uint32_t i = 0; i < n && ok; i++)
        if (g->integers->values[i].like == g->integers->values[i].value)
            ok = add_grid(g, m, i);
    for (uint32_t i = 0; i < m->n_inputs && ok; i++)
        ok = round_value(g, m, m->inputs[i]);
    for (uint32_t i = 0; i < m->n_nodes && ok; i++)
        ok = copy_node(g, m, &g->plain[i]);
    return ok;
}

/* Old values keep their places in a longer list: m can go on with it, whatever comes. */
static bool take_room(struct fake_graph *g, struct pith_model *m)
{
    const uint64_t more = 3 * (uint64_t)g->integers->n_values, most = m->n_values + more + 1;
    struct pith_value *values = pith_model_alloc(m, most, sizeof *values);
    g->rounding = pith_model_alloc(m, m->n_nodes + more + 1, sizeof *g->rounding);
    g->rounded = pith_model_alloc(m, most, sizeof *g->rounded);
    g->was = malloc((g->integers->n_values + (size_t)1) * sizeof *g->was);
    g->number = malloc((g->integers->n_values + (size_t)1) * sizeof *g->number);
    g->fact = malloc((g->integers->n_values + (size_t)1) * sizeof *g->fact);
    if (!values || !g->rounding || !g->rounded || !g->was || !g->number || !g->fact)
        return false;
    memcpy(values, m->values, m->n_values * sizeof *values);
    m->values = values;
    g->plain = m->nodes;
    g->n_plain = m->n_nodes;
    g->n_values = g->n_all_values = m->n_values;
    return true;
}

static void release(struct fake_graph *g)
{
    free(g->was);
    free(g->number);
    free(g->fact);
    free(g);
}

enum pith_status pith_fake_graph_open(struct pith_model *m, const struct pith_train_opts *opts,
                                      struct fake_graph **g, struct pith_error *err)
{
    if (!opts->integers)
        return PITH_OK;
    enum pith_status status = check(m, opts->integers, err);
    if (status)
        return status;
    struct fake_graph *made = calloc(1, sizeof *made);
    if (!made)
        return pith_tape_no_memory(err);
    made->integers = opts->integers;
    if (!take_room(made, m) || !make(made, m)) {
        release(made);
        return pith_tape_no_memory(err);
    }
    pith_fake_graph_insert(made, m);
    *g = made;
    return PITH_OK;
}

/* ---- in and out ------------------------------------------------------------------------------ */

void pith_fake_graph_insert(struct fake_graph *g, struct pith_model *m)
{
    if (!g)
        return;
    m->nodes = g->rounding;
    m->n_nodes = g->n_rounding;
    m->n_values = g->n_all_values;
}

static struct pith_grid *learned_grid(const struct fake_graph *g, struct pith_model *m, uint32_t i)
{
    const float *fact = m->values[g->fact[i]].constant->data;
    const float *number = m->values[g->number[i]].constant->data;
    const struct fake_grid f = pith_fake_grid_of(fact);
    struct pith_grid *to = pith_model_alloc(m, 1, sizeof *to);
    if (!to)
        return NULL;
    *to = *g->was[i];
    to->scale = pith_model_alloc(m, 1, sizeof *to->scale);
    if (!to->scale)
        return NULL;
    to->scale[0] = pith_fake_step(&f, number[0]);
    to->zero_point = (int32_t)pith_fake_zero(&f, number[1]);
    return to;
}

enum pith_status pith_fake_graph_remove(struct fake_graph *g, struct pith_model *m)
{
    if (!g)
        return PITH_OK;
    const struct pith_train_integers *q = g->integers;
    for (uint32_t i = 0; i < q->n_values; i++)
        if (q->values[i].like == q->values[i].value && q->values[i].learned) {
            struct pith_grid *to = learned_grid(g, m, i);
            if (!to)
                return PITH_ERR_MEMORY;
            m->values[q->values[i].value].grid = to;
        }
    for (uint32_t i = 0; i < q->n_values; i++)
        m->values[q->values[i].value].grid = m->values[q->values[i].like].grid;
    m->nodes = g->plain;
    m->n_nodes = g->n_plain;
    m->n_values = g->n_values;
    return PITH_OK;
}

void pith_fake_graph_close(struct fake_graph *g, struct pith_model *m, bool keep)
{
    if (!g)
        return;
    for (uint32_t i = 0; i < g->integers->n_values && !keep; i++)
        m->values[g->integers->values[i].value].grid = g->was[i];
    m->nodes = g->plain;
    m->n_nodes = g->n_plain;
    m->n_values = g->n_values;
    release(g);
}
