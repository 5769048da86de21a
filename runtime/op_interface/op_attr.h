/* SPDX-License-Identifier: MIT */
/* op_attr.h - the attributes of each operator, as a file has them: int32 slots of a node. */
#ifndef PITH_OP_ATTR_H
#define PITH_OP_ATTR_H

#include "op_interface/op_slot.h"

/* `kind` of operators that are several of ONNX. */
enum unary_kind {
    UNARY_SQRT = 0,
    UNARY_EXP = 1,
    UNARY_LOG = 2,
    UNARY_NEG = 3,
    UNARY_ABS = 4,
    UNARY_SIGN = 5,
    UNARY_FLOOR = 6,
    UNARY_CEIL = 7,
    UNARY_ROUND = 8, /* ties to even */
    UNARY_RECIPROCAL = 9,
    UNARY_ERF = 10,
    UNARY_SIN = 11,
    UNARY_COS = 12,
    UNARY_ELU = 13,  /* alpha */
    UNARY_SELU = 14, /* alpha, gamma */
    UNARY_CELU = 15, /* alpha > 0 */
    UNARY_GELU = 16,
    UNARY_GELU_TANH = 17,
    UNARY_MISH = 18,
    UNARY_SOFTPLUS = 19,
    UNARY_SOFTSIGN = 20,
    UNARY_THRESHOLDED_RELU = 21, /* alpha */
    UNARY_NOT = 22,
    UNARY_ATAN = 23,
    UNARY_ASINH = 24,
    UNARY_ATANH = 25,
    UNARY_END
};

enum compare_kind {
    COMPARE_EQUAL = 0,
    COMPARE_NOT_EQUAL = 1,
    COMPARE_LESS = 2,
    COMPARE_LESS_EQUAL = 3,
    COMPARE_GREATER = 4,
    COMPARE_GREATER_EQUAL = 5,
    COMPARE_AND = 6, /* from here on of bools */
    COMPARE_OR = 7,
    COMPARE_XOR = 8,
    COMPARE_END
};

enum variadic_kind {
    VARIADIC_MIN = 0,
    VARIADIC_MAX = 1,
    VARIADIC_SUM = 2, /* from here on of f32 */
    VARIADIC_MEAN = 3,
    VARIADIC_END
};

enum reduce_kind {
    REDUCE_SUM = 0,
    REDUCE_MAX = 1,
    REDUCE_MIN = 2,
    REDUCE_PROD = 3,
    REDUCE_L1 = 4, /* from here on of f32 only */
    REDUCE_L2 = 5,
    REDUCE_LOG_SUM = 6,
    REDUCE_LOG_SUM_EXP = 7,
    REDUCE_SUM_SQUARE = 8,
    REDUCE_END
};

enum arg_kind { ARG_MAX = 0, ARG_MIN = 1, ARG_END };

enum recurrent_kind { RECURRENT_RNN = 0, RECURRENT_GRU = 1, RECURRENT_LSTM = 2, RECURRENT_END };

enum recurrent_act {
    RECURRENT_SIGMOID = 0,
    RECURRENT_TANH = 1,
    RECURRENT_RELU = 2,
    RECURRENT_AFFINE = 3,       /* alpha x + beta */
    RECURRENT_LEAKY_RELU = 4,   /* alpha */
    RECURRENT_THRESHOLDED = 5,  /* alpha */
    RECURRENT_SCALED_TANH = 6,  /* alpha tanh(beta x) */
    RECURRENT_HARD_SIGMOID = 7, /* alpha, beta */
    RECURRENT_ELU = 8,          /* alpha */
    RECURRENT_SOFTSIGN = 9,
    RECURRENT_SOFTPLUS = 10,
    RECURRENT_ACT_END
};

enum along_kind { ALONG_HARDMAX = 0, ALONG_CUM_SUM = 1, ALONG_LP_NORMALIZATION = 2, ALONG_END };

/* Slots by operator. Spatial lists have one entry per spatial axis (1 or 2 in this version). */
enum {
    /* CONV  in: x [N,C,(H,)W] f32, w [O,C/group,(KH,)KW] f32, bias [O] f32 (optional) */
    ATTR_CONV_GROUP = 0,                         /* default 1 */
    ATTR_CONV_STRIDES = 1,                       /* empty: all 1 */
    ATTR_CONV_DILATIONS = ATTR_CONV_STRIDES + 9, /* empty: all 1 */
    ATTR_CONV_PADS = ATTR_CONV_DILATIONS + 9,    /* begin of each axis, then end of each; empty: 0;
                                                    negative pads are refused */
    /* GEMM  in: a [M,K] (or [K,M]), b [N,K] when trans_b (what import makes of constant b), else
     * [K,N], c broadcastable to [M,N] (optional): alpha * a b + beta * c */
    ATTR_GEMM_TRANS_A = 0, /* 0, 1; default 0 */
    ATTR_GEMM_TRANS_B = 1, /* 0, 1; default 1 */
    ATTR_GEMM_ALPHA = 2,   /* default 1.0 */
    ATTR_GEMM_BETA = 3,    /* default 1.0 */
    /* MATMUL  numpy rules; trans_b: the last two axes of b are [N,K] (b then has rank 2) */
    ATTR_MATMUL_TRANS_B = 0, /* 0, 1; default 0 */
    ATTR_ALPHA = 0,          /* LEAKY_RELU (0.01), HARD_SIGMOID (0.2) */
    ATTR_BETA = 1,           /* HARD_SIGMOID (0.5) */
    ATTR_CLIP_MIN = 0,       /* default -inf */
    ATTR_CLIP_MAX = 1,       /* default +inf */
    /* SOFTMAX, LOG_SOFTMAX: axis; flat: over all axes from `axis` on (opset < 13) */
    ATTR_SOFTMAX_AXIS = 0, /* 0..7; default 1 */
    ATTR_SOFTMAX_FLAT = 1, /* 0, 1; default 0 */
    /* MAX_POOL, AVERAGE_POOL */
    ATTR_POOL_KERNEL = 0,
    ATTR_POOL_STRIDES = 9,
    ATTR_POOL_DILATIONS = 18,
    ATTR_POOL_PADS = 27,
    ATTR_POOL_CEIL = 36,        /* 0, 1; default 0 */
    ATTR_POOL_INCLUDE_PAD = 37, /* AVERAGE_POOL: 0, 1; default 0 */
    /* BATCH_NORM in: x [N,C,...], scale [C], bias [C], mean [C], var [C] */
    ATTR_BN_EPSILON = 0,  /* default 1e-5 */
    ATTR_LRN_SIZE = 0,    /* 1..2^20, always stored (def = 0) */
    ATTR_LRN_ALPHA = 1,   /* 1e-4 */
    ATTR_LRN_BETA = 2,    /* 0.75 */
    ATTR_LRN_BIAS = 3,    /* 1.0 */
    ATTR_AXIS = 0,        /* CONCAT, SPLIT, FLATTEN: 0..8; default 1 */
    ATTR_SPLIT_SIZES = 1, /* one per output; more than 8 outputs: empty, for equal parts */
    /* SLICE: four lists of equal length; ends may be 2^31-1 for "to the end", and with a negative
     * step -2^31 for "through the first"; steps may be empty: all 1 */
    ATTR_SLICE_AXES = 0,
    ATTR_SLICE_STARTS = 9,
    ATTR_SLICE_ENDS = 18,
    ATTR_SLICE_STEPS = 27,
    ATTR_AXES = 0, /* SQUEEZE, UNSQUEEZE (axes of the output), REDUCE_MEAN (empty: all axes) */
    ATTR_REDUCE_KEEP = 9,  /* REDUCE_MEAN keepdims: 0, 1; default 1 */
    ATTR_RESHAPE_DIMS = 0, /* 0: copy that input dim; -1 (once): what is left */
    ATTR_PERM = 0,
    ATTR_PAD_MODE = 0, /* 0 constant, 1 reflect, 2 edge; default 0 */
    ATTR_PAD_VALUE = 1,
    ATTR_PAD_BEGIN = 2, /* one per axis, may be negative (crop) */
    ATTR_PAD_END = 11,
    ATTR_CAST_TO = 0, /* enum pith_type, always stored (def = 0) */
    /* RESIZE: output dims given, scales as floats (bits) for the coordinate rule */
    ATTR_RESIZE_MODE = 0,    /* 0 nearest, 1 linear, 2 cubic; default 0 */
    ATTR_RESIZE_COORD = 1,   /* 0 half_pixel, 1 asymmetric, 2 align_corners, 3 pytorch_half_pixel,
                                4 half_pixel_symmetric */
    ATTR_RESIZE_NEAREST = 2, /* 0 round_prefer_floor, 1 round_prefer_ceil, 2 floor, 3 ceil */
    ATTR_RESIZE_DIMS = 3,    /* output dims, one per axis (0: as the input) */
    ATTR_KIND = 0,           /* first slot of every operator with kinds; always stored (def = -1) */
    ATTR_UNARY_ALPHA = 1,    /* 1 */
    ATTR_UNARY_GAMMA = 2,    /* 1 */
    ATTR_MOD_FMOD = 0,       /* 0: the sign of the divisor (floor), 1: of the dividend; default 0 */
    /* REDUCE */
    ATTR_REDUCE_KIND_AXES = 1,  /* empty: all axes */
    ATTR_REDUCE_KIND_KEEP = 10, /* 0, 1; default 1 */
    /* ARG: one axis of the input */
    ATTR_ARG_AXIS = 1, /* default 0 */
    ATTR_ARG_KEEP = 2, /* 0, 1; default 1 */
    ATTR_ARG_LAST = 3, /* 0, 1: the last of equals; default 0 */
    /* ALONG_AXIS */
    ATTR_ALONG_AXIS = 1,      /* 0..7; always stored (def = -1) */
    ATTR_ALONG_FLAT = 2,      /* 0, 1: over all axes from there on; default 0 */
    ATTR_ALONG_P = 3,         /* LP_NORMALIZATION: 1, 2; default 2 */
    ATTR_ALONG_EXCLUSIVE = 4, /* CUM_SUM: 0, 1; default 0 */
    ATTR_ALONG_REVERSE = 5,   /* CUM_SUM: 0, 1; default 0 */
    /* GROUP_NORM in: x [N,C,...], scale, bias [C] (or [groups]) */
    ATTR_GROUP_NORM_GROUPS = 0,    /* 0: one a channel (InstanceNormalization); default 0 */
    ATTR_GROUP_NORM_PER_GROUP = 1, /* 0, 1: scale and bias are [groups]; default 0 */
    ATTR_GROUP_NORM_EPSILON = 2,   /* default 1e-5 */
    /* LAYER_NORM in: x, scale, bias (optional), as many as the dims from axis on hold */
    ATTR_LAYER_NORM_AXIS = 0,    /* 0..7; always stored (def = -1) */
    ATTR_LAYER_NORM_EPSILON = 1, /* default 1e-5 */
    /* 0, 1: the mean counts as 0, as in RMSNormalization; default 0 */
    ATTR_LAYER_NORM_ABOUT_ZERO = 2,
    ATTR_RESIZE_SCALES = 12,  /* f32 bits, one per axis; empty: output dim / input dim */
    ATTR_RESIZE_CUBIC_A = 21, /* default -0.75 */
    ATTR_RESIZE_EXCLUDE = 22, /* cubic leaves out what lies outside: 0, 1; default 0 */
    /* GATHER in: x, indices i64 or i32 */
    ATTR_GATHER_KIND = 0, /* 0 along an axis, 1 elements, 2 nd; default 0 */
    ATTR_GATHER_AXIS = 1, /* nd: the number of batch axes; default 0 */
    /* SCATTER in: x, indices i64 or i32, updates */
    ATTR_SCATTER_KIND = 0,   /* 0 elements, 1 nd; default 0 */
    ATTR_SCATTER_AXIS = 1,   /* elements; default 0 */
    ATTR_SCATTER_REDUCE = 2, /* 0 none, 1 add, 2 mul, 3 min, 4 max; default 0 */
    /* TILE in: x, reference (optional) */
    ATTR_TILE_REPEATS = 0, /* of the last axes; more entries than axes: axes of 1 in front; 0: as
                              many times as the reference has rows */
    ATTR_DEPTH_SPACE_KIND = 0,  /* 0 DepthToSpace DCR, 1 CRD, 2 SpaceToDepth; default 0 */
    ATTR_DEPTH_SPACE_BLOCK = 1, /* 1..2^15, always stored (def = 0) */
    ATTR_TRILU_UPPER = 0,       /* 0, 1; default 1 */
    ATTR_TRILU_K = 1,           /* default 0 */
    /* ONE_HOT in: indices i64 or i32, values [2] */
    ATTR_ONE_HOT_DEPTH = 0, /* always stored (def = 0) */
    ATTR_ONE_HOT_AXIS = 1,  /* of the output; default 0 */
    ATTR_TOP_K_AXIS = 0,    /* default 0 */
    ATTR_TOP_K_K = 1,       /* always stored (def = 0) */
    ATTR_TOP_K_LARGEST = 2, /* 0, 1; default 1 */
    /* CONV_TRANSPOSE in: x [N,C,(H,)W] f32, w [C,O/group,(KH,)KW] f32, bias [O] f32 (optional) */
    ATTR_CONV_T_GROUP = 0, /* default 1 */
    ATTR_CONV_T_STRIDES = 1,
    ATTR_CONV_T_DILATIONS = 10,
    ATTR_CONV_T_PADS = 19,  /* as CONV's; taken off the output */
    ATTR_CONV_T_EXTRA = 28, /* output_padding: added at the end of each axis; empty: 0 */
    /* LOOP, LOOP_END: the first and the last node of a body; what stands between them runs once an
     * iteration. A body reads what is defined before the loop; outside of it, only the outputs of
     * LOOP_END may be read. Loops and branches nest.
     * LOOP      in: count i64 [] (iff HAS_COUNT), go on bool [] (iff HAS_COND), states ...
     *           out: iteration i64 [] (0, 1, ...), then each state as the body sees it
     * LOOP_END  in: go on bool [] (iff HAS_COND), the n states as LOOP gave them, their n next
     *           values, then what is collected; out: the n final states, then each collected value
     *           stacked over the iterations in a new axis 0
     * Iterations: TRIPS, at most `count`, and while `go on` holds. All next values are read before
     * a state is written. Without HAS_COUNT and HAS_COND only may anything be collected. */
    ATTR_LOOP_TRIPS = 0,     /* both: 1..2^31-1, always stored (def = 0) */
    ATTR_LOOP_HAS_COND = 1,  /* both: 0, 1; default 0 */
    ATTR_LOOP_HAS_COUNT = 2, /* both: 0, 1; default 0 */
    ATTR_LOOP_STATES = 3,    /* LOOP_END: n; default 0 */
    /* BRANCH in: condition bool [] -> out: the same. The nodes up to BRANCH_ELSE (in: that output,
     * out: the same) run when it holds, those from there to BRANCH_END when it does not.
     * BRANCH_END in: the output of BRANCH, k values of the first branch, k of the second; out: k
     * values. */
    /* RECURRENT in: gates of the input x_t W^T + bias [T,N,G*H] f32, r [G*H,H] f32, bias of the
     * recurrent product [G*H] f32 (optional; import puts both biases here, unless
     * linear_before_reset keeps them apart), lengths i32 [N]
     * (optional), h0 [N,H] (optional), c0 [N,H] (optional, LSTM), peepholes i o f [3*H] (optional,
     * LSTM); out: y [T,N,H], last h [N,H], last c [N,H] (LSTM). Gates in ONNX's order: LSTM i o f
     * c, GRU z r h. One direction. */
    ATTR_RECURRENT_KIND = 0,                /* enum recurrent_kind; always stored (def = -1) */
    ATTR_RECURRENT_REVERSE = 1,             /* 0, 1: from the last step to the first; default 0 */
    ATTR_RECURRENT_LINEAR_BEFORE_RESET = 2, /* GRU: 0, 1; default 0 */
    ATTR_RECURRENT_INPUT_FORGET = 3,        /* LSTM: 0, 1: f = 1 - i; default 0 */
    ATTR_RECURRENT_CLIP = 4,                /* of what f and g get; default +inf */
    ATTR_RECURRENT_ACT = 5,    /* enum recurrent_act, f g h in ONNX's order; empty: its defaults */
    ATTR_RECURRENT_ALPHA = 14, /* f32 bits, one an activation; empty: 0 */
    ATTR_RECURRENT_BETA = 23,
    /* QUANTIZE in: x f32 or i32, scale f32 [] or [dim], zero point (optional) of the output's type.
     * DEQUANTIZE in: x, scale, zero point (optional) -> f32. Scales of [.., n, ..] where BLOCK > 0
     * cover BLOCK elements of the axis each. */
    ATTR_QUANTIZE_AXIS = 0,  /* default 1 */
    ATTR_QUANTIZE_TYPE = 1,  /* QUANTIZE, REQUANTIZE: enum pith_type, always stored (def = 0) */
    ATTR_QUANTIZE_BLOCK = 2, /* default 0 */
    /* DYNAMIC_QUANTIZE in: x f32; out: y u8, scale f32 [], zero point u8 [].
     * REQUANTIZE in: accumulator i32 [N,C,...], factor f32 [] or [dim of AXIS], zero point []:
     * saturate(round to even(accumulator * factor) + zero point) in TYPE.
     * MATMUL_INTEGER in: a i8/u8, b i8/u8 (with ATTR_MATMUL_TRANS_B [N, K]), zero point of a ([] or
     * [M]), of b ([] or [N]) (both optional); out: i32. CONV_INTEGER in: x i8/u8, w i8/u8, zero
     * point of x [], of w ([] or [O]) (both optional), bias i32 [O] (optional); out: i32;
     * attributes as CONV. */
    /* NON_MAX_SUPPRESSION in: boxes [B,N,4] f32, scores [B,C,N] f32; out: i64 [n,3] of (batch,
     * class, box): n is known when it has run, at most TOP * B * C. Its output is an output of the
     * graph. */
    ATTR_NMS_CENTER = 0, /* 0, 1: boxes are (x, y, width, height); default 0 */
    ATTR_NMS_TOP = 1,    /* boxes of each batch and class; always stored (def = 0) */
    ATTR_NMS_IOU = 2,    /* f32; default 0 */
    ATTR_NMS_SCORE = 3,  /* f32: scores above it; default -inf */
    /* LP_POOL in: x [N,C,...] f32: slots as AVERAGE_POOL's but INCLUDE_PAD, and P. No kernel: over
     * all spatial axes, which stay as 1; strides, dilations, pads and CEIL are then not set either.
     */
    ATTR_POOL_P = 38, /* 1..2^31-1; default 2 */
    /* ATTENTION in: q [B,H,M,D], k [B,G,N,D], v [B,G,N,E] f32, G a divisor of H, mask (optional)
     * broadcast to [B,H,M,N], its first of four axes also a divisor of B; out: [B,H,M,E]: softmax
     * over N of (SCALE q k^T, masked), times v. An f32 mask is added to the scores; where a bool
     * mask is true, scores become FILL. */
    ATTR_ATTENTION_SCALE = 0,  /* default 1 */
    ATTR_ATTENTION_FILL = 1,   /* default -inf */
    ATTR_ATTENTION_KEEP = 2,   /* 0, 1: where a bool mask is false, scores become FILL; default 0 */
    ATTR_ATTENTION_LAYOUT = 3, /* bits 1, 2, 4, 8: axes 1 and 2 of q, k, v, y are swapped; def. 0 */
    /* GRID_SAMPLE in: x [N,C,D1..Dd], grid [N,O1..Od,d] f32 of places (the last axis first, -1 to 1
     * from end to end), d 1 to 3; out: [N,C,O1..Od]. */
    ATTR_GRID_SAMPLE_MODE = 0,    /* 0 linear, 1 nearest (ties to even), 2 cubic (d <= 2); def. 0 */
    ATTR_GRID_SAMPLE_PADDING = 1, /* beyond x: 0 zeros, 1 its border, 2 its reflection; default 0 */
    ATTR_GRID_SAMPLE_ALIGN = 2,   /* 0, 1: -1 and 1 are the centres of the corners; default 0 */
};

#endif
