/* SPDX-License-Identifier: MIT */
/* optimizer.c - SGD with momentum, Nesterov's form of it, Adam (Kingma and Ba, 2015), AdamW
 * (Loshchilov and Hutter, 2019), over what is free to move.
 *
 * Each parameter tensor has a vector of latent weights (parametrization.h). What they cost the file
 * decides which of them are removed and does not pull at them: a pull along the bits, straight
 * through the rounding, brings every latent weight to the edge of its level, where it swings
 * (docs/tried.md). */
#include "optimizer.h"

#include "parametrization.h"
#include "train/kernels/train_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEAD_BELOW 0.12f /* of a step */

struct optimizer {
    struct tape *tape; /* whose threads it takes */
    const struct channel_rows *rows;
    struct pith_train_opts opts;
    uint32_t n;
    struct parametrization *of;
    struct gradual_pruning *pruned; /* NULL: nothing is removed */
    float **pruned_value;           /* of its tensors */
    uint64_t step, n_steps;
};

static bool is_adam(const struct pith_train_opts *o)
{
    return o->optimizer == PITH_ADAM || o->optimizer == PITH_ADAMW;
}

/* ---- memory ---------------------------------------------------------------------------------- */

void pith_optimizer_free(struct optimizer *o)
{
    if (!o)
        return;
    for (uint32_t i = 0; i < o->n && o->of; i++)
        pith_latent_close(&o->of[i]);
    free(o->of);
    pith_gradual_free(o->pruned);
    free(o->pruned_value);
    free(o);
}

static float *floats(uint64_t n)
{
    return calloc((size_t)n + 1, sizeof(float));
}

static bool open_moments(const struct pith_train_opts *opts, struct parametrization *f)
{
    bool adam = is_adam(opts), first = adam || opts->momentum > 0;
    if (first)
        f->first = floats(f->n);
    if (adam)
        f->second = floats(f->n);
    return (!first || f->first) && (!adam || f->second);
}

/* Which numbers may be removed, before the grids are laid. */
static enum pith_status open_gradual_pruning(struct optimizer *o, const struct pith_model *m,
                                             struct tape *t, struct pith_error *err)
{
    uint32_t n = 0;
    if (!(o->opts.sparsity > 0) && o->opts.levels == 0)
        return PITH_OK;
    enum pith_status status = pith_gradual_new(m, t, &o->opts, &o->pruned, err);
    struct pruned_tensor *w = status ? NULL : pith_gradual_tensors(o->pruned, &n);
    for (uint32_t i = 0; i < n; i++)
        o->of[w[i].parameter].pruned = &w[i];
    o->pruned_value = calloc(n + 1u, sizeof *o->pruned_value);
    if (!status && !o->pruned_value)
        status = pith_tape_no_memory(err);
    return status;
}

/* given[n_values], zeroed: true where the value is a scale or shift that will go into a
 * convolution, and so takes no grid of its own while the run lasts. */
static enum pith_status mark_norms(struct pith_model *m, bool *given, struct pith_error *err)
{
    bool *folds = calloc(m->n_nodes + 1u, sizeof *folds);
    enum pith_status status =
        folds ? pith_model_find_foldable(m, folds, err) : pith_tape_no_memory(err);
    for (uint32_t i = 0; i < m->n_nodes && !status; i++)
        if (folds[i]) {
            given[m->nodes[i].in[1]] = true;
            given[m->nodes[i].in[2]] = true;
        }
    free(folds);
    return status;
}

static enum pith_status open_all(struct optimizer *o, struct pith_model *m, struct tape *t,
                                 struct pith_error *err)
{
    struct tape_parameter *p = pith_tape_parameters(t, &o->n);
    o->of = calloc(o->n + 1u, sizeof *o->of);
    bool *given = calloc(m->n_values + 1u, sizeof *given); /* to a convolution, in the end */
    enum pith_status status = o->of && given ? open_gradual_pruning(o, m, t, err) : PITH_ERR_MEMORY;
    if (!status && o->opts.norms == PITH_NORMS_FOLD)
        status = mark_norms(m, given, err);
    for (uint32_t i = 0; i < o->n && !status; i++) {
        struct parametrization *f = &o->of[i];
        struct pith_train_opts opts = o->opts;
        f->p = &p[i];
        f->c = m->values[p[i].value].constant;
        f->given = given[p[i].value];
        if (f->given)
            opts.bias_levels = 0;
        if (!pith_latent_open(m, &opts, f) || !open_moments(&opts, f))
            status = PITH_ERR_MEMORY;
    }
    free(given);
    if (status == PITH_ERR_MEMORY)
        return pith_tape_no_memory(err);
    for (uint32_t i = 0; i < o->n && !status && o->pruned; i++)
        if (o->of[i].pruned) {
            uint32_t n;
            size_t at = (size_t)(o->of[i].pruned - pith_gradual_tensors(o->pruned, &n));
            o->pruned_value[at] = o->of[i].grid ? o->of[i].value : p[i].data;
        }
    return status;
}

enum pith_status pith_optimizer_new(struct pith_model *m, struct tape *t,
                                    const struct pith_train_opts *opts, uint64_t n_steps,
                                    struct optimizer **o, struct pith_error *err)
{
    struct optimizer *made = calloc(1, sizeof *made);
    if (!made)
        return pith_tape_no_memory(err);
    made->opts = *opts;
    made->n_steps = n_steps;
    made->tape = t;
    made->rows = pith_train_kernels().rows;
    enum pith_status status = open_all(made, m, t, err);
    if (status)
        pith_optimizer_free(made);
    else
        *o = made;
    return status;
}

/* Whatever a step leaves for the next one belongs here, or in what is called. */
void pith_optimizer_state(struct optimizer *o, struct checkpoint *c)
{
    for (uint32_t i = 0; i < o->n; i++)
        pith_latent_state(&o->of[i], i, c);
    if (o->pruned)
        pith_gradual_state(o->pruned, c);
}

void pith_optimizer_resumed(struct optimizer *o, uint64_t step)
{
    o->step = step;
    if (o->pruned)
        pith_gradual_resumed(o->pruned);
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* A step goes over all numbers in ranges, one of each tensor on each of eight turns: the same
 * ranges and the same order of sums whatever the number of threads. */
struct pass {
    struct optimizer *o;
    float scale, rate, clip, to_level;
    double squares[PITH_TRAIN_SLICES];
};

static uint64_t range_begin(uint64_t n, uint32_t slice)
{
    return n / PITH_TRAIN_SLICES * slice + n % PITH_TRAIN_SLICES * slice / PITH_TRAIN_SLICES;
}

/* Four sums, so that they need not wait for each other. */
static double sum_squares(const float *x, uint64_t n)
{
    double sum[4] = {0, 0, 0, 0};
    for (uint64_t k = 0; k + 4 <= n; k += 4)
        for (int i = 0; i < 4; i++)
            sum[i] += (double)x[k + (uint64_t)i] * (double)x[k + (uint64_t)i];
    for (uint64_t k = n - n % 4; k < n; k++)
        sum[0] += (double)x[k] * (double)x[k];
    return sum[0] + sum[1] + (sum[2] + sum[3]);
}

static void gather_slice(void *arg, uint32_t slice)
{
    struct pass *pass = arg;
    double squares = 0;
    for (uint32_t i = 0; i < pass->o->n; i++) {
        struct parametrization *f = &pass->o->of[i];
        uint64_t begin = range_begin(f->n, slice), end = range_begin(f->n, slice + 1);
        if (pith_latent_each_alone(f))
            pith_latent_gather_range(f, pass->scale, begin, end);
        squares += sum_squares(f->grad + begin, end - begin);
    }
    pass->squares[slice] = squares;
}

/* All gradients, and their norm. */
static double gather(struct pass *pass)
{
    double sum = 0;
    for (uint32_t i = 0; i < pass->o->n; i++)
        if (!pith_latent_each_alone(&pass->o->of[i]))
            pith_latent_gather(&pass->o->of[i], pass->scale);
    pith_tape_ranges(pass->o->tape, gather_slice, pass);
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++)
        sum += pass->squares[s];
    return sqrt(sum);
}

/* The share of the run that is over. */
static double over(const struct optimizer *o)
{
    return (double)o->step / (double)o->n_steps;
}

/* The share of its way to its level that a number on a grid goes at this step. */
static float to_level(const struct optimizer *o)
{
    return (float)((double)o->opts.oscillation_damping * over(o) * over(o));
}

static void move_adam(const struct pass *pass, struct parametrization *f, uint64_t begin,
                      uint64_t end, float decay)
{
    const struct optimizer *o = pass->o;
    const float b1 = 0.9f, b2 = 0.999f; /* as Kingma and Ba (2015) have them */
    float c1 = (float)(1 / (1 - pow((double)b1, (double)o->step)));
    float c2 = (float)(1 / (1 - pow((double)b2, (double)o->step)));
    bool apart = o->opts.optimizer == PITH_ADAMW;
    const struct adam_step step = {.b1 = b1,
                                   .b2 = b2,
                                   .c1 = c1,
                                   .c2 = c2,
                                   .clip = pass->clip,
                                   .mixed = apart ? 0.0f : decay,
                                   .own = apart ? decay : 0.0f,
                                   .rate = pass->rate};
    o->rows->adam(&step, f->grad + begin, f->first + begin, f->second + begin, f->value + begin,
                  (size_t)(end - begin));
}

static void move_sgd(const struct pass *pass, struct parametrization *f, uint64_t begin,
                     uint64_t end, float decay)
{
    float mu = pass->o->opts.momentum;
    bool ahead = pass->o->opts.optimizer == PITH_NESTEROV;
    for (uint64_t k = begin; k < end; k++) {
        float g = f->grad[k] * pass->clip + decay * f->value[k];
        if (f->first) {
            f->first[k] = mu * f->first[k] + g;
            g = ahead ? g + mu * f->first[k] : f->first[k];
        }
        f->value[k] -= pass->rate * g;
    }
}

/* Numbers begin .. end. */
static void move(const struct pass *pass, struct parametrization *f, uint64_t begin, uint64_t end,
                 float decay)
{
    if (is_adam(&pass->o->opts))
        move_adam(pass, f, begin, end, decay);
    else
        move_sgd(pass, f, begin, end, decay);
}

static void move_slice(void *arg, uint32_t slice)
{
    struct pass *pass = arg;
    for (uint32_t i = 0; i < pass->o->n; i++) {
        struct parametrization *f = &pass->o->of[i];
        uint64_t begin = range_begin(f->n, slice), end = range_begin(f->n, slice + 1);
        /* learned step sizes do not decay */
        uint64_t weights = f->fake ? f->p->count : f->n;
        uint64_t middle = weights < begin ? begin : weights < end ? weights : end;
        float decay = f->p->is_weight ? pass->o->opts.weight_decay : 0.0f;
        move(pass, f, begin, middle, decay);
        move(pass, f, middle, end, 0);
        pith_latent_damp(f, pass->to_level, begin, end);
    }
}

/* What costs the loss least goes; a grid's latent weights that are all but zero, too. */
static void prune_least(struct optimizer *o, double rate)
{
    for (uint32_t i = 0; i < o->n; i++) {
        struct parametrization *f = &o->of[i];
        if (f->pruned && f->grid && f->pruned->is_weight && o->opts.sparsity > 0)
            f->pruned->dead_below = DEAD_BELOW * f->grid->step;
    }
    pith_gradual_step(o->pruned, o->step - 1, o->n_steps, o->pruned_value);
    if (!pith_gradual_due(&o->opts, o->step - 1, o->n_steps))
        return;
    for (uint32_t i = 0; i < o->n; i++)
        pith_latent_fit_grid(&o->of[i], rate / (double)o->opts.rate);
}

double pith_optimizer_step(struct optimizer *o, double rate, uint32_t n_samples)
{
    struct pass pass = {.o = o, .scale = 1.0f / (float)n_samples, .rate = (float)rate, .clip = 1};
    double length = gather(&pass), limit = (double)o->opts.clip_norm;
    if (!isfinite(length))
        return length;
    if (limit > 0 && length > limit)
        pass.clip = (float)(limit / length);
    o->step++;
    pass.to_level = to_level(o);
    pith_tape_ranges(o->tape, move_slice, &pass);
    if (o->pruned)
        prune_least(o, rate);
    for (uint32_t i = 0; i < o->n; i++)
        if (o->of[i].c->mask || o->of[i].own)
            pith_latent_spread(&o->of[i], o->of[i].value, o->of[i].p->data);
    return length;
}

void pith_optimizer_store(struct optimizer *o)
{
    for (uint32_t i = 0; i < o->n; i++)
        pith_latent_store(&o->of[i]);
}

uint64_t pith_optimizer_kept(const struct optimizer *o)
{
    uint64_t kept = 0;
    for (uint32_t i = 0; i < o->n; i++)
        if (o->of[i].p->is_weight)
            for (uint64_t k = 0; k < o->of[i].p->count; k++)
                kept += o->of[i].p->data[k] != 0;
    return kept;
}

double pith_optimizer_bytes(const struct optimizer *o)
{
    double bytes = 0;
    for (uint32_t i = 0; i < o->n; i++)
        bytes += pith_latent_bytes(&o->of[i]);
    return o->opts.levels ? bytes : NAN;
}
