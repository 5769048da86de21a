/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/error_fill.h"
#include "pith_goal_search.h"

#define POWER 2.0   /* noise grows with the square of a step */
#define AIM (-0.06) /* of the excess: a little inside the limit */
/* What one measurement of the excess is off by, and what powers differ by from one network to
 * another: two files that are near to each other hardly determine the power. */
#define ERROR 0.1
#define POWERS 0.5
#define SAFER 0.1       /* that is aimed lower, for each miss in a row behind the first */
#define NEAR (-0.08)    /* within the goal, and no smaller file is worth a call */
#define NARROW 0.04     /* of a bracket, in logarithms of quality: 1.5 % of bytes */
#define FAR 1.4         /* the most that one call goes on, likewise, to coarser ones */
#define FAR_BACK 2.2    /* and to finer ones */
#define FLOOR 0.15      /* of what finer steps should gain */
#define LEAST_FINER 0.2 /* in logarithms: noise hides what less gains */
#define MOST_Y 8.0      /* excess: what is further off says nothing more */
#define LEAST_SLOPE 0.7
#define MOST_SLOPE 6.0
#define INNER 0.15 /* of a bracket: a point next to an end teaches nothing */
#define LINE_POINTS PITH_GOAL_CALLS

/* ---- points ---------------------------------------------------------------------------------- */

bool pith_goal_fits(const struct pith_goal_point *p)
{
    if (!p)
        return false;
    return p->excess <= 0 && p->small;
}

bool pith_goal_meets(const struct pith_goal *goal, const struct pith_goal_point *p)
{
    if (!goal || !p)
        return false;
    return p->small && pith_goal_excess(goal, &p->loss, 0) <= 0;
}

static bool better(const struct pith_goal *goal, const struct pith_goal_point *a,
                   const struct pith_goal_point *b)
{
    const bool a_meets = pith_goal_meets(goal, a), b_meets = pith_goal_meets(goal, b);
    if (!pith_goal_limits_loss(goal)) {
        if (a->small != b->small)
            return a->small;
        return a->small ? a->loss.snr_db > b->loss.snr_db : a->bytes < b->bytes;
    }
    if (a->early != b->early && a_meets && b_meets) /* by how much says nothing: it is large */
        return a->bytes < b->bytes;
    if (pith_goal_fits(a) != pith_goal_fits(b))
        return pith_goal_fits(a);
    if (a_meets != b_meets)
        return a_meets;
    if ((a->excess <= 0) != (b->excess <= 0))
        return a->excess <= 0;
    if (a->excess > 0)
        return a->excess < b->excess;
    return goal->max_latency > 0 && !a_meets ? a->latency < b->latency : a->bytes < b->bytes;
}

static bool is_small(const struct pith_goal *goal, const struct pith_goal_point *p)
{
    return (!(goal->max_size > 0) || (double)p->bytes <= goal->max_size) &&
           (!(goal->max_ram > 0) || (double)p->ram <= goal->max_ram) &&
           (!(goal->max_latency > 0) || p->latency <= goal->max_latency);
}

/* ---- along one encoder ----------------------------------------------------------------------- */

/* What is known of an encoder: y is the excess, by the logarithm x of quality. Where nothing limits
 * the loss, bytes over what they may be stand for it, and x has the other sign: finer is larger. */
struct line {
    double low, high;                      /* bounds of x */
    double x[LINE_POINTS], y[LINE_POINTS]; /* all points */
    double good, bad; /* the coarsest x that is within, the finest that is not */
    double good_y;
    uint32_t n, misses; /* misses: in a row, the last ones */
};

static double limit_y(double y)
{
    return fmax(-MOST_Y, fmin(MOST_Y, y));
}

static void add_point(struct line *l, double x, double y)
{
    if (l->n == LINE_POINTS)
        return;
    l->x[l->n] = x, l->y[l->n] = limit_y(y);
    l->misses = y > 0 ? l->misses + 1 : 0;
    if (y <= 0 && x > l->good)
        l->good = x, l->good_y = limit_y(y);
    if (y > 0 && x < l->bad)
        l->bad = x;
    l->n++;
}

/* The x of that y on the line through all points, those near the limit first of all. */
static double x_of(const struct line *l, double y)
{
    double weight[LINE_POINTS], all = 0, mean_x = 0, mean_y = 0, xx = 0, xy = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        weight[i] = 1 / (1 + l->y[i] * l->y[i] / (4 * ERROR));
        all += weight[i];
        mean_x += weight[i] * l->x[i];
        mean_y += weight[i] * l->y[i];
    }
    mean_x /= all, mean_y /= all;
    for (uint32_t i = 0; i < l->n; i++) {
        xx += weight[i] * (l->x[i] - mean_x) * (l->x[i] - mean_x);
        xy += weight[i] * (l->x[i] - mean_x) * (l->y[i] - mean_y);
    }
    const double prior_weight = ERROR * ERROR / (POWERS * POWERS);
    const double slope =
        fmax(LEAST_SLOPE, fmin(MOST_SLOPE, (xy + prior_weight * POWER) / (xx + prior_weight)));
    return mean_x + (y - mean_y) / slope;
}

/* last: there is no call behind it. */
static double next_x(const struct line *l, bool last)
{
    const double misses = last && !isfinite(l->good) ? l->misses + 1 : l->misses;
    double x = x_of(l, AIM - SAFER * fmax(misses - 1, 0));
    if (isfinite(l->good) && isfinite(l->bad)) {
        double width = l->bad - l->good;
        x = l->good + width * fmax(INNER, fmin(1 - INNER, (x - l->good) / width));
    } else {
        double from = l->x[l->n - 1];
        x = from + fmax(-FAR_BACK, fmin(FAR, x - from));
        if (isfinite(l->good)) /* finer ones are larger */
            x = fmax(x, l->good + NARROW);
    }
    return fmax(l->low, fmin(l->high, x));
}

static bool is_done(const struct line *l)
{
    return (l->good_y >= NEAR && isfinite(l->good)) || l->bad - l->good < NARROW ||
           l->good >= l->high || l->bad <= l->low;
}

/* Finer, and no better: this encoder's files do not come near to the limit. What is further off
 * than MOST_Y says nothing of it, but three times. */
static bool is_at_floor(const struct line *l)
{
    if (l->n < 2 || !(l->y[l->n - 1] > 0))
        return false;
    const double finer = l->x[l->n - 2] - l->x[l->n - 1], better = l->y[l->n - 2] - l->y[l->n - 1];
    return l->y[l->n - 1] < MOST_Y ? finer > LEAST_FINER && better < FLOOR * POWER * finer
                                   : l->n >= 3;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static double y_of(const struct pith_goal_search *s, const struct pith_goal_point *p)
{
    const struct pith_goal *g = s->goal;
    if (pith_goal_limits_loss(g))
        return p->excess;
    double over = g->max_size > 0 ? log((double)p->bytes / g->max_size) : -HUGE_VAL;
    if (g->max_ram > 0)
        over = fmax(over, log((double)p->ram / g->max_ram));
    if (g->max_latency > 0)
        over = fmax(over, log(p->latency / g->max_latency));
    return over * POWER;
}

static void keep(const struct pith_goal_search *s, struct pith_goal_found *f,
                 struct pith_goal_point *p)
{
    bool best = f->n == 0 || better(s->goal, p, &f->point[f->best]);
    f->point[f->n] = *p;
    if (best)
        f->best = f->n;
    if (s->made)
        s->made(s->watcher, &f->point[f->n], best);
    f->n++;
}

static bool stopped(const struct pith_goal_search *s, struct pith_goal_found *f)
{
    f->stopped = f->stopped || (s->stop && s->stop(s->watcher));
    return f->stopped;
}

static enum pith_status encode(const struct pith_goal_search *s, struct pith_goal_found *f,
                               const struct pith_goal_encoder *e, struct pith_goal_point *p,
                               struct pith_error *err)
{
    if (stopped(s, f)) /* a failure that stops it may have filled err */
        return PITH_ERR_STOPPED;
    enum pith_status st = e->encode(e->user, p->quality, &p->file, err);
    if (!st && e->costly)
        e->costly(e->user, p->costly);
    return st;
}

/* Files that exist already are taken even when the search must stop: only making one takes time. */
static enum pith_status make_point(const struct pith_goal_search *s, struct pith_goal_found *f,
                                   const struct pith_goal_encoder *e, double quality,
                                   struct pith_goal_point *p, struct pith_error *err)
{
    enum pith_status st = PITH_OK;
    *p = (struct pith_goal_point){.encoder = e->name, .quality = quality, .early = e->early};
    if (!s->recall || !s->recall(s->watcher, p))
        st = encode(s, f, e, p, err);
    if (st)
        return st;
    p->bytes = p->file.bytes;
    st = s->measure(s->user, p, err);
    if (st) {
        pith_buffer_free(&p->file);
        return st == PITH_ERR_UNSUPPORTED || st == PITH_ERR_ARGUMENT ? PITH_ERR_CORRUPT : st;
    }
    p->excess = pith_goal_excess(s->goal, &p->loss, 1);
    p->small = is_small(s->goal, p);
    return PITH_OK;
}

enum pith_status pith_goal_search_try(const struct pith_goal_search *s,
                                      const struct pith_goal_encoder *e, double quality,
                                      struct pith_goal_found *f, struct pith_error *err)
{
    if (!s || !e || !f || s->size_bytes != sizeof *s)
        return PITH_ERR_ARGUMENT;
    struct pith_goal_point p;
    if (f->n == PITH_GOAL_POINTS)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "%u files are enough", PITH_GOAL_POINTS);
    if (s->started)
        s->started(s->watcher, e, f->n + 1);
    enum pith_status st = make_point(s, f, e, quality, &p, err);
    if (st)
        return st;
    keep(s, f, &p);
    f->met = pith_goal_meets(s->goal, &f->point[f->best]);
    return PITH_OK;
}

/* Larger than the best there is, and not within the goal: coarser files of this encoder lose more,
 * finer ones are larger still. */
static bool is_beaten(const struct pith_goal_found *f, const struct pith_goal_point *p)
{
    return f->n > 1 && pith_goal_fits(&f->point[f->best]) && !pith_goal_fits(p) && p->excess > 0 &&
           p->bytes >= f->point[f->best].bytes;
}

static enum pith_status search_along(const struct pith_goal_search *s,
                                     const struct pith_goal_encoder *e, struct pith_goal_found *f,
                                     struct pith_error *err)
{
    const double sign = pith_goal_limits_loss(s->goal) ? 1 : -1;
    struct line l = {.low = fmin(sign * log(e->finest), sign * log(e->coarsest)),
                     .high = fmax(sign * log(e->finest), sign * log(e->coarsest)),
                     .good = -HUGE_VAL,
                     .bad = HUGE_VAL,
                     .good_y = -HUGE_VAL};
    double x = sign * log(e->first);
    const uint32_t bound = e->last_resort ? PITH_GOAL_POINTS : PITH_GOAL_CALLS;
    uint32_t most = e->most ? f->n + e->most : bound;
    most = most < bound ? most : bound;
    while (f->n < most && !is_done(&l)) {
        struct pith_goal_point p;
        if (s->started)
            s->started(s->watcher, e, f->n + 1);
        enum pith_status st = make_point(s, f, e, exp(sign * x), &p, err);
        if (st)
            return st;
        add_point(&l, x, y_of(s, &p));
        keep(s, f, &p);
        if (is_beaten(f, &f->point[f->n - 1]) || is_at_floor(&l))
            break;
        x = next_x(&l, f->n + 1 == most);
    }
    return PITH_OK;
}

/* The early file does not count: others are searched as if there were none. */
static bool any_meets(const struct pith_goal *goal, const struct pith_goal_found *f)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (!f->point[i].early && pith_goal_meets(goal, &f->point[i]))
            return true;
    return false;
}

enum pith_status pith_goal_search(const struct pith_goal_search *s, struct pith_goal_found *found,
                                  struct pith_error *err)
{
    if (!s || !found || s->size_bytes != sizeof *s)
        return PITH_ERR_ARGUMENT;
    struct pith_goal_found f = {.n = 0};
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < s->n && !f.stopped; i++) {
        if (s->encoder[i].instead && any_meets(s->goal, &f))
            continue;
        if (f.n >= PITH_GOAL_CALLS && !s->encoder[i].last_resort)
            continue;
        st = search_along(s, &s->encoder[i], &f, err);
        if (st == PITH_ERR_STOPPED)
            f.stopped = true;
        else if (st && st != PITH_ERR_UNSUPPORTED && st != PITH_ERR_ARGUMENT)
            break;
    }
    if (st == PITH_ERR_UNSUPPORTED || st == PITH_ERR_ARGUMENT || st == PITH_ERR_STOPPED)
        st = f.n > 0 ? PITH_OK : st;
    if (f.n == 0 && (!st || st == PITH_ERR_STOPPED))
        st = pith_error_fill(err, PITH_ERR_STOPPED, "interrupted before there was a file");
    if (st) {
        pith_goal_found_free(&f);
        return st;
    }
    f.met = pith_goal_meets(s->goal, &f.point[f.best]);
    *found = f;
    return PITH_OK;
}

void pith_goal_found_free(struct pith_goal_found *f)
{
    if (!f)
        return;
    for (uint32_t i = 0; i < f->n; i++)
        pith_buffer_free(&f->point[i].file);
    f->n = 0;
}
