/* SPDX-License-Identifier: MIT */
/* The reference of the integer products of kernel_integer.h. */
#include "kernels/ref/integer_element.h"
#include "kernels/kernel_integer.h"

/* Eight outputs a panel: what compilers turn into vectors of 16 or 32 bytes. */
#define NR 8u

/* Without factors the sums themselves are the result. */
static void finish(const struct requantize *to, const uint32_t *acc, size_t at, uint32_t n,
                   uint8_t *y)
{
    if (!to->factor) {
        memcpy(y, acc, n * sizeof *acc);
        return;
    }
    enum pith_type type = to->is_signed ? PITH_I8 : PITH_U8;
    struct integer_range range = integer_range_of(type, to->zero_point);
    for (uint32_t j = 0; j < n; j++)
        y[j] = (uint8_t)quantized(&range, (float)(int32_t)acc[j] * to->factor[at + j]);
}

/* Panel p of pixel i. Sums begin with the offset; they wrap modulo 2^32, hence unsigned. */
static void panel(const struct gemm_i8_job *job, uint32_t i, uint32_t p)
{
    uint32_t acc[NR], first = p * NR, n = job->n - first < NR ? job->n - first : NR;
    const int8_t *w = (const int8_t *)job->w + p * job->panel_bytes;
    memcpy(acc, job->to.offset + first, sizeof acc);
    for (uint32_t j = 0; job->less && j < NR; j++)
        acc[j] -= job->less[i];
    for (uint32_t s = 0; s < job->segments; s++) {
        const uint8_t *x = job->x[i] + job->segment[s];
        for (uint32_t k = 0; k < job->steps; k++, w += NR)
            for (uint32_t j = 0; j < NR; j++)
                acc[j] += (uint32_t)(x[k] * w[j]);
    }
    size_t bytes = job->to.factor ? 1 : sizeof *acc;
    finish(&job->to, acc, first, n, job->y + i * job->y_step + first * bytes);
}

/* Panels outside: a panel's weights are read for all pixels before the next ones. */
void pith_gemm_i8(const struct gemm_i8_job *job)
{
    for (uint32_t p = 0; p < (job->n + NR - 1) / NR; p++)
        for (uint32_t i = 0; i < job->m; i++)
            panel(job, i, p);
}

/* The last block of channels may begin before the one ahead has ended (depthwise_begin). */
void pith_depthwise_i8(const struct depthwise_i8_job *job)
{
    uint32_t blocks = depthwise_blocks(NR, job->channels);
    uint32_t n = job->channels < NR ? job->channels : NR;
    size_t bytes = job->to.factor ? 1 : sizeof(uint32_t);
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t c = depthwise_begin(NR, job->channels, b);
        for (uint32_t i = 0; i < job->m; i++) {
            const int8_t *w = (const int8_t *)job->w + (size_t)b * job->groups * NR;
            uint32_t acc[NR];
            memcpy(acc, job->to.offset + (size_t)b * NR, sizeof acc);
            for (uint32_t t = 0; t < job->groups; t++, w += NR) {
                const uint8_t *x = job->x + i * job->x_step + job->tap[t] + c;
                for (uint32_t j = 0; j < n; j++)
                    acc[j] += (uint32_t)(x[j] * w[j]);
            }
            finish(&job->to, acc, (size_t)b * NR, n, job->y + i * job->y_step + c * bytes);
        }
    }
}
