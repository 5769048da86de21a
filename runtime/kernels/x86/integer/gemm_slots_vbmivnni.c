/* SPDX-License-Identifier: MIT */
/* gemm_slots_vbmivnni.c - a sparse matrix of i8 times rows of u8 (struct slots_panel): 128 values
 * of a row of x are two registers, of which a permutation puts four beside the weights of each of
 * 16 outputs; it does not look at the highest bits of columns. No gather: on some processors one
 * takes as long as twenty permutations.
 *
 * One row is what waits for weights: a group of 128 bytes takes some 4.5 cycles where it lies in
 * the second-level cache of a Sapphire Rapids core, one of 96 bytes 5.2, for halved weights take
 * three instructions more. From the third level groups of 96 bytes come faster by as much as they
 * are smaller. The places of groups are sums, so each waits for the one before by an addition;
 * loads, which take longer, wait for that alone. */
#include <immintrin.h>
#include <stdint.h>
#include "pith_kernel_integer.h"

#define ROWS 4 /* of x at once: they share positions and weights */
#define LANES SLOTS_NR
#define CACHED_BYTES 24576u /* of x, beside a panel */

/* What lies outside of the slots is added one by one. */
static __m512i begin_sum(const struct gemm_i8_job *job, const struct slots_panel *p,
                         const uint8_t *x, uint32_t first)
{
    const int32_t *offset = job->to.offset + first;
    if (p->n_more == 0)
        return _mm512_loadu_si512(offset);
    const struct slots_more *more = slots_more(p);
    uint32_t sum[LANES];
    memcpy(sum, offset, sizeof sum);
    for (uint32_t i = 0; i < p->n_more; i++)
        sum[more[i].output] += (uint32_t)(x[more[i].column] * more[i].weight);
    return _mm512_loadu_si512(sum);
}

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

/* 64 weights from the 32 bytes of their numbers: each eight bytes get the four that hold theirs,
 * and every byte of them the four bits of its own in front. What stands behind these does not
 * count, as the table is there four times. */
static inline __m512i halved_weights(const uint8_t *at, __m512i table)
{
    const __m512i bits = _mm512_set1_epi64(0x1c1814100c080400);
    const __m512i four = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const void *)at));
    return _mm512_permutexvar_epi8(_mm512_multishift_epi64_epi8(bits, four), table);
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

/* Where several rows share a group, what it reaches stays in registers while groups do not advance,
 * as those of a window of balanced weights. */
static inline __attribute__((always_inline)) void advance(struct reach *v, const uint8_t *group,
                                                          const int rows)
{
    const uint64_t columns = _pext_u64(load_le64(group), SLOTS_ADVANCE) * SLOTS_LANE;
    if (rows > 1 && columns == 0)
        return;
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
        v->x[r] += columns;
    load_reach(v, rows);
}

/* Sums of one row are two chains, since each addition waits for the one before. */
static inline __attribute__((always_inline)) void add_groups(const struct gemm_i8_job *job,
                                                             uint32_t i, uint32_t panel,
                                                             const int rows, const bool halved)
{
    const struct slots_panel *p = slots_panel(job->w, panel);
    const uint8_t *at = slots_of(p);
    const __m512i table = halved ? _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)job->table))
                                 : _mm512_setzero_si512();
    struct reach v;
    __m512i sum[ROWS], other = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
        v.x[r] = job->x[i + (uint32_t)r] + job->segment[0];
        sum[r] = begin_sum(job, p, v.x[r], panel * LANES);
    }
    load_reach(&v, rows);
    for (uint32_t n = p->groups; n > 0; n--) {
        const __m512i place = _mm512_loadu_si512(at);
        const __m512i w = halved ? halved_weights(at + 64, table) : _mm512_loadu_si512(at + 64);
        advance(&v, at, rows);
        at += halved ? SLOTS_HALVED_BYTES : SLOTS_BYTES;
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            const __m512i x = _mm512_permutex2var_epi8(v.low[r], place, v.high[r]);
            if (rows > 1) {
                sum[r] = _mm512_dpbusd_epi32(sum[r], x, w);
            } else {
                const __m512i next = _mm512_dpbusd_epi32(other, x, w);
                other = sum[0];
                sum[0] = next;
            }
        }
    }
    if (rows == 1)
        sum[0] = _mm512_add_epi32(sum[0], other);
    const uint32_t first = panel * LANES;
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
        store(&job->to, sum[r], first, job->n - first, job->y + (i + (uint32_t)r) * job->y_step);
}

static inline __attribute__((always_inline)) void
panel_run(const struct gemm_i8_job *job, uint32_t i, uint32_t panel, const int rows)
{
    if (job->halved)
        add_groups(job, i, panel, rows, true);
    else
        add_groups(job, i, panel, rows, false);
}

#include "gemm_slots_rows.h"

void pith_gemm_slots_vbmivnni(const struct gemm_i8_job *job)
{
    slots_rows(job);
}
