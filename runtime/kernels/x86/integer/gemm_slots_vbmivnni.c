/* SPDX-License-Identifier: MIT */
/* gemm_slots_vbmivnni.c - a sparse matrix of i8 times rows of u8 (struct slots_panel): 128 values
 * of a row of x are two registers, of which a permutation puts four beside the weights of each of
 * 16 outputs; it does not look at the highest bits of columns. No gather: on some processors one
 * takes as long as twenty permutations.
 *
 * One row is what waits for weights. Its groups are fetched ahead where hardware does not do so
 * beyond the end of a page: 4 to 28 % of the time on a Sapphire Rapids core, where a Zen 4 core
 * loses 2 to 12 %. A halved group is a quarter smaller and takes a shift and a permutation more, so
 * in the second-level cache a plain one is faster by 5 %. The places of groups are sums, so each
 * waits for the one before by an addition; loads, which take longer, wait for that alone. */
#include <immintrin.h>
#include <stdint.h>
#include "kernels/kernel_integer.h"

#define ROWS 4 /* of x at once: they share positions and weights */
#define LANES SLOTS_NR
#define AHEAD 2304u         /* bytes */
#define CACHED_BYTES 24576u /* of x, beside a panel */

/* n outputs of a row. What is too large is cut before it is converted, which gives INT_MIN for what
 * is too small and for NaN; from there on packing saturates. */
static void store(const struct requantize *to, __m512i sum, uint32_t first, uint32_t n, uint8_t *y)
{
    const __mmask16 some = n < LANES ? (__mmask16)((1u << n) - 1) : 0xffff;
    if (!to->factor) {
        _mm512_mask_storeu_epi32(y + first * sizeof(int32_t), some, sum);
        return;
    }
    __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_loadu_ps(to->factor + first));
    __m512i q = _mm512_cvtps_epi32(_mm512_min_ps(_mm512_set1_ps(65536.0f), scaled));
    __m256i words =
        _mm256_adds_epi16(_mm512_cvtsepi32_epi16(q), _mm256_set1_epi16((int16_t)unsigned_zero(to)));
    __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(words, words), 0x08);
    _mm_mask_storeu_epi8(
        y + first, some,
        _mm_xor_si128(_mm256_castsi256_si128(bytes), _mm_set1_epi8((char)sign_flip(to))));
}

/* The part of some rows of x that a group reaches. */
struct reach {
    const uint8_t *x[ROWS];
    __m512i low[ROWS], high[ROWS];
};

static inline __attribute__((always_inline)) void load_reach(struct reach *v, const int rows)
{
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
        v->low[r] = _mm512_loadu_si512(v->x[r]);
        v->high[r] = _mm512_loadu_si512(v->x[r] + 64);
    }
}

/* What a group reaches stays in registers while groups do not advance, which packing sees to: of
 * 25 % nonzeros four of them, and a fourth of the time. */
static inline __attribute__((always_inline)) void advance(struct reach *v, const uint8_t *group,
                                                          const int rows)
{
    const uint64_t columns = _pext_u64(load_le64(group), SLOTS_ADVANCE) * SLOTS_LANE;
    if (columns == 0)
        return;
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
        v->x[r] += columns;
    load_reach(v, rows);
}

/* What stands AHEAD of `at`. */
static inline __attribute__((always_inline)) void fetch(bool ahead, const uint8_t *at,
                                                        const uint32_t bytes)
{
    if (!ahead)
        return;
#pragma GCC unroll 4
    for (uint32_t i = 0; i < bytes; i += 64)
        _mm_prefetch((const char *)(at + AHEAD + i), _MM_HINT_T0);
}

/* Sums of one row are two chains, since each addition waits for the one before. */
struct sums {
    __m512i of[ROWS], other;
};

static inline __attribute__((always_inline)) void add_group(struct sums *sum, struct reach *v,
                                                            const uint8_t *at, __m512i w,
                                                            const int rows, const bool other)
{
    const __m512i place = _mm512_loadu_si512(at);
    advance(v, at, rows);
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
        __m512i *to = rows == 1 && other ? &sum->other : &sum->of[r];
        *to = _mm512_dpbusd_epi32(*to, _mm512_permutex2var_epi8(v->low[r], place, v->high[r]), w);
    }
}

static inline __attribute__((always_inline)) void add_plain(struct sums *sum, struct reach *v,
                                                            const uint8_t *at, uint32_t groups,
                                                            const int rows, bool ahead)
{
    uint32_t n = 0;
    for (; n + 2 <= groups; n += 2, at += 2 * SLOTS_BYTES) {
        fetch(ahead, at, 2 * SLOTS_BYTES);
        add_group(sum, v, at, _mm512_loadu_si512(at + 64), rows, false);
        add_group(sum, v, at + SLOTS_BYTES, _mm512_loadu_si512(at + SLOTS_BYTES + 64), rows, true);
    }
    if (n < groups)
        add_group(sum, v, at, _mm512_loadu_si512(at + 64), rows, false);
}

/* A permutation looks at six bits of a number, of which four count, as the table is there four
 * times: those of the odd group come from behind by a shift, whatever it brings beside them. */
static inline __attribute__((always_inline)) void add_halved(struct sums *sum, struct reach *v,
                                                             const uint8_t *at, uint32_t groups,
                                                             const int rows, bool ahead,
                                                             const __m512i table)
{
    for (uint32_t n = 0; n < groups; n += 2, at += SLOTS_PAIR_BYTES) {
        fetch(ahead, at, SLOTS_PAIR_BYTES);
        const __m512i even = _mm512_loadu_si512(at), odd = _mm512_srli_epi16(even, 4);
        add_group(sum, v, at + 64, _mm512_permutexvar_epi8(even, table), rows, false);
        add_group(sum, v, at + 128, _mm512_permutexvar_epi8(odd, table), rows, true);
    }
}

static inline __attribute__((always_inline)) void
panel_run(const struct gemm_i8_job *job, uint32_t i, uint32_t panel, const int rows)
{
    const struct slots_panel *p = slots_panel(job->w, panel);
    const uint32_t first = panel * LANES;
    struct reach v;
    uint32_t outside[ROWS][LANES]; /* added last, so that sums do not wait for it in memory */
    struct sums sum = {.other = _mm512_setzero_si512()};
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
        v.x[r] = job->x[i + (uint32_t)r] + job->segment[0];
        slots_outside(p, job->to.offset + first, v.x[r], 0, outside[r]);
        sum.of[r] = _mm512_setzero_si512();
    }
    load_reach(&v, rows);
    if (job->halved)
        add_halved(&sum, &v, slots_of(p), p->groups, rows, job->fetches,
                   _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)job->table)));
    else
        add_plain(&sum, &v, slots_of(p), p->groups, rows, job->fetches);
    if (rows == 1)
        sum.of[0] = _mm512_add_epi32(sum.of[0], sum.other);
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
        store(&job->to, _mm512_add_epi32(sum.of[r], _mm512_loadu_si512(outside[r])), first,
              job->n - first, job->y + (i + (uint32_t)r) * job->y_step);
}

#include "kernels/x86/integer/gemm_slots_rows.h"

void pith_gemm_slots_vbmivnni(const struct gemm_i8_job *job)
{
    slots_rows(job);
}
