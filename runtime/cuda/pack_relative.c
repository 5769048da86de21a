/* SPDX-License-Identifier: MIT */
/* pack_relative.c - relative index (Han et al., "EIE", 2016) for warps: a row's nonzeros are
 * entries of a gap - zeros before it - and an index into the codebook,
 *
 *     8 bits    gap 4, index 4     up to 16 centroids
 *     16 bits   gap 8, index 8     up to 256
 *
 * and a gap of all ones is a filler: that many columns on, and no value. A row's entries are cut
 * into 32 pieces of equal length, one a lane, so that no lane waits for another; where a piece
 * begins is told as a column. Words of 32 bits lie lane beside lane: a warp reads 128 bytes at
 * once.
 *
 *     | codebook | row_at [rows + 1] | start [rows, 32] | words of row 0: [n, 32], row 1 ... | */
#include <stdlib.h>
#include <string.h>
#include "launch.h"
#include "pack_relative.h"

#define MOST_CENTROIDS 256u
#define MOST_COLUMNS 65536u
/* Above this share of nonzeros a dense f32 matrix is not much larger than what gathering saves. */
#define DENSEST 0.4

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + 255) & ~UINT64_C(255);
}

struct relative_layout pith_relative_layout(const struct weight *w)
{
    struct relative_layout r = {.row_at = MOST_CENTROIDS * sizeof(float),
                                .wide = w->n_centroids > 16};
    uint64_t rows = w->shape.dim[0];
    r.start = r.row_at + aligned((rows + 1) * sizeof(uint32_t));
    r.words = r.start + aligned(rows * SPMV_LANES * sizeof(uint16_t));
    return r;
}

/* The nonzeros of a weight, in order. */
struct nonzeros {
    uint32_t *pos; /* owns, and index */
    uint8_t *index;
};

static void free_nonzeros(struct nonzeros *z)
{
    free(z->pos);
    free(z->index);
}

static enum pith_status expand(const struct weight *w, struct nonzeros *z)
{
    size_t scratch_bytes = (pith_weight_scratch_bytes(w) + 64) & ~(size_t)63;
    void *scratch = aligned_alloc(64, scratch_bytes);
    z->pos = malloc((w->nnz + 1) * sizeof *z->pos);
    z->index = malloc(w->nnz + 1);
    enum pith_status st = PITH_ERR_MEMORY;
    if (scratch && z->pos && z->index)
        st = pith_weight_expand_parts(w, z->pos, z->index, NULL, scratch);
    free(scratch);
    if (st)
        free_nonzeros(z);
    return st;
}

/* Columns are told in 16 bits, and element numbers in 32. */
static bool suits(const struct weight *w)
{
    return w->type == PITH_F32 && w->shape.rank == 2 && w->grid == GRID_CODEBOOK &&
           w->n_groups == 1 && w->support != SUPPORT_DENSE && w->n_centroids <= MOST_CENTROIDS &&
           w->shape.dim[1] <= MOST_COLUMNS && w->count < UINT64_C(1) << 31 &&
           (double)w->nnz <= DENSEST * (double)w->count;
}

/* Entries of one row as they come: the row is walked twice, to count and to write. */
struct row_writer {
    uint32_t marker, gap_bits, per_word; /* per_word: entries of a word */
    uint32_t piece;                      /* entries of a lane; 0: counting */
    uint32_t n, column;                  /* entries so far, the next column */
    uint32_t *words;
    uint16_t *start;
};

/* Counting first tells the length of a piece, which says where an entry goes. Words are cleared
 * before: entries are put in by or. */
static void put_entry(struct row_writer *r, uint32_t entry)
{
    if (r->piece) {
        uint32_t lane = r->n / r->piece, at = r->n % r->piece;
        if (at == 0)
            r->start[lane] = (uint16_t)r->column;
        r->words[at / r->per_word * SPMV_LANES + lane] |= entry
                                                          << at % r->per_word * (32 / r->per_word);
    }
    r->n++;
}

/* A filler moves on by `marker` columns, and only a gap below it is coded with a value. */
static void put_nonzero(struct row_writer *r, uint32_t column, uint32_t index)
{
    while (column - r->column >= r->marker) {
        put_entry(r, r->marker);
        r->column += r->marker;
    }
    put_entry(r, (column - r->column) | index << r->gap_bits);
    r->column = column + 1;
}

static struct row_writer writer_of(const struct weight *w)
{
    bool wide = w->n_centroids > 16;
    return (struct row_writer){
        .marker = wide ? 255 : 15, .gap_bits = wide ? 8 : 4, .per_word = wide ? 2 : 4};
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

/* Fillers up to the end of the last piece. They begin where nothing is read. */
static void fill_row(struct row_writer *r)
{
    while (r->n < r->piece * SPMV_LANES)
        put_entry(r, r->marker);
}

static uint64_t row_end(const struct weight *w, const struct nonzeros *z, uint64_t first,
                        uint32_t row)
{
    uint64_t limit = (uint64_t)(row + 1) * w->shape.dim[1];
    while (first < w->nnz && z->pos[first] < limit)
        first++;
    return first;
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
        uint64_t end = row_end(w, z, first, row);
        walk_row(&r, z, first, end, base);
        n_words = words_of(&r, r.n);
        if (to) {
            uint32_t *row_at = (uint32_t *)(void *)(to + layout.row_at);
            row_at[row] = (uint32_t)words;
            row_at[row + 1] = (uint32_t)words + n_words * SPMV_LANES;
            r.piece = n_words * r.per_word;
            r.words = (uint32_t *)(void *)(to + layout.words) + words;
            r.start = (uint16_t *)(void *)(to + layout.start) + (size_t)row * SPMV_LANES;
            if (r.piece) {
                walk_row(&r, z, first, end, base);
                fill_row(&r);
            }
        }
        words += (uint64_t)n_words * SPMV_LANES;
        first = end;
    }
    return words;
}

enum pith_status pith_relative_bytes(const struct weight *w, uint64_t *bytes)
{
    struct nonzeros z = {0};
    if (!suits(w))
        return PITH_ERR_UNSUPPORTED;
    enum pith_status st = expand(w, &z);
    if (st)
        return st;
    *bytes = pith_relative_layout(w).words + pack_rows(w, &z, NULL) * sizeof(uint32_t) + 4;
    free_nonzeros(&z);
    return PITH_OK;
}

enum pith_status pith_relative_pack(const struct weight *w, uint8_t *to)
{
    struct nonzeros z = {0};
    uint64_t bytes;
    enum pith_status st = pith_relative_bytes(w, &bytes);
    if (!st)
        st = expand(w, &z);
    if (st)
        return st;
    memset(to, 0, bytes);
    st = pith_weight_codebooks(w, (float *)(void *)to);
    if (!st)
        pack_rows(w, &z, to);
    free_nonzeros(&z);
    return st;
}
