/* SPDX-License-Identifier: MIT */
/* layer_round.c - rows are shared among threads, each with room of its own; sums over rows are
 * taken in their order behind.
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
#include "pith_host.h"
#include "base/in_parallel.h"
#include "numeric/row_panel.h"
#include "decode/trellis.h"

/* Bits follow from counts and counts from bits; two rounds come to rest but for some integers. */
#define RATE_ROUNDS 2 /* that integers are counted and rounded again */
#define COUNT_PATHS 4 /* without a trellis */

/* One thread's: nothing is allocated for a row. */
struct room {
    double *goal, *other, *error, *projection, *unit, *price;
    uint8_t *kept;
    int16_t *q;
    struct kept_row row;             /* where some weights have to be 0 */
    struct row_windows_room windows; /* where rows choose which */
};

struct work {
    struct layer_round *l;
    uint32_t n; /* threads */
    struct room *room;
    /* Of coupled rows by place, NULL where there are none: errors, by place as well; integers;
     * what is told of the results' errors. */
    double *off;          /* [rows, n] */
    int16_t *placed;      /* [rows, n] */
    double *gathered;     /* [rows] */
    uint64_t first, last; /* places of the rows that are rounded at once */
    bool nearest;         /* nothing but the nearest integers of the goals */
    bool counts;          /* integers are only counted */
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
    return l->keep_zeros || l->kept || l->windows;
}

/* Those that have: zeros that prune left where that is asked, what was chosen before, and what is
 * chosen now. order: of the row's group. */
static void find_kept(const struct layer_round *l, uint64_t row, const size_t *order,
                      const struct room *r)
{
    const size_t n = l->factor->n;
    for (size_t j = 0; j < n; j++) {
        const size_t at = row * n + order[j];
        r->kept[j] = (!l->keep_zeros || l->w[at] != 0) && (!l->kept || l->kept[at]);
    }
    if (l->windows)
        pith_row_windows_choose(l->windows, group_of(l, row), r->goal, &r->windows, r->kept);
}

/* The first guess, from which integers are counted. */
static void round_to_nearest(const struct layer_round *l, uint64_t row, const struct room *r)
{
    for (size_t j = 0; j < l->factor->n; j++)
        r->q[j] =
            !r->kept[j]
                ? 0
                : (int16_t)fmin(fmax(nearbyint(r->goal[j] / l->step[row]), -l->levels), l->levels);
}

/* An error of the row's results costs loss / 2 nats a square, so bits are divided by it: then
 * prices and errors have one unit. */
static void set_prices(const struct layer_round *l, uint64_t row, double *price)
{
    for (uint32_t i = 0; i < (l->states ? 2 : 1); i++)
        for (int32_t k = -l->levels; k <= l->levels; k++)
            *price++ = 2 * l->lambda / l->loss[row] * l->rate[i].bits[k + RATE_MOST];
}

/* The prices of the integers of a row. pith_error_feedback() returns errors and prices in one
 * sum; the error alone is what is told. */
static double paid_for(const struct layer_round *l, const struct room *r)
{
    const size_t integers = 2 * (size_t)l->levels + 1;
    uint32_t state = 0;
    double paid = 0;
    for (size_t j = l->factor->n; j-- > 0;) {
        paid += r->price[(state & 1) * integers + (size_t)(r->q[j] + l->levels)];
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

/* alone: as if each weight's error counted by itself, and bits cost nothing. The identity in
 * place of the factor: then no error is fed forward. */
static double round_along_paths(const struct work *w, uint64_t row, const struct room *r)
{
    const struct layer_round *l = w->l;
    const bool alone = w->nearest;
    const struct layer_factor *f = l->factor;
    const size_t n = f->n;
    const double *u = f->u && !alone ? f->u + group_of(l, row) * n * n : NULL;
    const struct quantizer_trellis trellis = trellis_of(l);
    const struct low_rank_factor diagonal = {
        .n = n, .x = r->projection, .p = r->projection, .diagonal = r->unit};
    struct error_feedback e = {.n = n,
                               .u = u,
                               .factor = u ? NULL : &diagonal,
                               .goal = r->goal,
                               .kept = is_masked(l) ? r->kept : NULL,
                               .lowest = -l->levels,
                               .most = l->levels,
                               .trellis = l->states ? &trellis : NULL,
                               /* One path is GPTQ; a trellis needs a path for each state at
                                * least. */
                               .n_paths = u           ? w->paths
                                          : l->states ? l->states
                                                      : 1,
                               .e = r->error,
                               .projection = r->projection,
                               .panel = &w->panel};
    if (l->lambda > 0 && !alone) {
        set_prices(l, row, r->price);
        e.price = r->price;
    }
    const double cost = pith_error_feedback(&e, l->step[row], HUGE_VAL, r->q);
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
                               .lowest = -l->levels,
                               .most = l->levels,
                               .n_paths = w->paths,
                               .e = r->error,
                               .panel = &w->panel};
    if (l->lambda > 0) {
        set_prices(l, row, r->price);
        e.price = r->price;
    }
    if (e.n > 0)
        pith_error_feedback(&e, l->step[row], HUGE_VAL, r->row.q);
    memset(r->q, 0, l->factor->n * sizeof *r->q);
    for (size_t j = 0; j < e.n; j++)
        r->q[r->row.place[j]] = r->row.q[j];
    return error_of(l, row, r);
}

/* Where integers are only counted, errors may as well go to places that are gone. */
static bool takes_kept(const struct work *w, uint64_t row, struct room *r)
{
    const struct layer_round *l = w->l;
    return is_masked(l) && l->factor->u && !l->states && !w->counts &&
           pith_kept_row_take(l->factor, group_of(l, row), r->goal, r->kept, &r->row);
}

static uint64_t row_at(const struct layer_round *l, uint64_t place)
{
    return l->coupling ? l->coupling->order[place] : place;
}

/* What the errors of the rows that are rounded ask of this one. */
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
    *(w->gathered ? &w->gathered[place] : &l->error[row]) = error;
    int16_t *to = w->placed ? w->placed + place * n : l->q + row * n;
    for (size_t j = 0; j < n; j++)
        to[order[j]] = r->q[j];
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

/* Rows go to ranks and to threads in turn; their results lie apart. */
static void do_rows(void *arg, uint32_t thread)
{
    const struct work *w = arg;
    const struct pith_sweep_ranks *k = w->l->ranks;
    const uint64_t count = k ? k->count : 1;
    for (uint64_t row = w->first + thread * count + (k ? k->rank : 0); row < w->last;
         row += w->n * count)
        if (w->overlap)
            compare_row(w, row, &w->room[thread]);
        else
            round_row(w, row, &w->room[thread]);
}

/* What the rows of other ranks have become. */
static bool gather_rows(const struct work *w)
{
    const struct layer_round *l = w->l;
    const size_t rows = (size_t)l->rows, n = l->factor->n;
    if (w->overlap)
        return rank_gather(l->ranks, w->overlap, rows * sizeof *w->overlap, sizeof *w->overlap) &&
               rank_gather(l->ranks, w->square, rows * sizeof *w->square, sizeof *w->square);
    return rank_gather(l->ranks, l->q, rows * n * sizeof *l->q, n * sizeof *l->q) &&
           rank_gather(l->ranks, l->error, rows * sizeof *l->error, sizeof *l->error);
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

/* What ranks have made of the rows of a block goes to all, and from their places to the rows. */
static bool take_block(const struct work *w)
{
    struct layer_round *l = w->l;
    const size_t n = l->factor->n, bytes = n * sizeof *w->placed,
                 count = (size_t)(w->last - w->first);
    if (!rank_gather(l->ranks, w->placed + w->first * n, count * bytes, bytes) ||
        !rank_gather(l->ranks, w->gathered + w->first, count * sizeof *w->gathered,
                     sizeof *w->gathered))
        return false;
    for (uint64_t place = w->first; place < w->last; place++) {
        memcpy(l->q + row_at(l, place) * n, w->placed + place * n, bytes);
        l->error[row_at(l, place)] = w->gathered[place];
    }
    find_errors(w, w->room);
    return true;
}

static bool all_rows(struct work *w)
{
    const struct row_coupling *c = w->l->coupling;
    if (!c || w->overlap) {
        some_rows(w, 0, w->l->rows);
        return gather_rows(w);
    }
    bool ok = true;
    for (uint64_t last = c->rows; last > 0 && ok; last = w->first) {
        some_rows(w, last > c->at_once ? last - c->at_once : 0, last);
        ok = take_block(w);
    }
    return ok;
}

/* What a failure leaves is freed by close_work(). */
static bool open_room(const struct layer_round *l, struct room *r)
{
    const size_t n = l->factor->n;
    r->goal = malloc(n * sizeof *r->goal);
    r->other = malloc(n * sizeof *r->other);
    r->error = malloc(n * l->paths * sizeof *r->error);
    r->projection = malloc(l->paths * sizeof *r->projection);
    r->unit = malloc(n * sizeof *r->unit);
    r->price = malloc(2 * (2 * (size_t)l->levels + 1) * sizeof *r->price);
    r->kept = malloc(n);
    r->q = malloc(n * sizeof *r->q);
    for (size_t k = 0; k < n && r->unit; k++)
        r->unit[k] = 1;
    return r->goal && r->other && r->error && r->projection && r->unit && r->price && r->kept &&
           r->q && (!is_masked(l) || pith_kept_row_open(l->factor, &r->row)) &&
           (!l->windows || pith_row_windows_room(l->windows, &r->windows));
}

/* Room for each thread before any starts. */
static bool open_work(struct layer_round *l, struct work *w)
{
    *w = (struct work){.l = l, .n = 1, .panel = pith_row_panel_kernels()};
    if (l->runtime && l->runtime->parallel_for)
        w->n = pith_threads_count(l->runtime);
    w->room = calloc(w->n, sizeof *w->room);
    bool ok = w->room != NULL;
    if (l->coupling) {
        w->off = malloc((size_t)l->rows * l->factor->n * sizeof *w->off);
        w->placed = malloc((size_t)l->rows * l->factor->n * sizeof *w->placed);
        w->gathered = malloc((size_t)l->rows * sizeof *w->gathered);
        ok = ok && w->off && w->placed && w->gathered;
    }
    for (uint32_t i = 0; i < w->n && ok; i++)
        ok = open_room(l, &w->room[i]);
    return ok;
}

static void close_work(struct work *w)
{
    for (uint32_t i = 0; i < w->n && w->room; i++) {
        struct room *r = &w->room[i];
        free(r->goal);
        free(r->other);
        free(r->error);
        free(r->projection);
        free(r->unit);
        free(r->price);
        free(r->kept);
        free(r->q);
        pith_kept_row_close(&r->row);
        pith_row_windows_room_end(&r->windows);
    }
    free(w->room);
    free(w->off);
    free(w->placed);
    free(w->gathered);
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
    l->q = calloc((size_t)l->rows * l->factor->n, sizeof *l->q);
    l->error = calloc((size_t)l->rows, sizeof *l->error);
    bool ok = open_work(l, &w) && l->q && l->error;
    for (int i = 0; i < RATE_ROUNDS && ok && l->lambda > 0; i++) {
        w.nearest = i == 0;
        w.counts = true;
        w.paths = fewer_paths(l);
        ok = all_rows(&w);
        count(l);
    }
    w.nearest = w.counts = false;
    w.paths = l->paths;
    ok = ok && all_rows(&w);
    if (ok)
        count(l);
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
    ok = ok && w.overlap && w.square && all_rows(&w);
    for (uint64_t place = 0; place < l->rows && ok; place++) {
        overlap += l->loss[row_at(l, place)] * w.overlap[place];
        square += l->loss[row_at(l, place)] * w.square[place];
    }
    *factor = square > 0 && overlap > 0 ? overlap / square : 1;
    close_work(&w);
    return ok ? PITH_OK : pith_error_no_memory(err);
}
