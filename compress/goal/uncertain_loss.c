/* SPDX-License-Identifier: MIT */
#include "uncertain_loss.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_P 1e-30   /* of a class: its logarithm is a number */
#define MOST_SCORE 1e6  /* of a logit: the softmax is 0 or 1 far before */
#define SHARE 8u        /* one in so many samples stands for the unmeasured ones */
#define FACTORS 8u      /* that scores are drawn nearer by */
#define MOST_ERRORS 16u /* of other samples, that each tries */

struct sample {
    double margin; /* between the two largest scores */
    uint64_t number;
};

struct samples {
    uint64_t n, classes;
    bool softmax;
    const float *was, *now;
    double *p, *q;         /* owns: [classes] logarithms of a distribution */
    struct sample *sample; /* owns: [n] the least certain first */
};

/* ---- a distribution -------------------------------------------------------------------------- */

/* Finite: an infinite logit is as far off as matters, and what is NaN has been counted. */
static double score(const struct samples *s, const float *y, uint64_t k)
{
    double x = (double)y[k];
    if (s->softmax)
        return log(fmax(x, LEAST_P));
    return isnan(x) ? 0 : fmax(-MOST_SCORE, fmin(x, MOST_SCORE));
}

static void normalize(double *log_p, uint64_t n)
{
    double most = -HUGE_VAL, sum = 0;
    for (uint64_t k = 0; k < n; k++)
        most = fmax(most, log_p[k]);
    for (uint64_t k = 0; k < n; k++)
        sum += exp(log_p[k] - most);
    for (uint64_t k = 0; k < n; k++)
        log_p[k] -= most + log(sum);
}

static double divergence(const struct samples *s)
{
    double kl = 0;
    normalize(s->p, s->classes);
    normalize(s->q, s->classes);
    for (uint64_t k = 0; k < s->classes; k++)
        kl += exp(s->p[k]) * (s->p[k] - s->q[k]);
    return isfinite(kl) ? fmax(kl, 0) : -log(LEAST_P);
}

/* Of sample i with its scores times `by`, and the error of sample j. */
static double with_error(const struct samples *s, uint64_t i, double by, uint64_t j)
{
    const float *y = s->was + i * s->classes, *a = s->was + j * s->classes,
                *b = s->now + j * s->classes;
    for (uint64_t k = 0; k < s->classes; k++) {
        s->p[k] = by * score(s, y, k);
        s->q[k] = s->p[k] + score(s, b, k) - score(s, a, k);
    }
    return divergence(s);
}

/* ---- the least certain ----------------------------------------------------------------------- */

static double margin_of(const struct samples *s, uint64_t i)
{
    const float *y = s->was + i * s->classes;
    double first = -HUGE_VAL, second = -HUGE_VAL;
    for (uint64_t k = 0; k < s->classes; k++) {
        double x = score(s, y, k);
        second = fmax(second, fmin(first, x));
        first = fmax(first, x);
    }
    return first - second;
}

static int by_margin(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;
    if (x->margin != y->margin)
        return x->margin < y->margin ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* What number `i` of the least certain stands for; `lenders` of them lend errors. */
static double stand_in(const struct samples *s, uint64_t i, uint64_t lenders)
{
    const uint64_t errors = lenders < MOST_ERRORS ? lenders : MOST_ERRORS;
    double sum = 0;
    for (uint64_t e = 0; e < errors; e++)
        for (uint32_t f = 0; f < FACTORS; f++)
            sum += with_error(s, s->sample[i].number, (f + 0.5) / FACTORS,
                              s->sample[(i + e * lenders / errors) % lenders].number);
    return sum / (double)(errors * FACTORS);
}

static double mean_loss(const struct samples *s)
{
    const uint64_t few = (s->n + SHARE - 1) / SHARE, lenders = 2 * few < s->n ? 2 * few : s->n;
    double sum = 0;
    for (uint64_t i = 0; i < s->n; i++)
        s->sample[i] = (struct sample){margin_of(s, i), i};
    qsort(s->sample, (size_t)s->n, sizeof *s->sample, by_margin);
    for (uint64_t i = 0; i < s->n; i++)
        sum += i < few ? stand_in(s, i, lenders)
                       : with_error(s, s->sample[i].number, 1, s->sample[i].number);
    return sum / (double)s->n;
}

double pith_score_variance(const struct output_kind *kind, const float *y)
{
    const struct samples s = {.softmax = kind->softmax};
    double sum = 0, squares = 0;
    for (uint64_t k = 0; k < kind->classes; k++) {
        double x = score(&s, y, k);
        sum += x / kind->classes;
        squares += x * x / kind->classes;
    }
    return fmax(squares - sum * sum, 0);
}

bool pith_uncertain_loss(const struct output_kind *kind, const float *was, const float *now,
                         uint64_t n, double *kl)
{
    struct samples s = {.n = n,
                        .classes = kind->classes,
                        .softmax = kind->softmax,
                        .was = was,
                        .now = now,
                        .p = malloc(kind->classes * sizeof *s.p),
                        .q = malloc(kind->classes * sizeof *s.q),
                        .sample = malloc((size_t)n * sizeof *s.sample)};
    bool room = s.p && s.q && s.sample;
    if (room)
        *kl = mean_loss(&s);
    free(s.p);
    free(s.q);
    free(s.sample);
    return room;
}
