/* SPDX-License-Identifier: MIT */
#include "sampled_fisher.h"

#include <math.h>

#include "base/error_fill.h"
#include "kernels/kernel_row.h"
#include "base/seeded_random.h"
#include "train/batch/loss.h"
#include "train/batch/scores.h"
#include "train/tape/tape_state.h"

/* How one of the classes p is drawn: i with p_i, or with p_i |p - i|^2. */
struct class_draw {
    const float *p;
    uint32_t classes;
    bool by_gradient;
    double square; /* |p|^2 */
    double all;    /* what is drawn with, of all classes */
};

/* |p - i|^2, which is 1 - 2 p_i + |p|^2, without a difference of two numbers near 1. */
static double gradient_of(const struct class_draw *d, uint32_t i)
{
    const double p = (double)d->p[i], others = d->square - p * p;
    return (1 - p) * (1 - p) + (others > 0 ? others : 0);
}

static double drawn_with(const struct class_draw *d, uint32_t i)
{
    return (double)d->p[i] * (d->by_gradient ? gradient_of(d, i) : 1);
}

/* Where a class has probability 1 no draw has a gradient, and p draws. */
static struct class_draw open_draw(uint32_t classes, const float *p, bool by_gradient)
{
    struct class_draw d = {.p = p, .classes = classes, .by_gradient = by_gradient};
    for (uint32_t i = 0; i < classes; i++)
        d.square += (double)p[i] * (double)p[i];
    for (uint32_t i = 0; i < classes && by_gradient; i++)
        d.all += drawn_with(&d, i);
    d.by_gradient = d.all > 0;
    d.all = d.by_gradient ? d.all : 1;
    return d;
}

static uint32_t draw_one(const struct class_draw *d, uint64_t *random)
{
    const double at = random_unit(random) * d->all;
    double sum = 0;
    for (uint32_t i = 0; i + 1 < d->classes; i++) {
        sum += drawn_with(d, i);
        if (at < sum)
            return i;
    }
    return d->classes - 1;
}

/* The gradient of one draw of the classes p, whose place it takes: (p - drawn) / t. By gradient all
 * have the length that they have on the mean of plain draws: squares keep their mean and lose
 * nearly all of what they scatter by (importance sampling). One in 1,000 draws of an answer that is
 * nearly sure would else have all of its square. */
static void draw_class(uint32_t classes, float t, bool by_gradient, uint64_t *random, float *p)
{
    const struct class_draw d = open_draw(classes, p, by_gradient);
    const uint32_t drawn = draw_one(&d, random);
    const double length = d.by_gradient ? gradient_of(&d, drawn) : 0,
                 by = length > 0 ? sqrt(d.all / length) : 1;
    p[drawn] -= 1;
    for (uint32_t i = 0; i < classes; i++)
        p[i] = (float)(by * (double)p[i]) / t;
}

static void soften(uint32_t classes, const float *logits, float t, float *p)
{
    float most = logits[0];
    double sum = 0;
    for (uint32_t i = 1; i < classes; i++)
        most = logits[i] > most ? logits[i] : most;
    for (uint32_t i = 0; i < classes; i++)
        p[i] = (logits[i] - most) / t;
    pith_exp_row_f32(p, 0, p, classes); /* the same bits everywhere, as expf has not */
    for (uint32_t i = 0; i < classes; i++)
        sum += (double)p[i];
    for (uint32_t i = 0; i < classes; i++)
        p[i] = (float)((double)p[i] / sum);
}

static bool draws_plus(uint64_t *random)
{
    return next_random(random) >> 63;
}

/* The gradient of a draw, of the sample that is number `number` of all. */
static void draw(const struct sampled_fisher *d, uint64_t number, uint32_t elems, const float *y,
                 float *grad)
{
    const struct pith_train_opts *o = d->opts;
    uint64_t random = (o->seed + 1) * RANDOM_STRIDE + number;
    float t = d->temperature;
    for (uint32_t at = 0; at < elems && o->loss != PITH_SQUARED_ERROR; at += d->classes) {
        soften(d->classes, y + at, t, grad + at);
        draw_class(d->classes, t, d->by_gradient, &random, grad + at);
    }
    if (o->loss != PITH_SQUARED_ERROR)
        return;
    for (uint32_t i = 0; i < elems; i++)
        grad[i] = draws_plus(&random) ? 1.0f : -1.0f;
}

/* Of all outputs: independent signs, so that squares add. */
static void draw_outputs(const struct sampled_fisher *d, uint32_t slice)
{
    uint64_t random = (d->opts->seed + 1) * RANDOM_STRIDE + d->first + slice * d->per_slice;
    for (uint32_t i = 0; i < d->tape->m->n_outputs; i++) {
        struct tape_tensor *y = pith_tape_output(d->tape, slice, i);
        const float by = (float)d->output_scale[i];
        for (uint64_t k = 0; by > 0 && y->grad && k < shape_elems(&y->shape); k++)
            y->grad[k] = draws_plus(&random) ? by : -by;
    }
}

/* What the classes are drawn from. */
static struct tape_tensor *scores_of(const struct sampled_fisher *d, uint32_t slice)
{
    return d->opts->loss == PITH_SQUARED_ERROR ? pith_tape_output(d->tape, slice, 0)
                                               : pith_tape_value(d->tape, slice, d->scores);
}

static void draw_slice(void *arg, uint32_t slice)
{
    struct sampled_fisher *d = arg;
    if (d->output_scale) {
        draw_outputs(d, slice);
        return;
    }
    struct tape_tensor *y = scores_of(d, slice);
    uint32_t elems = (uint32_t)(shape_elems(&y->shape) / d->per_slice);
    for (uint32_t i = 0; i < d->per_slice; i++)
        draw(d, d->first + slice * d->per_slice + i, elems, (const float *)y->data + i * elems,
             y->grad + i * elems);
}

void pith_sampled_fisher_backward(struct sampled_fisher *d, uint64_t first)
{
    d->first = first;
    pith_tape_slices(d->tape, draw_slice, d);
    pith_tape_backward(d->tape);
}

static bool has_gradient(const struct sampled_fisher *d)
{
    bool any = !d->output_scale && scores_of(d, 0)->grad;
    for (uint32_t i = 0; d->output_scale && i < d->tape->m->n_outputs; i++)
        any = any || (d->output_scale[i] > 0 && pith_tape_output(d->tape, 0, i)->grad);
    return any;
}

static enum pith_status open_tape(const struct pith_model *m, struct tape_opts *t,
                                  struct sampled_fisher *d, struct pith_error *err)
{
    bool softmax;
    d->temperature = d->opts->teacher ? TEACHER_TEMPERATURE : 1.0f;
    d->scores = pith_run_scores(m, &softmax);
    d->classes = pith_run_classes(m, d->scores);
    t->feature = &d->scores;
    t->n_features = softmax && d->opts->loss != PITH_SQUARED_ERROR;
    t->threads = d->opts->threads;
    t->unchecked = true;
    enum pith_status status = pith_tape_new(m, t, &d->tape, err);
    if (!status && !has_gradient(d))
        status = pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                                 "no float weight has a gradient from output '%.100s'",
                                 m->values[m->outputs[0]].name);
    return status;
}

enum pith_status pith_sampled_fisher_open(const struct pith_model *m,
                                          const struct pith_train_opts *opts, uint32_t per_slice,
                                          struct sampled_fisher *d, struct pith_error *err)
{
    struct tape_opts t = {.batch = per_slice * PITH_TRAIN_SLICES, .slices = PITH_TRAIN_SLICES};
    *d = (struct sampled_fisher){.opts = opts, .per_slice = per_slice};
    return open_tape(m, &t, d, err);
}

enum pith_status pith_sampled_fisher_open_lean(const struct pith_model *m,
                                               const struct pith_train_opts *opts,
                                               void (*after)(void *user, uint32_t step), void *user,
                                               struct sampled_fisher *d, struct pith_error *err)
{
    struct tape_opts t = {
        .batch = 1, .slices = 1, .ordered = true, .borrows = true, .after = after, .user = user};
    *d = (struct sampled_fisher){
        .opts = opts, .per_slice = 1, .by_gradient = true, .output_scale = d->output_scale};
    return open_tape(m, &t, d, err);
}

void pith_sampled_fisher_close(struct sampled_fisher *d)
{
    pith_tape_free(d->tape);
    *d = (struct sampled_fisher){0};
}
