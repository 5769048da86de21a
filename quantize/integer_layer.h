/* SPDX-License-Identifier: MIT */
/* integer_layer.h - a layer in integers, and the float layer it stands for.
 *
 *     acc[o] = bias_q[o] + sum over k of q[o, k] * (x[k] - zero point),   real: acc * scale[o] * sx
 *
 * where sx is the scale of the input's grid (of the channel that o reads, where that has several).
 * All memory is the model's. */
#ifndef INTEGER_LAYER_H
#define INTEGER_LAYER_H

#include "integer_plan.h"

struct integer_layer {
    uint32_t node;             /* of the float network */
    struct layer_shape shape;
    const float *w;            /* [rows, cols] */
    const uint8_t *mask;       /* [rows, cols] 0: pruned, so q is 0; NULL: nothing is */
    double w_factor;           /* Gemm's alpha; else 1 */
    const float *bias;         /* [n_bias]; NULL: 0 */
    uint64_t n_bias;           /* 1 or rows */
    double bias_factor;        /* Gemm's beta; else 1 */
    const struct pith_grid *x; /* grid of the input */
    const struct pith_grid *y; /* of the output; NULL: it stays float */

    int32_t most;   /* q <= most: 2^(bits-1) - 1 */
    int32_t lowest; /* -most; of fewer bits than 8, feedback also uses the integer below */
    int32_t most_x; /* |x - zero point| <= most_x */
    int16_t *q;     /* [rows, cols] */
    /* 32 bits hold all sums, whatever x is: |bias_q| <= 2^30 and sum |q| * most_x <= 2^30 in every row.
     * Or (wide) 64 bits do, exactly in double, too: both are at most 2^52. */
    bool wide;
    bool transposed; /* MatMulInteger's weight is [cols, rows] */
    void *stored;   /* what the network holds: q as i8, wide as i16 */
    double *scale;  /* [rows] */
    bool radix;     /* scales are powers of two */
    bool may_scale; /* each row's scale may become smaller */
    void *bias_q;   /* [rows] i32, wide i64 */
    double *bias_shift; /* [rows] what bias correction adds to the real bias */
    float *factor;  /* [rows] what Requantize or DequantizeLinear multiplies acc by */
    double goal_share; /* of the way from w to what the float network's sums ask for; mean of groups */
    uint32_t n_corrected;
};

/* Everything from the float layer: scales (the largest of each row, or of all, becomes `most`),
 * weights to the nearest integer, bias and factors. PITH_ERR_MEMORY; PITH_ERR_UNSUPPORTED: a weight
 * or bias is NaN or infinite, or beyond what f32 scales can express. */
enum pith_status pith_integer_layer_make(const struct integer_plan *p, uint32_t node, uint32_t out,
                                         struct integer_layer *l, struct pith_error *err);

/* Scale of the input as output channel o sees it. */
double pith_layer_input_scale(const struct integer_layer *l, uint64_t o);

/* What is added to the sums of output channel o, bias_shift included. */
double pith_layer_bias(const struct integer_layer *l, uint64_t o);

/* The smallest scale that bias, sums and factor of row o allow. */
double pith_layer_least_scale(const struct integer_layer *l, uint64_t o);

/* With which none of the weights of rows [first, last) is cut; not below what pith_layer_least_scale
 * tells of each. */
double pith_layer_widest_scale(const struct integer_layer *l, uint64_t first, uint64_t last);

/* q of rows [first, last) to the nearest integers, by the scales as they are. */
void pith_layer_round_nearest(struct integer_layer *l, uint64_t first, uint64_t last);

/* stored, bias_q and factor anew, from q, bias, bias_shift and scale. A row whose sums 32 bits might not
 * hold, which can be after feedback, is rounded to nearest with a wider scale before. */
void pith_layer_store(struct integer_layer *l);

/* No input gives a larger sum than this, nor a smaller one than -this. */
double pith_layer_most_sum(const struct integer_layer *l);

double pith_layer_snr_db(const struct integer_layer *l);

#endif
