/* SPDX-License-Identifier: MIT */
/* op_traits.h - what is true of an operator, for those who rewrite and change networks. */
#ifndef PITH_OP_TRAITS_H
#define PITH_OP_TRAITS_H

#include <stdbool.h>
#include <stdint.h>

/* What is true of an operator with any attributes, for stages that test a property instead of a
 * list of operators. A stage that takes fewer operators than a trait names lists them with the
 * reason. All zero: an operator of which nothing of this is true. */
enum {
    /* Joins, cuts, permutes or pads: an output element is an input element, or a Pad's constant.
     * (Not Tile, Gather and Trilu, which repeat, look up or blank.) */
    TRAIT_MOVES = 1u << 0,
    /* An output element is one element of input 0, chosen by their order: a maximum. */
    TRAIT_SELECTS = 1u << 1,
    /* An output element is a mean (weights that sum to 1) or a maximum of elements of input 0. */
    TRAIT_AVERAGES = 1u << 2,
    /* Element-wise function of input 0 alone, of the same shape. */
    TRAIT_UNARY = 1u << 3,
    /* Element-wise: x where low <= x <= high, else the nearer bound: saturation of integers may do
     * it. */
    TRAIT_CLAMPS = 1u << 4,
    /* A rectifier: it lets through what is above 0 and little or nothing below (PRelu's slopes are
     * taken to be small). Weights before it are drawn with He's variance. */
    TRAIT_RECTIFIES = 1u << 5,
    /* a + b, a - b, a * b, a / b, element-wise. */
    TRAIT_ARITHMETIC = 1u << 6,
    /* Element-wise in any number of inputs, which broadcast against one another as numpy's do. */
    TRAIT_BROADCASTS = 1u << 7,
    /* Channel c (axis 1) depends on channel c of input 0 alone, and f(k x) = k f(x) for k >= 0:
     * scales pass through it, and a channel of zeros stays one. */
    TRAIT_HOMOGENEOUS = 1u << 8,
    /* Subtracts a mean, divides by a deviation, then applies input 1 as scale and 2 as bias. */
    TRAIT_NORMALIZES = 1u << 9,
    /* Channels of x and y lie along axis 1: [N, C, spatial ...]. (Of products without this trait
     * along the last axis: [.., K] x [K, N].) */
    TRAIT_CHANNELS_FIRST = 1u << 10,
    /* The weight multiplies a state that is carried from step to step, not input 0. */
    TRAIT_RECURS = 1u << 11,
    /* x and weight are integers, results their exact sums (i32). */
    TRAIT_INTEGERS = 1u << 12,
    /* Inputs 1 and 2 are scale and zero point of a grid of integers. */
    TRAIT_GRID = 1u << 13,
    /* The first (OPENS) and the last (CLOSES) node of a body: of a loop or a branch. */
    TRAIT_OPENS_BODY = 1u << 14,
    TRAIT_CLOSES_BODY = 1u << 15
};

#define OP_NO_SLOT 255u
#define OP_LAST_AXIS 255u

struct op_traits {
    uint16_t flags;           /* TRAIT_ bits */
    uint8_t weight_input : 4; /* multiplied by x (or a state); 0: none, nor what follows */
    uint8_t bias_input : 4;   /* added to the sums, a number an output channel; 0: none */
    uint8_t row_axis;         /* the weight's axis of output channels, its rows; or OP_LAST_AXIS */
    uint8_t trans_slot;       /* attribute: 1 where rows are axis 0 all the same; or OP_NO_SLOT */
    uint8_t group_slot;       /* attribute: into how many groups channels are cut; or OP_NO_SLOT */
    uint8_t integer_op;       /* enum pith_op of the same products on integers; 0: there is none */
    /* Bit i: a constant at input i is learned (weight, bias, scale, slope, table); any other stands
     * in a formula or is a statistic. Said of every operator, with a weight or not. */
    uint8_t parameters;
};

/* ---- tests of traits ------------------------------------------------------------------------- */

/* All zero for a number this build does not have. */
struct op_traits pith_op_traits(uint32_t op);

/* Whether the operator has one of these TRAIT_ bits. */
static inline bool pith_op_is(uint32_t op, uint32_t traits)
{
    return (pith_op_traits(op).flags & traits) != 0;
}

/* Whether its results are sums of products with a weight of floats: Conv, Gemm, MatMul,
 * ConvTranspose, Recurrent. */
static inline bool pith_op_has_weight(uint32_t op)
{
    return pith_op_traits(op).weight_input != 0 && !pith_op_is(op, TRAIT_INTEGERS);
}

/* Of an operator with a weight, attr its node's: whether the weight's rows, one an output channel,
 * are axis 0, so that a row is contiguous. */
static inline bool pith_op_rows_first(uint32_t op, const int32_t *attr)
{
    const struct op_traits t = pith_op_traits(op);
    return t.row_axis == 0 || (t.trans_slot != OP_NO_SLOT && attr[t.trans_slot] != 0);
}

/* The attribute that says whether a product's weight is stored [N, K]; OP_NO_SLOT: there is none.
 */
static inline uint32_t pith_op_trans_slot(uint32_t op)
{
    const struct op_traits t = pith_op_traits(op);
    return t.weight_input ? t.trans_slot : OP_NO_SLOT;
}

/* Of an operator with a weight: the groups of its channels, at least 1. */
static inline uint32_t pith_op_groups(uint32_t op, const int32_t *attr)
{
    const struct op_traits t = pith_op_traits(op);
    return t.group_slot == OP_NO_SLOT ? 1 : (uint32_t)attr[t.group_slot];
}

/* Of an operator with a weight: the axis of the channels of its x or y, of rank >= 1. */
static inline uint32_t pith_op_channel_axis(uint32_t op, uint32_t rank)
{
    return pith_op_is(op, TRAIT_CHANNELS_FIRST) ? 1 : rank - 1;
}

#endif
