/* SPDX-License-Identifier: MIT */
/* choose_by_output.c - auto: of the ranges that the methods propose, and of narrower ones, the one
 * whose rounding changes the network's outputs least. What a range cuts off may be worth nothing to
 * the outputs, or everything; the value's statistics do not show which.
 *
 * A few samples are run once as they are. Then one value at a time is put on a candidate's grid
 * while all else stays float, and the squared difference of the outputs (of what a final Softmax
 * gets) is summed. Over values these sums add up, as errors of roundings that know nothing of each
 * other do, so each value can be decided alone.
 *
 * Runs are what this costs, so few are made, and those that differ from the one before in nothing
 * but a grid begin behind the value. Candidates whose step differs by less than ALIKE are one;
 * values that no layer with weights follows, and which therefore stay float, are left to the least
 * squared error, as are those with one candidate, and the parts of a Concat, which is tried as a
 * whole. The others are put on that candidate for one sample, and are visited from the largest
 * effect on the outputs down: those that together make up less than REST of it keep it, and all
 * where the outputs differ by less than ENOUGH of them with all values on it at once. Coarser and
 * finer steps are tried on a quarter of the samples as long as the outputs get better. The best
 * other candidate must be better by GAIN there to be tried on all, and by as much on all to be
 * taken: what is better by less on so few is chance. */
#include "grid_choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"
#include "observed_detail.h"
#include "core/op_number.h"
#include "op_interface/op_traits.h"
#include "output_trial.h"

#define LEAST_SAMPLES 4u
#define MOST_SAMPLES 16u
#define NUMBERS (1u << 27) /* put on grids, once with each sample: MobileNet-v2 has 16 samples */
#define FIRST 4u           /* one in so many samples ranks a value's candidates */
#define MOST_WORSE 2u      /* steps in a row */
#define REST 0.3           /* of all error */
#define ENOUGH 1e-4        /* of the outputs: 40 dB */
#define GAIN 0.1
#define ALIKE 0.03
#define MIDDLE                                                                                     \
    ((size_t)32 << 20) /* bytes of what is alive where a value is changed, of all samples */

struct trial {
    struct output_trial outputs;
    struct pith_model *m;
    struct grid_choice **order;     /* owns: the values that are tried */
    const struct pith_grid **first; /* owns: the grid of each one's first candidate */
    struct {
        const struct grid_choice *choice; /* whose value is put on `grid` */
        const struct pith_grid *grid;
    } lane[PITH_TRIAL_LANES];
    uint32_t n_together; /* first candidates that all are put on at once; 0: one alone */
    struct pith_error *err;
};

static void put_on_grid(void *user, uint32_t lane, uint32_t value, float *x, size_t n)
{
    const struct trial *t = user;
    for (uint32_t i = 0; i < t->n_together; i++)
        if (t->order[i]->value == value)
            pith_choice_apply(t->m, t->order[i], t->first[i], x, n);
    if (t->n_together == 0 && t->lane[lane].choice->value == value)
        pith_choice_apply(t->m, t->lane[lane].choice, t->lane[lane].grid, x, n);
}

/* ---- which values matter --------------------------------------------------------------------- */

/* Nodes are in an order of execution; what a loop brings back may be read by any layer in it. */
static void mark_before_layers(const struct pith_model *m, bool *leads)
{
    for (uint32_t i = m->n_nodes; i-- > 0;) {
        const struct pith_node *node = &m->nodes[i];
        bool on = pith_op_has_weight(node->op) || node->op == PITH_OP_LOOP_END;
        for (uint32_t k = 0; k < node->n_out; k++)
            on |= leads[node->out[k]];
        for (uint32_t k = 0; k < node->n_in && on; k++)
            if (node->in[k] != PITH_VALUE_NONE)
                leads[node->in[k]] = true;
    }
}

static bool joins(const struct pith_model *m, const struct pith_node *node, uint32_t input)
{
    (void)m;
    (void)input;
    return node->op == PITH_OP_CONCAT;
}

void pith_values_to_try(const struct pith_model *m, bool *to_try, bool *scratch)
{
    mark_before_layers(m, to_try);
    pith_mark_readers(m, joins, scratch);
    for (uint32_t v = 0; v < m->n_values; v++)
        to_try[v] = to_try[v] && !scratch[v];
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* What is done in this lane from now on; the node that gives the value. */
static uint32_t put(struct trial *t, uint32_t lane, const struct grid_choice *c,
                    const struct pith_grid *g)
{
    const struct pith_node *node = pith_model_producer(t->m, c->value);
    t->lane[lane].choice = c;
    t->lane[lane].grid = g;
    return node ? (uint32_t)(node - t->m->nodes) : NO_STEP;
}

/* The first `to` samples, or as many of them as it takes to reach an error of `most`. */
static enum pith_status measure(struct trial *t, struct grid_choice *c, uint32_t k, uint32_t to,
                                double most, const struct grid_kind *kind)
{
    struct candidate *candidate = &c->candidate[k];
    struct output_trial *o = &t->outputs;
    double error;
    if (candidate->n_samples >= to)
        return PITH_OK;
    struct pith_grid *g = pith_choice_grid(t->m, c, k, kind);
    if (!g)
        return pith_error_no_memory(t->err);
    for (uint32_t lane = 0; lane < PITH_TRIAL_LANES; lane++)
        pith_output_trial_behind(o, put(t, lane, c, g));
    const double before = o->apart ? candidate->error : 0;
    enum pith_status st = pith_output_trial_run(o, candidate->n_samples, to, most - before, &error);
    candidate->error = before + error;
    candidate->n_samples = to;
    return st;
}

static bool alike(const struct simple_grid *a, const struct simple_grid *b)
{
    return fabs((double)a->scale / (double)b->scale - 1) < ALIKE &&
           abs(a->zero_point - b->zero_point) <= (int)(ALIKE * (a->highest - a->lowest));
}

static int by_step(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return x->grid.scale < y->grid.scale ? -1 : x->grid.scale > y->grid.scale;
}

/* The first is the one with the least squared error of the value, the others stand by step; of
 * several alike one stays. */
static void order_candidates(struct grid_choice *c)
{
    struct candidate kept[METHODS + NARROWER];
    uint32_t n = 0, first = 0;
    for (uint32_t k = c->n; k-- > 0;) /* the narrower ones stand behind it */
        if (c->candidate[k].method == PITH_RANGE_MSE)
            first = k;
    kept[n++] = c->candidate[first];
    for (uint32_t k = 0; k < c->n; k++) {
        bool known = false;
        for (uint32_t i = 0; i < n; i++)
            known |= alike(&c->candidate[k].grid, &kept[i].grid);
        if (!known)
            kept[n++] = c->candidate[k];
    }
    qsort(kept + 1, n - 1, sizeof *kept, by_step);
    memcpy(c->candidate, kept, n * sizeof *kept);
    c->n = n;
}

static int by_effect(const void *a, const void *b)
{
    const struct grid_choice *x = *(struct grid_choice *const *)a,
                             *y = *(struct grid_choice *const *)b;
    if (x->candidate[0].error != y->candidate[0].error)
        return x->candidate[0].error > y->candidate[0].error ? -1 : 1;
    return x->value < y->value ? -1 : 1;
}

/* By enough, on those samples that both were tried on? */
static bool is_better(const struct candidate *a, const struct candidate *than)
{
    return a->error < (1 - GAIN) * than->error;
}

static uint32_t first_samples(const struct trial *t)
{
    return (t->outputs.n_samples + FIRST - 1) / FIRST;
}

/* From the first candidate's step to finer or coarser ones: finer steps round less and cut off
 * more, so that behind the best one all are worse. One may be worse by chance, two in a row end it.
 */
static enum pith_status climb(struct trial *t, struct grid_choice *c, const struct grid_kind *kind,
                              bool coarser, uint32_t *best)
{
    enum pith_status st = PITH_OK;
    uint32_t worse = 0;
    for (uint32_t i = 1; i < c->n && worse < MOST_WORSE && !st && !t->outputs.stopped; i++) {
        const uint32_t k = coarser ? i : c->n - i;
        if ((c->candidate[k].grid.scale > c->candidate[0].grid.scale) != coarser)
            continue;
        st = measure(t, c, k, first_samples(t), c->candidate[*best].error, kind);
        worse = c->candidate[k].error > c->candidate[*best].error ? worse + 1 : 0;
        if (c->candidate[k].error < c->candidate[*best].error)
            *best = k;
    }
    return st;
}

/* The best on the first samples, if by GAIN, is tried on all. Errors grow with every sample: a
 * candidate that has reached the best one's cannot win any more. */
static enum pith_status take_best(struct trial *t, struct grid_choice *c,
                                  const struct grid_kind *kind)
{
    uint32_t best = 0;
    enum pith_status st = measure(t, c, 0, first_samples(t), HUGE_VAL, kind);
    if (!st)
        st = climb(t, c, kind, false, &best);
    if (!st)
        st = climb(t, c, kind, true, &best);
    if (st || t->outputs.stopped || !is_better(&c->candidate[best], &c->candidate[0]))
        return st;
    st = measure(t, c, 0, t->outputs.n_samples, HUGE_VAL, kind);
    if (!st)
        st = measure(t, c, best, t->outputs.n_samples, c->candidate[0].error, kind);
    if (is_better(&c->candidate[best], &c->candidate[0]))
        c->taken = best;
    return st;
}

static uint32_t put_first(void *user, uint32_t lane, uint32_t i)
{
    struct trial *t = user;
    return put(t, lane, t->order[i], t->first[i]);
}

static uint32_t put_all(void *user, uint32_t lane, uint32_t i)
{
    (void)user, (void)lane, (void)i;
    return NO_STEP;
}

/* error: [n] of the outputs, with each first candidate alone, on one sample; 0 where all together
 * are less than ENOUGH. */
static enum pith_status try_first(struct trial *t, uint32_t n, const struct grid_kind *kind,
                                  double *error)
{
    double together = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!(t->first[i] = pith_choice_grid(t->m, t->order[i], 0, kind)))
            return pith_error_no_memory(t->err);
    t->n_together = n;
    enum pith_status st = pith_output_trial_each(&t->outputs, n > 0, put_all, &together);
    t->n_together = 0;
    return st || together < ENOUGH * t->outputs.signal[0]
               ? st
               : pith_output_trial_each(&t->outputs, n, put_first, error);
}

/* By these errors; *total: of all. */
static enum pith_status rank(struct trial *t, uint32_t n, const struct grid_kind *kind,
                             double *total)
{
    double *error = calloc(n + (size_t)1, sizeof *error);
    enum pith_status st = error ? try_first(t, n, kind, error) : pith_error_no_memory(t->err);
    *total = 0;
    for (uint32_t i = 0; i < n && !st; i++) {
        t->order[i]->candidate[0].error = error[i];
        t->order[i]->candidate[0].n_samples = 1;
        *total += error[i];
    }
    free(error);
    qsort(t->order, n, sizeof *t->order, by_effect);
    return st;
}

static enum pith_status choose(struct trial *t, uint32_t n, const struct grid_kind *kind)
{
    double total, done = 0;
    enum pith_status st = rank(t, n, kind, &total);
    for (uint32_t i = 0; i < n && !st && !t->outputs.stopped && total - done > REST * total; i++) {
        done += t->order[i]->candidate[0].error; /* before it grows with more samples */
        st = take_best(t, t->order[i], kind);
    }
    return st;
}

/* order: those with something to choose; returns how many. */
static uint32_t collect(struct grid_choice *choices, uint32_t n, struct grid_choice **order)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++) {
        order_candidates(&choices[i]);
        if (choices[i].n > 1)
            order[found++] = &choices[i];
    }
    return found;
}

/* The larger the network, the fewer. */
static uint32_t samples_for(const struct trial *t, struct grid_choice *const *order, uint32_t n)
{
    uint64_t numbers = 1;
    for (uint32_t i = 0; i < n; i++)
        numbers += pith_value_elems(&t->m->values[order[i]->value]);
    const uint64_t most = NUMBERS / numbers;
    return most < LEAST_SAMPLES  ? LEAST_SAMPLES
           : most < MOST_SAMPLES ? (uint32_t)most
                                 : MOST_SAMPLES;
}

enum pith_status pith_choose_by_output(struct pith_model *m, const struct grid_choices *of,
                                       const struct pith_calibrate_opts *samples, uint64_t *n_runs,
                                       struct pith_error *err)
{
    uint32_t n = of->n;
    struct trial t = {
        .outputs = {.change = put_on_grid, .user = &t, .most_bytes = MIDDLE}, .m = m, .err = err};
    t.order = calloc(n + (size_t)1, sizeof *t.order);
    t.first = calloc(n + (size_t)1, sizeof *t.first);
    enum pith_status st = t.order && t.first ? PITH_OK : pith_error_no_memory(err);
    if (!st)
        n = collect(of->choice, n, t.order);
    if (!st)
        st = pith_output_trial_open(&t.outputs, m, samples, samples_for(&t, t.order, n), err);
    if (!st)
        st = choose(&t, n, &of->kind);
    *n_runs = t.outputs.n_runs;
    pith_output_trial_close(&t.outputs);
    free(t.order);
    free(t.first);
    return st;
}
