/* SPDX-License-Identifier: MIT */
/* trained_grid.c - grids that are there already, and where a network would have some.
 *
 * Training rounds values and weights where pith_quantize would (pith_quantize_places), learns the
 * grids, and leaves them in the model: those of values where calibration leaves its own, those of
 * weights as codebooks whose centroids are k * step. Taken as they are, they give the network that
 * was trained. */
#include "trained_grid.h"

#include <stdlib.h>

#include "base/error_fill.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

/* ---- weights --------------------------------------------------------------------------------- */

/* 0: this is no k * step. */
static double step_of(const float *centroid, uint32_t n)
{
    uint32_t zero = 0;
    while (zero < n && centroid[zero] < 0)
        zero++;
    if (zero + 1 >= n || zero > 128 || n - 1 - zero > 127)
        return 0;
    float step = centroid[zero + 1];
    for (uint32_t i = 0; i < n; i++)
        if (centroid[i] != ((float)i - (float)zero) * step)
            return 0;
    return (double)step;
}

bool pith_trained_steps(const struct pith_const *c, uint64_t rows, double *step)
{
    const struct pith_codebook *b = c->codebook;
    if (!b || (b->n_groups != 1 && b->n_groups != rows))
        return false;
    for (uint64_t g = 0; g < b->n_groups; g++) {
        step[g] = step_of(b->centroid + g * b->n_centroids, b->n_centroids);
        if (!(step[g] > 0))
            return false;
    }
    for (uint64_t o = b->n_groups; o < rows; o++)
        step[o] = step[0];
    return true;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* First or last: it reads what no layer gave, or leads to none. */
static bool is_edge(const struct integer_plan *p, const struct pith_node *node)
{
    return !p->value[node->in[0]].from_layer || !p->value[node->out[0]].to_layer;
}

/* mark: [n_values], 0: owners of grids that first or last layers read. */
static void mark_edges(const struct integer_plan *p, bool *mark)
{
    for (uint32_t i = 0; i < p->m->n_nodes; i++)
        if (p->node[i].role == ROLE_LAYER && is_edge(p, &p->m->nodes[i]))
            mark[pith_plan_owner(p, p->m->nodes[i].in[0])] = true;
}

/* Are all elements of v, a value that becomes integers, some of whole values on its grid? */
static bool comes_rounded(const struct integer_plan *p, uint32_t v)
{
    uint32_t producer = p->value[v].producer;
    if (producer == NODE_NONE || p->node[producer].role != ROLE_CARRIED)
        return false;
    const struct pith_node *node = &p->m->nodes[producer];
    if (!pith_takes_grid(node) || (node->op == PITH_OP_PAD && node->attr[ATTR_PAD_VALUE] != 0))
        return false;
    uint32_t n_in = node->op == PITH_OP_CONCAT ? node->n_in : 1;
    for (uint32_t k = 0; k < n_in; k++) {
        uint32_t x = node->in[k];
        if (!p->value[x].whole || pith_plan_owner(p, x) != pith_plan_owner(p, v))
            return false;
    }
    return true;
}

static void list_values(const struct integer_plan *p, const bool *at_edge,
                        struct pith_quantize_places *to)
{
    for (uint32_t v = 0; v < p->m->n_values; v++) {
        uint32_t owner = pith_plan_owner(p, v);
        const struct pith_grid *g = p->value[owner].grid;
        if (!p->value[v].whole || (g->n > 1 && p->opts->per_tensor_activations))
            continue;
        p->m->values[v].grid = (struct pith_grid *)(uintptr_t)g;
        to->values[to->n_values++] =
            (struct pith_quantize_place){.value = v,
                                         .like = owner,
                                         .rounded = comes_rounded(p, v),
                                         .from_layer = p->value[v].from_layer,
                                         .one_sided = g->zero_point == pith_grid_lowest(g),
                                         .at_edge = at_edge[owner]};
    }
}

/* listed: [n_values], 0 */
static void list_weights(const struct integer_plan *p, bool *listed,
                         struct pith_quantize_places *to)
{
    for (uint32_t i = 0; i < p->m->n_nodes; i++) {
        const struct pith_node *node = &p->m->nodes[i];
        if (p->node[i].role != ROLE_LAYER || listed[node->in[1]])
            continue;
        listed[node->in[1]] = true;
        to->weights[to->n_weights++] = (struct pith_quantize_place){
            .value = node->in[1], .like = node->in[1], .at_edge = is_edge(p, node)};
    }
}

enum pith_status pith_integer_places(const struct integer_plan *p,
                                     struct pith_quantize_places *places, struct pith_error *err)
{
    struct pith_quantize_places to = {
        .values = malloc((p->m->n_values + (size_t)1) * sizeof *to.values),
        .weights = malloc((p->m->n_nodes + (size_t)1) * sizeof *to.weights)};
    bool *at_edge = calloc(p->m->n_values + (size_t)1, sizeof *at_edge);
    bool *listed = calloc(p->m->n_values + (size_t)1, sizeof *listed);
    bool done = to.values && to.weights && at_edge && listed;
    if (done) {
        mark_edges(p, at_edge);
        list_values(p, at_edge, &to);
        list_weights(p, listed, &to);
    }
    free(at_edge);
    free(listed);
    if (!done) {
        pith_quantize_places_free(&to);
        return pith_error_no_memory(err);
    }
    *places = to;
    return PITH_OK;
}

void pith_quantize_places_free(struct pith_quantize_places *places)
{
    if (!places)
        return;
    free(places->values);
    free(places->weights);
    *places = (struct pith_quantize_places){0};
}
