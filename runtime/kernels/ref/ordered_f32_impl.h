/* SPDX-License-Identifier: MIT */
/* ordered_f32_impl.h - template of the dense kernels whose bits are the same on every CPU
 * (kernel_ordered.h). Parameters: ORDERED(name), the name with the level's suffix; vec and LANES;
 * ROWS of a panel times VECTORS of columns that are summed at once, so many that they, VECTORS of
 * b, one of a and a product are all registers; sum_taps, which makes the sums of depthwise_f32.
 *
 * Lanes are elements of the result, or, of gemv_f32, sixteen sums that every level has; so the
 * width of a register decides how many chains of additions run side by side, never what is in one.
 * Products are rounded before they are added: fused multiply-adds are what machines differ in.
 * Compilers keep to that because of -ffp-contract=off. */
#include <string.h>

#include "kernels/ref/activate.h"
#include "core/bytes.h"
#include "kernels/kernel_ordered.h"

typedef float column __attribute__((vector_size(ORDERED_MR * sizeof(float)))); /* of a panel */

/* K_PART of k at a time: what two tiles of rows read of b stays in the first cache. */
#define K_PART 128u
#define SINGLES 4u /* side by side, to hide the latency of an addition */
#define ALWAYS static inline __attribute__((always_inline))

/* ---- gemm_f32 -------------------------------------------------------------------------------- */

/* The first `rows` rows, from `row` on, of a panel times nv vectors of columns from j on. With a
 * constant number of rows sums go from registers to c. */
ALWAYS void tile(const struct gemm_f32_job *job, const float *a, uint32_t row, uint32_t j,
                 const uint32_t rows, const uint32_t nv)
{
    float *c = job->c + row * job->ldc + j;
    vec acc[ROWS][VECTORS];
#pragma GCC unroll 8
    for (uint32_t i = 0; i < ROWS; i++)
#pragma GCC unroll 3
        for (uint32_t v = 0; v < nv; v++)
            acc[i][v] = (vec){0};
    if (job->resume)
#pragma GCC unroll 8
        for (uint32_t i = 0; i < rows; i++)
            memcpy(acc[i], c + i * job->ldc, nv * sizeof(vec));
    const float *b = job->b + j;
    for (size_t k = job->k; k > 0; k--, a += ORDERED_MR, b += job->ldb) {
        vec x[VECTORS];
#pragma GCC unroll 3
        for (uint32_t v = 0; v < nv; v++)
            memcpy(&x[v], b + v * LANES, sizeof x[v]);
#pragma GCC unroll 8
        for (uint32_t i = 0; i < ROWS; i++)
#pragma GCC unroll 3
            for (uint32_t v = 0; v < nv; v++)
                acc[i][v] += a[i] * x[v];
    }
    const bool biased = job->finish && job->bias_row;
#pragma GCC unroll 8
    for (uint32_t i = 0; i < rows; i++)
#pragma GCC unroll 3
        for (uint32_t v = 0; v < nv; v++) {
            vec y = acc[i][v];
            if (biased)
                y += job->bias_row[row + i];
            memcpy(c + i * job->ldc + v * LANES, &y, sizeof y);
        }
}

static void tile_of_rows(const struct gemm_f32_job *job, const float *a, uint32_t row, uint32_t j,
                         uint32_t rows, const uint32_t nv)
{
    if (rows != ROWS)
        tile(job, a, row, j, rows, nv);
    else if (nv == 3 && VECTORS > 2)
        tile(job, a, row, j, ROWS, 3);
    else if (nv == 2)
        tile(job, a, row, j, ROWS, 2);
    else
        tile(job, a, row, j, ROWS, 1);
}

/* n columns that fill no vector, a panel's rows side by side. */
ALWAYS void columns(const struct gemm_f32_job *job, const float *a, uint32_t row, uint32_t j,
                    uint32_t rows, const uint32_t n)
{
    column acc[SINGLES] = {0};
    float *c = job->c + row * job->ldc + j;
    for (uint32_t i = 0; i < rows && job->resume; i++)
        for (uint32_t v = 0; v < n; v++)
            acc[v][i] = c[i * job->ldc + v];
    for (size_t k = 0; k < job->k; k++) {
        column w;
        memcpy(&w, a + k * ORDERED_MR, sizeof w);
#pragma GCC unroll 4
        for (uint32_t v = 0; v < n; v++)
            acc[v] += w * job->b[k * job->ldb + j + v];
    }
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t v = 0; v < n; v++)
            c[i * job->ldc + v] =
                job->finish && job->bias_row ? acc[v][i] + job->bias_row[row + i] : acc[v][i];
}

/* The loops below test a pointer before they begin. GCC 14 turns a loop that also ends where a
 * pointer is NULL into one that reads through it first. */
ALWAYS void add_number(float *y, float x, size_t n)
{
    for (size_t j = 0; j < n; j++)
        y[j] += x;
}

ALWAYS void add_row(float *y, const float *x, size_t n)
{
    for (size_t j = 0; j < n; j++)
        y[j] += x[j];
}

ALWAYS void clip_row(float low, float high, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float x = y[i] < low ? low : y[i];
        y[i] = x > high ? high : x;
    }
}

/* The bits of activate.h, which is compiled for every CPU. */
static void activate(const struct dense_act *act, float *y, size_t n)
{
    if (act->kind == ACT_RELU)
        clip_row(0, f32_from_bits(0x7f800000u), y, n); /* infinity */
    else if (act->kind == ACT_CLIP)
        clip_row(act->a, act->b, y, n);
    else
        pith_activate_row(act->kind, act->a, act->b, y, y, n);
}

/* Behind the bias of the row: bias of the column, the residual, the activation. */
static void finish_row(const struct gemm_f32_job *job, uint32_t i)
{
    float *c = job->c + i * job->ldc;
    if (job->bias_col)
        add_row(c, job->bias_col, job->n);
    if (job->residual)
        add_row(c, job->residual + i * job->ldc, job->n);
    activate(&job->act, c, job->n);
}

static void panel(const struct gemm_f32_job *job, uint32_t first)
{
    const float *a = job->a + first / ORDERED_MR * job->a_step;
    const uint32_t all = job->m - first < ORDERED_MR ? job->m - first : ORDERED_MR;
    uint32_t j = 0;
    for (uint32_t nv; (nv = (job->n - j) / LANES) > 0; j += nv * LANES) {
        nv = nv < VECTORS ? nv : VECTORS;
        for (uint32_t i = 0; i < all; i += ROWS)
            tile_of_rows(job, a + i, first + i, j, all - i < ROWS ? all - i : ROWS, nv);
    }
    for (; j + SINGLES <= job->n; j += SINGLES)
        columns(job, a, first, j, all, SINGLES);
    for (; j < job->n; j++)
        columns(job, a, first, j, all, 1);
}

void ORDERED(pith_gemm_f32)(const struct gemm_f32_job *job)
{
    struct gemm_f32_job part = *job;
    for (size_t k = 0; k < job->k || k == 0; k += K_PART) {
        part.a = job->a + k * ORDERED_MR;
        part.b = job->b + k * job->ldb;
        part.k = job->k - k < K_PART ? (uint32_t)(job->k - k) : K_PART;
        part.resume = job->resume || k > 0;
        part.finish = job->finish && k + part.k == job->k;
        for (uint32_t i = 0; i < job->m; i += ORDERED_MR)
            panel(&part, i);
    }
    if (job->finish)
        for (uint32_t i = 0; i < job->m; i++)
            finish_row(job, i);
}

/* ---- gemv_f32 -------------------------------------------------------------------------------- */

#define SUMS ORDERED_SUMS
#define PARTS (SUMS / LANES)
#define DOT_ROWS 2u /* at once: chains enough to hide the latency of an addition */

/* Sum k % SUMS takes element k; then halves are added, as in sum_f32.h. */
ALWAYS void dot(const struct gemv_f32_job *job, size_t r, const uint32_t rows)
{
    vec acc[DOT_ROWS][PARTS];
    memset(acc, 0, sizeof acc);
    size_t k = 0;
    for (; k + SUMS <= job->k; k += SUMS)
        for (uint32_t i = 0; i < rows; i++)
#pragma GCC unroll 4
            for (uint32_t p = 0; p < PARTS; p++) {
                vec w, x;
                memcpy(&w, job->w + (r + i) * job->ldw + k + p * LANES, sizeof w);
                memcpy(&x, job->x + k + p * LANES, sizeof x);
                acc[i][p] += w * x;
            }
    for (uint32_t i = 0; i < rows; i++) {
        float sum[SUMS];
        memcpy(sum, acc[i], sizeof sum);
        for (size_t at = k; at < job->k; at++)
            sum[at - k] += job->w[(r + i) * job->ldw + at] * job->x[at];
        for (uint32_t half = SUMS / 2; half > 0; half /= 2)
            for (uint32_t s = 0; s < half; s++)
                sum[s] += sum[s + half];
        job->y[r + i] = sum[0];
    }
}

void ORDERED(pith_gemv_f32)(const struct gemv_f32_job *job)
{
    size_t r = 0;
    for (; r + DOT_ROWS <= job->rows; r += DOT_ROWS)
        dot(job, r, DOT_ROWS);
    for (; r < job->rows; r++)
        dot(job, r, 1);
    if (job->bias)
        add_row(job->y, job->bias, job->rows);
    if (job->residual)
        add_row(job->y, job->residual, job->rows);
    activate(&job->act, job->y, job->rows);
}

/* ---- depthwise_f32 --------------------------------------------------------------------------- */

void ORDERED(pith_depthwise_f32)(const struct depthwise_f32_job *job)
{
    const struct conv_geom *g = job->g;
    const size_t pixels = (size_t)g->oh * g->ow;
    struct depthwise_f32_job sums = *job;
    sums.bias = sums.residual = NULL;
    sum_taps(&sums);
    for (size_t i = 0; i < job->planes; i++) {
        float *y = job->y + i * job->y_step;
        if (job->bias)
            add_number(y, job->bias[i], pixels);
        if (job->residual)
            add_row(y, job->residual + i * job->y_step, pixels);
        activate(&job->act, y, pixels);
    }
}
