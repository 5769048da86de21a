/* SPDX-License-Identifier: MIT */
/* block_choice.c - a piece of work is a segment of columns of a block's rows: it removes all of its
 * blocks and notes in which order and at what cost. A block costs at least what those before it in
 * its piece did, so the cheapest blocks of all pieces are the first ones of each. */
#include "block_choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eliminate.h"
#include "numeric/cholesky.h"
#include "base/error_fill.h"
#include "pith_host.h"
#include "base/in_parallel.h"

/* In the order that a piece removes them. */
struct removal {
    double cost;
    uint32_t row, column; /* of blocks */
};

struct room {
    struct elimination x;
    double *goal, *other;
    size_t *place; /* [n] of each column */
};

struct work {
    const struct block_choice *c;
    const uint8_t *kept;
    const double *inverse; /* [n, n] H^-1 of the group, by place */
    uint32_t group, threads;
    size_t segment;          /* columns, whole blocks */
    struct removal *removal; /* [blocks of the layer], a piece's behind each other */
    struct room *room;       /* [threads] */
};

/* ---- H^-1 ------------------------------------------------------------------------------------ */

/* v [n, n]: U^-1, row by row from the last. */
static void invert_factor(const double *u, size_t n, double *v)
{
    memset(v, 0, n * n * sizeof *v);
    for (size_t i = n; i-- > 0;) {
        double *to = v + i * n;
        to[i] = 1;
        for (size_t k = i + 1; k < n; k++) {
            const double by = u[i * n + k], *from = v + k * n;
            for (size_t j = k; j < n; j++)
                to[j] -= by * from[j];
        }
        for (size_t j = i; j < n; j++)
            to[j] /= u[i * n + i];
    }
}

/* H^-1 = U^-1 U^-T in place: an element needs rows from its own on, which are whole until then. */
static void multiply_inverse(double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            v[i * n + j] = pith_dot(v + i * n + j, v + j * n + j, n - j);
}

/* ---- a piece --------------------------------------------------------------------------------- */

/* Blocks of a row in the segment that begins at that column. */
static size_t blocks_in(const struct work *w, size_t first)
{
    const size_t n = w->c->factor->n;
    return (n - first < w->segment ? n - first : w->segment) / w->c->block_cols;
}

/* Rows and columns of the segment, as they are stored. */
static void fill(const struct work *w, uint64_t row, size_t first, const struct room *r)
{
    const struct layer_factor *f = w->c->factor;
    const struct elimination *x = &r->x;
    for (size_t k = 0; k < x->rows; k++) {
        pith_layer_row_target(f, w->group, w->c->w + (row + k) * f->n, r->goal, r->other);
        for (size_t j = 0; j < x->n; j++)
            x->w[k * x->n + j] = r->goal[r->place[first + j]];
    }
    for (size_t j = 0; j < x->n; j++)
        for (size_t k = j; k < x->n; k++) {
            const size_t a = r->place[first + j], b = r->place[first + k];
            x->inverse[j * x->n + k] = a < b ? w->inverse[a * f->n + b] : w->inverse[b * f->n + a];
        }
}

static bool is_empty(const struct work *w, uint64_t row, size_t column)
{
    const struct block_choice *c = w->c;
    for (uint64_t k = 0; k < c->block_rows; k++)
        for (size_t j = 0; j < c->block_cols; j++)
            if (w->kept[(row + k) * c->factor->n + column + j])
                return false;
    return true;
}

static void remove_all(const struct work *w, uint64_t row, size_t first, struct room *r,
                       struct removal *to)
{
    const struct block_choice *c = w->c;
    struct elimination *x = &r->x;
    const size_t blocks = blocks_in(w, first);
    double most = 0;
    *x = (struct elimination){.n = blocks * c->block_cols,
                              .unit = c->block_cols,
                              .rows = c->block_rows,
                              .inverse = x->inverse,
                              .w = x->w,
                              .loss = c->loss + row,
                              .gone = x->gone,
                              .room = x->room};
    memset(x->gone, 0, blocks);
    fill(w, row, first, r);
    for (size_t i = 0, done = 0; done < blocks; i++) {
        size_t at = i;
        double cost = 0;
        if (i >= blocks)
            at = pith_eliminate_cheapest(x, &cost);
        else if (!is_empty(w, row, first + i * c->block_cols))
            continue;
        pith_eliminate(x, at);
        most = fmax(most, cost);
        to[done++] = (struct removal){.cost = most,
                                      .row = (uint32_t)(row / c->block_rows),
                                      .column = (uint32_t)(first / c->block_cols + at)};
    }
}

/* Pieces go to threads in turn. */
static void do_pieces(void *arg, uint32_t thread)
{
    const struct work *w = arg;
    const struct block_choice *c = w->c;
    const size_t n = c->factor->n, segments = (n + w->segment - 1) / w->segment;
    const uint64_t each = c->rows / c->factor->groups, bands = each / c->block_rows;
    struct room *r = &w->room[thread];
    for (size_t j = 0; j < n; j++)
        r->place[c->factor->order[w->group * n + j]] = j;
    for (uint64_t i = thread; i < bands * segments; i += w->threads) {
        const uint64_t row = w->group * each + i / segments * c->block_rows;
        const size_t first = i % segments * w->segment;
        remove_all(w, row, first, r,
                   w->removal + row / c->block_rows * (n / c->block_cols) + first / c->block_cols);
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Of equal costs the earlier one first, so that the order is the same everywhere. */
static int by_cost(const void *a, const void *b)
{
    const struct removal *x = *(const struct removal *const *)a,
                         *y = *(const struct removal *const *)b;
    return x->cost < y->cost ? -1 : x->cost > y->cost ? 1 : x < y ? -1 : x > y;
}

static void drop(const struct block_choice *c, const struct removal *r, uint8_t *kept)
{
    for (uint64_t k = 0; k < c->block_rows; k++)
        memset(kept + (r->row * (uint64_t)c->block_rows + k) * c->factor->n +
                   (size_t)r->column * c->block_cols,
               0, c->block_cols);
}

static bool drop_cheapest(const struct work *w, uint64_t blocks, uint8_t *kept)
{
    const struct block_choice *c = w->c;
    const struct removal **sorted = malloc((size_t)blocks * sizeof *sorted);
    uint64_t gone = 0;
    for (uint64_t i = 0; i < blocks && sorted; i++)
        sorted[i] = &w->removal[i];
    if (sorted)
        qsort(sorted, (size_t)blocks, sizeof *sorted, by_cost);
    if (sorted)
        while (gone + 1 < blocks && sorted[gone]->cost < c->price)
            gone++;
    for (uint64_t i = 0; i < gone && sorted; i++)
        drop(c, sorted[i], kept);
    free(sorted);
    return sorted != NULL;
}

static bool open_room(const struct work *w, struct room *r)
{
    const size_t n = w->c->factor->n, s = w->segment, b = w->c->block_cols;
    r->x.inverse = malloc(s * s * sizeof *r->x.inverse);
    r->x.w = malloc(w->c->block_rows * s * sizeof *r->x.w);
    r->x.gone = malloc(s / b);
    r->x.room = malloc(b * (s + b + 1) * sizeof *r->x.room);
    r->goal = malloc(n * sizeof *r->goal);
    r->other = malloc(n * sizeof *r->other);
    r->place = malloc(n * sizeof *r->place);
    return r->x.inverse && r->x.w && r->x.gone && r->x.room && r->goal && r->other && r->place;
}

static void close_room(struct room *r)
{
    free(r->x.inverse);
    free(r->x.w);
    free(r->x.gone);
    free(r->x.room);
    free(r->goal);
    free(r->other);
    free(r->place);
}

static size_t segment_of(const struct block_choice *c)
{
    const size_t n = c->factor->n, b = c->block_cols,
                 whole = b < BLOCK_SEGMENT ? BLOCK_SEGMENT / b * b : b;
    return n < whole ? n : whole;
}

enum pith_status pith_block_choose(const struct block_choice *c, uint8_t *kept,
                                   struct pith_error *err)
{
    const size_t n = c->factor->n;
    const uint64_t blocks = c->rows / c->block_rows * (n / c->block_cols);
    struct work w = {.c = c, .kept = kept, .threads = 1, .segment = segment_of(c)};
    if (c->runtime && c->runtime->parallel_for)
        w.threads = pith_threads_count(c->runtime);
    double *inverse = malloc(n * n * sizeof *inverse);
    w.removal = malloc((size_t)blocks * sizeof *w.removal);
    w.room = calloc(w.threads, sizeof *w.room);
    bool ok = inverse && w.removal && w.room;
    for (uint32_t i = 0; i < w.threads && ok; i++)
        ok = open_room(&w, &w.room[i]);
    for (uint32_t g = 0; g < c->factor->groups && ok; g++) {
        invert_factor(c->factor->u + g * n * n, n, inverse);
        multiply_inverse(inverse, n);
        w.inverse = inverse;
        w.group = g;
        pith_in_parallel(c->runtime, w.threads, do_pieces, &w);
    }
    ok = ok && drop_cheapest(&w, blocks, kept);
    for (uint32_t i = 0; i < w.threads && w.room; i++)
        close_room(&w.room[i]);
    free(w.room);
    free(w.removal);
    free(inverse);
    return ok ? PITH_OK : pith_error_no_memory(err);
}
