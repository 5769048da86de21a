/* SPDX-License-Identifier: MIT */
#include "layer_support.h"

#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "pith_host.h"
#include "base/error_fill.h"
#include "numeric/select_largest.h"

static bool has_windows(const struct pith_pattern *p)
{
    return p->kind == PITH_PATTERN_N_OF_M || p->kind == PITH_PATTERN_BALANCED;
}

size_t pith_support_window(const struct pith_pattern *pattern, size_t cols, uint32_t blocks)
{
    const bool whole = blocks == 1 || cols / blocks % pattern->b == 0;
    return has_windows(pattern) && whole ? pattern->b : 1;
}

/* Elements are blocks of one. */
static uint32_t block_rows(const struct pith_pattern *p)
{
    return p->kind == PITH_PATTERN_BLOCK ? p->a : 1;
}

static uint32_t block_cols(const struct pith_pattern *p)
{
    return p->kind == PITH_PATTERN_BLOCK ? p->b : 1;
}

/* ---- without H ------------------------------------------------------------------------------- */

/* Where row and column of the weight are among rows of blocks. */
static size_t place_of(const struct supported_layer *l, uint64_t row, size_t col)
{
    const size_t n = l->factor->n;
    return (col / n * (size_t)l->weight_rows + (size_t)row) * n + col % n;
}

/* F w^2 of a block, summed up in row-major order. */
static double score_of(const struct supported_layer *l, const struct pith_pattern *p, uint64_t row,
                       size_t col)
{
    double sum = 0;
    for (uint64_t r = row; r < row + block_rows(p); r++)
        for (size_t k = col; k < col + block_cols(p); k++) {
            const double w = (double)l->weight[r * l->weight_cols + k];
            sum += l->loss[r] / 2 * w * w;
        }
    return sum;
}

/* [blocks of the weight], as keys that order as they do; 0: all zeros. */
static uint32_t *score_blocks(const struct supported_layer *l, const struct pith_pattern *p,
                              uint64_t *n)
{
    const uint32_t rows = block_rows(p), cols = block_cols(p);
    *n = l->weight_rows / rows * (l->weight_cols / cols);
    uint32_t *key = malloc((size_t)*n * sizeof *key);
    for (uint64_t i = 0; i < *n && key; i++) {
        const uint64_t row = i / (l->weight_cols / cols) * rows;
        key[i] = f32_bits((float)score_of(l, p, row, i % (l->weight_cols / cols) * cols));
    }
    return key;
}

static void keep_in_windows(const struct supported_layer *l, const struct pith_pattern *p,
                            const uint32_t *key, uint8_t *keep)
{
    for (uint64_t row = 0; row < l->weight_rows; row++)
        for (size_t k = 0; k < l->weight_cols; k += p->b) {
            const size_t at = row * l->weight_cols + k,
                         n = l->weight_cols - k < p->b ? l->weight_cols - k : p->b;
            pith_largest(key + at, n, pith_pattern_kept(p, n), keep + at);
        }
}

/* One stays at least. */
static void keep_blocks(const struct layer_support *s, const uint32_t *key, uint64_t n,
                        uint8_t *keep)
{
    const uint32_t price =
        f32_bits((float)(s->price * block_rows(s->pattern) * block_cols(s->pattern)));
    uint64_t gone = 0;
    for (uint64_t i = 0; i < n; i++)
        gone += key[i] < price;
    pith_largest(key, n, gone < n ? n - gone : 1, keep);
}

static bool choose_by_score(struct layer_support *s, const struct supported_layer *l)
{
    const struct pith_pattern *p = s->pattern;
    const uint32_t rows = block_rows(p), cols = block_cols(p);
    uint64_t n;
    uint32_t *key = score_blocks(l, p, &n);
    uint8_t *keep = malloc((size_t)n);
    if (key && keep && has_windows(p))
        keep_in_windows(l, p, key, keep);
    else if (key && keep)
        keep_blocks(s, key, n, keep);
    for (uint64_t row = 0; row < l->weight_rows && key && keep; row++)
        for (size_t k = 0; k < l->weight_cols; k++)
            s->kept[place_of(l, row, k)] = keep[row / rows * (l->weight_cols / cols) + k / cols];
    free(key);
    free(keep);
    return key && keep;
}

/* ---- with H ---------------------------------------------------------------------------------- */

static enum pith_status choose_blocks(struct layer_support *s, const struct supported_layer *l,
                                      struct pith_error *err)
{
    const struct block_choice c = {.factor = l->factor,
                                   .w = l->w,
                                   .rows = l->rows,
                                   .loss = l->loss,
                                   .block_rows = block_rows(s->pattern),
                                   .block_cols = block_cols(s->pattern),
                                   .price =
                                       s->price * block_rows(s->pattern) * block_cols(s->pattern),
                                   .runtime = l->runtime};
    for (size_t i = 0; i < l->rows * l->factor->n; i++)
        s->kept[i] = !l->keep_zeros || l->w[i] != 0;
    return pith_block_choose(&c, s->kept, err);
}

/* Blocks within a group's rows and columns. */
static bool are_whole(const struct pith_pattern *p, const struct supported_layer *l)
{
    return l->rows / l->factor->groups % block_rows(p) == 0 && l->factor->n % block_cols(p) == 0;
}

/* ---- by rows --------------------------------------------------------------------------------- */

static bool open_windows(struct layer_support *s, const struct supported_layer *l)
{
    bool ok = pith_row_windows_open(&s->windows, l->factor, s->pattern);
    s->n_rooms = l->runtime && l->runtime->parallel_for ? pith_threads_count(l->runtime) : 1;
    s->room = calloc(s->n_rooms, sizeof *s->room);
    for (uint32_t i = 0; i < s->n_rooms && ok && s->room; i++)
        ok = pith_row_windows_room(&s->windows, &s->room[i]);
    return ok && s->room;
}

void pith_support_row(const void *support, uint32_t thread, uint32_t group, const double *target,
                      uint8_t *kept)
{
    const struct layer_support *s = support;
    pith_row_windows_choose(&s->windows, group, target, &s->room[thread], kept);
}

enum pith_status pith_support_choose(struct layer_support *s, const struct supported_layer *l,
                                     struct pith_error *err)
{
    const struct layer_factor *f = l->factor;
    if (!s->pattern)
        return PITH_OK;
    if (f->u && pith_support_window(s->pattern, l->weight_cols, l->blocks) > 1)
        return open_windows(s, l) ? PITH_OK : pith_error_no_memory(err);
    s->kept = malloc((size_t)l->rows * f->n);
    if (!s->kept)
        return pith_error_no_memory(err);
    if (f->u && !has_windows(s->pattern) && are_whole(s->pattern, l))
        return choose_blocks(s, l, err);
    return choose_by_score(s, l) ? PITH_OK : pith_error_no_memory(err);
}

void pith_support_close(struct layer_support *s)
{
    free(s->kept);
    for (uint32_t i = 0; i < s->n_rooms && s->room; i++)
        pith_row_windows_room_end(&s->room[i]);
    free(s->room);
    pith_row_windows_close(&s->windows);
    *s = (struct layer_support){.pattern = NULL};
}
