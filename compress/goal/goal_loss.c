/* SPDX-License-Identifier: MIT */
/* goal_loss.c - a loss against its limits. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pith_goal_loss.h"

#define DB 0.23025850929940457 /* ln 10 / 10: power of one dB */

static double over(double loss, double limit)
{
    if (!(loss > 0))
        return -HUGE_VAL;
    return limit > 0 ? log(loss / limit) : HUGE_VAL;
}

static double snr_over(double db, double limit)
{
    if (db == HUGE_VAL)
        return -HUGE_VAL;
    return isfinite(limit) ? DB * (limit - db) : HUGE_VAL;
}

/* low: with one error more noise. */
static double with_errors(const struct pith_goal_loss *l, double low, double errors)
{
    return isfinite(l->snr_db) && isfinite(low) ? l->snr_db + errors * (low - l->snr_db) : low;
}

/* By the original's answers alone. */
static double answers_over(double max_drop, const struct pith_goal_loss *l, double errors)
{
    double worst = -HUGE_VAL;
    if (l->classes) {
        double error = errors > 0 && l->kl_high > l->kl ? l->kl_high - l->kl : l->kl_error;
        worst = over(l->kl + errors * error, pith_goal_kl(max_drop));
        worst = fmax(worst, snr_over(with_errors(l, l->snr_low_db, errors),
                                     pith_goal_snr(max_drop) - PITH_GOAL_CLASSES_DB));
    }
    if (l->numbers)
        worst =
            fmax(worst, snr_over(with_errors(l, l->numbers_db, errors), pith_goal_snr(max_drop)));
    return worst;
}

/* By labels. The samples resolve the limit where the standard error of the paired drop is at most
 * the limit: then the drop decides, or, between one standard error below the limit and the limit,
 * the KL limit. Else the KL limit decides, unless a loss above the limit is shown. */
static double drop_over(double max_drop, const struct pith_goal_loss *l, double errors)
{
    const double by_kl = answers_over(max_drop, l, errors);
    if (l->drop_error > max_drop)
        return fmax(over(l->drop - l->drop_error, max_drop), by_kl);
    return fmin(over(fmax(l->drop, 0) + errors * l->drop_error, max_drop),
                fmax(over(l->drop, max_drop), by_kl));
}

double pith_goal_excess(const struct pith_goal *goal, const struct pith_goal_loss *l, double errors)
{
    double worst = -HUGE_VAL;
    if (l->nonfinite > 0)
        return HUGE_VAL;
    if (goal->max_drop >= 0)
        worst = l->metric == PITH_METRIC_TOP1   ? drop_over(goal->max_drop, l, errors)
                : l->metric == PITH_METRIC_PSNR ? over(l->drop, goal->max_drop)
                                                : answers_over(goal->max_drop, l, errors);
    if (goal->min_agreement > 0 && l->classes)
        worst = fmax(worst, over(1 - l->agreement, 1 - goal->min_agreement));
    if (goal->min_snr > 0)
        worst = fmax(worst, snr_over(with_errors(l, l->snr_low_db, errors), goal->min_snr));
    return worst;
}

static void add(char *text, size_t room, const char *more)
{
    size_t n = strlen(text);
    snprintf(text + n, room - n, "%s%s", n ? ", " : "", more);
}

void pith_goal_loss_text(const struct pith_goal *goal, const struct pith_goal_loss *l, char *text,
                         size_t room)
{
    char part[96], limit[48] = "";
    bool by_answers = goal->max_drop >= 0 && l->metric == PITH_METRIC_NONE;
    text[0] = '\0';
    if (l->nonfinite > 0) {
        snprintf(part, sizeof part, "%llu numbers of the outputs became NaN or infinite",
                 (unsigned long long)l->nonfinite);
        add(text, room, part);
    }
    if (l->metric != PITH_METRIC_NONE) {
        bool db = l->metric == PITH_METRIC_PSNR;
        if (goal->max_drop >= 0)
            snprintf(limit, sizeof limit, ", limit -%.2f", goal->max_drop * 100);
        if (db)
            snprintf(part, sizeof part, "PSNR %.2f dB (was %.2f%s)", l->after, l->before, limit);
        else
            snprintf(part, sizeof part, "top-1 %.2f%% (was %.2f%s)", 100 * l->after,
                     100 * l->before, limit);
        add(text, room, part);
    }
    if (l->classes) {
        limit[0] = '\0';
        if (by_answers)
            snprintf(limit, sizeof limit, " (limit %.4f)", pith_goal_kl(goal->max_drop));
        if (by_answers && l->kl_high > pith_goal_kl(goal->max_drop) &&
            l->kl <= pith_goal_kl(goal->max_drop))
            snprintf(part, sizeof part, "KL %.4f to %.4f nats%s", l->kl, l->kl_high, limit);
        else
            snprintf(part, sizeof part, "KL %.4f nats%s", l->kl, limit);
        add(text, room, part);
        snprintf(part, sizeof part, "%.1f%% agreement", 100 * l->agreement);
        add(text, room, part);
    }
    if (l->numbers || (goal->min_snr > 0)) {
        limit[0] = '\0';
        if (by_answers || goal->min_snr > 0)
            snprintf(limit, sizeof limit, " (limit %.1f)",
                     fmax(goal->min_snr, by_answers ? pith_goal_snr(goal->max_drop) : 0));
        snprintf(part, sizeof part, "SQNR %.1f dB%s", l->snr_db, limit);
        add(text, room, part);
    }
}
