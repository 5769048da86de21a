/* SPDX-License-Identifier: MIT */
/* gemv_f32_impl.h - template of gemv_f32: rows are streamed once, so memory decides; four rows at
 * a time share the loads of x. Each row has the same two partial sums in either loop, so its
 * result does not depend on its neighbours. Parameter, besides the vector operations: OWN_DOT, if
 * the level has a rows_dot of its own. */
#include "kernels/ref/activate.h"
#include "kernels/ref/simd_act.h"

#define GEMV_ROWS 4

#ifndef OWN_DOT
/* What is fetched while a row is multiplied: the same place of the row four on, which is next to be
 * read there. The processor's own prefetching starts anew with each short row; rows longer than
 * this are streams it follows. (LSTM of 512, R in the third-level cache: 6.4 -> 6.05 ms for 100
 * steps; Zen 4.) */
#define GEMV_SHORT_ROW 2048

static inline __attribute__((always_inline)) void fetch_ahead(const struct gemv_f32_job *job,
                                                              const float *row)
{
    uintptr_t next = (uintptr_t)row + (uintptr_t)GEMV_ROWS * job->ldw * sizeof(float);
    __builtin_prefetch((const void *)next);
    if (2 * LANES * sizeof(float) > 64)
        __builtin_prefetch((const void *)(next + 64));
}

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
    const bool is_short = job->k <= GEMV_SHORT_ROW;
    for (; k + 2 * LANES <= job->k; k += 2 * LANES) {
        vec x0 = vec_load(x + k), x1 = vec_load(x + k + LANES);
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++) {
            const float *row = w + (size_t)i * job->ldw + k;
            if (is_short)
                fetch_ahead(job, row);
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
    for (; r + GEMV_ROWS <= job->rows; r += GEMV_ROWS)
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
