/* SPDX-License-Identifier: MIT */
#include "sampled_fisher.h"

#include <math.h>

#include "base/error_fill.h"
#include "kernels/kernel_row.h"
#include "base/seeded_random.h"
#include "train/batch/scores.h"
#include "train/tape/tape_state.h"

/* How one of the classes p is drawn: i with p_i |p - i|^2. */
struct class_draw {
    const float *p;
    uint32_t classes;
    bool by_gradient; /* false: no class has a gradient, i is drawn with p_i */
    double square;    /* |p|^2 */
    double all;       /* what is drawn with, of all classes */
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
static struct class_draw open_draw(uint32_t classes, const float *p)
{
    struct class_draw d = {.p = p, .classes = classes, .by_gradient = true};
    for (uint32_t i = 0; i < classes; i++)
        d.square += (double)p[i] * (double)p[i];
    for (uint32_t i = 0; i < classes; i++)
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
static void draw_class(uint32_t classes, float t, uint64_t *random, float *p)
{
    const struct class_draw d = open_draw(classes, p);
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

static void draw_classes(const struct sampled_fisher *d, uint64_t *random)
{
    const struct tape_tensor *y = pith_tape_value(d->tape, 0, d->scores);
    for (uint64_t at = 0; at < shape_elems(&y->shape); at += d->classes) {
        soften(d->classes, (const float *)y->data + at, d->temperature, y->grad + at);
        draw_class(d->classes, d->temperature, random, y->grad + at);
    }
}

static double scale_of(const struct sampled_fisher *d, uint32_t output)
{
    return d->output_scale ? d->output_scale[output] : output == 0;
}

/* Independent signs, so that squares add. */
static void draw_outputs(const struct sampled_fisher *d, uint64_t *random)
{
    for (uint32_t i = 0; i < d->tape->m->n_outputs; i++) {
        struct tape_tensor *y = pith_tape_output(d->tape, 0, i);
        const float by = (float)scale_of(d, i);
        for (uint64_t k = 0; by > 0 && y->grad && k < shape_elems(&y->shape); k++)
            y->grad[k] = draws_plus(random) ? by : -by;
    }
}

void pith_sampled_fisher_backward(struct sampled_fisher *d, uint64_t sample)
{
    uint64_t random = (d->seed + 1) * RANDOM_STRIDE + sample;
    if (d->squares)
        draw_outputs(d, &random);
    else
        draw_classes(d, &random);
    pith_tape_backward(d->tape);
}

static bool has_gradient(const struct sampled_fisher *d)
{
    bool any = !d->squares && pith_tape_value(d->tape, 0, d->scores)->grad;
    for (uint32_t i = 0; d->squares && i < d->tape->m->n_outputs; i++)
        any = any || (scale_of(d, i) > 0 && pith_tape_output(d->tape, 0, i)->grad);
    return any;
}

enum pith_status pith_sampled_fisher_open(const struct pith_model *m, struct sampled_fisher *d,
                                          struct pith_error *err)
{
    bool softmax;
    d->scores = pith_run_scores(m, &softmax);
    d->classes = pith_run_classes(m, d->scores);
    const struct tape_opts t = {.batch = 1,
                                .slices = 1,
                                .threads = 1,
                                .ordered = true,
                                .borrows = true,
                                .unchecked = true,
                                .feature = &d->scores,
                                .n_features = softmax && !d->squares};
    enum pith_status status = pith_tape_new(m, &t, &d->tape, err);
    if (!status && !has_gradient(d))
        status = pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                                 "no float weight has a gradient from output '%.100s'",
                                 m->values[m->outputs[0]].name);
    return status;
}

void pith_sampled_fisher_close(struct sampled_fisher *d)
{
    pith_tape_free(d->tape);
    *d = (struct sampled_fisher){0};
}
