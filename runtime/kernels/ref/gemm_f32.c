/* SPDX-License-Identifier: MIT */
/* gemm_f32.c - product of a packed matrix and a tile, the definition of right
 * (kernel_dense.h). */
#include "kernels/ref/activate.h"
#include "kernels/kernel_dense.h"

/* The definition adds bias and residual last; variants begin with them, which the bound of
 * kernel_dense.h allows. */
static float element(const struct gemm_f32_job *job, uint32_t mr, size_t i, size_t j)
{
    const size_t row = job->a_row ? job->a_row : 1, col = job->a_row ? job->a_col : mr;
    const float *a = job->a + i / mr * job->a_step + i % mr * row;
    float sum = job->resume ? job->c[i * job->ldc + j] : 0.0f;
    for (size_t k = 0; k < job->k; k++)
        sum += a[k * col] * job->b[k * job->ldb + j];
    if (!job->finish)
        return sum;
    if (job->bias_row)
        sum += job->bias_row[i];
    if (job->bias_col)
        sum += job->bias_col[j];
    if (job->residual)
        sum += job->residual[i * job->ldc + j];
    return pith_activate(job->act.kind, job->act.a, job->act.b, sum);
}

/* For tests, and wherever no packed kernel exists. */
void pith_gemm_f32(const struct gemm_f32_job *job, uint32_t mr)
{
    for (size_t i = 0; i < job->m; i++)
        for (size_t j = 0; j < job->n; j++)
            job->c[i * job->ldc + j] = element(job, mr, i, j);
}

/* Column by column of the panel: the order in which kernels read. */
void pith_pack_rows_f32(const struct pack_rows_job *job)
{
    const size_t mr = job->mr;
    float *dst = job->dst;
    for (size_t r = 0; r < job->rows; r += mr, dst += job->panel_step)
        for (size_t i = 0; i < job->k; i++)
            for (size_t lane = 0; lane < mr; lane++)
                dst[i * mr + lane] =
                    r + lane < job->rows ? job->w[(r + lane) * job->ld + i * job->step] : 0.0f;
}
