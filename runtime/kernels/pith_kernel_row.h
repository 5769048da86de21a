/* SPDX-License-Identifier: MIT */
/* pith_kernel_row.h - f32 kernels over rows of neighbouring elements: what operators without a
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
#include <stdint.h>

/* One row of a normalisation: y = (x - mean) * (factor * scale) + bias, factor = 1 / sqrt(variance
 * + epsilon). */
struct norm_row {
    const float *x;
    float *y;
    const float *scale, *bias; /* [n]; bias may be NULL */
    float epsilon;
};

typedef void pith_row_f32(const float *x, float *y, size_t n);

struct row_kernels {
    pith_row_f32 *relu, *tanh, *sigmoid, *erf, *gelu, *gelu_tanh;
    void (*clip)(const float *x, float low, float high, float *y, size_t n);
    void (*exp)(const float *x, float minus, float *y, size_t n); /* of x - minus */
    pith_row_f32 *softmax;                                        /* n > 0 */
    void (*layer_norm)(const struct norm_row *row, size_t n);     /* n > 0 */
    /* x [n, width], row stride ld, width <= DENSE_MAX_NR: x = exp(x - m), m the largest of its
     * column; inverse[c] = 1 / the column's sum. n > 0. The sum adds rows in ascending order. */
    void (*softmax_columns)(float *x, size_t ld, size_t n, size_t width, float *inverse);
    /* y = c ? a : b of 4 bytes each, b's step is 0 or 1; y may be a or b */
    void (*where)(const uint8_t *c, const uint32_t *a, size_t a_step, const uint32_t *b,
                  size_t b_step, uint32_t *y, size_t n);
};

/* features: as pith_kernels_fill. */
void pith_row_kernels_fill(struct row_kernels *k, uint32_t features);

/* What a level defines: the members of struct row_kernels by the names of math_f32.h and
 * elementary_f32.h, with the level's suffix. */
#define ROW_KERNELS(suffix)                                                                        \
    void pith_relu_row_f32##suffix(const float *x, float *y, size_t n);                            \
    void pith_tanh_row_f32##suffix(const float *x, float *y, size_t n);                            \
    void pith_sigmoid_row_f32##suffix(const float *x, float *y, size_t n);                         \
    void pith_erf_row_f32##suffix(const float *x, float *y, size_t n);                             \
    void pith_gelu_row_f32##suffix(const float *x, float *y, size_t n);                            \
    void pith_gelu_tanh_row_f32##suffix(const float *x, float *y, size_t n);                       \
    void pith_clip_row_f32##suffix(const float *x, float low, float high, float *y, size_t n);     \
    void pith_exp_row_f32##suffix(const float *x, float minus, float *y, size_t n);                \
    void pith_softmax_row_f32##suffix(const float *x, float *y, size_t n);                         \
    void pith_layer_norm_row_f32##suffix(const struct norm_row *row, size_t n);                    \
    void pith_softmax_columns_f32##suffix(float *x, size_t ld, size_t n, size_t width,             \
                                          float *inverse);                                         \
    void pith_where_row_b32##suffix(const uint8_t *c, const uint32_t *a, size_t a_step,            \
                                    const uint32_t *b, size_t b_step, uint32_t *y, size_t n);

ROW_KERNELS()
#ifdef __x86_64__
ROW_KERNELS(_avx2)
ROW_KERNELS(_avx512)
#endif

#endif
