/* SPDX-License-Identifier: MIT */
/* layer_round.c - rows are shared among threads, each with room of its own; sums over rows are
 * taken in their order behind. Rows on one path that nothing else ties together are rounded beside
 * each other (feedback_panel.h), which changes no bit.
 *
 * Reference: GPTQ (Frantar et al. 2023) rounds each weight to the nearest and feeds its error
 * forward through the Cholesky factor; here a weight may take another integer where that costs
 * fewer bits (lambda, as entropy-constrained quantization has it: Chou, Lookabaugh and Gray
 * 1989), and several paths are kept.
 *
 * Double sums in the order of columns and rows: the same bits for any number of threads. */
#include "layer_round.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kept_row.h"
#include "numeric/cholesky.h"
#include "numeric/error_feedback.h"
#include "base/error_fill.h"
#include "numeric/feedback_panel.h"
#include "pith_host.h"
#include "base/in_parallel.h"
#include "decode/trellis.h"

/* Bits follow from counts and counts from bits; two rounds come to rest but for some integers. */
#define RATE_ROUNDS 2 /* that integers are counted and rounded again */
#define COUNT_PATHS 4 /* without a trellis */

/* One thread's: nothing is allocated for a row. */
struct room {
    uint32_t thread;
    double *goal, *other, *error, *price;
    uint8_t *kept;
    int16_t *q;
    struct kept_row row; /* where rows have their own factors */
    /* Of rows beside each other, [n, PITH_ROW_PANEL] */
    double *goals;
    uint8_t *all_kept;
};

struct work {
    struct layer_round *l;
    uint32_t n; /* threads */
    struct room *room;
    double *off; /* [rows, n] errors of coupled rows, both by place; NULL: there are none */
    uint64_t first, last; /* places of the rows that are rounded at once */
    bool nearest;         /* nothing but the nearest integers of the goals */
    bool counts;          /* integers are only counted */
    bool beside;          /* rows are rounded beside each other */
    uint32_t paths;
    struct row_panel_kernels panel;
    double *overlap, *square; /* [rows] by place of q and goal, of q: see refit; NULL */
};

/* ---- a row ----------------------------------------------------------------------------------- */

/* Rows of a group are neighbours in the weight. */
static uint32_t group_of(const struct layer_round *l, uint64_t row)
{
    return (uint32_t)(row / (l->rows / l->factor->groups));
}

/* Places are the order of rounding, weights the order of storage. */
static void to_places(const struct layer_round *l, uint32_t group, const int16_t *q, double step,
                      double *by_place)
{
    const size_t n = l->factor->n, *order = l->factor->order + group * n;
    for (size_t j = 0; j < n; j++)
        by_place[j] = step * q[order[j]];
}

/* Whether some weights have to be 0. */
static bool is_masked(const struct layer_round *l)
{
    return l->keep_zeros || l->kept || l->choose_kept;
}

/* Those that have: zeros that prune left where that is requested, what was chosen before, and what
 * is chosen now. order: of the row's group. */
static void find_kept(const struct layer_round *l, uint64_t row, const size_t *order,
                      const struct room *r)
{
    const size_t n = l->factor->n;
    for (size_t j = 0; j < n; j++) {
        const size_t at = row * n + order[j];
        r->kept[j] = (!l->keep_zeros || l->w[at] != 0) && (!l->kept || l->kept[at]);
    }
    if (l->choose_kept)
        l->choose_kept(l->choice, r->thread, group_of(l, row), r->goal, r->kept);
}

/* The first guess, from which integers are counted. */
static void round_to_nearest(const struct layer_round *l, uint64_t row, const struct room *r)
{
    for (size_t j = 0; j < l->factor->n; j++)
        r->q[j] = !r->kept[j] ? 0
                              : (int16_t)fmin(fmax(nearbyint(r->goal[j] / l->step[row]), l->lowest),
                                              l->most);
}

static size_t integers_of(const struct layer_round *l)
{
    return (size_t)(l->most - l->lowest) + 1;
}

/* An error of the row's results costs loss / 2 nats a square, so bits are divided by it: then
 * prices and errors have one unit. */
static void set_prices(const struct layer_round *l, uint64_t row, double *price)
{
    for (uint32_t i = 0; i < (l->states ? 2 : 1); i++)
        for (int32_t k = l->lowest; k <= l->most; k++)
            *price++ = 2 * l->lambda / l->loss[row] * l->rate[i].bits[k + RATE_MOST];
}

/* The prices of the integers of a row. pith_error_feedback() returns errors and prices in one
 * sum; the error alone is reported. */
static double paid_for(const struct layer_round *l, const struct room *r)
{
    const size_t integers = integers_of(l);
    uint32_t state = 0;
    double paid = 0;
    for (size_t j = l->factor->n; j-- > 0;) {
        paid += r->price[(state & 1) * integers + (size_t)(r->q[j] - l->lowest)];
        if (l->states)
            state = pith_trellis_after(l->states, state, r->q[j]);
    }
    return paid;
}

/* As a table, which the search indexes; a call for each of a row's states would cost more. */
static struct quantizer_trellis trellis_of(const struct layer_round *l)
{
    struct quantizer_trellis t = {.n_states = l->states};
    for (uint32_t s = 0; s < l->states; s++)
        for (uint32_t odd = 0; odd < 2; odd++)
            t.next[s][odd] = (uint8_t)pith_trellis_next(l->states, s, odd);
    return t;
}

/* The row's own, if it is searched. */
static double step_of(const struct layer_round *l, uint64_t row, const struct error_feedback *e,
                      int16_t *q)
{
    const double found = l->least_step ? pith_search_scale(e, l->least_step[row], l->halves, q) : 0;
    if (found > 0)
        l->step[row] = found;
    return l->step[row];
}

/* alone: as if each weight's error counted by itself, and bits cost nothing. The identity in
 * place of the factor: then no error is fed forward. */
static double round_along_paths(const struct work *w, uint64_t row, const struct room *r)
{
    const struct layer_round *l = w->l;
    const bool alone = w->nearest;
    const struct layer_factor *f = l->factor;
    const size_t n = f->n;
    const double *u = f->u && !alone ? f->u + group_of(l, row) * n * n : NULL;
    const struct low_rank *low = f->low.rank && !alone ? &f->low : NULL;
    const struct quantizer_trellis trellis = trellis_of(l);
    struct error_feedback e = {.n = n,
                               .u = u,
                               .low = low,
                               .goal = r->goal,
                               .kept = is_masked(l) ? r->kept : NULL,
                               .lowest = l->lowest,
                               .most = l->most,
                               .trellis = l->states ? &trellis : NULL,
                               /* One path is GPTQ; a trellis needs a path for each state at
                                * least. */
                               .n_paths = u || low    ? w->paths
                                          : l->states ? l->states
                                                      : 1,
                               .e = r->error,
                               .panel = &w->panel};
    if (l->lambda > 0 && !alone) {
        set_prices(l, row, r->price);
        e.price = r->price;
    }
    const double cost = pith_error_feedback(&e, step_of(l, row, &e, r->q), HUGE_VAL, r->q);
    return e.price ? cost - paid_for(l, r) : cost;
}

/* Squared error of the row's results, of integers by place. */
static double error_of(const struct layer_round *l, uint64_t row, const struct room *r)
{
    const size_t n = l->factor->n;
    const double *u = l->factor->u + group_of(l, row) * n * n;
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        r->other[j] = r->goal[j] - l->step[row] * r->q[j];
    for (size_t j = 0; j < n; j++) {
        const double left = pith_dot(u + j * n + j, r->other + j, n - j);
        sum += left * left;
    }
    return sum;
}

/* Of what stays, which makes up for what does not from the beginning. */
static double round_kept(const struct work *w, uint64_t row, const struct room *r)
{
    const struct layer_round *l = w->l;
    struct error_feedback e = {.n = r->row.n,
                               .u = r->row.u,
                               .goal = r->row.goal,
                               .lowest = l->lowest,
                               .most = l->most,
                               .n_paths = w->paths,
                               .e = r->error,
                               .panel = &w->panel};
    if (l->lambda > 0) {
        set_prices(l, row, r->price);
        e.price = r->price;
    }
    if (e.n > 0)
        pith_error_feedback(&e, step_of(l, row, &e, r->row.q), HUGE_VAL, r->row.q);
    memset(r->q, 0, l->factor->n * sizeof *r->q);
    for (size_t j = 0; j < e.n; j++)
        r->q[r->row.place[j]] = r->row.q[j];
    return error_of(l, row, r);
}

/* Where integers are only counted, errors may as well go to places that are gone. */
static bool takes_kept(const struct work *w, uint64_t row, struct room *r)
{
    const struct layer_round *l = w->l;
    return l->own_factors && is_masked(l) && l->factor->u && !l->states && !w->counts &&
           pith_kept_row_take(l->factor, group_of(l, row), r->goal, r->kept, &r->row);
}

static uint64_t row_at(const struct layer_round *l, uint64_t place)
{
    return l->coupling ? l->coupling->order[place] : place;
}

/* The compensation by this row of the errors of rounded rows. */
static void shift_goal(const struct work *w, uint64_t place, double *goal)
{
    const struct row_coupling *c = w->l->coupling;
    const size_t n = w->l->factor->n;
    for (uint64_t i = coupled_from(c, place); i < c->rows; i++) {
        const double by = c->compensation[place * c->rows + i], *off = w->off + i * n;
        for (size_t j = 0; j < n; j++)
            goal[j] -= by * off[j];
    }
}

/* w is read by place, q written by storage. */
static void round_row(const struct work *w, uint64_t place, struct room *r)
{
    struct layer_round *l = w->l;
    const uint64_t row = row_at(l, place);
    const size_t n = l->factor->n, *order = l->factor->order + group_of(l, row) * n;
    pith_layer_row_target(l->factor, group_of(l, row), l->w + row * n, r->goal, r->other);
    if (w->off && !w->nearest)
        shift_goal(w, place, r->goal);
    find_kept(l, row, order, r);
    double error = 0;
    if (w->nearest && !l->states)
        round_to_nearest(l, row, r);
    else if (takes_kept(w, row, r))
        error = round_kept(w, row, r);
    else
        error = round_along_paths(w, row, r);
    l->error[row] = error;
    int16_t *to = l->q + row * n;
    for (size_t j = 0; j < n; j++)
        to[order[j]] = r->q[j];
}

static void set_aside(const struct layer_round *l, uint32_t i, const struct room *r)
{
    for (size_t j = 0; j < l->factor->n; j++) {
        r->goals[j * PITH_ROW_PANEL + i] = r->goal[j];
        r->all_kept[j * PITH_ROW_PANEL + i] = r->kept[j];
    }
}

/* Rows first .. first + rows - 1, of one group. */
static void round_panel(const struct work *w, uint64_t first, uint32_t rows, const struct room *r)
{
    struct layer_round *l = w->l;
    const struct layer_factor *f = l->factor;
    const uint32_t group = group_of(l, first);
    const size_t n = f->n, *order = f->order + group * n;
    const struct feedback_panel p = {.n = n,
                                     .rows = rows,
                                     .u = f->u ? f->u + group * n * n : NULL,
                                     .low = f->low.rank ? &f->low : NULL,
                                     .goal = r->goals,
                                     .kept = is_masked(l) ? r->all_kept : NULL,
                                     .lowest = l->lowest,
                                     .most = l->most,
                                     .e = r->error,
                                     .q = r->q,
                                     .kernels = &w->panel};
    double found[PITH_ROW_PANEL] = {0}, enough[PITH_ROW_PANEL], error[PITH_ROW_PANEL];
    for (uint32_t i = 0; i < rows; i++) {
        pith_layer_row_target(f, group, l->w + (first + i) * n, r->goal, r->other);
        find_kept(l, first + i, order, r);
        set_aside(l, i, r);
        enough[i] = HUGE_VAL;
    }
    if (l->least_step)
        pith_search_scales(&p, l->least_step + first, l->halves, found);
    for (uint32_t i = 0; i < rows; i++)
        if (found[i] > 0)
            l->step[first + i] = found[i];
    pith_feedback_panel(&p, l->step + first, enough, error);
    memcpy(l->error + first, error, rows * sizeof *error);
    for (uint32_t i = 0; i < rows; i++)
        for (size_t j = 0; j < n; j++)
            l->q[(first + i) * n + order[j]] = r->q[i * n + j];
}

/* Of the row and what it makes up for, together: its sums are those of the layer's results then.
 */
static void couple_row(const struct work *w, uint64_t place, const struct room *r)
{
    const struct layer_round *l = w->l;
    const struct row_coupling *c = l->coupling;
    const size_t n = l->factor->n, *order = l->factor->order;
    for (uint64_t i = coupled_from(c, place); i < c->rows; i++) {
        const double by = c->compensation[place * c->rows + i], *off = w->off + i * n,
                     step = l->step[c->order[i]];
        const int16_t *q = l->q + c->order[i] * n;
        for (size_t j = 0; j < n; j++) {
            const double is = step * q[order[j]];
            r->other[j] += by * is;
            r->goal[j] += by * (is - off[j]);
        }
    }
}

/* |U q|^2 and U q . U g of the row's integers, times its step, and its goal. Both sides by the
 * factor, so the sums are those of results, not of weights. */
static void compare_row(const struct work *w, uint64_t place, const struct room *r)
{
    const struct layer_round *l = w->l;
    const uint64_t row = row_at(l, place);
    const struct layer_factor *f = l->factor;
    const size_t n = f->n;
    const double *u = f->u + group_of(l, row) * n * n;
    pith_layer_row_target(f, group_of(l, row), l->w + row * n, r->goal, r->other);
    to_places(l, group_of(l, row), l->q + row * n, l->step[row], r->other);
    if (w->off)
        couple_row(w, place, r);
    w->overlap[place] = w->square[place] = 0;
    for (size_t j = 0; j < n; j++) {
        double q = f->u ? pith_dot(u + j * n + j, r->other + j, n - j) : r->other[j];
        double g = f->u ? pith_dot(u + j * n + j, r->goal + j, n - j) : r->goal[j];
        w->overlap[place] += q * g;
        w->square[place] += q * q;
    }
}

/* ---- all rows -------------------------------------------------------------------------------- */

/* Rows beside each other go to threads in turn. */
static void do_panels(const struct work *w, uint32_t thread)
{
    const uint64_t each = w->l->rows / w->l->factor->groups,
                   panels = (each + PITH_ROW_PANEL - 1) / PITH_ROW_PANEL;
    for (uint64_t i = thread; i < panels * w->l->factor->groups; i += w->n) {
        const uint64_t at = i % panels * PITH_ROW_PANEL, left = each - at;
        round_panel(w, i / panels * each + at,
                    left < PITH_ROW_PANEL ? (uint32_t)left : PITH_ROW_PANEL, &w->room[thread]);
    }
}

/* Rows go to threads in turn; their results lie apart. */
static void do_rows(void *arg, uint32_t thread)
{
    const struct work *w = arg;
    if (w->beside && !w->overlap) {
        do_panels(w, thread);
        return;
    }
    for (uint64_t row = w->first + thread; row < w->last; row += w->n)
        if (w->overlap)
            compare_row(w, row, &w->room[thread]);
        else
            round_row(w, row, &w->room[thread]);
}

static void some_rows(struct work *w, uint64_t first, uint64_t last)
{
    w->first = first;
    w->last = last;
    pith_in_parallel(w->l->runtime, w->n, do_rows, w);
}

/* Of the places first .. last - 1, by their integers. */
static void find_errors(const struct work *w, const struct room *r)
{
    const struct layer_round *l = w->l;
    const size_t n = l->factor->n, *order = l->factor->order;
    for (uint64_t place = w->first; place < w->last; place++) {
        const uint64_t row = row_at(l, place);
        const int16_t *q = l->q + row * n;
        double *off = w->off + place * n;
        pith_layer_row_target(l->factor, 0, l->w + row * n, r->goal, r->other);
        for (size_t j = 0; j < n; j++)
            off[j] = l->step[row] * q[order[j]] - r->goal[j];
    }
}

static void all_rows(struct work *w)
{
    const struct row_coupling *c = w->l->coupling;
    if (!c || w->overlap) {
        some_rows(w, 0, w->l->rows);
        return;
    }
    for (uint64_t last = c->rows; last > 0; last = w->first) {
        some_rows(w, last > c->at_once ? last - c->at_once : 0, last);
        find_errors(w, w->room);
    }
}

/* What a failure leaves is freed by close_work(). */
static bool open_room(const struct layer_round *l, bool beside, struct room *r)
{
    const size_t n = l->factor->n, lanes = beside ? PITH_ROW_PANEL : l->paths;
    r->goal = malloc(n * sizeof *r->goal);
    r->other = malloc(n * sizeof *r->other);
    r->error = calloc((n + l->factor->low.rank) * lanes, sizeof *r->error);
    r->price = malloc(2 * integers_of(l) * sizeof *r->price);
    r->kept = malloc(n);
    r->q = malloc(n * lanes * sizeof *r->q);
    r->goals = beside ? calloc(n * lanes, sizeof *r->goals) : NULL;
    r->all_kept = beside ? calloc(n * lanes, 1) : NULL;
    return r->goal && r->other && r->error && r->price && r->kept && r->q &&
           (!beside || (r->goals && r->all_kept)) &&
           (!l->own_factors || !is_masked(l) || pith_kept_row_open(l->factor, &r->row));
}

/* Room for each thread before any starts. */
static bool open_work(struct layer_round *l, struct work *w)
{
    *w = (struct work){.l = l, .n = 1, .panel = pith_row_panel_kernels()};
    if (l->runtime && l->runtime->parallel_for)
        w->n = pith_threads_count(l->runtime);
    w->beside = l->paths == 1 && !(l->lambda > 0) && !l->states && !l->coupling &&
                !(l->own_factors && is_masked(l)) && pith_feedback_panel_pays(&w->panel);
    w->room = calloc(w->n, sizeof *w->room);
    bool ok = w->room != NULL;
    if (l->coupling) {
        w->off = malloc((size_t)l->rows * l->factor->n * sizeof *w->off);
        ok = ok && w->off;
    }
    for (uint32_t i = 0; i < w->n && ok; i++) {
        w->room[i].thread = i;
        ok = open_room(l, w->beside, &w->room[i]);
    }
    return ok;
}

static void close_work(struct work *w)
{
    for (uint32_t i = 0; i < w->n && w->room; i++) {
        struct room *r = &w->room[i];
        free(r->goal);
        free(r->other);
        free(r->error);
        free(r->price);
        free(r->kept);
        free(r->q);
        pith_kept_row_close(&r->row);
        free(r->goals);
        free(r->all_kept);
    }
    free(w->room);
    free(w->off);
    free(w->overlap);
    free(w->square);
}

/* Counts of the two quantizers apart: they have different integers. */
static void count_row(struct layer_round *l, const int16_t *q)
{
    uint32_t state = 0;
    for (size_t j = 0; j < l->factor->n; j++) {
        pith_rate_count(&l->rate[state & 1], q + j, 1);
        state = pith_trellis_after(l->states, state, q[j]);
    }
}

/* Both tables, or the first alone. */
static void count(struct layer_round *l)
{
    const size_t n = l->factor->n;
    memset(l->rate, 0, sizeof l->rate);
    for (uint64_t row = 0; row < l->rows && l->states; row++)
        count_row(l, l->q + row * n);
    if (!l->states)
        pith_rate_count(&l->rate[0], l->q, (size_t)l->rows * n);
    pith_rate_finish(&l->rate[0]);
    pith_rate_finish(&l->rate[1]);
    l->bits = l->rate[0].total + l->rate[1].total;
}

/* Where integers are only counted. */
static uint32_t fewer_paths(const struct layer_round *l)
{
    const uint32_t few = l->states ? l->states : COUNT_PATHS;
    return few < l->paths ? few : l->paths;
}

/* Round 0 counts nearest integers, the next ones those of the search. */
enum pith_status pith_layer_round(struct layer_round *l, struct pith_error *err)
{
    struct work w;
    if (!l->q)
        l->q = calloc((size_t)l->rows * l->factor->n, sizeof *l->q);
    l->error = calloc((size_t)l->rows, sizeof *l->error);
    bool ok = open_work(l, &w) && l->q && l->error;
    for (int i = 0; i < RATE_ROUNDS && ok && l->lambda > 0; i++) {
        w.nearest = i == 0;
        w.counts = true;
        w.paths = fewer_paths(l);
        all_rows(&w);
        count(l);
    }
    w.nearest = w.counts = false;
    w.paths = l->paths;
    if (ok) {
        all_rows(&w);
        count(l);
    }
    close_work(&w);
    return ok ? PITH_OK : pith_error_no_memory(err);
}

/* min over f of sum F |U (f q - g)|^2 is at f = (q, g) / (q, q). */
enum pith_status pith_layer_refit(const struct layer_round *l, double *factor,
                                  struct pith_error *err)
{
    struct work w;
    struct layer_round copy = *l;
    double overlap = 0, square = 0;
    bool ok = open_work(&copy, &w);
    w.overlap = calloc((size_t)l->rows, sizeof *w.overlap);
    w.square = calloc((size_t)l->rows, sizeof *w.square);
    w.last = l->rows;
    if (ok && w.off)
        find_errors(&w, w.room);
    ok = ok && w.overlap && w.square;
    if (ok)
        all_rows(&w);
    for (uint64_t place = 0; place < l->rows && ok; place++) {
        const double loss = l->loss ? l->loss[row_at(l, place)] : 1;
        overlap += loss * w.overlap[place];
        square += loss * w.square[place];
    }
    *factor = square > 0 && overlap > 0 ? overlap / square : 1;
    close_work(&w);
    return ok ? PITH_OK : pith_error_no_memory(err);
}
