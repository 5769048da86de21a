/* SPDX-License-Identifier: MIT */
/* conv_rows_f32_impl.h - template of conv_rows_f32. Parameters: the vector operations, MR (rows of
 * a panel of weights), NV (vectors of a full tile).
 *
 * gemm_f32 without the copy of its b: under one tap, LANES pixels of an output row lie side by side
 * in the padded input. A tile is NV such vectors, wherever in the band they are, so a width that NV
 * vectors do not divide costs nothing; one that LANES does not divide costs the lanes left over.
 * The band is swept panel by panel: a panel of weights stays in the first-level cache, the band in
 * the second. An element is one chain of fused multiply-adds over k, the same as gemm_f32's. */
#include "kernels/ref/simd_act.h"

/* Up to NV vectors of pixels: where they are read, written, and which lanes are pixels. Offsets
 * instead of pointers: they are the same for all panels. */
struct tile {
    size_t b[NV], y[NV];
    vmask mask[NV];
    bool whole; /* all lanes of all masks: masked stores of AVX2 are slow */
};

/* Rows of one panel. Weights of one panel and where its results go. */
struct panel {
    const float *a;
    float *y;
    const float *bias, *residual;
    uint32_t rows;
};

/* A vector never spans two output rows; its mask cuts what lies behind the row. Where rows that are
 * written later lie there it is stored whole. */
static void tile_set(struct tile *t, const struct conv_rows_f32_job *job, uint32_t first,
                     uint32_t nv)
{
    uint32_t across = (job->ow + LANES - 1) / LANES;
    const size_t end = (size_t)job->rows * job->ow;
    t->whole = true;
    for (uint32_t j = 0; j < nv; j++) {
        size_t row = (first + j) / across, x = (size_t)((first + j) % across) * LANES;
        t->b[j] = row * job->b_row + x;
        t->y[j] = row * job->ow + x;
        t->mask[j] = vmask_range(0, job->ow - x < LANES ? (int)(job->ow - x) : LANES);
        t->whole = t->whole && (job->ow - x >= LANES || t->y[j] + LANES <= end);
    }
}

/* Sums [MR][NV * LANES] of nv vectors into the output. Apart and rolled up: a copy of it in
 * every tile_run would be two thirds of the code. The slow end: residuals, partial panels,
 * masks. */
static __attribute__((noinline)) void finish(const struct conv_rows_f32_job *job,
                                             const struct tile *t, const struct panel *p,
                                             const struct clamp *clamp, const float *sums, int nv)
{
    for (uint32_t i = 0; i < p->rows; i++) {
        vec bias = vec_set1(p->bias ? p->bias[i] : 0.0f);
        for (int j = 0; j < nv; j++) {
            size_t at = i * job->ldy + t->y[j];
            vec v = vec_add(vec_load(sums + ((int)i * NV + j) * LANES), bias);
            if (p->residual)
                v = vec_add(v, vec_load_some(p->residual + at, t->mask[j]));
            v = clamp_apply(clamp, v);
            if (t->whole)
                vec_store(p->y + at, v);
            else
                vec_store_some(p->y + at, t->mask[j], v);
        }
    }
}

/* mr and nv are constants in each call, so the loops over them are unrolled into registers: mr * nv
 * sums, nv vectors of pixels, one weight. mr: rows of the panel that count, MR of which it has. */
static inline __attribute__((always_inline)) void
tile_run(const struct conv_rows_f32_job *job, const struct tile *t, const struct panel *p,
         const struct clamp *clamp, const int mr, const int nv)
{
    vec acc[MR][NV];
#pragma GCC unroll 16
    for (int i = 0; i < mr; i++)
#pragma GCC unroll 4
        for (int j = 0; j < nv; j++)
            acc[i][j] = vec_zero();
    const float *a = p->a;
    for (uint32_t tap = 0; tap < job->taps; tap++) {
        const float *b[NV];
#pragma GCC unroll 4
        for (int j = 0; j < nv; j++)
            /* Three pointers walk through the channels of the tap; a sum over a tap's channels
             * is a chain in the order of the packed weights. */
            b[j] = job->b + job->tap[tap] + t->b[j];
        for (uint32_t c = job->channels; c > 0; c--, a += MR) {
            vec bv[NV];
#pragma GCC unroll 4
            for (int j = 0; j < nv; j++) {
                bv[j] = vec_load(b[j]);
                IN_REGISTER(bv[j]);
                b[j] += job->plane;
            }
            const vweights all = vweights_at(a);
#pragma GCC unroll 16
            for (int i = 0; i < mr; i++) {
                vweight w = vweights_set1(all, (size_t)i * sizeof(float));
#pragma GCC unroll 4
                for (int j = 0; j < nv; j++)
                    acc[i][j] = vweight_fma(w, bv[j], acc[i][j]);
            }
        }
    }
    if (t->whole && !p->residual &&
        p->rows == (uint32_t)mr) { /* nearly always: 3 % of a small layer */
#pragma GCC unroll 16
        for (int i = 0; i < mr; i++) {
            vec bias = p->bias ? vec_set1(p->bias[i]) : vec_zero();
            float *y = p->y + (size_t)i * job->ldy;
#pragma GCC unroll 4
            for (int j = 0; j < nv; j++)
                vec_store(y + t->y[j], clamp_apply(clamp, vec_add(acc[i][j], bias)));
        }
        return;
    }
    float sums[MR * NV * LANES];
#pragma GCC unroll 16
    for (int i = 0; i < mr; i++)
#pragma GCC unroll 4
        for (int j = 0; j < nv; j++)
            vec_store(sums + (i * NV + j) * LANES, acc[i][j]);
    finish(job, t, p, clamp, sums, nv);
}

/* A last panel of few rows - 1 and 3 are what networks that give pictures end in - multiplies half
 * of MR. */
static inline __attribute__((always_inline)) void
tile_of_rows(const struct conv_rows_f32_job *job, const struct tile *t, const struct panel *p,
             const struct clamp *clamp, const int nv)
{
    if (nv == NV && p->rows <= MR / 2) /* narrow tiles are few */
        tile_run(job, t, p, clamp, MR / 2, nv);
    else
        tile_run(job, t, p, clamp, MR, nv);
}

/* Panels outside, tiles inside: the panel's weights are read from the first cache for every
 * tile. */
void ISA(pith_conv_rows_f32)(const struct conv_rows_f32_job *job)
{
    const struct clamp clamp = clamp_of(&job->act);
    const uint32_t n = (job->ow + LANES - 1) / LANES * job->rows;
    for (uint32_t o = 0; o < job->m; o += MR) {
        struct panel p = {.a = job->a + o / MR * job->a_step,
                          .y = job->y + o * job->ldy,
                          .bias = job->bias ? job->bias + o : NULL,
                          .residual = job->residual ? job->residual + o * job->ldy : NULL,
                          .rows = job->m - o < MR ? job->m - o : MR};
        for (uint32_t i = 0, nv; i < n; i += nv) {
            struct tile t;
            nv = n - i == NV + 1 ? NV - 1
                 : n - i < NV    ? n - i
                                 : NV; /* 4 are 2 and 2, not 3 and 1 */
            tile_set(&t, job, i, nv);
            if (nv == 3)
                tile_of_rows(job, &t, &p, &clamp, 3);
            else if (nv == 2)
                tile_of_rows(job, &t, &p, &clamp, 2);
            else
                tile_of_rows(job, &t, &p, &clamp, 1);
        }
    }
    /* Activations that are no clamp pass over what is still in cache. */
    for (uint32_t o = 0; clamp.second_pass && o < job->m; o++)
        ISA(pith_act_row_f32)(&job->act, job->y + o * job->ldy, (size_t)job->rows * job->ow);
}
