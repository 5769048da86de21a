/* SPDX-License-Identifier: MIT */
/* kernel_row.h - f32 kernels over rows of neighbouring elements: what operators without a
 * product are made of.
 *
 * Exactness: every level gives the bits of the reference. Variants are the same source
 * (ref/row_f32_impl.h) compiled for wider vectors, without fused multiply-adds, and sums follow the
 * order of sum_f32.h, which has 16 lanes at every level.
 *
 * Pointers need only the alignment of float; y may be x, otherwise nothing overlaps. Nothing
 * outside the n elements is read or written. */
#ifndef PITH_KERNEL_ROW_H
#define PITH_KERNEL_ROW_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/build_choice.h"
#include "kernels/act_kind.h"
#include "kernels/kernel_list.h"

/* Rows of a normalisation: y = (x - mean) * (factor * scale) + bias, factor = 1 / sqrt(variance
 * + epsilon); about_zero: the mean counts as 0. */
struct norm_rows {
    const float *x; /* [rows, n] */
    float *y;
    const float *scale, *bias; /* [n]; bias may be NULL */
    float epsilon;
    bool about_zero;
};

typedef void row_f32_fn(const float *x, float *y, size_t n);
/* x, y [rows, n]: the softmax of each row, n > 0 */
typedef void softmax_rows_f32_fn(const float *x, float *y, size_t rows, size_t n);
typedef void clip_row_f32_fn(const float *x, float low, float high, float *y, size_t n);
typedef void exp_row_f32_fn(const float *x, float minus, float *y, size_t n); /* of x - minus */
typedef void layer_norm_rows_f32_fn(const struct norm_rows *norm, size_t rows,
                                    size_t n); /* n > 0 */
/* y[r]: the sum (sum_f32.h) of row r of x [rows, n], and the largest of turn * x; a NaN stays one.
 */
typedef void sum_rows_f32_fn(const float *x, float *y, size_t rows, size_t n);
typedef void extreme_rows_f32_fn(const float *x, float turn, float *y, size_t rows, size_t n);
/* Columns of x [rows, width], row stride ld. sum[c] += their sum, in f32 for 64 rows, in double
 * beyond. y[c] = the larger of y[c] and turn * x; a NaN stays one. */
typedef void sum_columns_f32_fn(const float *x, size_t ld, size_t rows, size_t width, double *sum);
typedef void extreme_columns_f32_fn(const float *x, size_t ld, size_t rows, size_t width,
                                    float turn, float *y);
/* x [n, width], row stride ld, width <= DENSE_MAX_NR: x = exp(x - m), m the largest of its column;
 * inverse[c] = 1 / the column's sum. n > 0. The sum adds rows in ascending order. */
typedef void softmax_columns_f32_fn(float *x, size_t ld, size_t n, size_t width, float *inverse);
/* y = c ? a : b of 4 bytes each, b's step is 0 or 1; y may be a or b */
typedef void where_row_b32_fn(const uint8_t *c, const uint32_t *a, size_t a_step, const uint32_t *b,
                              size_t b_step, uint32_t *y, size_t n);

/* y[i] = f(a[i * a_step], b[i * b_step]) of f32, steps 0 or 1; comparisons write bytes 0 and 1. y
 * may be an operand. */
typedef void binary_row_fn(const void *a, size_t a_step, const void *b, size_t b_step, void *y,
                           size_t n);
enum binary_kind {
    BINARY_ADD,
    BINARY_SUB,
    BINARY_MUL,
    BINARY_DIV,
    BINARY_PRELU,
    BINARY_MIN,
    BINARY_MAX,
    BINARY_EQUAL,
    BINARY_NOT_EQUAL,
    BINARY_LESS,
    BINARY_LESS_EQUAL,
    BINARY_POWER,
    BINARY_KINDS
};

/* Rows of wide vectors for what operators compute by loops of their own; those loops are the
 * reference. act: ACT_LEAKY, ACT_HARD_SIGMOID and ACT_HARD_SWISH. unary: kinds of unary_rows
 * (ref/elementwise_f32.h). */
struct elementwise_rows {
    binary_row_fn *binary[BINARY_KINDS];
    void (*act)(enum act_kind act, float a, float b, const float *x, float *y, size_t n);
    void (*unary)(int32_t kind, float alpha, float gamma, const float *x, float *y, size_t n);
};

struct row_kernels {
    row_f32_fn *relu, *tanh, *sigmoid, *swish, *erf, *gelu, *gelu_tanh;
    clip_row_f32_fn *clip;
    exp_row_f32_fn *exp;
    softmax_rows_f32_fn *softmax;
    layer_norm_rows_f32_fn *layer_norm;
    sum_rows_f32_fn *sum_rows;
    extreme_rows_f32_fn *extreme_rows;
    sum_columns_f32_fn *sum_columns;
    extreme_columns_f32_fn *extreme_columns;
    softmax_columns_f32_fn *softmax_columns;
    where_row_b32_fn *where;
    const struct elementwise_rows *elementwise; /* NULL: none */
};

/* features: as pith_kernels_fill. */
void pith_row_kernels_fill(struct row_kernels *k, uint32_t features);

/* The list: kernel_list.h. A level compiles the one template, so it has all of them; one that
 * has a kernel of its own for some member has a line for it behind. */
#define ROW_LEVEL(KERNEL, suffix, needs)                                                           \
    KERNEL(relu, row_f32_fn, pith_relu_row_f32##suffix, needs)                                     \
    KERNEL(tanh, row_f32_fn, pith_tanh_row_f32##suffix, needs)                                     \
    KERNEL(sigmoid, row_f32_fn, pith_sigmoid_row_f32##suffix, needs)                               \
    KERNEL(swish, row_f32_fn, pith_swish_row_f32##suffix, needs)                                   \
    KERNEL(erf, row_f32_fn, pith_erf_row_f32##suffix, needs)                                       \
    KERNEL(gelu, row_f32_fn, pith_gelu_row_f32##suffix, needs)                                     \
    KERNEL(gelu_tanh, row_f32_fn, pith_gelu_tanh_row_f32##suffix, needs)                           \
    KERNEL(clip, clip_row_f32_fn, pith_clip_row_f32##suffix, needs)                                \
    KERNEL(exp, exp_row_f32_fn, pith_exp_row_f32##suffix, needs)                                   \
    KERNEL(softmax, softmax_rows_f32_fn, pith_softmax_rows_f32##suffix, needs)                     \
    KERNEL(layer_norm, layer_norm_rows_f32_fn, pith_layer_norm_rows_f32##suffix, needs)            \
    KERNEL(sum_rows, sum_rows_f32_fn, pith_sum_rows_f32##suffix, needs)                            \
    KERNEL(extreme_rows, extreme_rows_f32_fn, pith_extreme_rows_f32##suffix, needs)                \
    KERNEL(sum_columns, sum_columns_f32_fn, pith_sum_columns_f32##suffix, needs)                   \
    KERNEL(extreme_columns, extreme_columns_f32_fn, pith_extreme_columns_f32##suffix, needs)       \
    KERNEL(softmax_columns, softmax_columns_f32_fn, pith_softmax_columns_f32##suffix, needs)       \
    KERNEL(where, where_row_b32_fn, pith_where_row_b32##suffix, needs)

#define ROW_KERNELS_ANY(KERNEL) ROW_LEVEL(KERNEL, , 0)
#ifdef __x86_64__
#define ROW_KERNELS_OWN(KERNEL)                                                                    \
    ROW_LEVEL(KERNEL, _avx2, PITH_CPU_AVX2)                                                        \
    ROW_LEVEL(KERNEL, _avx512, PITH_CPU_AVX512)                                                    \
    KERNEL(elementwise, const struct elementwise_rows, pith_elementwise_f32_avx2, PITH_CPU_AVX2)   \
    KERNEL(elementwise, const struct elementwise_rows, pith_elementwise_f32_avx512, PITH_CPU_AVX512)
#elif NEON_BUILT
#define ROW_KERNELS_OWN(KERNEL) ROW_LEVEL(KERNEL, _neon, PITH_CPU_NEON)
#else
#define ROW_KERNELS_OWN(KERNEL)
#endif
#define ROW_KERNELS(KERNEL) ROW_KERNELS_ANY(KERNEL) ROW_KERNELS_OWN(KERNEL)

ROW_KERNELS(KERNEL_DECLARE)

#endif
