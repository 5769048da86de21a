/* SPDX-License-Identifier: MIT */
/* gemv_f32.c - matrix times vector, the definition of right (kernel_dense.h). */
#include "kernels/ref/activate.h"
#include "kernels/kernel_dense.h"

void pith_gemv_f32(const struct gemv_f32_job *job)
{
    for (size_t r = 0; r < job->rows; r++) {
        const float *w = job->w + r * job->ldw;
        float sum = 0.0f;
        for (size_t k = 0; k < job->k; k++)
            sum += w[k] * job->x[k];
        if (job->bias)
            sum += job->bias[r];
        if (job->residual)
            sum += job->residual[r];
        job->y[r] = pith_activate(job->act.kind, job->act.a, job->act.b, sum);
    }
}
