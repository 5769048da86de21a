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
#include "products/run_form_window.h"

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
    return ((uint64_t)rows + 1) * 4 + ((uint64_t)rows + WINDOW_LANES) * 4 +
           ((uint64_t)cols + 2) * 4;
}

/* Row r owns entries ptr[r] .. ptr[r + 1] - 1. The difference of u32 is below cols exactly for
 * numbers of row r, as they ascend. */
static void find_rows(const uint32_t *pos, uint32_t nnz, uint32_t rows, uint32_t cols,
                      uint32_t *ptr)
{
    uint32_t i = 0;
    for (uint32_t r = 0; r < rows; r++) {
        ptr[r] = i;
        while (i < nnz && pos[i] - r * cols < cols)
            i++;
    }
    ptr[rows] = i;
}

/* Rows by falling count, ties in row order; filled up to whole units with NO_ROW. A counting
 * sort, hence in time of rows and columns; the order of ties makes the form depend on the weight
 * alone. */
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

/* A lane without a row begins at the sentinels, whose number is outside any window. */
static void start_unit(struct packer *p, const uint32_t *ptr, const uint32_t *row)
{
    p->window = 0;
    for (uint32_t lane = 0; lane < WINDOW_LANES; lane++) {
        bool none = row[lane] == NO_ROW;
        p->next[lane] = none ? p->nnz : ptr[row[lane]];
        p->row_begin[lane] = none ? 0 : row[lane] * p->cols;
    }
}

/* The leftmost column still to place; cols or more when there is none. An entry of a later row
 * gives cols or more, and so does a sentinel, as row_begin + cols is at most 2^32 - 1. */
static uint32_t leftmost(const struct packer *p)
{
    uint32_t min = UINT32_MAX;
    for (uint32_t lane = 0; lane < WINDOW_LANES; lane++) {
        uint32_t col = p->pos[p->next[lane]] - p->row_begin[lane];
        min = col < min ? col : min;
    }
    return min;
}

struct slot {
    uint32_t col, index, taken;
};

/* Entries of a later row are out of reach, as the window never goes past the end of its row. */
static inline struct slot slot_of(uint32_t distance, uint32_t index)
{
    uint32_t taken = distance < WINDOW_COLS;
    return (struct slot){taken ? distance : EMPTY, index & (0u - taken), taken};
}

/* Up to three nonzeros of a lane as a word (FORM_WINDOW of kernel_sparse.h). The three
 * distances ascend, so a slot is taken only when those before it are: next moves by as many as were
 * taken. It may read three entries from nnz on, which are the sentinels. */
static inline uint32_t pack_lane(struct packer *p, uint32_t lane)
{
    const uint32_t *pos = p->pos + p->next[lane];
    const uint8_t *index = p->index + p->next[lane];
    uint32_t origin = p->row_begin[lane] + p->window;
    const struct slot s0 = slot_of(pos[0] - origin, index[0]);
    const struct slot s1 = slot_of(pos[1] - origin, index[1]);
    const struct slot s2 = slot_of(pos[2] - origin, index[2]);
    p->next[lane] += s0.taken + s1.taken + s2.taken;
    uint32_t low = s0.col | s0.index << 5 | s2.col << 10;
    uint32_t high = s1.col | s1.index << 5 | s2.index << 10;
    return low | high << 16;
}

/* One triple; false when the unit is done. A step is one byte: a longer way is gone in several
 * triples, whose slots may be empty. */
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

/* Triples of one unit, written to step and word, at most `room` of them (UINT32_MAX: more). A
 * triple is packed into memory of its own first, as the form may have no room for it. */
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

/* Where the window form's arrays go: behind the codebook, rows first, then as many triples (64
 * bytes of words and a step) as there is room for. False when there is none. */
static bool lay_out(const struct run_form *f, struct run_form *w, uint32_t *room)
{
    *w = *f;
    w->kind = FORM_WINDOW;
    w->row = f->ptr; /* the first array behind the codebook */
    w->ptr = w->row + (uint64_t)f->n_units * WINDOW_LANES * 4;
    w->index = (w->ptr + ((uint64_t)f->n_units + 1) * 4 + 63) & ~(uint64_t)63;
    if (w->index >= f->bytes)
        return false;
    uint64_t triples = (f->bytes - w->index) / (WINDOW_LANES * 4 + 1);
    *room = (uint32_t)(triples < UINT32_MAX - 1 ? triples : UINT32_MAX - 1);
    w->col = w->index + (uint64_t)*room * WINDOW_LANES * 4;
    return true;
}

/* All units; *n: triples written. */
static bool pack_units(struct packer *p, const struct run_form *w, uint8_t *base,
                       const uint32_t *row_ptr, uint32_t room, uint32_t *n)
{
    const uint32_t *row = (uint32_t *)(void *)(base + w->row);
    uint32_t *triple_ptr = (uint32_t *)(void *)(base + w->ptr);
    uint32_t *word = (uint32_t *)(void *)(base + w->index);
    uint8_t *step = base + w->col;
    *n = 0;
    for (uint32_t u = 0; u < w->n_units; u++) {
        triple_ptr[u] = *n;
        start_unit(p, row_ptr, row + (size_t)u * WINDOW_LANES);
        uint32_t more = pack_unit(p, step + *n, word + (size_t)*n * WINDOW_LANES, room - *n);
        if (more == UINT32_MAX)
            return false;
        *n += more;
    }
    triple_ptr[w->n_units] = *n;
    return true;
}

bool pith_window_build(struct run_form *f, const uint32_t *pos, const uint8_t *index, uint32_t nnz,
                       void *scratch)
{
    uint32_t *ptr = scratch, *sorted = ptr + f->rows + 1;
    uint32_t *bucket = sorted + f->rows + WINDOW_LANES, room, n;
    uint8_t *base = (uint8_t *)f;
    struct packer p = {.pos = pos, .index = index, .cols = f->cols, .nnz = nnz};
    struct run_form w;
    if (f->cols < WINDOW_COLS || !lay_out(f, &w, &room))
        return false;
    find_rows(pos, nnz, f->rows, f->cols, ptr);
    sort_rows(ptr, f->rows, f->cols, f->n_units, bucket, sorted);
    memcpy(base + w.row, sorted, (size_t)f->n_units * WINDOW_LANES * 4);
    if (!pack_units(&p, &w, base, ptr, room, &n))
        return false;
    uint64_t steps = w.index + (uint64_t)n * WINDOW_LANES * 4;
    memmove(base + steps, base + w.col, n);
    w.col = steps;
    w.bytes = (w.col + n + 63) & ~(uint64_t)63;
    *f = w;
    return true;
}
