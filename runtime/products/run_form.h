/* SPDX-License-Identifier: MIT */
/* run_form.h - builds the run form of a constant matrix: the layout a matrix-vector kernel streams.
 *
 *     struct run_form_need need;
 *     if (pith_run_form_need(w, O, C, &kernels->sparse, &need) == PITH_OK) {
 *         pith_run_form_build(env, w, O, C, form);   // once
 *         pith_run_form_matvec(&kernels->sparse, form, x, y, 0, pith_run_form_units(form));
 *     } else
 *         ... expand w and multiply densely
 *
 * Layout depends on the weight and on the kernel table only, and is decided in integers. */
#ifndef RUN_FORM_H
#define RUN_FORM_H

#include "kernels/kernel_sparse.h"
#include "op_interface/op_exec.h"
#include "decode/weight.h"

struct run_form_need {
    uint64_t bytes;         /* of the form, 64-byte aligned memory */
    uint64_t scratch_bytes; /* while building, 64-byte aligned */
    const char *kernel;     /* short static name */
};

/* w: rows * cols elements, row-major. PITH_ERR_UNSUPPORTED: the dense product is faster, or there
 * is no form for this weight; *need is then untouched. Decodes nothing; `bytes` bounds every
 * pattern with w's counts. */
enum pith_status pith_run_form_need(const struct weight *w, uint32_t rows, uint32_t cols,
                                    const struct sparse_kernels *k, struct run_form_need *need);

/* The same of a requested form, be it faster or not. */
enum pith_status pith_run_form_fits(const struct weight *w, uint32_t rows, uint32_t cols,
                                    const struct sparse_kernels *k, struct run_form_need *need);

/* Times, in 128ths of a nanosecond, of m rows of x, by the measured speeds of the table: in this
 * form, with the needs by pith_run_form_need (batch: many of them one behind the other), by dense
 * rows one by one, and packed and multiplied with f32 tiles. UINT64_MAX: the table has no such
 * kernel.
 */
#define COSTS_IN_NS UINT64_C(128)
uint64_t pith_run_form_cost(const struct weight *w, uint32_t rows, uint32_t cols,
                            const struct sparse_kernels *k, uint32_t m, bool batch);
uint64_t pith_gemv_cost(const struct sparse_kernels *k, uint32_t rows, uint32_t cols, uint32_t m);
uint64_t pith_tiles_cost(const struct sparse_kernels *k, uint32_t rows, uint32_t cols, uint32_t m);

/* form, env->scratch: by pith_run_form_need, for the same w and env->kernels->sparse.
 * PITH_ERR_CORRUPT when a coded stream of w breaks its rules; the form is then unusable. */
enum pith_status pith_run_form_build(const struct op_env *env, const struct weight *w,
                                     uint32_t rows, uint32_t cols, void *form);

/* Units of work of a built form, to be split among threads. */
uint32_t pith_run_form_units(const void *form);

/* Bytes the built form really uses (<= need.bytes). */
uint64_t pith_run_form_bytes(const void *form);

/* The entries of y = W x that units [unit_begin, unit_end) own; all of y for [0, units). x: [cols],
 * y: [rows], f32, any alignment. */
void pith_run_form_matvec(const struct sparse_kernels *k, const void *form, const float *x,
                          float *y, uint32_t unit_begin, uint32_t unit_end);
/* The same of m rows of x [m, cols] and y [m, rows]. */
struct run_form_rows {
    const void *form;
    const float *x; /* [m, columns] */
    float *y;       /* [m, rows] */
    uint32_t m;
};
void pith_run_form_rows(const struct sparse_kernels *k, const struct run_form_rows *r,
                        uint32_t unit_begin, uint32_t unit_end);

#endif
