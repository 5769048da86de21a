/* SPDX-License-Identifier: MIT */
/* gemm_f32_impl.h - template of gemm_f32. Parameters: the vector operations (rvec holds MR floats),
 * MR (rows of a panel), NV (vectors of a full tile), EXTRA_COLUMN (0, 1).
 *
 * A tile of MR x n sums lives in registers: per k, n/LANES loads of b, and each of MR values of a
 * is broadcast once and used n/LANES times. MR * NV must cover latency x throughput of the
 * multiply-adds and leave registers for one row of b. Tiles with fewer than NV vectors have
 * instances of their own, the last vector is masked.
 *
 * 7 x 7 pixels are 49, one more than three vectors of 16. There the MR sums of the last column live
 * in one register more, for one multiply-add per k (EXTRA_COLUMN). A single column left over is
 * done the same way, COLUMN_PANELS panels at a time.
 *
 * Whichever way an element takes, it is one chain of fused multiply-adds over k. */
#include "simd_act.h"

#define COLUMN_PANELS 8

/* Keeps the compiler from loading v anew for each use. */
#define IN_REGISTER(v) __asm__("" : "+x"(v))

/* One panel's part of the job: pointers to its first row. */
struct tile {
    const float *a; /* [k][MR] */
    float *c;
    const float *bias_row, *residual;
    uint32_t rows;
};

static inline struct tile tile_of(const struct gemm_f32_job *job, uint32_t i)
{
    bool finish = job->finish;
    return (struct tile){.a = job->a + i / MR * job->a_step,
                         .c = job->c + i * job->ldc,
                         .bias_row = finish && job->bias_row ? job->bias_row + i : NULL,
                         .residual = finish && job->residual ? job->residual + i * job->ldc : NULL,
                         .rows = job->m - i < MR ? job->m - i : MR};
}

/* Element (i, j) of the tile: everything behind the sum over k. */
static void finish_one(const struct gemm_f32_job *job, const struct tile *t,
                       const struct clamp *clamp, uint32_t i, uint32_t j, float sum)
{
    size_t at = i * job->ldc + j;
    if (t->bias_row)
        sum += t->bias_row[i];
    if (job->resume)
        sum += t->c[at];
    if (job->bias_col && job->finish)
        sum += job->bias_col[j];
    if (t->residual)
        sum += t->residual[at];
    t->c[at] = clamp_apply1(clamp, sum);
}

/* More than bias_row is added behind the sum over k. */
static bool adds_more(const struct gemm_f32_job *job, const struct tile *t)
{
    return job->resume || t->residual || (job->bias_col && job->finish);
}

/* finish_one for nv vectors of all rows, whose sums are [MR][NV * LANES]. */
static void finish_more(const struct gemm_f32_job *job, const struct tile *t,
                        const struct clamp *clamp, const float *sums, vmask last, uint32_t nv)
{
    for (uint32_t i = 0; i < t->rows; i++) {
        vec bias = vec_set1(t->bias_row ? t->bias_row[i] : 0.0f);
        for (uint32_t j = 0; j < nv; j++) {
            size_t at = i * job->ldc + (size_t)j * LANES;
            vmask m = j < nv - 1 ? vmask_range(0, LANES) : last;
            vec v = vec_add(vec_load(sums + (i * NV + j) * LANES), bias);
            if (job->resume)
                v = vec_add(v, vec_load_some(t->c + at, m));
            if (job->bias_col && job->finish)
                v = vec_add(v, vec_load_some(job->bias_col + j * LANES, m));
            if (t->residual)
                v = vec_add(v, vec_load_some(t->residual + at, m));
            vec_store_some(t->c + at, m, clamp_apply(clamp, v));
        }
    }
}

/* How a tile ends: with a vector of which `last` lanes are used, a whole one, or the extra column.
 * Whole ones are apart because masks cost AVX2 a register and slow stores. */
enum edge { EDGE_MASKED, EDGE_WHOLE, EDGE_EXTRA };

static inline __attribute__((always_inline)) void tile_run(const struct gemm_f32_job *job,
                                                           const struct tile *t,
                                                           const struct clamp *clamp, vmask last,
                                                           const int nv, const enum edge edge)
{
    const bool extra = edge == EDGE_EXTRA;
    vec acc[MR][NV];
    rvec column = rvec_set1(0.0f);
#pragma GCC unroll 16
    for (int i = 0; i < MR; i++)
#pragma GCC unroll 4
        for (int j = 0; j < nv; j++)
            acc[i][j] = vec_zero();
    const float *a = t->a, *b = job->b;
    for (uint32_t k = job->k; k > 0; k--, a += MR, b += job->ldb) {
        vec bv[NV];
#pragma GCC unroll 4
        for (int j = 0; j < nv; j++) {
            bool whole = j < nv - 1 || edge != EDGE_MASKED;
            bv[j] = whole ? vec_load(b + j * LANES) : vec_load_some(b + j * LANES, last);
            IN_REGISTER(bv[j]);
        }
        if (extra)
            column = rvec_fma(rvec_load(a), rvec_set1(b[NV * LANES]), column);
#pragma GCC unroll 16
        for (int i = 0; i < MR; i++) {
            vec w = vec_set1(a[i]);
#pragma GCC unroll 4
            for (int j = 0; j < nv; j++)
                acc[i][j] = vec_fma(w, bv[j], acc[i][j]);
        }
    }
    if (adds_more(job, t)) {
        float sums[MR * NV * LANES];
#pragma GCC unroll 16
        for (int i = 0; i < MR; i++)
#pragma GCC unroll 4
            for (int j = 0; j < nv; j++)
                vec_store(sums + (i * NV + j) * LANES, acc[i][j]);
        finish_more(job, t, clamp, sums, last, (uint32_t)nv);
    } else {
#pragma GCC unroll 16
        for (int i = 0; i < MR; i++) {
            if (i >= (int)t->rows)
                break;
            vec bias = t->bias_row ? vec_set1(t->bias_row[i]) : vec_zero();
            float *c = t->c + (size_t)i * job->ldc;
#pragma GCC unroll 4
            for (int j = 0; j < nv; j++) {
                vec v = clamp_apply(clamp, vec_add(acc[i][j], bias));
                if (j < nv - 1 || edge != EDGE_MASKED)
                    vec_store(c + j * LANES, v);
                else
                    vec_store_some(c + j * LANES, last, v);
            }
        }
    }
    if (extra) {
        float sums[MR];
        rvec_store(sums, column);
        for (uint32_t i = 0; i < t->rows; i++)
            finish_one(job, t, clamp, i, NV * LANES, sums[i]);
    }
}

/* Rows [i, i + COLUMN_PANELS * MR) of a job of one column. Panels past the last are read as the
 * last again. */
static void column_run(const struct gemm_f32_job *job, const struct clamp *clamp, uint32_t i)
{
    const float *a = job->a + i / MR * job->a_step, *b = job->b;
    uint32_t rows = job->m - i, panels = (rows + MR - 1) / MR;
    float sums[COLUMN_PANELS * MR];
    rvec acc[COLUMN_PANELS];
    const float *panel[COLUMN_PANELS];
#pragma GCC unroll 8
    for (uint32_t p = 0; p < COLUMN_PANELS; p++) {
        panel[p] = a + (p < panels ? p : panels - 1) * job->a_step;
        acc[p] = rvec_set1(0.0f);
    }
    for (size_t k = 0; k < job->k; k++) {
        rvec x = rvec_set1(b[k * job->ldb]);
#pragma GCC unroll 8
        for (int p = 0; p < COLUMN_PANELS; p++)
            acc[p] = rvec_fma(rvec_load(panel[p] + k * MR), x, acc[p]);
    }
#pragma GCC unroll 8
    for (int p = 0; p < COLUMN_PANELS; p++)
        rvec_store(sums + p * MR, acc[p]);
    struct tile t = tile_of(job, i);
    for (uint32_t r = 0; r < rows && r < COLUMN_PANELS * MR; r++)
        finish_one(job, &t, clamp, r, 0, sums[r]);
}

static void tiles_run(const struct gemm_f32_job *job, const struct clamp *clamp)
{
    const uint32_t nv = job->n / LANES + (job->n % LANES != 0);
    const vmask last = vmask_range(0, nv > NV ? LANES : (int)(job->n - (nv - 1) * LANES));
    for (uint32_t i = 0; i < job->m; i += MR) {
        struct tile t = tile_of(job, i);
        if (EXTRA_COLUMN && nv > NV)
            tile_run(job, &t, clamp, last, NV, EDGE_EXTRA);
        else if (!EXTRA_COLUMN && job->n == NV * LANES)
            tile_run(job, &t, clamp, last, NV, EDGE_WHOLE);
        else if (nv == 3)
            tile_run(job, &t, clamp, last, 3, EDGE_MASKED);
        else if (nv == 2)
            tile_run(job, &t, clamp, last, 2, EDGE_MASKED);
        else
            tile_run(job, &t, clamp, last, 1, EDGE_MASKED);
    }
}

void ISA(pith_gemm_f32)(const struct gemm_f32_job *job)
{
    const struct dense_act none = {ACT_NONE, 0, 0};
    const struct clamp clamp = clamp_of(job->finish ? &job->act : &none);
    if (job->n > 1)
        tiles_run(job, &clamp);
    for (uint32_t i = 0; job->n == 1 && i < job->m; i += COLUMN_PANELS * MR)
        column_run(job, &clamp, i);
    for (uint32_t i = 0; clamp.second_pass && i < job->m; i++)
        act_row(&job->act, job->c + i * job->ldc, job->n);
}
