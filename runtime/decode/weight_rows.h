/* SPDX-License-Identifier: MIT */
/* weight_rows.h - a coded weight read at each run, element after element, by kernels that have no
 * room for all of it. The state is a KB or two (adaptive streams: some 30 KB and 12 bytes a
 * column), whatever the size of the weight. weight.h expands weights whole, and faster.
 *
 *     when the plan is made    pith_weight_rows_check(w, mem)       every bit of the streams
 *     at each run              struct weight_rows *r = pith_weight_rows_open(w, mem);
 *                              pith_weight_rows_dot(r, x, cols) for each row, or _f32, or _i8 */
#ifndef WEIGHT_ROWS_H
#define WEIGHT_ROWS_H

#include "op_interface/op_exec.h"
#include "decode/weight.h"

struct weight_rows;

/* Whether a plan of this environment has reference kernels alone and no threads. */
bool pith_weight_alone(const struct op_env *env);

/* Whether such a plan reads the coded weight w at each run, as it does unless weights are decoded
 * once or w lies there as it is computed with. w may be NULL. */
bool pith_weight_rows_wanted(const struct op_env *env, const struct weight *w);

/* Memory of a reader, a multiple of 64. */
size_t pith_weight_rows_bytes(const struct weight *w);

/* Reads all of w. mem: as above, 64-byte aligned. PITH_ERR_CORRUPT exactly where
 * pith_weight_expand_f32 says so. */
enum pith_status pith_weight_rows_check(const struct weight *w, void *mem);

/* A reader of a weight that was checked, at the first element. */
struct weight_rows *pith_weight_rows_open(const struct weight *w, void *mem);

/* Begins the next row, of n elements; then all that are stored, one by one: element k of it and its
 * value. false: no more. */
void pith_weight_rows_begin(struct weight_rows *r, uint32_t n);
bool pith_weight_rows_next(struct weight_rows *r, uint32_t *k, float *value);

/* Leaves out the next n elements. */
void pith_weight_rows_skip(struct weight_rows *r, uint32_t n);

/* The next n elements, dst[n]. _i8: of a weight of that type. */
void pith_weight_rows_f32(struct weight_rows *r, float *dst, uint32_t n);
void pith_weight_rows_i8(struct weight_rows *r, int8_t *dst, uint32_t n);

/* sum[i * sum_step] = sum over the next n elements of w[k] * x[i * n + k] for i < m: added in
 * ascending order from 0, elements that are not stored left out. */
void pith_weight_rows_dot(struct weight_rows *r, const float *x, uint32_t n, float *sum, uint32_t m,
                          size_t sum_step);

#endif
