/* SPDX-License-Identifier: MIT */
/* integer_layer.h - a layer in integers, and the float layer it stands for.
 *
 *     acc[o] = bias_q[o] + sum over k of q[o, k] * (x[k] - zero point),   real: acc * scale[o] * sx
 *
 * where sx is the scale of the input's grid (of the channel that o reads, where that has several).
 * Or, of what many read (apart), real: acc * scale[o] * sx + bias[o], acc without bias_q.
 * All memory is the model's. */
#ifndef INTEGER_LAYER_H
#define INTEGER_LAYER_H

#include "integer_plan.h"

/* The layer of the float network. */
struct real_layer {
    const float *w;      /* [rows, cols] */
    const uint8_t *mask; /* [rows, cols] 0: pruned, so q is 0; NULL: nothing is */
    double w_factor;     /* Gemm's alpha; else 1 */
    const float *bias;   /* [n_bias]; NULL: 0 */
    uint64_t n_bias;     /* 1 or rows */
    double bias_factor;  /* Gemm's beta; else 1 */
};

/* Layers that read one weight (shared_weight.h) have q, stored and scale together. */
struct shared_layers {
    struct integer_layer *first; /* of these layers; NULL: it is the first, or alone */
    struct integer_layer *next;  /* another of these layers; NULL: no more of them */
    int32_t widest_x;            /* of the first: the largest most_x of all of them */
    /* Layers that read a weight as it is, and others that read it transposed: the network holds the
     * integers of the former, of one scale, which never change. */
    bool both_ways;
    struct integer_layer *turned_of; /* of the first of the latter: the first of the former */
    bool rescaled; /* of the first: rows of q changed behind the backs of those made before */
};

struct integer_layer {
    uint32_t node; /* of the float network */
    uint32_t end;  /* the node that gives its sums with the bias: itself or an Add */
    struct layer_shape shape;
    struct real_layer real;
    const struct pith_grid *x; /* grid of the input */
    const struct pith_grid *y; /* of the output; NULL: it stays float */

    int32_t most;   /* q <= most: 2^(bits-1) - 1 */
    int32_t lowest; /* -most; of fewer bits than 8, feedback also uses the integer below */
    int32_t most_x; /* |x - zero point| <= most_x */
    int16_t *q;     /* [rows, cols] */
    struct shared_layers shared;
    uint32_t weight; /* value of the network of integers that has `stored` */
    /* 32 bits hold all sums, whatever x is: |bias_q| <= 2^30 and sum |q| * most_x <= 2^30 in every
     * row. Or (wide) 64 bits do, exactly in double, too: both are at most 2^52. */
    bool wide;
    bool transposed;           /* MatMulInteger's weight is [cols, rows] */
    void *stored;              /* what the network holds: q as i8, wide as i16 */
    double *scale;             /* [rows] */
    bool radix;                /* scales are powers of two */
    bool may_scale;            /* each row's scale may become smaller */
    void *bias_q;              /* [rows] i32, wide i64 */
    double *bias_shift;        /* [rows] what bias correction adds to the real bias */
    float *factor;             /* [rows] what Requantize or DequantizeLinear multiplies acc by */
    bool apart;                /* neither bias_q nor factor, but scale as floats */
    float *real_scale;         /* of the first that is apart: [rows] scale */
    uint32_t real_scale_value; /* of the network */
    bool to_results;           /* rounded towards the results of the float network */
    uint32_t n_corrected;
};

/* l: node and turned_of are set, all else is 0. Everything from the float layer: scales (the
 * largest of each row, or of all, becomes `most`), weights to the nearest integer, bias and
 * factors. first: NULL, or a layer whose q, stored and scale this one has as well: scales of rows
 * then become as wide as both need, and the layers made before are right again after
 * pith_layer_store_all. turned_of: NULL, or the layer made of what the plan says that this one's
 * weight is turned of. PITH_ERR_MEMORY; PITH_ERR_UNSUPPORTED: a weight or bias is NaN or infinite,
 * or beyond what f32 scales can express. */
enum pith_status pith_integer_layer_make(const struct integer_plan *p, uint32_t out,
                                         struct integer_layer *first, struct integer_layer *l,
                                         struct pith_error *err);

/* Might 32 bits not hold the layer's sums, or are its weights of more than 8 bits? */
bool pith_layer_is_wide(const struct integer_plan *p, uint32_t node);

/* What is put together before weights are rounded and scales found. */
struct weight_factor {
    double weight;       /* Gemm's alpha; else 1 */
    bool scales_weights; /* the input's scales by channel are in the weights */
};
struct weight_factor pith_weight_factor(const struct integer_plan *p, uint32_t node);

/* Does the network hold its integers as [rows, cols]? Only another layer's that are turned. */
static inline bool pith_layer_is_transposed(const struct integer_layer *l)
{
    return (l->shared.first ? l->shared.first : l)->shared.turned_of != NULL;
}

/* Is its weight also another layer's? */
static inline bool pith_layer_is_shared(const struct integer_layer *l)
{
    return l->shared.first || l->shared.next;
}

/* Scale of the input as output channel o sees it. */
double pith_layer_input_scale(const struct integer_layer *l, uint64_t o);

/* What is added to the sums of output channel o, bias_shift included. */
double pith_layer_bias(const struct integer_layer *l, uint64_t o);

/* The smallest scale that bias, sums and factor of row o allow, in all layers that share it. */
double pith_layer_least_scale(const struct integer_layer *l, uint64_t o);

/* stored, bias_q and factor anew, from q, bias, bias_shift and scale. A row whose sums 32 bits
 * might not hold, which can be after feedback, is rounded to nearest with a wider scale before. */
void pith_layer_store(struct integer_layer *l);

/* The same for the layer and all that share its weight. first: the first of them. */
void pith_layer_store_all(struct integer_layer *first);

/* No input gives a larger sum than this, nor a smaller one than -this. */
double pith_layer_most_sum(const struct integer_layer *l);

double pith_layer_snr_db(const struct integer_layer *l);

#endif
