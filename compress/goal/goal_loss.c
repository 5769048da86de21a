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
static double with_errors(double db, double low, double errors)
{
    return isfinite(db) && isfinite(low) ? db + errors * (low - db) : low;
}

static double kl_over(double max_drop, const struct pith_goal_loss *l, double errors)
{
    double error = errors > 0 && l->kl_high > l->kl ? l->kl_high - l->kl : l->kl_error;
    return l->classes ? over(l->kl + errors * error, pith_goal_kl(max_drop)) : -HUGE_VAL;
}

static double classes_snr(double max_drop)
{
    return pith_goal_snr(max_drop) - PITH_GOAL_CLASSES_DB;
}

/* By the original's answers alone. */
static double answers_over(double max_drop, const struct pith_goal_loss *l, double errors)
{
    double worst = kl_over(max_drop, l, errors);
    if (l->classes)
        worst = fmax(
            worst, snr_over(with_errors(l->snr_db, l->snr_low_db, errors), classes_snr(max_drop)));
    if (l->numbers)
        worst = fmax(worst, snr_over(with_errors(l->numbers_db, l->numbers_low_db, errors),
                                     pith_goal_snr(max_drop)));
    return worst;
}

static bool resolves(double max_drop, const struct pith_goal_loss *l)
{
    return l->metric == PITH_METRIC_TOP1 && l->drop_error <= max_drop;
}

/* By labels. The samples resolve the limit where the standard error of the paired drop is at most
 * the limit: then the drop decides, or, between one standard error below the limit and the limit,
 * the KL limit. Else the KL limit decides, unless a loss above the limit is shown. */
static double drop_over(double max_drop, const struct pith_goal_loss *l, double errors)
{
    const double by_kl = answers_over(max_drop, l, errors);
    if (!resolves(max_drop, l))
        return fmax(over(l->drop - l->drop_error, max_drop), by_kl);
    return fmin(over(fmax(l->drop, 0) + errors * l->drop_error, max_drop),
                fmax(over(l->drop, max_drop), by_kl));
}

double pith_goal_excess(const struct pith_goal *goal, const struct pith_goal_loss *l, double errors)
{
    if (!goal || !l)
        return 0;
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
        worst = fmax(worst, snr_over(with_errors(l->snr_db, l->snr_low_db, errors), goal->min_snr));
    return worst;
}

/* ---- in words -------------------------------------------------------------------------------- */

enum { TERMS = 5, TERM_BYTES = 160 };

/* One figure of a loss. over: of its limit; NAN: it has none. */
struct term {
    char text[TERM_BYTES], limit[48];
    const char *unit, *output; /* NULL: of all of them */
    double over;
    bool detail; /* left out first */
};

static void drop_term(struct term *t, const struct pith_goal *g, const struct pith_goal_loss *l)
{
    const bool db = l->metric == PITH_METRIC_PSNR;
    const double least = db || resolves(g->max_drop, l) ? l->drop : l->drop - l->drop_error;
    if (db)
        snprintf(t->text, sizeof t->text, "PSNR drop %.2f", 100 * l->drop);
    else
        snprintf(t->text, sizeof t->text, "drop %.2f +- %.2f", 100 * l->drop, 100 * l->drop_error);
    t->unit = db ? " dB" : " points";
    if (g->max_drop < 0 || (!db && !resolves(g->max_drop, l) && least <= g->max_drop))
        return;
    snprintf(t->limit, sizeof t->limit, " (limit %.2f)", 100 * g->max_drop);
    t->over = over(least, g->max_drop);
}

/* Without labels that resolve the limit. */
static bool answers_decide(const struct pith_goal *g, const struct pith_goal_loss *l)
{
    return g->max_drop >= 0 && l->metric != PITH_METRIC_PSNR && !resolves(g->max_drop, l);
}

static void kl_term(struct term *t, const struct pith_goal *g, const struct pith_goal_loss *l)
{
    const bool decides = answers_decide(g, l);
    snprintf(t->text, sizeof t->text, "KL %.4f", l->kl);
    t->unit = " nats";
    if (!decides)
        return;
    const double high = fmax(l->kl_high, l->kl);
    int n = kl_over(g->max_drop, l, 0) <= 0 && kl_over(g->max_drop, l, 1) > 0
                ? snprintf(t->limit, sizeof t->limit, " +- %.4f", high - l->kl)
                : 0;
    snprintf(t->limit + n, sizeof t->limit - (size_t)n, " (limit %.4f)", pith_goal_kl(g->max_drop));
    t->over = kl_over(g->max_drop, l, 1);
}

static void agreement_term(struct term *t, const struct pith_goal *g,
                           const struct pith_goal_loss *l)
{
    snprintf(t->text, sizeof t->text, "agreement %.1f %%", 100 * l->agreement);
    t->detail = !(g->min_agreement > 0);
    if (t->detail)
        return;
    snprintf(t->limit, sizeof t->limit, " (limit %.1f)", 100 * g->min_agreement);
    t->over = over(1 - l->agreement, 1 - g->min_agreement);
}

/* Of classes only where a limit on it is nearer than that on KL. */
static bool snr_term(struct term *t, const struct pith_goal *g, const struct pith_goal_loss *l,
                     const char *output)
{
    const bool decides = answers_decide(g, l);
    double limit = g->min_snr, db = l->snr_db, low = l->snr_low_db;
    if (decides && l->classes &&
        snr_over(low, classes_snr(g->max_drop)) > kl_over(g->max_drop, l, 1))
        limit = fmax(limit, classes_snr(g->max_drop));
    if (decides && l->numbers && !(g->min_snr > 0)) {
        limit = pith_goal_snr(g->max_drop);
        db = l->numbers_db, low = l->numbers_low_db;
    }
    if (!l->numbers && !(limit > 0))
        return false;
    snprintf(t->text, sizeof t->text, "SQNR %.1f", db);
    t->unit = " dB";
    t->output = output;
    if (limit > 0) {
        int n = db >= limit && low < limit
                    ? snprintf(t->limit, sizeof t->limit, " +- %.1f", db - low)
                    : 0;
        snprintf(t->limit + n, sizeof t->limit - (size_t)n, " (limit %.1f)", limit);
        t->over = snr_over(low, limit);
    }
    return true;
}

static uint32_t list_terms(const struct pith_goal *g, const struct pith_goal_loss *l,
                           const char *output, struct term t[TERMS])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < TERMS; i++)
        t[i] = (struct term){.unit = "", .over = NAN};
    if (l->nonfinite > 0) {
        snprintf(t[n].text, TERM_BYTES, "%llu numbers of the outputs became NaN or infinite",
                 (unsigned long long)l->nonfinite);
        t[n++].over = HUGE_VAL;
    }
    if (l->metric != PITH_METRIC_NONE)
        drop_term(&t[n++], g, l);
    if (l->classes)
        kl_term(&t[n++], g, l);
    if (l->classes)
        agreement_term(&t[n++], g, l);
    n += snr_term(&t[n], g, l, output);
    return n;
}

static bool is_db(const struct term *t)
{
    return strcmp(t->unit, " dB") == 0;
}

/* The first of those that are nearest to their limit, or beyond it. */
static uint32_t deciding_term(const struct term *t, uint32_t n)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++)
        if (!isnan(t[i].over) && (isnan(t[best].over) || t[i].over > t[best].over))
            best = i;
    return best;
}

void pith_goal_loss_text(const struct pith_goal *goal, const struct pith_goal_loss *loss,
                         const char *output, enum pith_goal_text how, char *text, size_t room)
{
    if (!goal || !loss || !text)
        return;
    struct term t[TERMS];
    const uint32_t n = list_terms(goal, loss, output, t), decides = deciding_term(t, n);
    size_t at = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < n && at < room; i++) {
        if ((how >= PITH_TEXT_DECIDING && i != decides) || (how >= PITH_TEXT_TERSE && t[i].detail))
            continue;
        const bool unit = how == PITH_TEXT_UNITS || (how < PITH_TEXT_SHORT && is_db(&t[i]));
        at += (size_t)snprintf(text + at, room - at, "%s%s%s%s%s%.48s", at ? ", " : "", t[i].text,
                               unit ? t[i].unit : "", how < PITH_TEXT_SHORT ? t[i].limit : "",
                               t[i].output ? " in " : "", t[i].output ? t[i].output : "");
    }
}
