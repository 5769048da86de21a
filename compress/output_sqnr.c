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
    a->all = a->first = (struct pith_difference_sums){0};
    for (uint32_t i = 0; i < a->n_outputs; i++) {
        struct kept_outputs *o = &a->output[i];
        o->value = pith_answer_value(m, i);
        o->at = 0;
        o->kept.n = keeps ? 0 : o->kept.n;
    }
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
        struct pith_difference_sums call = {0};
        pith_difference_add_centred(&call, o->kept.x + o->at, x, n);
        pith_difference_merge(&a->all, &call);
        if (i == 0)
            pith_difference_merge(&a->first, &call);
        o->at += n;
    }
}

double pith_sqnr_db(const struct output_sqnr *a)
{
    return pith_difference_snr_db(&a->all);
}

double pith_sqnr_noise(const struct output_sqnr *a)
{
    return pith_difference_is_finite(&a->all) ? a->all.noise : HUGE_VAL;
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
