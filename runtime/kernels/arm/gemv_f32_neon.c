/* SPDX-License-Identifier: MIT */
/* gemv_f32_neon.c - gemv_f32_impl.h with a pointer for each row: addresses have no room for an
 * index and a distance at once, and made of both they were a third of the instructions. Nothing is
 * fetched ahead: a step is half a cache line. */
#include "kernels/arm/simd_neon.h"
#include "kernels/kernel_dense.h"
#define OWN_DOT

static inline __attribute__((always_inline)) void rows_dot(const struct gemv_f32_job *job, size_t r,
                                                           float *sums, const int rows)
{
    const float *x = job->x, *w[4];
    vec even[4], odd[4];
    size_t k = job->k;
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++) {
        w[i] = job->w + (r + (size_t)i) * job->ldw;
        even[i] = odd[i] = vec_zero();
    }
    for (; k >= 2 * LANES; k -= 2 * LANES, x += 2 * LANES) {
        vec x0 = vec_load(x), x1 = vec_load(x + LANES);
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++) {
            even[i] = vec_fma(vec_load(w[i]), x0, even[i]);
            odd[i] = vec_fma(vec_load(w[i] + LANES), x1, odd[i]);
            w[i] += 2 * LANES;
        }
    }
    /* The tail joins the even sums, masked: lanes outside add 0. */
    for (size_t at = 0; at < k; at += LANES) {
        const vmask m = vmask_range(0, (int)(k - at));
        const vec xv = vec_load_some(x + at, m);
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++)
            even[i] = vec_fma(vec_load_some(w[i] + at, m), xv, even[i]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++)
        sums[i] = vec_sum(vec_add(even[i], odd[i]));
}

#include "kernels/ref/gemv_f32_impl.h"
