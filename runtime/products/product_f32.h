/* SPDX-License-Identifier: MIT */
/* product_f32.h - one matrix product y = act(alpha * a b + beta * c + residual): what Gemm, MatMul
 * and convolutions of one pixel have in common. Chooses among
 *
 *   coded      without threads and vectors: constant b decoded at each run, row by row
 *   run form   compressed constant b, as many rows of a as it is no slower for: straight from the
 *              compressed bytes
 *   gemv       few rows of a: b's rows are streamed once for each
 *   tiles      packed gemm_f32
 *   general    plain loops: any transposition, alpha, beta, broadcast c */
#ifndef PRODUCT_F32_H
#define PRODUCT_F32_H

#include "pith_op_exec.h"

struct product {
    uint32_t m, n, k;      /* y: [m, n] */
    bool trans_a, trans_b; /* a: [m, k] or [k, m]; b: [k, n] or [n, k] */
    float alpha, beta;
    const float *a, *b; /* b: NULL with a constant weight */
    const float *c;     /* element (i, j) at i * c_row + j * c_col; NULL: none */
    bool has_c;         /* there is one (c itself may be unknown while planning) */
    size_t c_row, c_col;
    const float *residual;       /* [m, n] or NULL */
    const struct weight *weight; /* constant b */
    void *prep;                  /* what pith_product_prepare made */
    enum act_kind act;
    float act_a, act_b;
    float *y;
};

/* As the members of op_info. Pointers to data in *p are used by run alone, except weight. */
enum pith_status pith_product_need(const struct product *p, const struct op_env *env,
                                   struct op_need *need);
enum pith_status pith_product_prepare(const struct product *p, const struct op_env *env);
void pith_product_run(const struct product *p, const struct op_env *env);

#endif
