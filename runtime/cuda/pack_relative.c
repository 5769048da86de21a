/* SPDX-License-Identifier: MIT */
/* pack_relative.c - relative index (Han et al., "EIE", 2016) for warps: a row's nonzeros are
 * entries of a step - columns from the one before - and an index into the codebook,
 *
 *     8 bits    step 4, index 4     up to 16 centroids
 *     16 bits   step 8, index 8     up to 256
 *
 * and a step of all ones is a filler: that many columns on, and no value. A row's entries are
 * cut into 32 pieces, one a lane, that differ by one entry at most, so that no lane waits for
 * another; the column before a piece, counted from 1, is told. A piece ends in fillers up to a
 * whole word. Words of 32 bits lie lane beside lane: a warp reads 128 bytes at once.
 *
 *     | codebook | row_at [rows + 1] | start [rows, 32] | words of row 0: [n, 32], row 1 ... | */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "launch.h"
#include "pack_parts.h"
#include "pack_relative.h"

#define MOST_COLUMNS 65536u
/* Above this share of nonzeros a dense f32 matrix is not much larger than what gathering saves. */
#define DENSEST 0.4

struct relative_layout pith_relative_layout(const struct weight *w)
{
    struct relative_layout r = {.row_at = PACK_CENTROIDS * sizeof(float),
                                .wide = w->n_centroids > 16};
    uint64_t rows = w->shape.dim[0];
    r.start = r.row_at + pith_pack_aligned((rows + 1) * sizeof(uint32_t));
    r.words = r.start + pith_pack_aligned(rows * SPMV_LANES * sizeof(uint16_t));
    return r;
}

/* Columns are told in 16 bits, and element numbers in 32. */
static bool suits(const struct weight *w)
{
    return w->type == PITH_F32 && w->shape.rank == 2 && w->grid == GRID_CODEBOOK &&
           w->n_groups == 1 && w->support != SUPPORT_DENSE && w->n_centroids <= PACK_CENTROIDS &&
           w->shape.dim[1] <= MOST_COLUMNS && w->count < UINT64_C(1) << 31 &&
           (double)w->nnz <= DENSEST * (double)w->count;
}

/* Entries of one row as they come: the row is walked twice, to count and to write. */
struct row_writer {
    uint32_t marker, step_bits, per_word; /* per_word: entries of a word */
    uint32_t total;                       /* entries of the row; 0: counting */
    uint32_t n, column;                   /* entries so far; columns up to the last one */
    uint32_t lane, begin, end;            /* which has entries begin .. end */
    uint32_t *words;
    uint16_t *start;
};

/* Counting first tells how many there are, which says where an entry goes. */
static void put_entry(struct row_writer *r, uint32_t entry)
{
    while (r->total && r->n == r->end) {
        r->begin = r->end;
        r->end = (uint32_t)((uint64_t)(++r->lane + 1) * r->total / SPMV_LANES);
        r->start[r->lane] = (uint16_t)r->column;
    }
    if (r->total) {
        uint32_t at = r->n - r->begin, bits = 32 / r->per_word, shift = at % r->per_word * bits;
        uint32_t *word = &r->words[at / r->per_word * SPMV_LANES + r->lane];
        *word = (*word & ~(((1u << bits) - 1) << shift)) | entry << shift;
    }
    r->n++;
}

/* A filler moves on by `marker` columns, and only a step below it is coded with a value. */
static void put_nonzero(struct row_writer *r, uint32_t column, uint32_t index)
{
    while (column + 1 - r->column >= r->marker) {
        put_entry(r, r->marker);
        r->column += r->marker;
    }
    put_entry(r, (column + 1 - r->column) | index << r->step_bits);
    r->column = column + 1;
}

static struct row_writer writer_of(const struct weight *w)
{
    bool wide = w->n_centroids > 16;
    return (struct row_writer){
        .marker = wide ? 255 : 15, .step_bits = wide ? 8 : 4, .per_word = wide ? 2 : 4};
}

/* Writes the row's nonzeros [first, end). */
static void walk_row(struct row_writer *r, const struct nonzeros *z, uint64_t first, uint64_t end,
                     uint32_t base)
{
    r->n = r->column = 0;
    for (uint64_t i = first; i < end; i++)
        put_nonzero(r, z->pos[i] - base, z->index[i]);
}

/* Words a lane has of n entries. */
static uint32_t words_of(const struct row_writer *r, uint32_t n)
{
    uint32_t all = r->per_word * SPMV_LANES;
    return (n + all - 1) / all;
}

/* All entries of the row are fillers, until others are put over them, and begin at column 0. */
static void begin_row(struct row_writer *r, uint32_t n_words)
{
    uint32_t filler = r->per_word == 4 ? 0x0f0f0f0fu : 0x00ff00ffu;
    for (uint32_t i = 0; i < n_words * SPMV_LANES; i++)
        r->words[i] = filler;
    r->total = r->n;
    r->lane = 0;
    r->begin = 0;
    r->end = r->total / SPMV_LANES;
}

/* Words of all rows; to NULL: counted alone. Rows are counted even where they are written: the
 * length of a row's pieces is known from its own entries alone. */
static uint64_t pack_rows(const struct weight *w, const struct nonzeros *z, uint8_t *to)
{
    struct relative_layout layout = pith_relative_layout(w);
    uint64_t first = 0, words = 0;
    for (uint32_t row = 0; row < w->shape.dim[0]; row++) {
        struct row_writer r = writer_of(w);
        uint32_t base = row * w->shape.dim[1], n_words;
        uint64_t end = pith_nonzeros_row_end(w, z, first, row, w->shape.dim[1]);
        walk_row(&r, z, first, end, base);
        n_words = words_of(&r, r.n);
        if (to) {
            uint32_t *row_at = (uint32_t *)(void *)(to + layout.row_at);
            row_at[row] = (uint32_t)words;
            row_at[row + 1] = (uint32_t)words + n_words * SPMV_LANES;
            r.words = (uint32_t *)(void *)(to + layout.words) + words;
            r.start = (uint16_t *)(void *)(to + layout.start) + (size_t)row * SPMV_LANES;
            begin_row(&r, n_words);
            walk_row(&r, z, first, end, base);
        }
        words += (uint64_t)n_words * SPMV_LANES;
        first = end;
    }
    return words;
}

/* A filler adds the first centroid times 0. */
static enum pith_status check_codebook(const struct weight *w)
{
    float book[PACK_CENTROIDS];
    enum pith_status st = pith_weight_codebooks(w, book);
    for (uint32_t i = 0; i < w->n_centroids && !st; i++)
        if (!isfinite(book[i]))
            st = PITH_ERR_UNSUPPORTED;
    return st;
}

enum pith_status pith_relative_bytes(const struct weight *w, uint64_t *bytes)
{
    struct nonzeros z = {0};
    if (!suits(w))
        return PITH_ERR_UNSUPPORTED;
    enum pith_status st = check_codebook(w);
    if (!st)
        st = pith_nonzeros_new(w, &z);
    if (st)
        return st;
    *bytes = pith_relative_layout(w).words + pack_rows(w, &z, NULL) * sizeof(uint32_t) + 4;
    pith_nonzeros_free(&z);
    return PITH_OK;
}

enum pith_status pith_relative_pack(const struct weight *w, uint8_t *to)
{
    struct nonzeros z = {0};
    uint64_t bytes;
    enum pith_status st = pith_relative_bytes(w, &bytes);
    if (!st)
        st = pith_nonzeros_new(w, &z);
    if (st)
        return st;
    memset(to, 0, bytes);
    st = pith_weight_codebooks(w, (float *)(void *)to);
    if (!st)
        pack_rows(w, &z, to);
    pith_nonzeros_free(&z);
    return st;
}
