/* SPDX-License-Identifier: MIT */
/* output_sqnr.c - answers kept from one run and compared in the next. */
#include "output_sqnr.h"

#include <math.h>
#include <stdlib.h>

#include "pith_host.h"

enum pith_status pith_sqnr_open(struct output_sqnr *a, const struct pith_model *m)
{
    *a = (struct output_sqnr){.n_outputs = m->n_outputs};
    a->output = calloc(m->n_outputs + (size_t)1, sizeof *a->output);
    return a->output ? PITH_OK : PITH_ERR_MEMORY;
}

void pith_sqnr_close(struct output_sqnr *a)
{
    for (uint32_t i = 0; a->output && i < a->n_outputs; i++)
        free(a->output[i].kept.x);
    free(a->output);
}

void pith_sqnr_begin(struct output_sqnr *a, const struct pith_model *m, bool keeps)
{
    a->keeps = keeps;
    a->signal = a->noise = 0;
    a->predictions = a->changed = 0;
    for (uint32_t i = 0; i < a->n_outputs; i++) {
        struct kept_outputs *o = &a->output[i];
        o->value = pith_answer_value(m, i);
        o->at = 0;
        o->kept.n = keeps ? 0 : o->kept.n;
    }
}

static size_t largest(const float *x, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

/* A single number has no mean to be less than. NaN and infinity are as much noise as can be, and no
 * signal. */
static void compare(struct output_sqnr *a, const float *y, const float *x, size_t n)
{
    double mean = 0, mean_change = 0, noise = 0;
    for (size_t i = 0; i < n && n > 1; i++) {
        mean += (double)y[i] / (double)n;
        mean_change += ((double)x[i] - (double)y[i]) / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        double s = (double)y[i] - mean, d = (double)x[i] - (double)y[i] - mean_change;
        a->signal += isfinite(s) ? s * s : 0;
        noise += d * d;
    }
    a->noise += isfinite(noise) ? noise : HUGE_VAL;
}

/* What a loop gives when it runs longer than it did is not compared. */
void pith_sqnr_see(struct output_sqnr *a, uint32_t value, const float *x, size_t n)
{
    for (uint32_t i = 0; i < a->n_outputs; i++) {
        struct kept_outputs *o = &a->output[i];
        if (o->value != value)
            continue;
        if (a->keeps)
            a->no_memory |= !pith_floats_keep(&o->kept, x, n);
        if (a->keeps || n > o->kept.n - o->at)
            continue;
        const float *y = o->kept.x + o->at;
        compare(a, y, x, n);
        a->predictions += i == 0;
        a->changed += i == 0 && largest(x, n) != largest(y, n);
        o->at += n;
    }
}

double pith_sqnr_db(const struct output_sqnr *a)
{
    return a->noise > 0 ? 10 * log10(a->signal / a->noise) : HUGE_VAL;
}

enum pith_status pith_sqnr_run(struct observed_run *run, uint64_t n, struct pith_error *err)
{
    uint64_t total = pith_observed_run_samples(run);
    bool apart = run->feeder.steps == 1 && run->feeder.feed->n_states == 0;
    enum pith_status st = PITH_OK;
    n = n < total ? n : total;
    for (uint64_t i = 0; i < n && !st; i++)
        st = pith_observed_run_sample(run, apart ? total * (2 * i + 1) / (2 * n) : i, err);
    return st;
}
