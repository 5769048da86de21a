/* SPDX-License-Identifier: MIT */
/* pack_relative.c - relative index (Han et al., "EIE", 2016) for warps: a row's nonzeros are
 * entries of a step - columns from the one before, plus `back` - and an index into the codebook,
 *
 *     three a word    step 6 bits, index 4    up to 16 centroids
 *     two a word      step 8 bits, index 8    up to 256
 *
 * above the bits that a word does not need, and a step of all ones is a filler: that many columns
 * on, less `back`, and no value. A row's entries are cut into 32 pieces, one a lane, that differ by
 * one entry at most, so that no lane waits for another; the column of a piece's first nonzero is
 * stored. A piece ends in fillers up to a whole word. Words of 32 bits lie lane beside lane: a warp
 * reads 128 bytes at once.
 *
 *     | codebook | row_at [rows + 1] | start [rows, 32] | words of row 0: [n, 32], row 1 ... |
 *
 * Lanes that read x at 32 columns of no order wait for the bank most of them meet in, 3.5 of 32
 * banks' reads. So a lane may take one of the nonzeros behind the next one first, whichever lies in
 * the bank with the fewest reads of the other lanes, and then go back, `back` columns at most: 2.1
 * reads with steps of 8 bits; with those of 6 bits as many where an eighth of the elements or more
 * is not 0, 2.5 from a sixteenth on, and 2.8 from a 32nd on, as long gaps leave less room.
 *
 * Steps of 4 bits with an index of 4, four a word, need 1.43 entries a nonzero where 9 % are not 0,
 * for fillers, and these need 1.09, in as many bytes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cuda/kernels/launch.h"
#include "pack_parts.h"
#include "pack_relative.h"

#define MOST_COLUMNS 65536u
/* Above this share of nonzeros codes for all elements take no longer. */
#define DENSEST 0.5
#define AHEAD 4u /* nonzeros of a lane of which the next one is chosen */
#define BANKS 32u

/* Columns that a step may go back. Those of 6 bits reach 63 - back columns on: where gaps are long,
 * more fillers would cost more than the banks. */
static uint32_t back_of(const struct weight *w)
{
    if (w->n_centroids > 16)
        return 64;
    return w->nnz > w->count / 8    ? 24
           : w->nnz > w->count / 16 ? 16
           : w->nnz > w->count / 32 ? 8
                                    : 0;
}

struct relative_layout pith_relative_layout(const struct weight *w)
{
    const bool wide = w->n_centroids > 16;
    struct relative_layout r = {.row_at = PACK_CENTROIDS * sizeof(float),
                                .wide = wide,
                                .step_bits = wide ? RELATIVE_STEP_WIDE : RELATIVE_STEP,
                                .index_bits = wide ? RELATIVE_INDEX_WIDE : RELATIVE_INDEX,
                                .back = back_of(w)};
    r.reach = (1u << r.step_bits) - 1 - r.back;
    r.per_word = RELATIVE_PER_WORD(r.step_bits, r.index_bits);
    uint64_t rows = w->shape.dim[0];
    r.start = r.row_at + pith_pack_aligned((rows + 1) * sizeof(uint32_t));
    r.words = r.start + pith_pack_aligned(rows * SPMV_LANES * sizeof(uint16_t));
    return r;
}

/* Columns are stored in 16 bits, and element numbers in 32. */
static bool suits(const struct weight *w)
{
    return w->type == PITH_F32 && w->shape.rank == 2 && w->grid == GRID_CODEBOOK &&
           w->n_groups == 1 && w->support != SUPPORT_DENSE && w->n_centroids <= PACK_CENTROIDS &&
           w->shape.dim[1] <= MOST_COLUMNS && w->count < UINT64_C(1) << 31 &&
           (double)w->nnz <= DENSEST * (double)w->count;
}

/* A row's nonzeros, and the first of each lane. */
struct row {
    const uint32_t *pos;
    const uint8_t *index;
    uint32_t base, n; /* base: the position of column 0 */
    uint32_t first[SPMV_LANES + 1];
    uint32_t longest; /* entries of the lane that has the most */
};

/* Fillers before an entry at `column`, `reach` columns on for each. */
static uint32_t fillers(const struct relative_layout *f, uint32_t from, uint32_t column)
{
    return column > from ? (column - from) / f->reach : 0;
}

static uint32_t fillers_before(const struct relative_layout *f, const struct row *r, uint32_t i)
{
    return i > 0 ? fillers(f, r->pos[i - 1], r->pos[i]) : 0;
}

/* Pieces of as many entries, fillers counted; those at the begin of a piece are left out. */
static void cut_row(const struct relative_layout *f, struct row *r)
{
    uint64_t all = 0, at = 0;
    uint32_t lane = 0, length = 0;
    r->longest = 0;
    r->first[0] = 0;
    for (uint32_t i = 0; i < r->n; i++)
        all += 1 + fillers_before(f, r, i);
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t gap = fillers_before(f, r, i);
        uint32_t own = (uint32_t)((at + gap) * SPMV_LANES / all);
        length = own > lane ? 1 : length + gap + 1;
        while (lane < own)
            r->first[++lane] = i;
        r->longest = length > r->longest ? length : r->longest;
        at += gap + 1;
    }
    while (lane < SPMV_LANES)
        r->first[++lane] = r->n;
}

/* Nonzeros of a lane not yet written: the next ones, in their order, and those behind them. */
struct lane {
    uint32_t next[AHEAD + 1], n, behind, end;
    uint32_t column; /* as a position, of the last entry */
};

static void refill(struct lane *l)
{
    while (l->n <= AHEAD && l->behind < l->end)
        l->next[l->n++] = l->behind++;
}

static void begin_lanes(const struct row *r, struct lane *lane, uint16_t *start)
{
    for (uint32_t i = 0; i < SPMV_LANES; i++) {
        struct lane *l = &lane[i];
        *l = (struct lane){.behind = r->first[i], .end = r->first[i + 1]};
        refill(l);
        l->column = l->n ? r->pos[l->next[0]] : r->base;
        start[i] = (uint16_t)(l->column - r->base);
    }
}

/* Whether number i of the next may be taken first: a step reaches it and the way back, and the
 * lane does not get longer. */
static bool is_open(const struct relative_layout *f, const struct row *r, const struct lane *l,
                    uint32_t i)
{
    uint32_t column = r->pos[l->next[i]], before = r->pos[l->next[i - 1]];
    if (column - r->pos[l->next[0]] > f->back || column >= l->column + f->reach)
        return false;
    if (i + 1 == l->n)
        return true;
    uint32_t after = r->pos[l->next[i + 1]];
    return fillers(f, before, after) <= fillers(f, before, column) + fillers(f, column, after);
}

static uint32_t choose(const struct relative_layout *f, const struct row *r, const struct lane *l,
                       const uint8_t *reads)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < l->n && i < AHEAD; i++) {
        uint32_t bank = r->pos[l->next[i]] - r->base, least = r->pos[l->next[best]] - r->base;
        if (reads[bank % BANKS] < reads[least % BANKS] && is_open(f, r, l, i))
            best = i;
    }
    return best;
}

/* The lane's next entry: a filler where its first nonzero is too far. */
static uint32_t take_entry(const struct relative_layout *f, const struct row *r, struct lane *l,
                           uint8_t *reads)
{
    uint32_t marker = f->back + f->reach;
    if (l->n == 0 || fillers(f, l->column, r->pos[l->next[0]])) {
        l->column += f->reach;
        return marker;
    }
    uint32_t i = choose(f, r, l, reads), nonzero = l->next[i], column = r->pos[nonzero];
    uint32_t step = column + f->back - l->column;
    memmove(&l->next[i], &l->next[i + 1], (--l->n - i) * sizeof l->next[0]);
    refill(l);
    l->column = column;
    reads[(column - r->base) % BANKS]++;
    return step | (uint32_t)r->index[nonzero] << f->step_bits;
}

/* Lanes choose in turn, and each is the first at times. Words are 0 before. */
static void write_row(const struct relative_layout *f, const struct row *r, uint32_t n_words,
                      uint32_t *words, uint16_t *start)
{
    const uint32_t per_word = f->per_word, bits = f->step_bits + f->index_bits;
    const uint32_t spare = RELATIVE_SPARE(f->step_bits, f->index_bits);
    struct lane lane[SPMV_LANES];
    begin_lanes(r, lane, start);
    for (uint32_t at = 0; at < n_words * per_word; at++) {
        uint8_t reads[BANKS] = {0};
        for (uint32_t i = 0; i < SPMV_LANES; i++) {
            uint32_t own = (at + i) % SPMV_LANES;
            words[at / per_word * SPMV_LANES + own] |= take_entry(f, r, &lane[own], reads)
                                                       << (at % per_word * bits + spare);
        }
    }
}

/* Words of all rows; to NULL: counted alone. The order of a lane's entries does not change how many
 * there are. */
static uint64_t pack_rows(const struct weight *w, const struct nonzeros *z, uint8_t *to)
{
    struct relative_layout f = pith_relative_layout(w);
    const uint32_t per_word = f.per_word;
    uint64_t first = 0, words = 0;
    for (uint32_t i = 0; i < w->shape.dim[0]; i++) {
        uint64_t end = pith_nonzeros_row_end(w, z, first, i, w->shape.dim[1]);
        struct row r = {.pos = z->pos + first,
                        .index = z->index + first,
                        .base = i * w->shape.dim[1],
                        .n = (uint32_t)(end - first)};
        cut_row(&f, &r);
        uint32_t n_words = (r.longest + per_word - 1) / per_word;
        if (to) {
            uint32_t *row_at = (uint32_t *)(void *)(to + f.row_at);
            row_at[i] = (uint32_t)words;
            row_at[i + 1] = (uint32_t)words + n_words * SPMV_LANES;
            write_row(&f, &r, n_words, (uint32_t *)(void *)(to + f.words) + words,
                      (uint16_t *)(void *)(to + f.start) + (size_t)i * SPMV_LANES);
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
    *bytes =
        pith_relative_layout(w).words + (pack_rows(w, &z, NULL) + SPMV_AHEAD) * sizeof(uint32_t);
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
