/* SPDX-License-Identifier: MIT */
/* pack_relative.c - relative index (Han et al., "EIE", 2016) for warps: a row's nonzeros are
 * entries of a step of 8 bits, signed, from the entry before, and an index into the codebook of 4
 * bits (up to 16 centroids) or 8. Steps count places of x: behind each 120 columns there are four
 * zeros (RELATIVE_PLACE), one of which is read where a gap is longer than a step.
 *
 * A row's entries are cut into 32 pieces, one a lane, that differ by one entry at most, so that no
 * lane waits for another; what the first step goes on from is stored. Four entries are a lot; a
 * piece ends in entries of zeros up to a whole lot. Lines of 32 words have a word of each lane, and
 * a pair of lots has lines
 *
 *     index of 4 bits    steps, steps, indices of both
 *     index of 8 bits    steps, steps, indices, indices
 *
 * or, where the last lot is alone, steps and indices. Indices of 4 bits lie two bits to the left,
 * so that a mask leaves four of them times four: those of the first lot, or, turned right by four
 * bits, of the second.
 *
 *     | codebook | row_at [rows + 1] | start [rows, 32] | lines of row 0, row 1 ... |
 *
 * Lanes that read x at 32 places of no order wait for the bank most of them meet in, 3.5 of 32
 * banks' reads. So a lane takes one of its next nonzeros first, whichever lies in the bank with the
 * fewest reads of the other lanes, and goes back later. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cuda/kernels/launch.h"
#include "pack_parts.h"
#include "pack_relative.h"

#define MOST_COLUMNS (65536u / RELATIVE_GROUP * RELATIVE_COLUMNS) /* places have 16 bits */
#define AHEAD 8u /* nonzeros of a lane of which the next one is chosen */
#define BANKS 32u
#define STEP_ON 127u
#define STEP_BACK 128u

struct relative_layout pith_relative_layout(const struct weight *w)
{
    struct relative_layout r = {.row_at =
                                    pith_pack_aligned(w->n_groups * w->n_centroids * sizeof(float)),
                                .wide = w->n_centroids > 16};
    uint64_t rows = w->shape.dim[0];
    r.start = r.row_at + pith_pack_aligned((rows + 1) * sizeof(uint32_t));
    r.words = r.start + pith_pack_aligned(rows * SPMV_LANES * sizeof(uint16_t));
    return r;
}

/* A row's nonzeros, and the first of each lane. */
struct row {
    const uint32_t *pos;
    const uint8_t *index;
    uint32_t base, n; /* base: the position of column 0 */
    uint32_t first[SPMV_LANES + 1];
    uint32_t longest; /* entries of the lane that has the most */
};

static uint32_t place_of(const struct row *r, uint32_t i)
{
    return RELATIVE_PLACE(r->pos[i] - r->base);
}

/* The last zero that a step reaches. */
static uint32_t zero_behind(uint32_t place)
{
    const uint32_t most = place + STEP_ON;
    return RELATIVE_IS_ZERO(most) ? most : most - most % RELATIVE_GROUP - 1;
}

/* Zeros that are read on the way to a place. */
static uint32_t fillers(uint32_t from, uint32_t to)
{
    uint32_t n = 0;
    for (; to > from + STEP_ON; n++)
        from = zero_behind(from);
    return n;
}

/* Pieces of as many entries, fillers counted; those at the begin of a piece are left out. */
static void cut_row(struct row *r)
{
    uint64_t all = 0, at = 0;
    uint32_t lane = 0, length = 0;
    r->longest = 0;
    r->first[0] = 0;
    for (uint32_t i = 0; i < r->n; i++)
        all += 1 + (i ? fillers(place_of(r, i - 1), place_of(r, i)) : 0);
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t gap = i ? fillers(place_of(r, i - 1), place_of(r, i)) : 0;
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
    uint32_t place; /* of the last entry */
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
        l->place = l->n ? place_of(r, l->next[0]) : 0;
        start[i] = (uint16_t)l->place;
    }
}

/* Whether number i of the next may be taken first: a step reaches it and the way back, and the
 * lane does not get longer. */
static bool is_open(const struct row *r, const struct lane *l, uint32_t i)
{
    uint32_t place = place_of(r, l->next[i]), before = place_of(r, l->next[i - 1]);
    if (place - place_of(r, l->next[0]) > STEP_BACK || place > l->place + STEP_ON)
        return false;
    if (i + 1 == l->n)
        return true;
    uint32_t after = place_of(r, l->next[i + 1]);
    return fillers(before, after) <= fillers(before, place) + fillers(place, after);
}

static uint32_t choose(const struct row *r, const struct lane *l, const uint8_t *reads)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < l->n && i < AHEAD; i++) {
        uint32_t own = reads[place_of(r, l->next[i]) % BANKS];
        if (own < reads[place_of(r, l->next[best]) % BANKS] && is_open(r, l, i))
            best = i;
    }
    return best;
}

/* The place of lane number `own`'s next entry, and its index: a zero's, where its first nonzero is
 * too far, or there is none left. */
static uint32_t take_entry(const struct row *r, struct lane *l, uint32_t own, uint8_t *reads,
                           uint32_t *index)
{
    *index = 0;
    if (l->n == 0)
        l->place = RELATIVE_IS_ZERO(l->place)
                       ? l->place
                       : l->place / RELATIVE_GROUP * RELATIVE_GROUP + RELATIVE_COLUMNS + own % 4;
    else if (fillers(l->place, place_of(r, l->next[0])))
        l->place = zero_behind(l->place);
    else {
        uint32_t i = choose(r, l, reads), nonzero = l->next[i];
        memmove(&l->next[i], &l->next[i + 1], (--l->n - i) * sizeof l->next[0]);
        refill(l);
        l->place = place_of(r, nonzero);
        *index = r->index[nonzero];
    }
    reads[l->place % BANKS]++;
    return l->place;
}

/* Where entry `at` of a lane of a row of so many lots has its bits. */
static void put_entry(uint32_t *words, uint32_t lots, bool wide, uint32_t at, uint32_t step,
                      uint32_t index)
{
    const uint32_t lot = at / RELATIVE_LOT, bit = 8 * (at % RELATIVE_LOT), odd = lot % 2;
    const bool alone = lot + 1 == lots && !odd;
    uint32_t *pair = words + lot / 2 * (wide ? RELATIVE_PAIR_WIDE : RELATIVE_PAIR) * SPMV_LANES;
    pair[odd * SPMV_LANES] |= (step & 255u) << bit;
    pair[(alone ? 1 : wide ? 2 + odd : 2) * SPMV_LANES] |= index << (wide ? bit : bit + 4 * odd);
}

/* Lanes choose in turn, and each is the first at times. Words are 0 before. */
static void write_row(const struct row *r, uint32_t lots, bool wide, uint32_t *words,
                      uint16_t *start)
{
    struct lane lane[SPMV_LANES];
    begin_lanes(r, lane, start);
    for (uint32_t at = 0; at < lots * RELATIVE_LOT; at++) {
        uint8_t reads[BANKS] = {0};
        for (uint32_t i = 0; i < SPMV_LANES; i++) {
            const uint32_t own = (at + i) % SPMV_LANES, from = lane[own].place;
            uint32_t index, place = take_entry(r, &lane[own], own, reads, &index);
            put_entry(words + own, lots, wide, at, place - from, index);
        }
    }
}

/* Lines of all rows; to NULL: counted alone. The order of a lane's entries does not change how many
 * there are. */
static uint64_t pack_rows(const struct weight *w, const struct nonzeros *z, uint8_t *to)
{
    const struct relative_layout f = pith_relative_layout(w);
    uint64_t first = 0, lines = 0;
    for (uint32_t i = 0; i < w->shape.dim[0]; i++) {
        uint64_t end = pith_nonzeros_row_end(w, z, first, i, w->shape.dim[1]);
        struct row r = {.pos = z->pos + first,
                        .index = z->index + first,
                        .base = i * w->shape.dim[1],
                        .n = (uint32_t)(end - first)};
        cut_row(&r);
        const uint32_t lots = (r.longest + RELATIVE_LOT - 1) / RELATIVE_LOT;
        const uint32_t own = f.wide ? 2 * lots : (lots * RELATIVE_PAIR + 1) / 2;
        if (to) {
            uint32_t *row_at = (uint32_t *)(void *)(to + f.row_at);
            row_at[i] = (uint32_t)lines;
            row_at[i + 1] = (uint32_t)lines + own;
            write_row(&r, lots, f.wide, (uint32_t *)(void *)(to + f.words) + lines * SPMV_LANES,
                      (uint16_t *)(void *)(to + f.start) + (size_t)i * SPMV_LANES);
        }
        lines += own;
        first = end;
    }
    return lines;
}

/* Codebooks are finite, as a filler adds the first centroid times 0.
 */
enum pith_status pith_relative_pack(const struct weight *w, uint8_t *to, uint64_t *bytes)
{
    struct nonzeros z = {0};
    struct pack_shape s;
    if (!pith_pack_shape(w, &s) || w->shape.rank != 2 || w->support == SUPPORT_DENSE ||
        s.cols > MOST_COLUMNS)
        return PITH_ERR_UNSUPPORTED;
    const size_t n_values = w->n_groups * w->n_centroids;
    float *book = malloc(n_values * sizeof *book);
    enum pith_status st = book ? pith_weight_codebooks(w, book) : PITH_ERR_MEMORY;
    for (size_t i = 0; i < n_values && !st; i++)
        st = isfinite(book[i]) ? PITH_OK : PITH_ERR_UNSUPPORTED;
    st = st ? st : pith_nonzeros_new(w, &z);
    if (st) {
        free(book);
        return st;
    }
    *bytes = pith_relative_layout(w).words +
             (pack_rows(w, &z, NULL) + RELATIVE_AHEAD) * SPMV_LANES * sizeof(uint32_t);
    if (to) {
        memset(to, 0, *bytes);
        memcpy(to, book, n_values * sizeof *book);
        pack_rows(w, &z, to);
    }
    pith_nonzeros_free(&z);
    free(book);
    return PITH_OK;
}
