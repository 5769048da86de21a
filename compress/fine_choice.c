/* SPDX-License-Identifier: MIT */
/* fine_choice.c - a second byte where the first is not enough.
 *
 * Errors of roundings add up (range_search.c), so what the network of integers will be like is
 * known before it is made. Where its outputs would be less than WANTED_DB above their error, layers
 * whose inputs cost most get them finer, the costliest first. That is paid for by products, twice
 * as many in these layers, so it ends at SHARE of all; and no layer pays for what changes next to
 * nothing. */
#include "fine_choice.h"

#include <math.h>
#include <stdlib.h>

#include "error_fill.h"
#include "half_ranges.h"
#include "integer_plan.h"
#include "two_inputs.h"

#define WANTED_DB 28.0
#define SHARE 0.12 /* of all products */
#define LEAST 0.02 /* of all error */
#define PASSES 8.0 /* over a value, in products, to take it apart */

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

/* Of the layers that read v; of all. */
static double products_with(const struct pith_model *m, uint32_t v, bool all)
{
    double sum = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (pith_has_weight(m, &m->nodes[i]) && (all || m->nodes[i].in[0] == v))
            sum += products_of(m, &m->nodes[i]);
    return sum;
}

static int by_error(const void *a, const void *b)
{
    const struct value_cost *x = a, *y = b;
    if (x->error != y->error)
        return x->error > y->error ? -1 : 1;
    return x->value < y->value ? -1 : 1;
}

static uint32_t count_readers(const struct pith_model *m, uint32_t v)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        n += pith_has_weight(m, &m->nodes[i]) && m->nodes[i].in[0] == v;
    return n;
}

static bool name_readers(struct pith_model *m, uint32_t v, struct fine_layers *fine)
{
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *node = &m->nodes[i];
        if (!pith_has_weight(m, node) || node->in[0] != v)
            continue;
        const char *name = node->name[0] ? node->name : m->values[node->out[0]].name;
        fine->layer[fine->n] = pith_weight_pattern(m, name);
        if (!fine->layer[fine->n++])
            return false;
    }
    return true;
}

const struct finer_way pith_way_fine = {pith_readers_mix_channels, 0.1},
                       pith_way_halved = {pith_may_be_halved, 0.25};

enum pith_status pith_choose_fine(struct pith_model *m, const struct finer_way *way,
                                  struct value_cost *cost, uint32_t n, double rest, double signal,
                                  struct fine_layers *fine, struct pith_error *err)
{
    double budget = SHARE * products_with(m, 0, true), total = rest,
           wanted = signal * pow(10, -WANTED_DB / 10);
    *fine = (struct fine_layers){.n = 0};
    for (uint32_t i = 0; i < n; i++)
        total += cost[i].error;
    double left = total;
    qsort(cost, n, sizeof *cost, by_error);
    for (uint32_t i = 0; i < n && left > wanted && cost[i].error > LEAST * total; i++) {
        uint32_t v = cost[i].value;
        if (!way->may(m, v))
            continue;
        double more = products_with(m, v, false) + PASSES * count_of(&m->values[v]);
        if (more > budget || fine->n + count_readers(m, v) > PITH_STAGE_LAYERS)
            continue;
        if (!name_readers(m, v, fine))
            return pith_error_no_memory(err);
        budget -= more;
        left -= (1 - way->left) * cost[i].error;
    }
    return PITH_OK;
}
