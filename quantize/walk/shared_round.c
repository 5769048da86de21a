/* SPDX-License-Identifier: MIT */
/* shared_round.c - a weight is rounded when all its readers' inputs are known, and the last of them
 * comes behind the others. So there is a walk before the walk (integer_walk.h): over the network as
 * rounding to nearest made it, which sums up the products of inputs of all readers, in real units,
 * as scales of inputs differ; then each such weight is rounded by its sum (gptq_round.c). In
 * the walk that follows each reader's bias is corrected for itself.
 *
 * Deliberately not done: goals (adaptive_targets.c). What one reader's rows would make up for,
 * another's lack. */
#include "shared_round.h"

#include <stdlib.h>

#include "pith_error_fill.h"
#include "gptq_round.h"
#include "layer_moments.h"

/* What one weight is multiplied with: products, or where all readers together have few, the
 * patches. */
struct seen {
    double *h; /* [groups, n, n]; NULL: few, or nothing was seen */
    struct few_patches few;
    size_t n_few; /* of few.r: there */
};

struct shared_sums {
    struct integer_network *net;
    struct seen *seen; /* [n_layers] of the first reader */
};

static bool is_rounded(const struct integer_layer *l)
{
    return pith_layer_is_shared(l) && !l->both_ways && pith_gptq_applies(l);
}

/* ---- what is seen ---------------------------------------------------------------------------- */

/* Patches of a fully connected layer, as often as `in` says that there are samples. */
static uint64_t count_patches(const struct shared_sums *s, const struct layer_inputs *in,
                              const struct integer_layer *l)
{
    const struct pith_model *m = &s->net->m;
    const struct pith_node *product = &m->nodes[s->net->product[l - s->net->layers]];
    const struct pith_value *x = &m->values[product->in[0]];
    uint64_t n = in->n_samples;
    for (uint32_t i = 0; i + 1 < x->rank; i++)
        n *= x->dim[i];
    return n;
}

/* Loops, which are counted as if they went round once, may have more: the rest is left out. */
static bool are_few(const struct shared_sums *s, const struct layer_inputs *in,
                    const struct integer_layer *first)
{
    uint64_t n = 0;
    for (const struct integer_layer *l = first; l; l = l->next)
        n += count_patches(s, in, l);
    return first->transposed && n <= first->shape.cols / PITH_COLUMNS_FOR_A_PATCH;
}

static enum pith_status make_room(const struct shared_sums *s, const struct layer_inputs *in,
                                  const struct integer_layer *first, struct seen *seen)
{
    size_t n = first->shape.cols;
    if (are_few(s, in, first))
        return pith_few_patches_room(n, n / PITH_COLUMNS_FOR_A_PATCH, &seen->few);
    seen->h = calloc((size_t)first->shape.groups * n * n, sizeof *seen->h);
    return seen->h ? PITH_OK : PITH_ERR_MEMORY;
}

static void add_patches(const struct layer_inputs *in, const struct integer_layer *l,
                        struct seen *seen)
{
    struct layer_patches p = pith_layer_patches(in, l);
    double unit = pith_layer_input_scale(l, 0) * pith_patch_unit(&p);
    for (uint64_t i = 0; i < p.positions * in->n_samples && seen->n_few < seen->few.r; i++) {
        size_t to = seen->n_few++;
        seen->few.unit[to] = unit;
        pith_patch_row(&p, i / p.positions, 0, i % p.positions, seen->few.x + to * p.cols, 1);
    }
}

/* A group's rows read channels of one scale. */
static enum pith_status add_products(const struct layer_inputs *in, const struct integer_layer *l,
                                     double *h)
{
    uint64_t each = l->shape.rows / l->shape.groups;
    struct layer_inputs without_goal = *in;
    struct layer_moments m;
    without_goal.goal = NULL;
    enum pith_status st = pith_layer_moments(&without_goal, l, &m);
    for (uint64_t group = 0; group < l->shape.groups && !st; group++, h += m.n * m.n) {
        double unit = pith_layer_input_scale(l, group * each) * pith_patch_unit(&m.patches);
        pith_layer_moments_sum(&m, group);
        for (size_t i = 0; i < m.n * m.n; i++)
            h[i] += unit * unit * m.h[0][i];
    }
    pith_layer_moments_end(&m);
    return st;
}

static enum pith_status collect(void *user, const struct layer_inputs *in, struct pith_error *err)
{
    struct shared_sums *s = user;
    const struct integer_layer *l = &s->net->layers[in->layer], *first = l->first ? l->first : l;
    struct seen *seen = &s->seen[first - s->net->layers];
    enum pith_status st = PITH_OK;
    if (!is_rounded(l))
        return PITH_OK;
    if (!seen->h && !seen->few.x)
        st = make_room(s, in, first, seen);
    if (!st && seen->h)
        st = add_products(in, l, seen->h);
    else if (!st)
        add_patches(in, l, seen);
    return st ? pith_error_no_memory(err) : PITH_OK;
}

/* ---- rounding -------------------------------------------------------------------------------- */

static enum pith_status round_all(struct shared_sums *s, const struct pith_opts *opts,
                                  struct pith_error *err)
{
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < s->net->n_layers && !st; i++) {
        struct seen *seen = &s->seen[i];
        if (!seen->h && !seen->few.x)
            continue;
        seen->few.r = seen->n_few;
        st = seen->h ? pith_gptq_round_sums(seen->h, opts, &s->net->layers[i])
                     : pith_gptq_round_patches(&seen->few, opts, &s->net->layers[i]);
        if (!st)
            pith_layer_store_all(&s->net->layers[i]);
    }
    return st ? pith_error_no_memory(err) : PITH_OK;
}

static void forget(struct seen *seen)
{
    free(seen->h);
    pith_few_patches_end(&seen->few);
}

enum pith_status pith_round_shared(const struct integer_walk *walk, struct pith_error *err)
{
    struct shared_sums s = {.net = walk->net};
    struct integer_walk look = *walk;
    bool any = false;
    for (uint32_t i = 0; i < s.net->n_layers; i++)
        any |= is_rounded(&s.net->layers[i]);
    if (!any)
        return PITH_OK;
    s.seen = calloc(s.net->n_layers, sizeof *s.seen);
    if (!s.seen)
        return pith_error_no_memory(err);
    look.goals = false;
    look.improve = collect;
    look.user = &s;
    enum pith_status st = pith_walk_integers(&look, err);
    if (!st)
        st = round_all(&s, walk->plan->opts->runtime, err);
    for (uint32_t i = 0; i < s.net->n_layers; i++)
        forget(&s.seen[i]);
    free(s.seen);
    return st;
}
