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
        free(a->output[i].kept.x), free(a->output[i].own.x);
    free(a->output);
    free(a->now.x);
    free(a->more.x);
}

void pith_sqnr_begin(struct output_sqnr *a, const struct pith_model *m, bool keeps)
{
    a->keeps = keeps;
    a->adds = false;
    a->now.n = 0;
    a->all = a->first = (struct pith_difference_sums){0};
    for (uint32_t i = 0; i < a->n_outputs; i++) {
        struct kept_outputs *o = &a->output[i];
        o->value = pith_answer_value(m, i);
        o->own_value = m->outputs[i];
        if (keeps)
            o->kind = pith_output_kind(m, i);
        o->at = o->own_at = 0;
        o->own_sums = (struct pith_difference_sums){0};
        o->kept.n = keeps ? 0 : o->kept.n;
        o->own.n = keeps ? 0 : o->own.n;
    }
}

void pith_sqnr_begin_more(struct output_sqnr *a, const struct pith_model *m)
{
    pith_sqnr_begin(a, m, false);
    a->adds = true;
    a->more.n = 0;
}

static void see_own(struct output_sqnr *a, struct kept_outputs *o, const float *x, size_t n)
{
    if (a->keeps)
        a->no_memory |= !pith_floats_keep(&o->own, x, n);
    if (a->keeps || n > o->own.n - o->own_at)
        return;
    pith_difference_add(&o->own_sums, &o->kind, o->own.x + o->own_at, x, n);
    o->own_at += n;
}

/* What a loop gives when it runs longer than it did is not compared. */
void pith_sqnr_see(struct output_sqnr *a, uint32_t value, const float *x, size_t n)
{
    for (uint32_t i = 0; i < a->n_outputs; i++) {
        struct kept_outputs *o = &a->output[i];
        if (a->adds && i == 0 && o->value == value)
            a->no_memory |= !pith_floats_keep(&a->more, x, n);
        if (a->adds)
            continue;
        if (o->own_value == value)
            see_own(a, o, x, n);
        if (o->value != value)
            continue;
        if (a->keeps)
            a->no_memory |= !pith_floats_keep(&o->kept, x, n);
        if (a->keeps || n > o->kept.n - o->at)
            continue;
        struct pith_difference_sums call = {0};
        pith_difference_add_centred(&call, o->kept.x + o->at, x, n);
        pith_difference_merge(&a->all, &call);
        if (i == 0) {
            pith_difference_merge(&a->first, &call);
            a->no_memory |= !pith_floats_keep(&a->now, x, n);
        }
        o->at += n;
    }
}

double pith_sqnr_db(const struct output_sqnr *a)
{
    return pith_difference_snr_db(&a->all);
}

static bool is_state(const struct pith_feed *feed, uint32_t output)
{
    for (uint32_t k = 0; feed && k < feed->n_states; k++)
        if (feed->state[k].output == output)
            return true;
    return false;
}

double pith_sqnr_reported_db(const struct output_sqnr *a, const struct pith_feed *feed,
                             double *error)
{
    double worst = HUGE_VAL, db, error_db;
    uint32_t n_states = 0;
    *error = 0;
    for (uint32_t i = 0; i < a->n_outputs; i++)
        n_states += is_state(feed, i);
    for (uint32_t i = 0; i < a->n_outputs; i++) {
        if (n_states < a->n_outputs && is_state(feed, i))
            continue;
        db = pith_difference_logit_db(&a->output[i].own_sums, &error_db);
        *error = db < worst ? error_db : *error;
        worst = fmin(worst, db);
    }
    return worst;
}

/* y [rows, n]: how many rows have another top class with x - was added. */
static uint64_t count_changes(const float *y, size_t rows, const float *was, const float *x,
                              size_t n, float *room)
{
    uint64_t changed = 0;
    for (size_t i = 0; i < rows; i++, y += n) {
        for (size_t k = 0; k < n; k++)
            room[k] = y[k] + (x[k] - was[k]);
        changed += pith_top_class(room, n) != pith_top_class(y, n);
    }
    return changed;
}

uint64_t pith_sqnr_predictions(const struct output_sqnr *a, uint64_t *changed)
{
    bool classes = false;
    for (uint32_t i = 0; i < a->n_outputs; i++) /* scores beside their Softmax are classes, too */
        classes |= a->output[i].value == a->output[0].value && a->output[i].kind.classes;
    *changed = classes ? a->first.rows - a->first.agree : 0;
    return classes ? a->first.rows : 0;
}

double pith_sqnr_expected_changes(const struct output_sqnr *a)
{
    const struct kept_outputs *o = &a->output[0];
    const size_t n = o->kind.classes;
    if (n == 0 || o->kind.rows != 1 || a->now.n == 0 || a->now.n % n != 0)
        return NAN;
    float *room = malloc(n * sizeof *room);
    uint64_t changed = 0;
    for (size_t at = 0; at < a->now.n && room; at += n)
        changed += count_changes(o->kept.x, o->kept.n / n, o->kept.x + at, a->now.x + at, n, room) +
                   count_changes(a->more.x, a->more.n / n, o->kept.x + at, a->now.x + at, n, room);
    double all = (double)(a->now.n / n) * (double)(o->kept.n / n + a->more.n / n);
    free(room);
    return room ? (double)changed / all : NAN;
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
