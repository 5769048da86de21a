/* SPDX-License-Identifier: MIT */
/* gemm_f32_impl.h - template of gemm_f32. Parameters: the vector operations (rvec holds MR floats),
 * MR (rows of a panel), NV (vectors of a full tile), EXTRA_COLUMN (0, 1), MR_WIDE (rows
 * of a wide job, MR + 2, times WIDE_NV vectors; 0: there are none).
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
 * A few rows of a are done with b's values sooner than the next ones come from memory, and the
 * processor does not see that it will be these: they are prefetched meanwhile (next).
 *
 * Whichever way an element takes, it is one chain of fused multiply-adds over k, begun with what is
 * to be added: residual and bias of the column, or the sum over earlier k. */
#include "kernels/ref/simd_act.h"

/* A job of one column would leave all but one lane idle: eight panels at once fill them. */
#define COLUMN_PANELS 8
#define FLOATS_OF_LINE 16 /* of cache */

/* One panel's part of the job: pointers to its first row. Sums start from `from` (what an earlier
 * job left, or the residual; NULL: 0) and, in the first job over k, bias_col. */
struct tile {
    const float *a; /* [k][MR] */
    float *c;
    const float *from, *bias_col, *bias_row;
    const struct clamp *clamp;
    uint32_t rows;
    size_t row,
        col; /* from one row of a to the next, in bytes; from one k to the next, in floats */
};

#if WEIGHTS_STRIDED
#define A_COL(tile) (tile)->col
#define A_ROW(i) at[i]
#else
#define A_COL(tile) MR
#define A_ROW(i) (size_t)(i) * sizeof(float)
#endif

/* resume: c holds the sum of an earlier block of k, so it is where the chain goes on. */
static inline struct tile tile_of(const struct gemm_f32_job *job, const struct clamp *clamp,
                                  uint32_t i)
{
    const float *from = job->resume ? job->c : job->residual;
    return (struct tile){.clamp = clamp,
                         .a = job->a + i / MR * job->a_step + i % MR * job->a_row,
                         .c = job->c + i * job->ldc,
                         .from = from ? from + i * job->ldc : NULL,
                         .bias_col = job->resume ? NULL : job->bias_col,
                         .bias_row = job->finish && job->bias_row ? job->bias_row + i : NULL,
                         .rows = job->m - i < MR ? job->m - i : MR,
                         .row = (job->a_row ? job->a_row : 1) * sizeof(float),
                         .col = job->a_row ? job->a_col : MR};
}

/* What element (i, j) of the tile starts from. residual + bias, in this order; the vectors below
 * add in the same one. */
static float start_one(const struct gemm_f32_job *job, const struct tile *t, uint32_t i, uint32_t j)
{
    float from = t->from ? t->from[i * job->ldc + j] : 0.0f;
    return t->bias_col ? from + t->bias_col[j] : from;
}

/* For the extra column and single columns, a float at a time. */
static void finish_one(const struct gemm_f32_job *job, const struct tile *t, uint32_t i, uint32_t j,
                       float sum)
{
    if (t->bias_row)
        sum += t->bias_row[i];
    t->c[i * job->ldc + j] = clamp_apply1(t->clamp, sum);
}

/* How a tile ends: with a vector of which `last` lanes are used, a whole one, or the extra
 * column. Whole ones are apart because masks cost AVX2 a register and slow stores. An instance
 * for each, since a mask of all lanes still costs a register and, on AVX2, a slow store. */
enum edge { EDGE_MASKED, EDGE_WHOLE, EDGE_EXTRA };

static inline vec load_edge(const float *p, vmask last, bool whole)
{
    return whole ? vec_load(p) : vec_load_some(p, last);
}

/* Of a tile's vectors, in tile_run. */
#define IS_WHOLE(j) (!all_masked && ((j) < nv - 1 || edge != EDGE_MASKED))

/* rows: MR, or t->rows. nv, edge and rows are constants where it is called: every loop below is
 * unrolled, and acc lives in registers. rows < MR leaves broadcasts out, not sums of zeros in; with
 * EDGE_MASKED such a tile may have fewer vectors than nv: all are masked. */
static inline __attribute__((always_inline)) void tile_run(const struct gemm_f32_job *job,
                                                           const struct tile *t, vmask last,
                                                           const int nv, const enum edge edge,
                                                           const int rows)
{
    const bool extra = edge == EDGE_EXTRA;
    const bool all_masked = WEIGHTS_STRIDED && rows < MR && edge == EDGE_MASKED;
    vec acc[MR][NV]; /* [rows] */
    vmask lanes[NV];
    rvec column = rvec_set1(0.0f);
#pragma GCC unroll 4
    for (int j = 0; j < nv; j++) {
        lanes[j] = all_masked ? vmask_range(0, (int)job->n - j * LANES) : last;
        vec bias = vec_zero();
        if (t->bias_col)
            bias = load_edge(t->bias_col + j * LANES, lanes[j], IS_WHOLE(j));
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++)
            acc[i][j] = bias;
    }
    if (t->from) {
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
            if (i >= (int)t->rows)
                break;
            /* A panel has MR rows of weights, c only those there are. */
            const float *from = t->from + (size_t)i * job->ldc;
#pragma GCC unroll 4
            for (int j = 0; j < nv; j++)
                acc[i][j] = vec_add(load_edge(from + j * LANES, lanes[j], IS_WHOLE(j)), acc[i][j]);
        }
    }
    if (extra && (t->from || t->bias_col)) {
        float start[MR] = {0};
        for (uint32_t i = 0; i < t->rows; i++)
            start[i] = start_one(job, t, i, NV * LANES);
        column = rvec_load(start);
    }
    const float *a = t->a, *b = job->b;
    const float *next = job->next ? job->next : b;
    const size_t next_step = job->next ? job->ldb : 0;
#if WEIGHTS_STRIDED
    size_t s1 = t->row, s3 = 3 * s1, s5 = 5 * s1, s7 = 7 * s1;
#endif
    for (uint32_t k = job->k; k > 0; k--, a += A_COL(t), b += job->ldb, next += next_step) {
        vec bv[NV];
#if WEIGHTS_STRIDED
        /* Rows in terms that an address has: 1, 2 or 4 times a register. Out of the compiler's
         * sight, or it keeps a pointer a row, which are too many. */
        __asm__("" : "+r"(s1), "+r"(s3), "+r"(s5), "+r"(s7));
        const size_t at[] = {0, s1, 2 * s1, s3, 4 * s1, s5, 2 * s3, s7};
#endif
#pragma GCC unroll 4
        /* The next job's rows of b, into the second cache: they are touched once, and the
         * processor does not see them coming. */
        for (int line = 0; line < NV * LANES; line += FLOATS_OF_LINE)
            __builtin_prefetch(next + line, 0, 2);
#pragma GCC unroll 4
        for (int j = 0; j < nv; j++) {
            bv[j] = load_edge(b + j * LANES, lanes[j], IS_WHOLE(j));
            IN_REGISTER(bv[j]);
        }
        if (extra)
            column = rvec_fma(rvec_load(a), rvec_set1(b[NV * LANES]), column);
        const vweights all = vweights_at(a);
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
            vweight w = vweights_set1(all, A_ROW(i));
#pragma GCC unroll 4
            for (int j = 0; j < nv; j++)
                acc[i][j] = vweight_fma(w, bv[j], acc[i][j]);
        }
    }
    /* Copies: c might be what a pointer points to, for all that the compiler knows. */
    const struct clamp between = *t->clamp;
    const float *bias_row = t->bias_row;
    const size_t ldc = job->ldc;
    float *c = t->c;
    const int n_rows = (int)t->rows;
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++, c += ldc) {
        if (i >= n_rows)
            break;
        vec bias = bias_row ? vec_set1(bias_row[i]) : vec_zero();
#pragma GCC unroll 4
        for (int j = 0; j < nv; j++) {
            vec v = clamp_apply(&between, vec_add(acc[i][j], bias));
            if (IS_WHOLE(j) || (all_masked && (int)job->n - j * LANES >= LANES))
                vec_store(c + j * LANES, v);
            else
                vec_store_some(c + j * LANES, lanes[j], v);
        }
    }
    if (extra) {
        float sums[MR];
        rvec_store(sums, column);
        for (uint32_t i = 0; i < t->rows; i++)
            finish_one(job, t, i, NV * LANES, sums[i]);
    }
}

/* One vector of columns and four rows are fewer sums than hide the latency of a multiply-add: two
 * packed panels at once take as long as one. */
#define PAIRS (MR == 4)

static inline __attribute__((always_inline)) void pair_run(const struct gemm_f32_job *job,
                                                           const struct tile *t, vmask last)
{
    const vec bias = t->bias_col ? vec_load_some(t->bias_col, last) : vec_zero();
    const struct clamp clamp = *t->clamp;
    vec acc[2 * MR];
#pragma GCC unroll 16
    for (int i = 0; i < 2 * MR; i++)
        acc[i] =
            t->from ? vec_add(vec_load_some(t->from + (size_t)i * job->ldc, last), bias) : bias;
    const float *a = t->a, *more = t->a + job->a_step, *b = job->b;
    for (uint32_t k = job->k; k > 0; k--, a += MR, more += MR, b += job->ldb) {
        const vec bv = vec_load_some(b, last);
#pragma GCC unroll 16
        for (int i = 0; i < 2 * MR; i++)
            acc[i] = vec_fma(vec_set1(i < MR ? a[i] : more[i - MR]), bv, acc[i]);
    }
    const float *bias_row = t->bias_row;
    float *c = t->c;
#pragma GCC unroll 16
    for (int i = 0; i < 2 * MR; i++, c += job->ldc) {
        const vec row = bias_row ? vec_set1(bias_row[i]) : vec_zero();
        vec_store_some(c, last, clamp_apply(&clamp, vec_add(acc[i], row)));
    }
}

/* A panel of fewer rows: as many sums, and as much time less. Eight rows or four: the remainders
 * are instances too, or a layer of 9 outputs would cost 16. */
static inline __attribute__((always_inline)) void
few_rows_run(const struct gemm_f32_job *job, const struct tile *t, vmask last, const enum edge edge)
{
    switch (t->rows) {
    case 1:
        tile_run(job, t, last, NV, edge, 1);
        break;
    case 2:
        tile_run(job, t, last, NV, edge, 2);
        break;
    case 3:
        tile_run(job, t, last, NV, edge, 3);
        break;
#if MR > 4
    case 4:
        tile_run(job, t, last, NV, edge, 4);
        break;
    case 5:
        /* No dependence between k's but through the sums, MR * NV of them. */
        tile_run(job, t, last, NV, edge, 5);
        break;
    case 6:
        tile_run(job, t, last, NV, edge, 6);
        break;
    case 7:
        tile_run(job, t, last, NV, edge, 7);
        break;
#endif
    }
}

/* Rows [i, i + COLUMN_PANELS * MR) of a job of one column. Panels past the last are read as the
 * last again. Panels are rvec wide, so the last column needs no transposition. */
static void column_run(const struct gemm_f32_job *job, const struct clamp *clamp, uint32_t i)
{
    const float *a = job->a + i / MR * job->a_step, *b = job->b;
    uint32_t rows = job->m - i, panels = (rows + MR - 1) / MR;
    float sums[COLUMN_PANELS * MR] = {0};
    rvec acc[COLUMN_PANELS];
    const float *panel[COLUMN_PANELS];
    struct tile t = tile_of(job, clamp, i);
    for (uint32_t r = 0; (t.from || t.bias_col) && r < rows && r < COLUMN_PANELS * MR; r++)
        sums[r] = start_one(job, &t, r, 0);
#pragma GCC unroll 8
    for (uint32_t p = 0; p < COLUMN_PANELS; p++) {
        panel[p] = a + (p < panels ? p : panels - 1) * job->a_step;
        acc[p] = rvec_load(sums + p * MR);
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
    for (uint32_t r = 0; r < rows && r < COLUMN_PANELS * MR; r++)
        finish_one(job, &t, r, 0, sums[r]);
}

#if MR_WIDE
/* MR <= rows <= MR_WIDE, of two panels, times WIDE_NV vectors. b has all lanes of them, the rest
 * only those of the masks. Two panels share b's loads: a batch of 5 or 6 rows reads b once
 * instead of twice. */
static inline __attribute__((always_inline)) void wide_tile_run(const struct gemm_f32_job *job,
                                                                const struct clamp *clamp,
                                                                const int rows, const bool whole)
{
    const struct tile t = tile_of(job, clamp, 0);
    vec acc[MR_WIDE][WIDE_NV];
    vmask lanes[WIDE_NV];
#pragma GCC unroll 2
    for (int j = 0; j < WIDE_NV; j++) {
        int left = (int)job->n - j * LANES;
        lanes[j] = vmask_range(0, left < 0 ? 0 : left < LANES ? left : LANES);
        vec bias = t.bias_col ? load_edge(t.bias_col + j * LANES, lanes[j], whole) : vec_zero();
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++)
            acc[i][j] = bias;
    }
    if (t.from) {
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
            for (int j = 0; j < WIDE_NV; j++)
                acc[i][j] =
                    vec_add(load_edge(t.from + (size_t)i * job->ldc + j * LANES, lanes[j], whole),
                            acc[i][j]);
    }
    const float *a = job->a, *more = job->a + job->a_step, *b = job->b;
    const float *next = job->next ? job->next : b;
    const size_t next_step = job->next ? WIDE_NV * LANES : 0;
    for (uint32_t k = job->k; k > 0; k--, a += MR, more += MR, b += job->ldb, next += next_step) {
        vec bv[WIDE_NV];
        __builtin_prefetch(next, 0, 2);
#pragma GCC unroll 2
        for (int j = 0; j < WIDE_NV; j++) {
            bv[j] = vec_load(b + j * LANES);
            IN_REGISTER(bv[j]);
        }
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++) {
            vec w = vec_set1(i < MR ? a[i] : more[i - MR]);
#pragma GCC unroll 2
            for (int j = 0; j < WIDE_NV; j++)
                acc[i][j] = vec_fma(w, bv[j], acc[i][j]);
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++) {
        vec bias = t.bias_row ? vec_set1(t.bias_row[i]) : vec_zero();
#pragma GCC unroll 2
        for (int j = 0; j < WIDE_NV; j++) {
            float *c = job->c + (size_t)i * job->ldc + j * LANES;
            vec v = clamp_apply(clamp, vec_add(acc[i][j], bias));
            if (whole)
                vec_store(c, v);
            else
                vec_store_some(c, lanes[j], v);
        }
    }
}

/* Whole or masked, as above. */
static inline __attribute__((always_inline)) void
wide_rows_run(const struct gemm_f32_job *job, const struct clamp *clamp, const int rows)
{
    if (job->n == WIDE_NV * LANES)
        wide_tile_run(job, clamp, rows, true);
    else
        wide_tile_run(job, clamp, rows, false);
}

static void wide_run(const struct gemm_f32_job *job, const struct clamp *clamp)
{
    if (job->m == MR)
        wide_rows_run(job, clamp, MR);
    else if (job->m == MR + 1)
        wide_rows_run(job, clamp, MR + 1);
    else
        wide_rows_run(job, clamp, MR_WIDE);
}
#endif

/* Instances by vectors of the tile: a mask only where one is needed. */
static void tiles_run(const struct gemm_f32_job *job, const struct clamp *clamp)
{
    const uint32_t nv = job->n / LANES + (job->n % LANES != 0);
    const vmask last = vmask_range(0, nv > NV ? LANES : (int)(job->n - (nv - 1) * LANES));
    for (uint32_t i = 0, rows; i < job->m; i += rows) {
        const struct tile t = tile_of(job, clamp, i);
        /* Instances of fewer vectors have MR rows, which only packed panels always have. */
        const bool few = t.rows < MR && (nv == NV || (nv < NV && job->a_row));
        rows = t.rows;
        if (PAIRS && nv == 1 && !job->a_row && job->m - i >= 2 * MR) {
            pair_run(job, &t, last);
            rows = 2 * MR;
        } else if (EXTRA_COLUMN && nv > NV)
            tile_run(job, &t, last, NV, EDGE_EXTRA, MR);
        else if (!EXTRA_COLUMN && job->n == NV * LANES && t.rows < MR)
            few_rows_run(job, &t, last, EDGE_WHOLE);
        else if (few)
            few_rows_run(job, &t, last, EDGE_MASKED);
        else if (!EXTRA_COLUMN && job->n == NV * LANES)
            tile_run(job, &t, last, NV, EDGE_WHOLE, MR);
        else if (nv == 3)
            tile_run(job, &t, last, 3, EDGE_MASKED, MR);
        else if (nv == 2)
            tile_run(job, &t, last, 2, EDGE_MASKED, MR);
        else
            tile_run(job, &t, last, 1, EDGE_MASKED, MR);
    }
}

/* The clamp is that of the last block of k alone. */
void ISA(pith_gemm_f32)(const struct gemm_f32_job *job)
{
    const struct dense_act none = {ACT_NONE, 0, 0};
    const struct clamp clamp = clamp_of(job->finish ? &job->act : &none);
    const bool single = job->n == 1 && job->a_row == 0; /* of packed panels */
#if MR_WIDE
    if (job->wide)
        wide_run(job, &clamp);
    else
#endif
        if (!single)
        tiles_run(job, &clamp);
    for (uint32_t i = 0; single && i < job->m; i += COLUMN_PANELS * MR)
        column_run(job, &clamp, i);
    if (clamp.second_pass)
        ISA(pith_act_rows_f32)(&job->act, job->c, job->ldc, job->m, job->n);
}
