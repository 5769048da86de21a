/* SPDX-License-Identifier: MIT */
/* interleave_vbmi.c - bytes.interleave: 16 bytes of each row at a time, four rows in a register, of
 * which permutations make the places. Of six rows and elements of two bytes, a picture's under a
 * stride of two:
 *
 *     register 0   row 0: 0 1 2 .. 15 | row 1 | row 2 | row 3
 *     register 1   row 4              | row 5 | (row 0)
 *     y            row 0: 0 1, row 1: 0 1, .. row 5: 0 1 | row 0: 2 3, row 1: 2 3, .. | ..
 *
 * A permutation sees 64 bytes, so each vector of y is permuted out of every register and takes what
 * is from that one: four permutations for eight places of twelve bytes, where copies of two bytes
 * were 48. Permutations of two registers at once are three instructions inside, and no faster.
 *
 * Masks at both ends leave out columns that the rows do not have, so that padding takes no code of
 * its own and nothing outside of the rows is read; what is loaded instead is zero. Between the ends
 * there are no masks. */
#include <immintrin.h>
#include "kernels/kernel_integer.h"

#define PART 16u /* bytes of a row */
#define ROWS 4u  /* of a register */

/* What all parts of the rows have in common. Byte i of vector v of y is byte order[v][i] of the
 * registers, of which the highest two bits say which one it is. */
struct parts {
    const uint8_t *x[INTERLEAVE_ROWS];
    bool is_there[INTERLEAVE_ROWS];
    __m512i order[ROWS];
    __m128i zero;
    __m512i flip;
};

/* 32 numbers of 16 bits: the byte of the registers that byte g of y is. They are made anew in each
 * call, in as many instructions as it takes to make a few places, so that no table is kept. g /
 * place is exact by the reciprocal, as g is below 256. */
static inline __m256i order_from(const struct interleave *job, uint32_t first)
{
    const uint32_t place = job->rows * job->element;
    const uint32_t bits = (uint32_t)__builtin_ctz(job->element);
    const __m512i count =
        _mm512_set_epi16(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13,
                         12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i g = _mm512_add_epi16(_mm512_set1_epi16((int16_t)first), count);
    const __m512i i =
        _mm512_mulhi_epu16(g, _mm512_set1_epi16((int16_t)((65536 + place - 1) / place)));
    const __m512i of =
        _mm512_sub_epi16(g, _mm512_mullo_epi16(i, _mm512_set1_epi16((int16_t)place)));
    const __m512i row = _mm512_srl_epi16(of, _mm_cvtsi32_si128((int)bits));
    const __m512i b = _mm512_and_si512(of, _mm512_set1_epi16((int16_t)(job->element - 1)));
    const __m512i at = _mm512_add_epi16(_mm512_sll_epi16(i, _mm_cvtsi32_si128((int)bits)), b);
    return _mm512_cvtepi16_epi8(_mm512_add_epi16(_mm512_slli_epi16(row, 4), at));
}

/* Behind the last row stands the first one again, which no byte of y is taken from: what orders
 * make of such registers is not stored. */
static void set_parts(struct parts *p, const struct interleave *job)
{
    p->zero = _mm_set1_epi8((char)(job->zero ^ job->flip));
    p->flip = _mm512_set1_epi8((char)job->flip);
    for (uint32_t r = 0; r < INTERLEAVE_ROWS; r++) {
        p->x[r] = job->x[r < job->rows ? r : 0];
        p->is_there[r] = p->x[r] != NULL;
    }
    for (uint32_t v = 0; v < ROWS; v++)
        p->order[v] = _mm512_inserti64x4(_mm512_castsi256_si512(order_from(job, v * 64)),
                                         order_from(job, v * 64 + 32), 1);
}

/* The part of row r from column `at` on, of which `inside` is in the row. */
static inline __m128i part_of(const struct parts *p, uint32_t r, int64_t at, __mmask16 inside,
                              const bool whole)
{
    if (whole)
        return _mm_loadu_si128((const void *)(p->x[r] + at));
    const __mmask16 some = p->is_there[r] ? inside : 0;
    return _mm_mask_loadu_epi8(p->zero, some, (const void *)((uintptr_t)p->x[r] + (uintptr_t)at));
}

/* One part of all rows; y has `bytes` of it. vectors is a constant where this is used. */
static inline __attribute__((always_inline)) void part_run(const struct parts *p, int64_t at,
                                                           __mmask16 inside, const bool whole,
                                                           uint8_t *y, uint32_t bytes,
                                                           const uint32_t vectors)
{
    const __m512i top = _mm512_set1_epi8((char)0xc0);
    __m512i x[ROWS];
#pragma GCC unroll 4
    for (uint32_t k = 0; k < vectors; k++) {
        x[k] = _mm512_castsi128_si512(part_of(p, 4 * k, at, inside, whole));
        x[k] = _mm512_inserti32x4(x[k], part_of(p, 4 * k + 1, at, inside, whole), 1);
        x[k] = _mm512_inserti32x4(x[k], part_of(p, 4 * k + 2, at, inside, whole), 2);
        x[k] = _mm512_inserti32x4(x[k], part_of(p, 4 * k + 3, at, inside, whole), 3);
    }
#pragma GCC unroll 4
    for (uint32_t v = 0; v < vectors; v++, y += 64) {
        __m512i all = _mm512_permutexvar_epi8(p->order[v], x[0]);
#pragma GCC unroll 4
        for (uint32_t k = 1; k < vectors; k++) {
            const __mmask64 its = _mm512_cmpeq_epi8_mask(_mm512_and_si512(top, p->order[v]),
                                                         _mm512_set1_epi8((char)(k << 6)));
            all = _mm512_mask_permutexvar_epi8(all, its, p->order[v], x[k]);
        }
        all = _mm512_xor_si512(all, p->flip);
        if (bytes >= 64 * (v + 1))
            _mm512_storeu_si512(y, all);
        else if (bytes > 64 * v)
            _mm512_mask_storeu_epi8(y, (UINT64_C(1) << (bytes - 64 * v)) - 1, all);
    }
}

/* Which bytes of a part are columns in the rows. */
static inline __mmask16 inside_of(int64_t at, int64_t width)
{
    const int64_t before = at < 0 ? -at : 0, behind = at + PART - width;
    if (before >= PART || behind >= PART)
        return 0;
    return (__mmask16)(0xffffu << before & 0xffffu >> (behind > 0 ? behind : 0));
}

/* One part where some columns or rows are none: the most registers, whatever there are, as such
 * parts are few. */
static __attribute__((noinline)) void edge_run(const struct parts *p, int64_t at, __mmask16 inside,
                                               uint8_t *y, uint32_t bytes)
{
    part_run(p, at, inside, false, y, bytes, ROWS);
}

/* `parts` of them that are all there. */
static inline __attribute__((always_inline)) void whole_run(const struct parts *p, int64_t at,
                                                            uint8_t *y, size_t parts, uint32_t each,
                                                            const uint32_t vectors)
{
    for (; parts > 0; parts--, at += PART, y += each)
        part_run(p, at, 0, true, y, each, vectors);
}

static void whole_parts(const struct parts *p, int64_t at, uint8_t *y, size_t parts, uint32_t each)
{
    switch ((each + 63) / 64) {
    case 1:
        whole_run(p, at, y, parts, each, 1);
        return;
    case 2:
        whole_run(p, at, y, parts, each, 2);
        return;
    case 3:
        whole_run(p, at, y, parts, each, 3);
        return;
    default:
        whole_run(p, at, y, parts, each, 4);
        return;
    }
}

void pith_interleave_vbmi(const struct interleave *job, uint8_t *y, size_t n)
{
    struct parts p;
    set_parts(&p, job);
    const uint32_t each = PART * job->rows;
    const int64_t width = (int64_t)job->width;
    size_t left = n * job->rows * job->element;
    bool all = true;
    for (uint32_t r = 0; r < job->rows; r++)
        all &= p.is_there[r];
    for (int64_t at = job->at; left > 0;) {
        size_t parts = left / each;
        const int64_t there = at >= 0 ? (width - at) / PART : 0;
        parts = there <= 0 ? 0 : (size_t)there < parts ? (size_t)there : parts;
        if (all && parts) {
            whole_parts(&p, at, y, parts, each);
        } else {
            parts = 1;
            edge_run(&p, at, inside_of(at, width), y, left < each ? (uint32_t)left : each);
        }
        at += (int64_t)(parts * PART);
        y += parts * each;
        left -= left < parts * each ? left : parts * each;
    }
}
