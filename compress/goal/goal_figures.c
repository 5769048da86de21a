/* SPDX-License-Identifier: MIT */
/* goal_figures.c - means, standard errors and the worst output. */
#include "goal_figures.h"

#include <math.h>

#include "base/error_fill.h"
#include "base/snr.h"
#include "uncertain_loss.h"

/* The standard error of a mean of n, of sums of it and of its squares. */
static double error_of(double sum, double squares, uint64_t n)
{
    double mean = sum / (double)n, var = squares / (double)n - mean * mean;
    return n > 1 && var > 0 ? sqrt(var / (double)(n - 1)) : 0;
}

/* What is NaN or infinite in the original alone is not lost, and counts as nothing. */
static void take_output(struct pith_goal_loss *l, const struct eval_output *o,
                        const struct pith_difference_sums *s, uint64_t calls)
{
    double noise_error = error_of(s->noise, s->noise_squares, calls) * (double)calls * o->weight;
    double noise = s->nonfinite_b > 0 ? HUGE_VAL : s->noise * o->weight;
    double db = pith_snr_db(s->signal, noise), low = pith_snr_db(s->signal, noise + noise_error);
    l->nonfinite += s->nonfinite_b;
    if (db < l->snr_db)
        l->worst = o->output;
    l->snr_db = fmin(l->snr_db, db);
    l->snr_low_db = fmin(l->snr_low_db, low);
    if (o->kind.classes == 0) {
        l->numbers = true;
        l->numbers_db = fmin(l->numbers_db, db);
        l->numbers_low_db = fmin(l->numbers_low_db, low);
        return;
    }
    double kl = o->weight * s->kl / (double)calls, agree = (double)s->agree / (double)s->rows,
           error = o->weight * error_of(s->kl, s->kl_squares, calls);
    if (!l->classes || kl > l->kl) {
        l->kl = kl;
        l->kl_error = error;
    }
    l->kl_high = fmax(l->kl_high, kl + error);
    l->agreement = l->classes ? fmin(l->agreement, agree) : agree;
    l->classes = true;
}

/* Where each call gives one row: in place of the standard error, which knows nothing of samples
 * that are rare. */
static enum pith_status take_uncertain(struct pith_goal_loss *l, const struct goal_sums *s,
                                       struct pith_error *err)
{
    const struct output_kind *kind = &s->out[0].kind;
    double high = 0;
    if (s->n_out > 1 || kind->rows != 1 || s->sums[0].rows != s->calls)
        return PITH_OK;
    if (!pith_uncertain_loss(kind, s->was, s->now, s->calls, &high))
        return pith_error_no_memory(err);
    l->kl_high = fmax(l->kl, s->out[0].weight * high);
    return PITH_OK;
}

static void take_metric(struct pith_goal_loss *l, const struct goal_sums *s)
{
    double n = (double)s->calls;
    l->metric = s->metric;
    if (l->metric == PITH_METRIC_TOP1) {
        const double all = (double)s->predictions,
                     lost = (double)s->right_before - (double)s->right;
        l->after = (double)s->right / all;
        l->before = (double)s->right_before / all;
        l->drop = l->before - l->after;
        /* Of the mean of paired differences (-1, 0, 1), those of one sample added first, as if one
         * more had changed: where none of a dozen did, the error is not 0. */
        l->drop_error = sqrt(s->change_squares + 1 - lost * lost / n) / all;
    } else if (l->metric == PITH_METRIC_PSNR) {
        l->before = -10 * log10(s->squares_before / n);
        l->after = -10 * log10(s->squares / n);
        l->drop = (l->before - l->after) / 100;
    }
}

enum pith_status pith_goal_figures(const struct goal_sums *s, struct pith_goal_loss *loss,
                                   struct pith_error *err)
{
    struct pith_goal_loss l = {.samples = s->calls,
                               .agreement = NAN,
                               .snr_db = HUGE_VAL,
                               .snr_low_db = HUGE_VAL,
                               .numbers_db = HUGE_VAL,
                               .numbers_low_db = HUGE_VAL};
    for (uint32_t i = 0; i < s->n_out; i++)
        take_output(&l, &s->out[i], &s->sums[i], s->calls);
    take_metric(&l, s);
    enum pith_status st = take_uncertain(&l, s, err);
    if (!st)
        *loss = l;
    return st;
}
