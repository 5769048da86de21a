/* SPDX-License-Identifier: MIT */
/* gemm_i8_vnni.c - see gemm_i8_impl.h: 4 products of u8 and i8 are added to 32 bits at once.
 * gemm_i4 is for products that wait for their weights: half as many bytes come from memory, and a
 * shuffle of the table makes weights of them in registers. */
#include "gemm_i8_zmm.h"

#define ISA(name) name##_vnni
/* Six rows by four vectors: 24 sums, 4 weights, 1 broadcast of 32 registers. */
#define ROWS 6u
#define VALUES_INLINE 1
#define FETCHES_AHEAD 1

static inline ivec ivec_repeat(const uint8_t *p)
{
    return _mm512_set1_epi32((int32_t)load_le32(p));
}

static inline ivec ivec_dot(ivec acc, ivec x, ivec w)
{
    return _mm512_dpbusd_epi32(acc, x, w);
}

#include "gemm_i8_impl.h"

/* Two steps of `vecs` panels from w on. 16 entries of 8 bits are the whole codebook of 4-bit
 * weights: a shuffle is the look-up. Two steps share a load, low and high nibbles. */
static inline __attribute__((always_inline)) void two_steps(const struct gemm_i8_job *job,
                                                            const uint8_t *w, ivec even, ivec odd,
                                                            ivec *acc, const uint32_t vecs)
{
    const ivec low = _mm512_set1_epi8(15);
    const ivec table = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)job->table));
#pragma GCC unroll 4
    for (uint32_t v = 0; v < vecs; v++) {
        ivec two = ivec_load(w + v * job->panel_bytes);
        ivec first = _mm512_shuffle_epi8(table, _mm512_and_si512(two, low));
        ivec second = _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16(two, 4), low));
        acc[v] = ivec_dot(ivec_dot(acc[v], even, first), odd, second);
    }
}

/* A row at a time: products this narrow wait for memory, and each row of weights is read once
 * for all. */
static inline __attribute__((always_inline)) void row_i4(const struct gemm_i8_job *job, uint32_t i,
                                                         uint32_t first, const uint32_t vecs)
{
    ivec acc[VECS];
    const uint8_t *w = job->w + first / LANES * job->panel_bytes;
    const uint8_t *x = job->x[i] + job->segment[0];
#pragma GCC unroll 4
    for (uint32_t v = 0; v < vecs; v++)
        acc[v] = ivec_load(job->to.offset + first + (size_t)v * LANES);
    for (uint32_t s = 0; s < job->steps; s += 2, x += 8, w += LANES * (size_t)4) {
        ivec odd = s + 1 < job->steps ? ivec_repeat(x + 4) : _mm512_setzero_si512();
        two_steps(job, w, ivec_repeat(x), odd, acc, vecs);
    }
    store_rows(job, job->y + i * job->y_step, acc, 1, vecs, first);
}

/* Whole vectors of panels first, then panel by panel. */
void pith_gemm_i4_vnni(const struct gemm_i8_job *job)
{
    for (uint32_t i = 0; i < job->m; i++) {
        uint32_t first = 0;
        for (; first + (VECS - 1) * LANES < job->n; first += VECS * LANES)
            row_i4(job, i, first, VECS);
        for (; first < job->n; first += LANES)
            row_i4(job, i, first, 1);
    }
}
