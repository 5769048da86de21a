/* SPDX-License-Identifier: MIT */
/* run_form_window.c - packs nonzeros into the sliding-window form.
 *
 * 16 rows advance side by side, three slots a row at a time (a triple). The window starts at the
 * leftmost nonzero any of them still has; each row then places up to three nonzeros that lie within
 * reach and rows that ran ahead leave slots empty. Greedy is optimal here: the row that holds the
 * window back always places its nonzero, and placing more never hurts. Rows of similar count share
 * a unit, so that none waits long for another.
 *
 * Packing has no branches on the pattern: element numbers ascend through the whole matrix, so the
 * entries behind a row's last one lie outside any window of that row, and sentinels follow the very
 * last. */
#include "run_form_window.h"

#define SLOTS 3u
#define EMPTY WINDOW_COLS
#define MAX_STEP 255u
#define NO_ROW UINT32_MAX

struct packer {
    const uint32_t *pos;
    const uint8_t *index;
    uint32_t cols, nnz;
    uint32_t next[WINDOW_LANES];      /* entry of each lane to place next */
    uint32_t row_begin[WINDOW_LANES]; /* element number of its column 0 */
    uint32_t window;
};

uint64_t pith_window_scratch_bytes(uint32_t rows, uint32_t cols)
{
    /* row_ptr, sorted rows, one bucket for each count of a row */
    return ((uint64_t)rows + 1) * 4 + ((uint64_t)rows + WINDOW_LANES) * 4 + ((uint64_t)cols + 2) * 4;
}

static void find_rows(const uint32_t *pos, uint32_t nnz, uint32_t rows, uint32_t cols, uint32_t *ptr)
{
    uint32_t i = 0;
    for (uint32_t r = 0; r < rows; r++) {
        ptr[r] = i;
        while (i < nnz && pos[i] - r * cols < cols)
            i++;
    }
    ptr[rows] = i;
}

/* Rows by falling count, ties in row order; filled up to whole units with NO_ROW. */
static void sort_rows(const uint32_t *ptr, uint32_t rows, uint32_t cols, uint32_t n_units,
                      uint32_t *bucket, uint32_t *sorted)
{
    memset(bucket, 0, ((size_t)cols + 2) * sizeof *bucket);
    for (uint32_t r = 0; r < rows; r++)
        bucket[cols - (ptr[r + 1] - ptr[r]) + 1]++;
    for (uint32_t b = 0; b <= cols; b++)
        bucket[b + 1] += bucket[b];
    for (uint32_t r = 0; r < rows; r++)
        sorted[bucket[cols - (ptr[r + 1] - ptr[r])]++] = r;
    for (uint32_t i = rows; i < n_units * WINDOW_LANES; i++)
        sorted[i] = NO_ROW;
}

static void start_unit(struct packer *p, const uint32_t *ptr, const uint32_t *row)
{
    p->window = 0;
    for (uint32_t lane = 0; lane < WINDOW_LANES; lane++) {
        bool none = row[lane] == NO_ROW;
        p->next[lane] = none ? p->nnz : ptr[row[lane]];
        p->row_begin[lane] = none ? 0 : row[lane] * p->cols;
    }
}

/* The leftmost column still to place; cols or more when there is none. */
static uint32_t leftmost(const struct packer *p)
{
    uint32_t min = UINT32_MAX;
    for (uint32_t lane = 0; lane < WINDOW_LANES; lane++) {
        uint32_t col = p->pos[p->next[lane]] - p->row_begin[lane];
        min = col < min ? col : min;
    }
    return min;
}

static uint32_t pack_lane(struct packer *p, uint32_t lane)
{
    const uint32_t *pos = p->pos + p->next[lane];
    const uint8_t *index = p->index + p->next[lane];
    uint32_t origin = p->row_begin[lane] + p->window, col[SLOTS], centroid[SLOTS];
    for (uint32_t s = 0; s < SLOTS; s++) {
        uint32_t distance = pos[s] - origin;
        bool here = distance < WINDOW_COLS;
        col[s] = here ? distance : EMPTY;
        centroid[s] = here ? index[s] : 0;
        p->next[lane] += here;
    }
    return (col[0] | centroid[0] << 5 | col[2] << 10) |
           (col[1] | centroid[1] << 5 | centroid[2] << 10) << 16;
}

/* One triple; false when the unit is done. */
static bool pack_triple(struct packer *p, uint8_t *step, uint32_t word[WINDOW_LANES])
{
    uint32_t to = leftmost(p);
    if (to >= p->cols)
        return false;
    if (to > p->cols - WINDOW_COLS)
        to = p->cols - WINDOW_COLS; /* the window never reaches past x */
    uint32_t move = to - p->window;
    *step = (uint8_t)(move < MAX_STEP ? move : MAX_STEP);
    p->window += *step;
    for (uint32_t lane = 0; lane < WINDOW_LANES; lane++)
        word[lane] = pack_lane(p, lane);
    return true;
}

/* Triples of one unit, written to step and word, at most `room` of them (UINT32_MAX: more). */
static uint32_t pack_unit(struct packer *p, uint8_t *step, uint32_t *word, uint32_t room)
{
    uint32_t n = 0;
    uint8_t one_step;
    uint32_t one_word[WINDOW_LANES];
    while (pack_triple(p, &one_step, one_word)) {
        if (n == room)
            return UINT32_MAX;
        step[n] = one_step;
        memcpy(word + (size_t)n * WINDOW_LANES, one_word, sizeof one_word);
        n++;
    }
    return n;
}

bool pith_window_build(struct run_form *f, const uint32_t *pos, const uint8_t *index, uint32_t nnz,
                       void *scratch)
{
    if (f->cols < WINDOW_COLS)
        return false;
    uint32_t *ptr = scratch, *sorted = ptr + f->rows + 1;
    uint32_t *bucket = sorted + f->rows + WINDOW_LANES;
    find_rows(pos, nnz, f->rows, f->cols, ptr);
    sort_rows(ptr, f->rows, f->cols, f->n_units, bucket, sorted);

    struct run_form w = *f;
    w.kind = FORM_WINDOW;
    w.row = f->ptr; /* the arrays start where the row pointers would */
    uint64_t rows_end = w.row + (uint64_t)f->n_units * WINDOW_LANES * 4;
    w.ptr = rows_end;
    uint64_t ptr_end = (w.ptr + ((uint64_t)f->n_units + 1) * 4 + 63) & ~(uint64_t)63;
    if (ptr_end >= f->bytes)
        return false;
    /* The rest is room for triples of 64 + 1 bytes. */
    uint64_t room = (f->bytes - ptr_end) / (WINDOW_LANES * 4 + 1);
    room = room < UINT32_MAX - 1 ? room : UINT32_MAX - 1;
    w.index = ptr_end;
    w.col = w.index + room * WINDOW_LANES * 4;

    uint8_t *base = (uint8_t *)f;
    uint32_t *row = (uint32_t *)(void *)(base + w.row), *triple_ptr = (uint32_t *)(void *)(base + w.ptr);
    uint8_t *step = base + w.col;
    uint32_t *word = (uint32_t *)(void *)(base + w.index);
    struct packer p = {.pos = pos, .index = index, .cols = f->cols, .nnz = nnz};
    uint32_t n = 0;
    memcpy(row, sorted, (size_t)f->n_units * WINDOW_LANES * 4);
    for (uint32_t u = 0; u < f->n_units; u++) {
        triple_ptr[u] = n;
        start_unit(&p, ptr, row + (size_t)u * WINDOW_LANES);
        uint32_t more = pack_unit(&p, step + n, word + (size_t)n * WINDOW_LANES, (uint32_t)room - n);
        if (more == UINT32_MAX)
            return false;
        n += more;
    }
    triple_ptr[f->n_units] = n;
    uint64_t step_at = w.index + (uint64_t)n * WINDOW_LANES * 4;
    memmove(base + step_at, step, n);
    w.col = step_at;
    w.bytes = (w.col + n + 63) & ~(uint64_t)63;
    *f = w;
    return true;
}
