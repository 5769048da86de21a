/* SPDX-License-Identifier: MIT */
/* range_search.c - what a range cuts off may be worth nothing to the outputs, or everything; the
 * value's statistics do not show which. With its last residual sums cut at a tenth of their largest
 * number, a third of their energy gone, MobileNet-v2's outputs are 40 dB above their error; with
 * all of that range covered 23 dB. So ranges are tried, and the outputs decide.
 *
 * `pith calibrate` chooses among what five methods propose, on four samples. Here pith_quantize has
 * said already which values become integers, which of them share a grid and which have a scale for
 * each channel, and each such group is tried alone, all else float: from the whole observed range
 * down by factors of sqrt(2) while that helps, then half such a factor around the best. Errors of
 * roundings that know nothing of each other add up, so groups are decided one by one, those with
 * the largest error first, until the rest makes up less than REST of all.
 *
 * What is cut is few numbers of few samples, so the best range for some samples need not be good
 * for others. Every second sample selects the best range; the others have to confirm that it is
 * better than the one there was, by GAIN on either half. The smaller the network, the more samples.
 * A trial is given up as soon as its error exceeds the best one's, and begins where the group does.
 * Steps of a stream are correlated samples; there nothing is tried.
 *
 * Groups times runs would grow with the square of a network's length, so RUNS bounds the runs,
 * PRODUCTS what they multiply, and of more than FULL_RUNS nodes the steps in all runs: the groups
 * that matter most come first, and where the budget does not even suffice to rank them, none is
 * tried. */
#include "range_search.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"
#include "quantize/transform/fold_affine.h"
#include "calibrate/grid_choice.h"
#include "base/normal_scale.h"
#include "calibrate/output_trial.h"
#include "pith_value_stats.h"
#include "quantize/transform/transpose_weight.h"

#define FEWEST 16u /* samples */
#define MOST 64u
#define NUMBERS (1u << 26) /* put on grids, once with each sample */
#define FIRST 2u           /* samples that rank the groups */
#define RUNS                                                                                       \
    20000u /* of the network on one sample; MobileNet-v2 takes 1,714, and 993 for its weights */
#define FULL_RUNS 1024u /* nodes of a network that all of them are for: a longer one gets fewer */
#define PRODUCTS 5.2e11 /* of these runs, each taken as a whole one: MobileNet-v2 takes 5.1e11 */
#define REST 0.1
#define GAIN 0.05
/* At least down to this share of the range there was; then as long as outputs get better. */
#define LEAST 0.25
#define NOTHING 0x1p-20 /* of the observed range */
/* Bytes of what is alive where a group begins, of all samples. */
#define MIDDLE ((size_t)64 << 20)
#define WIDEST 2.0 /* times the largest number that samples show of a channel */
#define NO_GROUP UINT32_MAX

/* Values on one grid. */
struct group {
    uint32_t value;        /* the first of them */
    struct pith_grid grid; /* owns its scales: the best known */
    bool by_channel, changed;
    double first_error, error; /* on FIRST samples, on those that choose */
};

struct search {
    struct pith_model *m;
    struct output_trial outputs;
    struct group *group; /* owns: [n] */
    uint32_t n;
    uint32_t *group_of; /* owns: [n_values] */
    bool *is_rounded;   /* owns: [n_values] by this value's grid, not by one before */
    const struct group *tried;
    uint64_t runs; /* so far */
    struct pith_grid grid,
        was; /* of the trial, before the search; own their scales: room for any */
    struct pith_error *err;
};

static void put_on_grid(void *user, uint32_t value, float *x, size_t n)
{
    const struct search *s = user;
    const struct grid_choice c = {.value = value};
    if (s->group_of[value] != NO_GROUP && &s->group[s->group_of[value]] == s->tried &&
        s->is_rounded[value])
        pith_choice_apply(s->m, &c, &s->grid, x, n);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static bool new_group(struct search *s, uint32_t value, const struct pith_grid *grid)
{
    struct group *g = &s->group[s->n++];
    *g = (struct group){.value = value, .grid = *grid, .by_channel = grid->n > 1};
    g->grid.scale = malloc(grid->n * sizeof *g->grid.scale);
    if (g->grid.scale)
        memcpy(g->grid.scale, grid->scale, grid->n * sizeof *g->grid.scale);
    return g->grid.scale != NULL;
}

/* grids: a copy of the model, with those that pith_quantize would take. */
static bool list_groups(struct search *s, const struct pith_quantize_places *places,
                        const struct pith_model *grids)
{
    uint32_t *of_like = malloc((s->m->n_values + (size_t)1) * sizeof *of_like), most = 1;
    bool ok = of_like != NULL;
    for (uint32_t v = 0; v < s->m->n_values && ok; v++)
        s->group_of[v] = of_like[v] = NO_GROUP;
    for (uint32_t i = 0; i < places->n_values && ok; i++) {
        const struct pith_quantize_place *p = &places->values[i];
        const struct pith_grid *g = grids->values[p->value].grid;
        if (of_like[p->like] == NO_GROUP) {
            of_like[p->like] = s->n;
            ok = new_group(s, p->value, g);
        }
        s->group_of[p->value] = of_like[p->like];
        s->is_rounded[p->value] = !p->rounded;
        most = g->n > most ? g->n : most;
    }
    s->grid.scale = malloc(most * sizeof *s->grid.scale);
    s->was.scale = malloc(most * sizeof *s->was.scale);
    free(of_like);
    return ok && s->grid.scale && s->was.scale;
}

static enum pith_status find_groups(struct search *s, const struct pith_quantize_opts *opts)
{
    struct pith_model grids = *s->m;
    struct pith_quantize_opts o = *opts;
    struct pith_quantize_places places;
    o.rounding = PITH_ROUND_NEAREST;
    o.bias_correct = o.reestimate = false;
    grids.values = pith_model_alloc(s->m, s->m->n_values, sizeof *grids.values);
    if (!grids.values)
        return pith_error_no_memory(s->err);
    memcpy(grids.values, s->m->values, s->m->n_values * sizeof *grids.values);
    enum pith_status st = pith_quantize_find_places(&grids, &o, &places, s->err);
    if (st) /* nothing can be an integer; why is said when it is tried */
        return st == PITH_ERR_MEMORY ? st : PITH_OK;
    bool same = grids.n_nodes == s->m->n_nodes && grids.n_values == s->m->n_values;
    s->group = calloc(places.n_values + (size_t)1, sizeof *s->group);
    s->group_of = calloc(s->m->n_values + (size_t)1, sizeof *s->group_of);
    s->is_rounded = calloc(s->m->n_values + (size_t)1, sizeof *s->is_rounded);
    bool ok = s->group && s->group_of && s->is_rounded;
    if (ok && same)
        ok = list_groups(s, &places, &grids);
    pith_quantize_places_free(&places);
    return ok ? PITH_OK : pith_error_no_memory(s->err);
}

/* ---- trials ---------------------------------------------------------------------------------- */

/* To has room for from's scales. */
static void copy_grid(struct pith_grid *to, const struct pith_grid *from)
{
    float *scale = to->scale;
    *to = *from;
    to->scale = scale;
    memcpy(scale, from->scale, from->n * sizeof *scale);
}

/* Samples first, first + step, ... up to n. Given up, and HUGE_VAL, when the sum is `bound`. */
static enum pith_status measure(struct search *s, const struct group *g, uint32_t first,
                                uint32_t step, uint32_t n, double bound, double *error)
{
    enum pith_status st = PITH_OK;
    double sum = 0, e;
    n = n < s->outputs.n_samples ? n : s->outputs.n_samples;
    s->tried = g;
    for (uint32_t i = first; i < n && sum < bound && !st; i += step) {
        st = pith_output_trial_run(&s->outputs, i, i + 1, &e);
        s->runs++;
        sum += e;
    }
    *error = sum < bound ? sum : HUGE_VAL;
    return st;
}

/* On the samples that choose; on those that confirm. */
static enum pith_status measure_half(struct search *s, const struct group *g, bool confirm,
                                     double bound, double *error)
{
    return measure(s, g, confirm, 2, s->outputs.n_samples, bound, error);
}

static double steps_above(const struct pith_grid *g)
{
    return (double)(pith_grid_highest(g) - g->zero_point);
}

/* The scale with which this grid covers the observed range of the group. */
static double covering_scale(const struct search *s, const struct group *g)
{
    double above = steps_above(&g->grid),
           below = (double)(g->grid.zero_point - pith_grid_lowest(&g->grid));
    double scale = 0;
    for (uint32_t v = 0; v < s->m->n_values; v++) {
        const struct pith_value *x = &s->m->values[v];
        if (s->group_of[v] != (uint32_t)(g - s->group) || !(x->min <= x->max))
            continue;
        if (x->max > 0 && above > 0)
            scale = fmax(scale, (double)x->max / above);
        if (x->min < 0 && below > 0)
            scale = fmax(scale, -(double)x->min / below);
    }
    return scale;
}

/* The trial's grid: of a tensor with this scale; of channels up to share times what each had, where
 * that is less. */
static void set_trial(struct search *s, const struct group *g, double scale, double share)
{
    const struct pith_value_stats *observed = s->m->values[g->value].stats;
    const float whole = pith_normal_scale(scale);
    copy_grid(&s->grid, &g->grid);
    for (uint32_t c = 0; c < g->grid.n; c++) {
        double own =
            g->by_channel ? share * (double)observed->channel[c].max / steps_above(&g->grid) : 0;
        s->grid.scale[c] = own > 0 ? pith_channel_scale(own, whole) : whole;
    }
}

static enum pith_status try_trial(struct search *s, struct group *g, bool *better)
{
    double error;
    enum pith_status st = measure_half(s, g, false, g->error, &error);
    *better = !st && error < g->error;
    if (!*better)
        return st;
    g->error = error;
    g->changed = true;
    copy_grid(&g->grid, &s->grid);
    return PITH_OK;
}

/* Factors of what covers all, or, by channel, of what each channel had. */
static enum pith_status try_factors(struct search *s, struct group *g, double covering,
                                    double least)
{
    enum pith_status st = PITH_OK;
    double best = 0;
    bool better = false;
    double f = g->by_channel ? WIDEST : 1;
    for (; (f >= least || better) && f > NOTHING && !st && !s->outputs.stopped; f *= sqrt(0.5)) {
        set_trial(s, g, g->by_channel ? covering : f * covering, f);
        st = try_trial(s, g, &better);
        best = better ? f : best;
    }
    for (int i = 0; i < 2 && best > 0 && !st && !s->outputs.stopped; i++) {
        f = best * exp2(i == 0 ? 0.25 : -0.25);
        set_trial(s, g, g->by_channel ? covering : f * covering, f);
        st = try_trial(s, g, &better);
    }
    return st;
}

/* The best grid stays if it is better on the other samples, too. */
static enum pith_status confirm(struct search *s, struct group *g, double before)
{
    double was = 0, is = 0;
    g->changed &= g->error < (1 - GAIN) * before;
    copy_grid(&s->grid, &s->was);
    enum pith_status st = g->changed ? measure_half(s, g, true, HUGE_VAL, &was) : PITH_OK;
    copy_grid(&s->grid, &g->grid);
    if (g->changed && !st)
        st = measure_half(s, g, true, HUGE_VAL, &is);
    g->changed = g->changed && !st && is < (1 - GAIN) * was;
    if (!g->changed)
        copy_grid(&g->grid, &s->was);
    return st;
}

/* The node that gives the first of those that are put on the group's grid; NO_STEP: it is an input.
 */
static uint32_t step_of(const struct search *s, const struct group *g)
{
    uint32_t first = NO_STEP;
    for (uint32_t v = 0; v < s->m->n_values; v++) {
        if (s->group_of[v] != (uint32_t)(g - s->group) || !s->is_rounded[v])
            continue;
        const struct pith_node *node = pith_model_producer(s->m, v);
        if (!node)
            return NO_STEP;
        first = node - s->m->nodes < first ? (uint32_t)(node - s->m->nodes) : first;
    }
    return first;
}

static enum pith_status search_group(struct search *s, struct group *g)
{
    double covering = covering_scale(s, g), least = LEAST;
    if (!(covering >= (double)FLT_MIN) || (g->by_channel && !s->m->values[g->value].stats))
        return PITH_OK;
    if (!g->by_channel)
        least *= fmin(1, (double)g->grid.scale[0] / covering);
    copy_grid(&s->was, &g->grid);
    copy_grid(&s->grid, &g->grid);
    pith_output_trial_behind(&s->outputs, step_of(s, g));
    enum pith_status st = measure_half(s, g, false, HUGE_VAL, &g->error);
    double before = g->error;
    if (!st)
        st = try_factors(s, g, covering, least);
    return st ? st : confirm(s, g, before);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int by_error(const void *a, const void *b)
{
    const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;
    if (x->first_error != y->first_error)
        return x->first_error > y->first_error ? -1 : 1;
    return x->value < y->value ? -1 : 1;
}

/* Multiplications of a run, by constant weights. */
static double products_of(const struct pith_model *m)
{
    double sum = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const uint32_t w = pith_node_weight(m, &m->nodes[i]);
        if (w != PITH_VALUE_NONE)
            sum += (double)pith_value_elems(&m->values[m->nodes[i].out[0]]) *
                   (double)m->values[w].constant->count / m->values[w].dim[0];
    }
    return sum;
}

static double most_runs(const struct pith_model *m)
{
    double most = fmin(RUNS, PRODUCTS / fmax(products_of(m), 1));
    return m->n_nodes > FULL_RUNS ? fmin(most, (double)RUNS * FULL_RUNS / m->n_nodes) : most;
}

static enum pith_status search(struct search *s)
{
    const double most = most_runs(s->m);
    struct group **order = malloc((s->n + (size_t)1) * sizeof *order);
    enum pith_status st = order ? PITH_OK : pith_error_no_memory(s->err);
    double total = 0, done = 0;
    for (uint32_t i = 0; i < s->n && !st && !s->outputs.stopped; i++) {
        struct group *g = order[i] = &s->group[i];
        copy_grid(&s->grid, &g->grid);
        pith_output_trial_behind(&s->outputs, step_of(s, g));
        st = measure(s, g, 0, 1, FIRST, HUGE_VAL, &g->first_error);
        total += g->first_error;
    }
    if (!st && !s->outputs.stopped)
        qsort(order, s->n, sizeof(struct group *), by_error);
    for (uint32_t i = 0; i < s->n && !st && !s->outputs.stopped && (double)s->runs < most &&
                         total - done > REST * total;
         i++) {
        done += order[i]->first_error;
        st = search_group(s, order[i]);
    }
    free(order);
    return st;
}

static enum pith_status install(struct search *s)
{
    struct pith_model *m = s->m;
    for (uint32_t i = 0; i < s->n; i++) {
        const struct group *g = &s->group[i];
        if (!g->changed)
            continue;
        struct pith_grid *grid = pith_model_alloc(m, 1, sizeof *grid);
        float *scale = pith_model_alloc(m, g->grid.n, sizeof *scale);
        if (!grid || !scale)
            return pith_error_no_memory(s->err);
        memcpy(scale, g->grid.scale, g->grid.n * sizeof *scale);
        *grid = g->grid;
        grid->scale = scale;
        for (uint32_t v = 0; v < m->n_values; v++)
            if (s->group_of[v] == i)
                m->values[v].grid = grid;
    }
    return PITH_OK;
}

/* The larger the network, the fewer. */
static uint32_t samples_for(const struct search *s)
{
    uint64_t numbers = 1;
    for (uint32_t v = 0; v < s->m->n_values; v++) {
        uint64_t n = 1;
        for (uint32_t i = 0; i < s->m->values[v].rank; i++)
            n *= s->m->values[v].dim[i];
        numbers += s->group_of[v] != NO_GROUP ? n : 0;
    }
    uint64_t most = NUMBERS / numbers;
    return most < FEWEST ? FEWEST : most < MOST ? (uint32_t)most : MOST;
}

static enum pith_status search_grids(struct search *s, const struct pith_quantize_opts *opts,
                                     const struct pith_calibrate_opts *samples)
{
    enum pith_status st = find_groups(s, opts);
    if (!st && s->n > 0)
        st = pith_output_trial_open(&s->outputs, s->m, samples, samples_for(s), s->err);
    if (!st && s->n > 0 && s->outputs.apart && (double)s->n <= most_runs(s->m) / FIRST)
        st = search(s);
    if (!st && s->n > 0)
        st = install(s);
    pith_output_trial_close(&s->outputs);
    for (uint32_t i = 0; i < s->n; i++)
        free(s->group[i].grid.scale);
    free(s->grid.scale);
    free(s->was.scale);
    free(s->group);
    free(s->group_of);
    free(s->is_rounded);
    return st;
}

enum pith_status pith_search_ranges(struct pith_model *m, const struct pith_quantize_opts *opts,
                                    const struct pith_calibrate_opts *samples,
                                    struct pith_error *err)
{
    struct search s = {
        .m = m, .outputs = {.change = put_on_grid, .user = &s, .most_bytes = MIDDLE}, .err = err};
    if (opts->fixed_bits || pith_activation_bits(opts) > 8)
        return PITH_OK;
    enum pith_status st = pith_model_fold_batch_norm(m, NULL, err);
    if (!st)
        st = pith_fold_affine(m, err);
    if (!st)
        st = pith_transpose_weights(m, opts, err);
    return st ? st : search_grids(&s, opts, samples);
}
