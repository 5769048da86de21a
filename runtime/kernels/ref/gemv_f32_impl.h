/* SPDX-License-Identifier: MIT */
/* gemv_f32_impl.h - template of gemv_f32: rows are streamed once, so memory decides. Each row has
 * the same two partial sums in either loop, so its result does not depend on its neighbours.
 * Parameter, besides the vector operations: OWN_DOT, if the level has a rows_dot of its own. */
#include "kernels/ref/activate.h"
#include "kernels/ref/simd_act.h"

#define GEMV_ROWS 4

#ifdef OWN_DOT
#define GEMV_LONE_ROW 0
#else
/* Up to this length rows are read one after the other: one stream, which the processor's own
 * prefetching follows from row to row. Four rows side by side share the loads of x, but are four
 * streams that begin anew with every four rows: from memory, rows of 512 were read at 13 GB/s
 * instead of 33 (Zen 4, large pages). Longer rows push x out of the first-level cache. */
#define GEMV_LONE_ROW 4096

/* Eight chains (four rows, even and odd) hide the latency; the sum of a row is even + odd, then
 * lanes by halves. */
static inline __attribute__((always_inline)) void rows_dot(const struct gemv_f32_job *job, size_t r,
                                                           float *sums, const int rows)
{
    const float *w = job->w + r * job->ldw, *x = job->x;
    vec even[GEMV_ROWS], odd[GEMV_ROWS];
    size_t k = 0;
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++)
        even[i] = odd[i] = vec_zero();
    for (; k + 2 * LANES <= job->k; k += 2 * LANES) {
        vec x0 = vec_load(x + k), x1 = vec_load(x + k + LANES);
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++) {
            const float *row = w + (size_t)i * job->ldw + k;
            even[i] = vec_fma(vec_load(row), x0, even[i]);
            odd[i] = vec_fma(vec_load(row + LANES), x1, odd[i]);
        }
    }
    /* The tail joins the even sums, masked: lanes outside add 0. */
    for (; k < job->k; k += LANES) {
        vmask m = vmask_range(0, job->k - k < LANES ? (int)(job->k - k) : LANES);
        vec xv = vec_load_some(x + k, m);
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++)
            even[i] = vec_fma(vec_load_some(w + (size_t)i * job->ldw + k, m), xv, even[i]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++)
        sums[i] = vec_sum(vec_add(even[i], odd[i]));
}
#endif

/* Bias and residual are added behind all rows, in loops over few floats. */
void ISA(pith_gemv_f32)(const struct gemv_f32_job *job)
{
    size_t r = 0;
    for (; job->k > GEMV_LONE_ROW && r + GEMV_ROWS <= job->rows; r += GEMV_ROWS)
        rows_dot(job, r, job->y + r, GEMV_ROWS);
    for (; r < job->rows; r++)
        rows_dot(job, r, job->y + r, 1);
    for (r = 0; job->bias && r < job->rows; r++)
        job->y[r] += job->bias[r];
    for (r = 0; job->residual && r < job->rows; r++)
        job->y[r] += job->residual[r];
    if (clamp_of(&job->act).second_pass)
        ISA(pith_act_row_f32)(&job->act, job->y, job->rows);
    else
        pith_activate_row(job->act.kind, job->act.a, job->act.b, job->y, job->y, job->rows);
}
