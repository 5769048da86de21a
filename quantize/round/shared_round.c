/* SPDX-License-Identifier: MIT */
/* shared_round.c - a weight is rounded when all its readers' inputs are known, and the last of them
 * comes behind the others. So there is a walk before the walk (integer_layers.h): over the network
 * as rounding to nearest made it, which sums up the products of inputs of all readers, in real
 * units, as scales of inputs differ; then each such weight is rounded by its sum (gptq_round.c). In
 * the walk that follows each reader's bias is corrected for itself.
 *
 * Deliberately not done: goals (gptq_round.c). What one reader's rows would make up for,
 * another's lack. */
#include "shared_round.h"

#include <stdlib.h>

#include "base/error_fill.h"
#include "gptq_round.h"

struct shared_sums {
    struct integer_network *net;
    const struct pith_opts *runtime;
    struct layer_moments *sum; /* [n_layers] of the first reader, in real units; n 0: none */
};

static bool is_rounded(const struct integer_layer *l)
{
    return pith_layer_is_shared(l) && !l->shared.both_ways && pith_gptq_applies(l);
}

/* ---- what is read ---------------------------------------------------------------------------- */

/* A group's rows read channels of one scale. */
static void add_moments(const struct integer_layer *l, struct layer_moments *m,
                        struct layer_moments *to)
{
    const size_t square = m->n * m->n, each = (size_t)(l->shape.rows / l->shape.groups);
    for (size_t i = 0; i < m->groups * square; i++) {
        const double unit = pith_layer_input_scale(l, i / square * each);
        m->h[i] = unit * unit * m->h[i] + (to->n ? to->h[i] : 0);
    }
    m->rows += to->rows;
    pith_layer_moments_end(to);
    *to = *m;
    *m = (struct layer_moments){0};
}

static enum pith_status collect(void *user, const struct layer_inputs *in, struct pith_error *err)
{
    struct shared_sums *s = user;
    struct integer_rows rows;
    struct layer_moments m = {0};
    const struct integer_layer *l = &s->net->layers[in->layer],
                               *first = l->shared.first ? l->shared.first : l;
    if (!is_rounded(l))
        return PITH_OK;
    enum pith_status st = pith_integer_rows(in, l, &rows);
    if (!st)
        st = pith_gptq_moments(&rows, s->runtime, &m);
    if (!st)
        add_moments(l, &m, &s->sum[first - s->net->layers]);
    pith_layer_moments_end(&m);
    pith_integer_rows_end(&rows);
    return st ? pith_error_no_memory(err) : PITH_OK;
}

static enum pith_status round_all(struct shared_sums *s, struct pith_error *err)
{
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < s->net->n_layers && !st; i++) {
        if (!s->sum[i].n)
            continue;
        st = pith_gptq_round_moments(&s->sum[i], s->runtime, &s->net->layers[i]);
        if (!st)
            pith_layer_store_all(&s->net->layers[i]);
    }
    return st ? pith_error_no_memory(err) : PITH_OK;
}

enum pith_status pith_round_shared(const struct integer_walk *walk, struct pith_error *err)
{
    struct shared_sums s = {.net = walk->net, .runtime = walk->plan->opts->runtime};
    struct integer_walk look = *walk;
    bool any = false;
    for (uint32_t i = 0; i < s.net->n_layers; i++)
        any |= is_rounded(&s.net->layers[i]);
    if (!any)
        return PITH_OK;
    s.sum = calloc(s.net->n_layers, sizeof *s.sum);
    if (!s.sum)
        return pith_error_no_memory(err);
    look.goals = false;
    look.improve = collect;
    look.user = &s;
    enum pith_status st = pith_walk_integers(&look, err);
    if (!st)
        st = round_all(&s, err);
    for (uint32_t i = 0; i < s.net->n_layers; i++)
        pith_layer_moments_end(&s.sum[i]);
    free(s.sum);
    return st;
}
