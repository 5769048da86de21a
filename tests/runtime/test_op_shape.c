/* SPDX-License-Identifier: MIT */
/* What shape rules and pith_op_check refuse: every operator with inputs missing, of wrong type,
 * rank or dim, with attributes out of range or at odds with the inputs, and with results larger
 * than a tensor can be. Also that outputs are untouched then, and a seeded run of random
 * attributes and shapes in which whatever a rule accepts must have a legal output. */
#include "one_op.h"
#include "kernels/ref/integer_element.h"
#include "op_interface/shape_rule.h"
#include "op_interface/op_attr.h"

#define BIG 0x7fffffffu

struct in_shape {
    enum pith_type type; /* 0: the input is left out */
    uint32_t rank;
    uint32_t dim[PITH_MAX_RANK];
};

struct refusal {
    enum pith_op op;
    enum pith_status status; /* PITH_OK: a neighbour that is accepted */
    uint32_t n_in, n_out;
    struct in_shape in[5];
    const int32_t *attr; /* slot, n, n words; ...; -1 */
};

/* Tables, a case a line. */
/* clang-format off */
#define IN(type, ...) {PITH_##type, sizeof((uint32_t[]){0, __VA_ARGS__}) / 4 - 1, {__VA_ARGS__}}
#define F32(...) IN(F32, __VA_ARGS__)
#define I32(...) IN(I32, __VA_ARGS__)
#define I64(...) IN(I64, __VA_ARGS__)
#define I8(...) IN(I8, __VA_ARGS__)
#define U8(...) IN(U8, __VA_ARGS__)
#define NONE {0, 0, {0}}
#define ATTR(...) (const int32_t[]){__VA_ARGS__, -1}
#define NO_ATTR (const int32_t[]){-1}
#define COUNTED ATTR(ATTR_LOOP_TRIPS, 1, 3, ATTR_LOOP_HAS_COUNT, 1, 1)
#define CONDITION ATTR(ATTR_LOOP_TRIPS, 1, 3, ATTR_LOOP_HAS_COND, 1, 1)
#define ONE_STATE ATTR(ATTR_LOOP_TRIPS, 1, 3, ATTR_LOOP_STATES, 1, 1)
#define CORRUPT PITH_ERR_CORRUPT
#define UNSUPPORTED PITH_ERR_UNSUPPORTED

static const struct refusal refusals[] = {
    /* loops: count, go on, states; go on, states, next states, collected */
    {PITH_OP_LOOP, PITH_OK, 1, 2, {F32(2)}, ATTR(ATTR_LOOP_TRIPS, 1, 3)},
    {PITH_OP_LOOP, CORRUPT, 1, 1, {F32(2)}, ATTR(ATTR_LOOP_TRIPS, 1, 3)},
    {PITH_OP_LOOP, CORRUPT, 1, 3, {F32(2)}, ATTR(ATTR_LOOP_TRIPS, 1, 3)},
    {PITH_OP_LOOP, PITH_OK, 2, 2, {I64(), F32(2)}, COUNTED},
    {PITH_OP_LOOP, CORRUPT, 2, 2, {I32(), F32(2)}, COUNTED},
    {PITH_OP_LOOP, CORRUPT, 2, 2, {I64(1), F32(2)}, COUNTED},
    {PITH_OP_LOOP, PITH_OK, 2, 2, {IN(BOOL), F32(2)}, CONDITION},
    {PITH_OP_LOOP, CORRUPT, 2, 2, {U8(), F32(2)}, CONDITION},
    {PITH_OP_LOOP, CORRUPT, 2, 2, {IN(BOOL, 1), F32(2)}, CONDITION},
    {PITH_OP_LOOP_END, PITH_OK, 2, 1, {F32(2), F32(2)}, ONE_STATE},
    {PITH_OP_LOOP_END, CORRUPT, 2, 1, {F32(2), I32(2)}, ONE_STATE},
    {PITH_OP_LOOP_END, CORRUPT, 2, 1, {F32(2), F32(3)}, ONE_STATE},
    {PITH_OP_LOOP_END, CORRUPT, 2, 1, {F32(2), F32(2, 1)}, ONE_STATE},
    {PITH_OP_LOOP_END, CORRUPT, 2, 2, {F32(2), F32(2)}, ONE_STATE},
    {PITH_OP_LOOP_END, PITH_OK, 3, 2, {F32(2), F32(2), F32(4)}, ONE_STATE},
    {PITH_OP_LOOP_END, CORRUPT, 3, 1, {F32(2), F32(2), F32(4)}, ONE_STATE},
    {PITH_OP_LOOP_END, UNSUPPORTED, 1, 1, {F32(1, 1, 1, 1, 1, 1, 1, 1)}, ATTR(ATTR_LOOP_TRIPS, 1, 3)},
    {PITH_OP_LOOP_END, PITH_OK, 3, 1, {IN(BOOL), F32(2), F32(2)},
     ATTR(ATTR_LOOP_TRIPS, 1, 3, ATTR_LOOP_HAS_COND, 1, 1, ATTR_LOOP_STATES, 1, 1)},
    {PITH_OP_LOOP_END, CORRUPT, 3, 1, {U8(), F32(2), F32(2)},
     ATTR(ATTR_LOOP_TRIPS, 1, 3, ATTR_LOOP_HAS_COND, 1, 1, ATTR_LOOP_STATES, 1, 1)},
    {PITH_OP_LOOP_END, CORRUPT, 4, 2, {IN(BOOL), F32(2), F32(2), F32(4)},
     ATTR(ATTR_LOOP_TRIPS, 1, 3, ATTR_LOOP_HAS_COND, 1, 1, ATTR_LOOP_STATES, 1, 1)},
    {PITH_OP_LOOP_END, CORRUPT, 3, 2, {F32(2), F32(2), F32(4)},
     ATTR(ATTR_LOOP_TRIPS, 1, 3, ATTR_LOOP_HAS_COUNT, 1, 1, ATTR_LOOP_STATES, 1, 1)},
    {PITH_OP_SPLIT, CORRUPT, 1, 3, {F32(1, 4)}, ATTR(ATTR_SPLIT_SIZES, 3, 2, 2, 2)},
    {PITH_OP_CONCAT, CORRUPT, 2, 1, {F32(1, 0x7fffffff), F32(1, 1)}, NO_ATTR},
    /* counts and presence */
    {PITH_OP_ADD, CORRUPT, 1, 1, {F32(2)}, NO_ATTR},
    {PITH_OP_ADD, CORRUPT, 3, 1, {F32(2), F32(2), F32(2)}, NO_ATTR},
    {PITH_OP_ADD, CORRUPT, 2, 2, {F32(2), F32(2)}, NO_ATTR},
    {PITH_OP_ADD, CORRUPT, 2, 0, {F32(2), F32(2)}, NO_ATTR},
    {PITH_OP_ADD, CORRUPT, 2, 1, {F32(2), NONE}, NO_ATTR},
    {PITH_OP_RELU, CORRUPT, 1, 1, {NONE}, NO_ATTR},
    {PITH_OP_CONCAT, CORRUPT, 2, 1, {F32(1, 2), NONE}, NO_ATTR},
    {PITH_OP_IDENTITY, CORRUPT, 1, 1, {NONE}, NO_ATTR},
    {PITH_OP_SQUEEZE, CORRUPT, 1, 1, {NONE}, NO_ATTR},
    {PITH_OP_UNSQUEEZE, CORRUPT, 1, 1, {NONE}, NO_ATTR},
    {PITH_OP_RESHAPE, CORRUPT, 1, 1, {NONE}, NO_ATTR},
    {PITH_OP_FLATTEN, CORRUPT, 1, 1, {NONE}, NO_ATTR},
    {PITH_OP_TRANSPOSE, CORRUPT, 1, 1, {NONE}, NO_ATTR},
    {PITH_OP_SLICE, CORRUPT, 1, 1, {NONE}, NO_ATTR},
    {PITH_OP_SPLIT, CORRUPT, 1, 1, {NONE}, NO_ATTR},
    {PITH_OP_PAD, CORRUPT, 1, 1, {NONE}, NO_ATTR},
    {PITH_OP_CAST, CORRUPT, 1, 1, {NONE}, ATTR(ATTR_CAST_TO, 1, PITH_I8)},
    {PITH_OP_REDUCE_MEAN, CORRUPT, 1, 1, {NONE}, NO_ATTR},
    {PITH_OP_RESIZE, CORRUPT, 1, 1, {NONE}, NO_ATTR},
    {PITH_OP_MAX_POOL, CORRUPT, 1, 1, {NONE}, NO_ATTR},
    {PITH_OP_LRN, CORRUPT, 1, 1, {NONE}, ATTR(ATTR_LRN_SIZE, 1, 3)},
    {PITH_OP_SOFTMAX, CORRUPT, 1, 1, {NONE}, ATTR(ATTR_SOFTMAX_AXIS, 1, 0)},
    {PITH_OP_BATCH_NORM, CORRUPT, 5, 1, {F32(1, 2), F32(2), F32(2), NONE, F32(2)}, NO_ATTR},
    {PITH_OP_GLOBAL_MAX_POOL, CORRUPT, 1, 1, {NONE}, NO_ATTR},
    /* types */
    {PITH_OP_ADD, CORRUPT, 2, 1, {F32(2), I32(2)}, NO_ATTR},
    {PITH_OP_ADD, UNSUPPORTED, 2, 1, {IN(BOOL, 2), IN(BOOL, 2)}, NO_ATTR},
    {PITH_OP_PRELU, UNSUPPORTED, 2, 1, {I32(2), I32(2)}, NO_ATTR},
    {PITH_OP_TANH, UNSUPPORTED, 1, 1, {IN(F16, 2)}, NO_ATTR},
    {PITH_OP_MAX_POOL, UNSUPPORTED, 1, 1, {I8(1, 1, 4)}, ATTR(ATTR_POOL_KERNEL, 2, 1, 2)},
    {PITH_OP_REDUCE_MEAN, UNSUPPORTED, 1, 1, {I32(4)}, NO_ATTR},
    {PITH_OP_RESIZE, UNSUPPORTED, 1, 1, {U8(4)}, ATTR(ATTR_RESIZE_MODE, 1, 1, ATTR_RESIZE_DIMS, 2, 1, 8)},
    {PITH_OP_PAD, UNSUPPORTED, 1, 1, {U8(4)},
     ATTR(ATTR_PAD_VALUE, 1, 0x3f800000, ATTR_PAD_BEGIN, 2, 1, 1, ATTR_PAD_END, 2, 1, 1)},
    {PITH_OP_CAST, CORRUPT, 1, 1, {F32(2)}, NO_ATTR},
    {PITH_OP_UNARY, CORRUPT, 1, 1, {F32(2)}, NO_ATTR}, /* the kind has no default */
    {PITH_OP_UNARY, CORRUPT, 1, 1, {NONE}, ATTR(ATTR_KIND, 1, UNARY_EXP)},
    {PITH_OP_UNARY, CORRUPT, 1, 1, {F32(2)}, ATTR(ATTR_KIND, 1, UNARY_END)},
    {PITH_OP_UNARY, UNSUPPORTED, 1, 1, {F32(2)}, ATTR(ATTR_KIND, 1, UNARY_NOT)},
    {PITH_OP_UNARY, UNSUPPORTED, 1, 1, {I32(2)}, ATTR(ATTR_KIND, 1, UNARY_EXP)},
    {PITH_OP_UNARY, UNSUPPORTED, 1, 1, {U8(2)}, ATTR(ATTR_KIND, 1, UNARY_NEG)},
    {PITH_OP_UNARY, CORRUPT, 1, 1, {F32(2)}, ATTR(ATTR_KIND, 1, UNARY_CELU, ATTR_UNARY_ALPHA, 1, 0)},
    {PITH_OP_CAST, CORRUPT, 1, 1, {F32(2)}, ATTR(ATTR_CAST_TO, 1, 12)},
    {PITH_OP_POWER, UNSUPPORTED, 2, 1, {F32(2), U8(2)}, NO_ATTR},
    {PITH_OP_POWER, PITH_OK, 2, 1, {F32(2), I64(2)}, NO_ATTR},
    {PITH_OP_MOD, PITH_OK, 2, 1, {F32(2), F32(2)}, NO_ATTR},
    {PITH_OP_MOD, CORRUPT, 2, 1, {F32(2), I32(2)}, ATTR(ATTR_MOD_FMOD, 1, 1)},
    {PITH_OP_COMPARE, CORRUPT, 2, 1, {F32(2), I32(2)}, ATTR(ATTR_KIND, 1, 0)},
    {PITH_OP_COMPARE, UNSUPPORTED, 2, 1, {F32(2), F32(2)}, ATTR(ATTR_KIND, 1, COMPARE_AND)},
    {PITH_OP_COMPARE, UNSUPPORTED, 2, 1, {IN(BOOL, 2), IN(BOOL, 2)}, ATTR(ATTR_KIND, 1, COMPARE_LESS)},
    {PITH_OP_COMPARE, UNSUPPORTED, 2, 1, {IN(F64, 2), IN(F64, 2)}, ATTR(ATTR_KIND, 1, COMPARE_LESS)},
    {PITH_OP_WHERE, CORRUPT, 3, 1, {F32(2), F32(2), F32(2)}, NO_ATTR},
    {PITH_OP_WHERE, CORRUPT, 3, 1, {IN(BOOL, 2), F32(2), I32(2)}, NO_ATTR},
    {PITH_OP_WHERE, CORRUPT, 3, 1, {IN(BOOL, 3), F32(2), F32(2)}, NO_ATTR},
    {PITH_OP_WHERE, CORRUPT, 3, 1, {IN(BOOL, BIG, 1, 1), F32(BIG, 1), F32(BIG)}, NO_ATTR},
    {PITH_OP_VARIADIC, CORRUPT, 0, 1, {NONE}, ATTR(ATTR_KIND, 1, VARIADIC_MIN)},
    {PITH_OP_VARIADIC, CORRUPT, 2, 1, {F32(2), NONE}, ATTR(ATTR_KIND, 1, VARIADIC_MIN)},
    {PITH_OP_VARIADIC, CORRUPT, 3, 1, {F32(2, 1), F32(3), F32(2)}, ATTR(ATTR_KIND, 1, VARIADIC_MIN)},
    {PITH_OP_VARIADIC, CORRUPT, 2, 1, {F32(2), I32(2)}, ATTR(ATTR_KIND, 1, VARIADIC_MIN)},
    {PITH_OP_VARIADIC, UNSUPPORTED, 1, 1, {I32(2)}, ATTR(ATTR_KIND, 1, VARIADIC_SUM)},
    {PITH_OP_VARIADIC, UNSUPPORTED, 1, 1, {IN(BOOL, 2)}, ATTR(ATTR_KIND, 1, VARIADIC_MAX)},
    {PITH_OP_REDUCE, CORRUPT, 1, 1, {NONE}, ATTR(ATTR_KIND, 1, REDUCE_SUM)},
    {PITH_OP_REDUCE, CORRUPT, 1, 1, {F32(2)}, NO_ATTR},
    {PITH_OP_REDUCE, CORRUPT, 1, 1, {F32(2)}, ATTR(ATTR_KIND, 1, REDUCE_SUM, ATTR_REDUCE_KIND_AXES, 2, 1, 1)},
    {PITH_OP_REDUCE, UNSUPPORTED, 1, 1, {I64(2)}, ATTR(ATTR_KIND, 1, REDUCE_L1)},
    {PITH_OP_REDUCE, UNSUPPORTED, 1, 1, {U8(2)}, ATTR(ATTR_KIND, 1, REDUCE_SUM)},
    {PITH_OP_ARG, CORRUPT, 1, 1, {NONE}, ATTR(ATTR_KIND, 1, ARG_MAX)},
    {PITH_OP_ARG, CORRUPT, 1, 1, {F32()}, ATTR(ATTR_KIND, 1, ARG_MAX)},
    {PITH_OP_ARG, CORRUPT, 1, 1, {F32(2)}, ATTR(ATTR_KIND, 1, ARG_MAX, ATTR_ARG_AXIS, 1, 1)},
    {PITH_OP_ARG, UNSUPPORTED, 1, 1, {IN(BOOL, 2)}, ATTR(ATTR_KIND, 1, ARG_MAX)},
    {PITH_OP_ALONG_AXIS, CORRUPT, 1, 1, {NONE}, ATTR(ATTR_KIND, 2, ALONG_HARDMAX, 0)},
    {PITH_OP_ALONG_AXIS, CORRUPT, 1, 1, {F32(2)}, ATTR(ATTR_KIND, 1, ALONG_HARDMAX)},
    {PITH_OP_ALONG_AXIS, CORRUPT, 1, 1, {F32(2)}, ATTR(ATTR_KIND, 2, ALONG_HARDMAX, 1)},
    {PITH_OP_ALONG_AXIS, PITH_OK, 1, 1, {F32(2)}, ATTR(ATTR_KIND, 3, ALONG_HARDMAX, 1, 1)},
    {PITH_OP_ALONG_AXIS, UNSUPPORTED, 1, 1, {I32(2)}, ATTR(ATTR_KIND, 2, ALONG_HARDMAX, 0)},
    {PITH_OP_ALONG_AXIS, CORRUPT, 1, 1, {F32(2)}, ATTR(ATTR_KIND, 2, ALONG_LP_NORMALIZATION, 0, ATTR_ALONG_P, 1, 3)},
    {PITH_OP_GROUP_NORM, CORRUPT, 3, 1, {F32(1, 4), F32(4), NONE}, NO_ATTR},
    {PITH_OP_GROUP_NORM, CORRUPT, 3, 1, {F32(4), F32(4), F32(4)}, NO_ATTR},
    {PITH_OP_GROUP_NORM, CORRUPT, 3, 1, {F32(1, 4), F32(4), F32(3)}, NO_ATTR},
    {PITH_OP_GROUP_NORM, CORRUPT, 3, 1, {F32(1, 4), F32(4), F32(4)}, ATTR(ATTR_GROUP_NORM_GROUPS, 1, 3)},
    {PITH_OP_GROUP_NORM, CORRUPT, 3, 1, {F32(1, 4), F32(4), F32(4)}, ATTR(ATTR_GROUP_NORM_GROUPS, 2, 2, 1)},
    {PITH_OP_GROUP_NORM, PITH_OK, 3, 1, {F32(1, 4), F32(2), F32(2)}, ATTR(ATTR_GROUP_NORM_GROUPS, 2, 2, 1)},
    {PITH_OP_LAYER_NORM, CORRUPT, 2, 1, {F32(2, 3), NONE}, ATTR(ATTR_LAYER_NORM_AXIS, 1, 1)},
    {PITH_OP_LAYER_NORM, CORRUPT, 2, 1, {F32(2, 3), F32(3)}, NO_ATTR},
    {PITH_OP_LAYER_NORM, CORRUPT, 2, 1, {F32(2, 3), F32(3)}, ATTR(ATTR_LAYER_NORM_AXIS, 1, 2)},
    {PITH_OP_LAYER_NORM, CORRUPT, 2, 1, {F32(2, 3), F32(2)}, ATTR(ATTR_LAYER_NORM_AXIS, 1, 1)},
    {PITH_OP_LAYER_NORM, CORRUPT, 3, 1, {F32(2, 3), F32(3), F32(2)}, ATTR(ATTR_LAYER_NORM_AXIS, 1, 1)},
    {PITH_OP_LAYER_NORM, UNSUPPORTED, 3, 1, {F32(2, 3), F32(3), I32(3)}, ATTR(ATTR_LAYER_NORM_AXIS, 1, 1)},
    {PITH_OP_MEAN_VARIANCE, CORRUPT, 1, 1, {NONE}, NO_ATTR},
    {PITH_OP_MEAN_VARIANCE, CORRUPT, 1, 1, {F32(2)}, ATTR(ATTR_AXES, 2, 1, 1)},
    {PITH_OP_MEAN_VARIANCE, UNSUPPORTED, 1, 1, {I32(3)}, NO_ATTR},
    /* broadcasting */
    {PITH_OP_MUL, CORRUPT, 2, 1, {F32(2, 3), F32(2)}, NO_ATTR},
    {PITH_OP_MUL, CORRUPT, 2, 1, {F32(BIG, 1), F32(1, BIG)}, NO_ATTR},
    {PITH_OP_PRELU, CORRUPT, 2, 1, {F32(2), F32(3, 2)}, NO_ATTR},
    /* float attributes */
    {PITH_OP_LEAKY_RELU, CORRUPT, 1, 1, {F32(2)}, ATTR(ATTR_ALPHA, 1, 0x7fc00000)},
    {PITH_OP_LEAKY_RELU, CORRUPT, 1, 1, {F32(2)}, ATTR(ATTR_ALPHA, 1, 0x7f800000)},
    {PITH_OP_CLIP, PITH_OK, 1, 1, {F32(2)}, ATTR(ATTR_CLIP_MAX, 1, 0x7f800000)},
    {PITH_OP_CLIP, CORRUPT, 1, 1, {F32(2)}, ATTR(ATTR_CLIP_MAX, 1, 0x7f800001)},
    /* axes */
    {PITH_OP_SOFTMAX, CORRUPT, 1, 1, {F32(3)}, NO_ATTR},
    {PITH_OP_SOFTMAX, CORRUPT, 1, 1, {F32(2, 3)}, ATTR(ATTR_SOFTMAX_AXIS, 1, 2)},
    {PITH_OP_SOFTMAX, PITH_OK, 1, 1, {F32(2, 3)}, ATTR(ATTR_SOFTMAX_AXIS, 2, 2, 1)},
    {PITH_OP_SOFTMAX, CORRUPT, 1, 1, {F32(2, 3)}, ATTR(ATTR_SOFTMAX_AXIS, 2, 3, 1)},
    {PITH_OP_SOFTMAX, CORRUPT, 1, 1, {F32()}, ATTR(ATTR_SOFTMAX_AXIS, 1, 0)},
    {PITH_OP_CONCAT, CORRUPT, 2, 1, {F32(2), F32(2)}, NO_ATTR},
    {PITH_OP_CONCAT, CORRUPT, 2, 1, {F32(2, 3), F32(3, 3)}, NO_ATTR},
    {PITH_OP_CONCAT, CORRUPT, 2, 1, {F32(2, 3), F32(2, 3, 1)}, NO_ATTR},
    {PITH_OP_CONCAT, CORRUPT, 2, 1, {F32(2, 3), I32(2, 3)}, NO_ATTR},
    {PITH_OP_CONCAT, CORRUPT, 2, 1, {F32(1, BIG), F32(1, BIG)}, NO_ATTR},
    {PITH_OP_SPLIT, CORRUPT, 1, 2, {F32(4)}, NO_ATTR},
    {PITH_OP_SPLIT, CORRUPT, 1, 2, {F32(1, 4)}, ATTR(ATTR_SPLIT_SIZES, 3, 2, 1, 2)},
    {PITH_OP_SPLIT, CORRUPT, 1, 2, {F32(1, 4)}, ATTR(ATTR_SPLIT_SIZES, 3, 2, 3, 2)},
    {PITH_OP_SPLIT, CORRUPT, 1, 2, {F32(1, 4)}, ATTR(ATTR_SPLIT_SIZES, 2, 1, 4)},
    {PITH_OP_SPLIT, CORRUPT, 1, 2, {F32(1, 4)}, ATTR(ATTR_SPLIT_SIZES, 3, 2, 0, 4)},
    {PITH_OP_SPLIT, CORRUPT, 1, 5, {F32(1, 4)}, NO_ATTR},
    {PITH_OP_SPLIT, CORRUPT, 1, 4, {F32(1, 5)}, NO_ATTR}, /* 2 2 1 and nothing */
    {PITH_OP_SQUEEZE, CORRUPT, 1, 1, {F32(1, 2)}, ATTR(ATTR_AXES, 2, 1, 1)},
    {PITH_OP_SQUEEZE, CORRUPT, 1, 1, {F32(1, 2)}, ATTR(ATTR_AXES, 2, 1, 2)},
    {PITH_OP_SQUEEZE, CORRUPT, 1, 1, {F32(1, 2)}, ATTR(ATTR_AXES, 3, 2, 0, 0)},
    {PITH_OP_UNSQUEEZE, CORRUPT, 1, 1, {F32(2)}, ATTR(ATTR_AXES, 2, 1, 2)},
    {PITH_OP_UNSQUEEZE, UNSUPPORTED, 1, 1, {F32(1, 1, 1, 1, 1, 1, 1, 1)}, ATTR(ATTR_AXES, 2, 1, 0)},
    {PITH_OP_REDUCE_MEAN, CORRUPT, 1, 1, {F32(2)}, ATTR(ATTR_AXES, 2, 1, 1)},
    {PITH_OP_FLATTEN, CORRUPT, 1, 1, {F32(2)}, ATTR(ATTR_AXIS, 1, 2)},
    {PITH_OP_FLATTEN, CORRUPT, 1, 1, {F32(2)}, ATTR(ATTR_AXIS, 1, 9)},
    {PITH_OP_FLATTEN, CORRUPT, 1, 1, {F32(0x10000, 0x10000)}, ATTR(ATTR_AXIS, 1, 0)},
    {PITH_OP_TRANSPOSE, CORRUPT, 1, 1, {F32(2, 3)}, ATTR(ATTR_PERM, 3, 2, 1, 1)},
    {PITH_OP_TRANSPOSE, CORRUPT, 1, 1, {F32(2, 3)}, ATTR(ATTR_PERM, 2, 1, 1)},
    {PITH_OP_TRANSPOSE, CORRUPT, 1, 1, {F32(2, 3)}, ATTR(ATTR_PERM, 3, 2, 0, 2)},
    /* reshape */
    {PITH_OP_RESHAPE, PITH_OK, 1, 1, {F32(1, 1)}, NO_ATTR},
    {PITH_OP_RESHAPE, CORRUPT, 1, 1, {F32(2, 3)}, NO_ATTR},
    {PITH_OP_RESHAPE, CORRUPT, 1, 1, {F32(2, 3)}, ATTR(ATTR_RESHAPE_DIMS, 3, 2, -1, -1)},
    {PITH_OP_RESHAPE, CORRUPT, 1, 1, {F32(2, 3)}, ATTR(ATTR_RESHAPE_DIMS, 3, 2, 4, -1)},
    {PITH_OP_RESHAPE, CORRUPT, 1, 1, {F32(2, 3)}, ATTR(ATTR_RESHAPE_DIMS, 4, 3, 2, 3, 0)},
    {PITH_OP_RESHAPE, CORRUPT, 1, 1, {F32(2, 3)}, ATTR(ATTR_RESHAPE_DIMS, 2, 1, -2)},
    {PITH_OP_RESHAPE, CORRUPT, 1, 1, {F32(2, 3)},
     ATTR(ATTR_RESHAPE_DIMS, 5, 4, 0x7fffffff, 0x7fffffff, 0x7fffffff, 2)},
    {PITH_OP_RESHAPE, CORRUPT, 1, 1, {F32(0x10000, 0x10000)}, ATTR(ATTR_RESHAPE_DIMS, 2, 1, -1)},
    {PITH_OP_RESHAPE, CORRUPT, 1, 1, {F32(2)}, ATTR(ATTR_RESHAPE_DIMS, 1, 9)},
    {PITH_OP_RESHAPE, CORRUPT, 1, 1, {F32(2)}, ATTR(ATTR_RESHAPE_DIMS, 1, -5)},
    /* pools */
    {PITH_OP_MAX_POOL, CORRUPT, 1, 1, {F32(1, 1)}, NO_ATTR},
    {PITH_OP_MAX_POOL, PITH_OK, 1, 1, {F32(1, 1, 4, 4, 4)}, ATTR(ATTR_POOL_KERNEL, 4, 3, 2, 2, 2)},
    {PITH_OP_MAX_POOL, UNSUPPORTED, 1, 1, {F32(1, 1, 4, 4, 4, 4, 4)}, ATTR(ATTR_POOL_KERNEL, 6, 5, 2, 2, 2, 2, 2)},
    {PITH_OP_CONV, UNSUPPORTED, 2, 1, {F32(1, 1, 4, 4, 4, 4, 4), F32(1, 1, 2, 2, 2, 2, 2)}, NO_ATTR},
    {PITH_OP_CONV, PITH_OK, 2, 1, {F32(1, 1, 4, 4, 4), F32(1, 1, 2, 2, 2)}, NO_ATTR},
    {PITH_OP_CONV, CORRUPT, 2, 1, {F32(1, 1, 4, 4, 4), F32(1, 1, 2, 2, 5)}, NO_ATTR},
    {PITH_OP_CONV, CORRUPT, 2, 1, {F32(1, 1, 4, 4, 4), F32(1, 1, 2, 2, 2)}, ATTR(ATTR_CONV_PADS, 5, 4, 0, 0, 0, 0)},
    {PITH_OP_CONV_TRANSPOSE, UNSUPPORTED, 2, 1, {F32(1, 1, 4, 4, 4, 4, 4), F32(1, 1, 2, 2, 2, 2, 2)}, NO_ATTR},
    {PITH_OP_CONV_TRANSPOSE, CORRUPT, 2, 1, {F32(1, 1, BIG, 1, 1), F32(1, 1, BIG, 1, 1)}, NO_ATTR},
    {PITH_OP_CONV_TRANSPOSE, UNSUPPORTED, 2, 1, {F32(1, 1, 1, 1), F32(1, 1, 65536, 65537)},
     ATTR(ATTR_CONV_T_PADS, 5, 4, 32768, 32768, 32767, 32768)},
    /* quantized */
    {PITH_OP_QUANTIZE, PITH_OK, 2, 1, {F32(2, 3), F32(1)}, ATTR(ATTR_QUANTIZE_TYPE, 1, PITH_I8)},
    {PITH_OP_QUANTIZE, CORRUPT, 2, 1, {F32(2, 3), F32(1)}, NO_ATTR},
    {PITH_OP_QUANTIZE, UNSUPPORTED, 2, 1, {F32(2), F32(1)}, ATTR(ATTR_QUANTIZE_TYPE, 1, PITH_I32)},
    {PITH_OP_QUANTIZE, CORRUPT, 2, 1, {F32(2, 3), NONE}, ATTR(ATTR_QUANTIZE_TYPE, 1, PITH_I8)},
    {PITH_OP_QUANTIZE, CORRUPT, 2, 1, {F32(2, 3), F32(2)}, ATTR(ATTR_QUANTIZE_TYPE, 1, PITH_I8)},
    {PITH_OP_QUANTIZE, PITH_OK, 2, 1, {F32(2, 3), F32(3)}, ATTR(ATTR_QUANTIZE_TYPE, 1, PITH_I8)},
    {PITH_OP_QUANTIZE, CORRUPT, 2, 1, {F32(2), F32(2)}, ATTR(ATTR_QUANTIZE_TYPE, 1, PITH_I8)},
    {PITH_OP_QUANTIZE, CORRUPT, 3, 1, {F32(2, 3), F32(1), U8()}, ATTR(ATTR_QUANTIZE_TYPE, 1, PITH_I8)},
    {PITH_OP_QUANTIZE, CORRUPT, 3, 1, {F32(2, 3), F32(3), I8()}, ATTR(ATTR_QUANTIZE_TYPE, 1, PITH_I8)},
    {PITH_OP_QUANTIZE, PITH_OK, 2, 1, {F32(2, 3), F32(2, 2)},
     ATTR(ATTR_QUANTIZE_TYPE, 1, PITH_I8, ATTR_QUANTIZE_BLOCK, 1, 2)},
    {PITH_OP_QUANTIZE, CORRUPT, 2, 1, {F32(2, 3), F32(2, 3)},
     ATTR(ATTR_QUANTIZE_TYPE, 1, PITH_I8, ATTR_QUANTIZE_BLOCK, 1, 2)},
    {PITH_OP_QUANTIZE, CORRUPT, 2, 1, {F32(2, 3), F32()},
     ATTR(ATTR_QUANTIZE_TYPE, 1, PITH_I8, ATTR_QUANTIZE_BLOCK, 1, 2)},
    {PITH_OP_QUANTIZE, UNSUPPORTED, 2, 1, {F32(2, 3), IN(F64)}, ATTR(ATTR_QUANTIZE_TYPE, 1, PITH_I8)},
    {PITH_OP_DEQUANTIZE, UNSUPPORTED, 2, 1, {F32(2), F32()}, NO_ATTR},
    {PITH_OP_DEQUANTIZE, CORRUPT, 3, 1, {U8(2), F32(), I8()}, NO_ATTR},
    {PITH_OP_DYNAMIC_QUANTIZE, CORRUPT, 1, 1, {F32(2)}, NO_ATTR},
    {PITH_OP_DYNAMIC_QUANTIZE, UNSUPPORTED, 1, 3, {I32(2)}, NO_ATTR},
    {PITH_OP_REQUANTIZE, UNSUPPORTED, 3, 1, {F32(2), F32(), I8()}, ATTR(ATTR_QUANTIZE_TYPE, 1, PITH_I8)},
    {PITH_OP_REQUANTIZE, CORRUPT, 3, 1, {I32(2, 3), F32(2), I8()}, ATTR(ATTR_QUANTIZE_TYPE, 1, PITH_I8)},
    {PITH_OP_REQUANTIZE, CORRUPT, 3, 1, {I32(2), F32(2), I8()}, ATTR(ATTR_QUANTIZE_TYPE, 1, PITH_I8)},
    {PITH_OP_REQUANTIZE, CORRUPT, 3, 1, {I32(2), F32(), I8(2)}, ATTR(ATTR_QUANTIZE_TYPE, 1, PITH_I8)},
    {PITH_OP_MATMUL_INTEGER, UNSUPPORTED, 2, 1, {F32(2, 2), F32(2, 2)}, NO_ATTR},
    {PITH_OP_MATMUL_INTEGER, CORRUPT, 2, 1, {U8(2, 3), I8(2, 3)}, NO_ATTR},
    {PITH_OP_MATMUL_INTEGER, CORRUPT, 2, 1, {U8(), I8(1)}, NO_ATTR},
    {PITH_OP_MATMUL_INTEGER, CORRUPT, 2, 1, {U8(2, 3), I8(3, 2)}, ATTR(ATTR_MATMUL_TRANS_B, 1, 1)},
    {PITH_OP_MATMUL_INTEGER, CORRUPT, 2, 1, {U8(2, 3), I8(1, 2, 3)}, ATTR(ATTR_MATMUL_TRANS_B, 1, 1)},
    {PITH_OP_MATMUL_INTEGER, CORRUPT, 2, 1, {U8(2, 3), I8(3)}, ATTR(ATTR_MATMUL_TRANS_B, 1, 1)},
    {PITH_OP_MATMUL_INTEGER, CORRUPT, 3, 1, {U8(2, 3), I8(3, 2), U8(3)}, NO_ATTR},
    {PITH_OP_MATMUL_INTEGER, CORRUPT, 3, 1, {U8(2, 3), I8(3, 2), I8()}, NO_ATTR},
    {PITH_OP_CONV_INTEGER, UNSUPPORTED, 2, 1, {F32(1, 1, 3), F32(1, 1, 2)}, NO_ATTR},
    {PITH_OP_CONV_INTEGER, CORRUPT, 2, 1, {U8(1, 2, 3), I8(1, 1, 2)}, NO_ATTR},
    {PITH_OP_CONV_INTEGER, CORRUPT, 4, 1, {U8(1, 1, 3), I8(2, 1, 2), NONE, I8(3)}, NO_ATTR},
    {PITH_OP_CONV_INTEGER, CORRUPT, 5, 1, {U8(1, 1, 3), I8(2, 1, 2), NONE, NONE, F32(2)}, NO_ATTR},
    {PITH_OP_NON_MAX_SUPPRESSION, CORRUPT, 2, 1, {F32(1, 5, 4), F32(1, 2, 5)}, NO_ATTR},
    {PITH_OP_NON_MAX_SUPPRESSION, PITH_OK, 2, 1, {F32(1, 5, 4), F32(1, 2, 5)}, ATTR(ATTR_NMS_TOP, 1, 3)},
    {PITH_OP_NON_MAX_SUPPRESSION, CORRUPT, 2, 1, {F32(1, 5, 3), F32(1, 2, 5)}, ATTR(ATTR_NMS_TOP, 1, 3)},
    {PITH_OP_NON_MAX_SUPPRESSION, CORRUPT, 2, 1, {F32(1, 5, 4), F32(1, 2, 6)}, ATTR(ATTR_NMS_TOP, 1, 3)},
    {PITH_OP_NON_MAX_SUPPRESSION, CORRUPT, 2, 1, {F32(BIG, 1, 4), F32(BIG, BIG, 1)}, ATTR(ATTR_NMS_TOP, 1, 3)},
    {PITH_OP_NON_MAX_SUPPRESSION, UNSUPPORTED, 2, 1, {F32(1, 5, 4), I32(1, 2, 5)}, ATTR(ATTR_NMS_TOP, 1, 3)},
    {PITH_OP_MAX_POOL, CORRUPT, 1, 1, {F32(1, 1, 4)}, NO_ATTR},
    {PITH_OP_MAX_POOL, CORRUPT, 1, 1, {F32(1, 1, 4)}, ATTR(ATTR_POOL_KERNEL, 2, 1, 0)},
    {PITH_OP_MAX_POOL, CORRUPT, 1, 1, {F32(1, 1, 4)}, ATTR(ATTR_POOL_KERNEL, 2, 1, 65536)},
    {PITH_OP_MAX_POOL, CORRUPT, 1, 1, {F32(1, 1, 4)}, ATTR(ATTR_POOL_KERNEL, 2, 1, 5)},
    {PITH_OP_MAX_POOL, CORRUPT, 1, 1, {F32(1, 1, 4)}, ATTR(ATTR_POOL_KERNEL, 2, 1, 2, ATTR_POOL_STRIDES, 2, 1, 0)},
    {PITH_OP_MAX_POOL, CORRUPT, 1, 1, {F32(1, 1, 4)}, ATTR(ATTR_POOL_KERNEL, 2, 1, 2, ATTR_POOL_STRIDES, 3, 2, 1, 1)},
    {PITH_OP_MAX_POOL, CORRUPT, 1, 1, {F32(1, 1, 4)}, ATTR(ATTR_POOL_KERNEL, 2, 1, 2, ATTR_POOL_DILATIONS, 2, 1, 4)},
    {PITH_OP_MAX_POOL, CORRUPT, 1, 1, {F32(1, 1, 4)}, ATTR(ATTR_POOL_KERNEL, 2, 1, 2, ATTR_POOL_PADS, 2, 1, 1)},
    {PITH_OP_MAX_POOL, CORRUPT, 1, 1, {F32(1, 1, 4)}, ATTR(ATTR_POOL_KERNEL, 2, 1, 2, ATTR_POOL_PADS, 3, 2, 2, 0)},
    {PITH_OP_MAX_POOL, CORRUPT, 1, 1, {F32(1, 1, 4)}, ATTR(ATTR_POOL_KERNEL, 2, 1, 2, ATTR_POOL_PADS, 3, 2, -1, 0)},
    {PITH_OP_AVERAGE_POOL, CORRUPT, 1, 1, {F32(1, 1, 4)}, ATTR(ATTR_POOL_KERNEL, 2, 1, 2, ATTR_POOL_CEIL, 1, 2)},
    {PITH_OP_GLOBAL_AVERAGE_POOL, CORRUPT, 1, 1, {F32(2, 3)}, NO_ATTR},
    {PITH_OP_GRID_SAMPLE, PITH_OK, 2, 1, {F32(2, 1, 4), F32(2, 3, 1)}, NO_ATTR},
    {PITH_OP_GRID_SAMPLE, CORRUPT, 1, 1, {F32(2, 1, 4)}, NO_ATTR},
    {PITH_OP_GRID_SAMPLE, CORRUPT, 2, 1, {F32(2, 4), F32(2, 2)}, NO_ATTR},
    {PITH_OP_GRID_SAMPLE, CORRUPT, 2, 1, {F32(2, 1, 4), F32(1, 3, 1)}, NO_ATTR},
    {PITH_OP_GRID_SAMPLE, CORRUPT, 2, 1, {F32(2, 1, 4), F32(2, 3, 2)}, NO_ATTR},
    {PITH_OP_GRID_SAMPLE, CORRUPT, 2, 1, {F32(2, 1, 4), F32(2, 3, 3, 1)}, NO_ATTR},
    {PITH_OP_GRID_SAMPLE, CORRUPT, 2, 1, {F32(2, 1, 0), F32(2, 3, 1)}, NO_ATTR},
    {PITH_OP_GRID_SAMPLE, UNSUPPORTED, 2, 1, {F32(2, 1, 4), I32(2, 3, 1)}, NO_ATTR},
    {PITH_OP_GRID_SAMPLE, UNSUPPORTED, 2, 1, {F32(1, 1, 2, 2, 2, 2), F32(1, 1, 1, 1, 1, 4)}, NO_ATTR},
    {PITH_OP_GRID_SAMPLE, UNSUPPORTED, 2, 1, {F32(1, 1, 2, 2, 2), F32(1, 1, 1, 1, 3)},
     ATTR(ATTR_GRID_SAMPLE_MODE, 1, 2)},
    {PITH_OP_LP_POOL, PITH_OK, 1, 1, {F32(1, 1, 4)}, NO_ATTR}, /* the whole plane */
    {PITH_OP_LP_POOL, PITH_OK, 1, 1, {F32(1, 1, 4)}, ATTR(ATTR_POOL_P, 1, INT32_MAX)},
    {PITH_OP_LP_POOL, CORRUPT, 1, 1, {F32(1, 1, 4)}, ATTR(ATTR_POOL_P, 1, 0)},
    {PITH_OP_LP_POOL, CORRUPT, 1, 1, {NONE}, NO_ATTR},
    {PITH_OP_LP_POOL, CORRUPT, 1, 1, {F32(2, 3)}, NO_ATTR},
    {PITH_OP_LP_POOL, UNSUPPORTED, 1, 1, {I32(1, 1, 4)}, NO_ATTR},
    {PITH_OP_LP_POOL, CORRUPT, 1, 1, {F32(1, 1, 4)}, ATTR(ATTR_POOL_STRIDES, 2, 1, 1)},
    {PITH_OP_LP_POOL, CORRUPT, 1, 1, {F32(1, 1, 4)}, ATTR(ATTR_POOL_DILATIONS, 2, 1, 1)},
    {PITH_OP_LP_POOL, CORRUPT, 1, 1, {F32(1, 1, 4)}, ATTR(ATTR_POOL_PADS, 3, 2, 0, 0)},
    {PITH_OP_LP_POOL, CORRUPT, 1, 1, {F32(1, 1, 4)}, ATTR(ATTR_POOL_CEIL, 1, 1)},
    {PITH_OP_LP_POOL, CORRUPT, 1, 1, {F32(1, 1, 4)}, ATTR(ATTR_POOL_KERNEL, 2, 1, 5)},
    {PITH_OP_LP_POOL, CORRUPT, 1, 1, {F32(1, 1, 4, 4)}, ATTR(ATTR_POOL_KERNEL, 2, 1, 2)},
    /* normalisations */
    {PITH_OP_BATCH_NORM, CORRUPT, 5, 1, {F32(2), F32(2), F32(2), F32(2), F32(2)}, NO_ATTR},
    {PITH_OP_BATCH_NORM, CORRUPT, 5, 1, {F32(1, 2), F32(2), F32(2), F32(2), F32(1)}, NO_ATTR},
    {PITH_OP_BATCH_NORM, CORRUPT, 5, 1, {F32(1, 2), F32(1, 2), F32(2), F32(2), F32(2)}, NO_ATTR},
    {PITH_OP_LRN, CORRUPT, 1, 1, {F32(1, 2)}, NO_ATTR},
    {PITH_OP_LRN, CORRUPT, 1, 1, {F32(2)}, ATTR(ATTR_LRN_SIZE, 1, 3)},
    {PITH_OP_LRN, CORRUPT, 1, 1, {F32(1, 2)}, ATTR(ATTR_LRN_SIZE, 1, (1 << 20) + 1)},
    /* slice */
    {PITH_OP_SLICE, CORRUPT, 1, 1, {F32(4)},
     ATTR(ATTR_SLICE_AXES, 2, 1, 1, ATTR_SLICE_STARTS, 2, 1, 0, ATTR_SLICE_ENDS, 2, 1, 1)},
    {PITH_OP_SLICE, CORRUPT, 1, 1, {F32(4)}, ATTR(ATTR_SLICE_AXES, 2, 1, 0, ATTR_SLICE_STARTS, 2, 1, 0)},
    {PITH_OP_SLICE, CORRUPT, 1, 1, {F32(4)},
     ATTR(ATTR_SLICE_AXES, 2, 1, 0, ATTR_SLICE_STARTS, 2, 1, 2, ATTR_SLICE_ENDS, 2, 1, 2)},
    {PITH_OP_SLICE, CORRUPT, 1, 1, {F32(4)},
     ATTR(ATTR_SLICE_AXES, 2, 1, 0, ATTR_SLICE_STARTS, 2, 1, 0, ATTR_SLICE_ENDS, 2, 1, 2, ATTR_SLICE_STEPS, 2, 1, 0)},
    {PITH_OP_SLICE, PITH_OK, 1, 1, {F32(4)},
     ATTR(ATTR_SLICE_AXES, 2, 1, 0, ATTR_SLICE_STARTS, 2, 1, INT32_MAX, ATTR_SLICE_ENDS, 2, 1, INT32_MIN,
     ATTR_SLICE_STEPS, 2, 1, INT32_MIN)},
    /* pad */
    {PITH_OP_PAD, CORRUPT, 1, 1, {F32(4)}, NO_ATTR},
    {PITH_OP_PAD, CORRUPT, 1, 1, {F32(4)}, ATTR(ATTR_PAD_BEGIN, 2, 1, -2, ATTR_PAD_END, 2, 1, -2)},
    {PITH_OP_PAD, CORRUPT, 1, 1, {F32(4)}, ATTR(ATTR_PAD_BEGIN, 2, 1, INT32_MAX, ATTR_PAD_END, 2, 1, INT32_MAX)},
    {PITH_OP_PAD, CORRUPT, 1, 1, {F32(4)}, ATTR(ATTR_PAD_MODE, 1, 1, ATTR_PAD_BEGIN, 2, 1, 4, ATTR_PAD_END, 2, 1, 0)},
    {PITH_OP_PAD, PITH_OK, 1, 1, {F32(4)}, ATTR(ATTR_PAD_MODE, 1, 1, ATTR_PAD_BEGIN, 2, 1, 3, ATTR_PAD_END, 2, 1, 3)},
    {PITH_OP_PAD, CORRUPT, 1, 1, {F32(4)}, ATTR(ATTR_PAD_MODE, 1, 3, ATTR_PAD_BEGIN, 2, 1, 0, ATTR_PAD_END, 2, 1, 0)},
    /* resize */
    {PITH_OP_RESIZE, CORRUPT, 1, 1, {F32(4)}, NO_ATTR},
    {PITH_OP_RESIZE, CORRUPT, 1, 1, {F32(4)}, ATTR(ATTR_RESIZE_DIMS, 2, 1, -1)},
    {PITH_OP_RESIZE, CORRUPT, 1, 1, {F32(4, 4)},
     ATTR(ATTR_RESIZE_DIMS, 3, 2, 8, 8, ATTR_RESIZE_SCALES, 2, 1, 0x40000000)},
    {PITH_OP_RESIZE, CORRUPT, 1, 1, {F32(4)}, ATTR(ATTR_RESIZE_DIMS, 2, 1, 8, ATTR_RESIZE_SCALES, 2, 1, 0)},
    {PITH_OP_RESIZE, CORRUPT, 1, 1, {F32(4)}, ATTR(ATTR_RESIZE_DIMS, 2, 1, 8, ATTR_RESIZE_SCALES, 2, 1, 0x7f800000)},
    {PITH_OP_RESIZE, CORRUPT, 1, 1, {F32(4, 4)}, ATTR(ATTR_RESIZE_DIMS, 3, 2, 0x7fffffff, 0x7fffffff)},
    {PITH_OP_RESIZE, CORRUPT, 1, 1, {F32(4)}, ATTR(ATTR_RESIZE_COORD, 1, 5)},
    /* elements that are picked, put and ranked */
    {PITH_OP_GATHER, CORRUPT, 2, 1, {F32(2), NONE}, NO_ATTR},
    {PITH_OP_GATHER, UNSUPPORTED, 2, 1, {F32(2), F32(2)}, NO_ATTR},
    {PITH_OP_GATHER, CORRUPT, 2, 1, {F32(2), I64(2)}, ATTR(ATTR_GATHER_AXIS, 1, 1)},
    {PITH_OP_GATHER, CORRUPT, 2, 1, {F32(2), I64(2)}, ATTR(ATTR_GATHER_AXIS, 1, 8)},
    {PITH_OP_GATHER, CORRUPT, 2, 1, {F32(2), I64(2)}, ATTR(ATTR_GATHER_KIND, 1, 3)},
    {PITH_OP_GATHER, UNSUPPORTED, 2, 1, {F32(1, 1, 1, 1, 1), I64(1, 1, 1, 1, 1)}, NO_ATTR},
    {PITH_OP_GATHER, CORRUPT, 2, 1, {F32(2, 1, 0x7fffffff), I64(0x7fffffff)}, NO_ATTR},
    {PITH_OP_GATHER, CORRUPT, 2, 1, {F32(2, 2), I64(2)}, ATTR(ATTR_GATHER_KIND, 1, 1)},
    {PITH_OP_GATHER, CORRUPT, 2, 1, {F32(2, 2), I64(2, 3)}, ATTR(ATTR_GATHER_KIND, 1, 1)},
    {PITH_OP_GATHER, PITH_OK, 2, 1, {F32(2, 2), I64(3, 2)}, ATTR(ATTR_GATHER_KIND, 1, 1)},
    {PITH_OP_GATHER, CORRUPT, 2, 1, {F32(2, 2), I64(4, 3)}, ATTR(ATTR_GATHER_KIND, 1, 2)},
    {PITH_OP_GATHER, CORRUPT, 2, 1, {F32(2, 2), I64(3, 1)}, ATTR(ATTR_GATHER_KIND, 2, 2, 1)},
    {PITH_OP_GATHER, CORRUPT, 2, 1, {F32(2, 2), I64(2)}, ATTR(ATTR_GATHER_KIND, 2, 2, 1)},
    {PITH_OP_SCATTER, CORRUPT, 3, 1, {F32(4), I64(2), NONE}, NO_ATTR},
    {PITH_OP_SCATTER, CORRUPT, 3, 1, {F32(4), I64(2), I32(2)}, NO_ATTR},
    {PITH_OP_SCATTER, CORRUPT, 3, 1, {F32(4), I64(2), F32(3)}, NO_ATTR},
    {PITH_OP_SCATTER, CORRUPT, 3, 1, {F32(4, 1), I64(2, 2), F32(2, 2)}, NO_ATTR},
    {PITH_OP_SCATTER, UNSUPPORTED, 3, 1, {U8(4), I64(2), U8(2)}, ATTR(ATTR_SCATTER_REDUCE, 1, 1)},
    {PITH_OP_SCATTER, PITH_OK, 3, 1, {U8(4), I64(2), U8(2)}, NO_ATTR},
    {PITH_OP_SCATTER, CORRUPT, 3, 1, {F32(4), I64(2, 2), F32(2)}, ATTR(ATTR_SCATTER_KIND, 1, 1)},
    {PITH_OP_SCATTER, CORRUPT, 3, 1, {F32(4, 3), I64(2, 1), F32(2, 2)}, ATTR(ATTR_SCATTER_KIND, 1, 1)},
    {PITH_OP_TILE, CORRUPT, 1, 1, {NONE}, NO_ATTR},
    {PITH_OP_TILE, CORRUPT, 1, 1, {F32(4)}, ATTR(ATTR_TILE_REPEATS, 2, 1, 0)},
    {PITH_OP_TILE, CORRUPT, 1, 1, {F32(4)}, ATTR(ATTR_TILE_REPEATS, 2, 1, INT32_MAX)},
    {PITH_OP_TILE, CORRUPT, 1, 1, {F32(4)}, ATTR(ATTR_TILE_REPEATS, 4, 3, INT32_MAX, INT32_MAX, 1)},
    {PITH_OP_TILE, PITH_OK, 1, 1, {F32(4)}, NO_ATTR},
    {PITH_OP_TILE, PITH_OK, 2, 1, {F32(4), I64(3, 2)}, ATTR(ATTR_TILE_REPEATS, 2, 1, 0)},
    {PITH_OP_TILE, CORRUPT, 2, 1, {F32(4), F32(1 << 30)}, ATTR(ATTR_TILE_REPEATS, 2, 1, 0)},
    {PITH_OP_DEPTH_SPACE, CORRUPT, 1, 1, {F32(1, 4, 2, 2)}, NO_ATTR}, /* block has no default */
    {PITH_OP_DEPTH_SPACE, CORRUPT, 1, 1, {F32(4, 2, 2)}, ATTR(ATTR_DEPTH_SPACE_BLOCK, 1, 2)},
    {PITH_OP_DEPTH_SPACE, CORRUPT, 1, 1, {F32(1, 6, 2, 2)}, ATTR(ATTR_DEPTH_SPACE_BLOCK, 1, 2)},
    {PITH_OP_DEPTH_SPACE, CORRUPT, 1, 1, {F32(1, 6, 2, 3)}, ATTR(ATTR_DEPTH_SPACE_KIND, 2, 2, 2)},
    {PITH_OP_DEPTH_SPACE, CORRUPT, 1, 1, {F32(1, 1 << 30, 1, 1)}, ATTR(ATTR_DEPTH_SPACE_BLOCK, 1, (1 << 15) + 1)},
    {PITH_OP_DEPTH_SPACE, CORRUPT, 1, 1, {F32(1, 1 << 30, 1, 1 << 29)}, ATTR(ATTR_DEPTH_SPACE_BLOCK, 1, 1 << 15)},
    {PITH_OP_TRILU, CORRUPT, 1, 1, {F32(4)}, NO_ATTR},
    {PITH_OP_TRILU, CORRUPT, 1, 1, {F32(4, 4)}, ATTR(ATTR_TRILU_UPPER, 1, 2)},
    {PITH_OP_ONE_HOT, CORRUPT, 2, 1, {I64(4), F32(2)}, NO_ATTR}, /* depth has no default */
    {PITH_OP_ONE_HOT, CORRUPT, 2, 1, {I64(4), F32(3)}, ATTR(ATTR_ONE_HOT_DEPTH, 1, 3)},
    {PITH_OP_ONE_HOT, CORRUPT, 2, 1, {I64(4), F32(2)}, ATTR(ATTR_ONE_HOT_DEPTH, 2, 3, 2)},
    {PITH_OP_ONE_HOT, UNSUPPORTED, 2, 1, {F32(4), F32(2)}, ATTR(ATTR_ONE_HOT_DEPTH, 1, 3)},
    {PITH_OP_ONE_HOT, UNSUPPORTED, 2, 1, {I64(1, 1, 1, 1, 1, 1, 1, 1), F32(2)}, ATTR(ATTR_ONE_HOT_DEPTH, 1, 3)},
    {PITH_OP_TOP_K, CORRUPT, 1, 2, {F32(4)}, NO_ATTR}, /* k has no default */
    {PITH_OP_TOP_K, CORRUPT, 1, 2, {F32(4)}, ATTR(ATTR_TOP_K_K, 1, 5)},
    {PITH_OP_TOP_K, CORRUPT, 1, 2, {F32(4)}, ATTR(ATTR_TOP_K_AXIS, 2, 1, 1)},
    {PITH_OP_TOP_K, UNSUPPORTED, 1, 2, {U8(4)}, ATTR(ATTR_TOP_K_K, 1, 2)},
    {PITH_OP_CONV_TRANSPOSE, UNSUPPORTED, 2, 1, {F32(1, 1, 2), I32(1, 1, 2)}, NO_ATTR},
    {PITH_OP_CONV_TRANSPOSE, CORRUPT, 2, 1, {F32(1, 2, 2), F32(1, 1, 2)}, NO_ATTR},
    {PITH_OP_CONV_TRANSPOSE, CORRUPT, 2, 1, {F32(1, 3, 2), F32(3, 1, 2)}, ATTR(ATTR_CONV_T_GROUP, 1, 2)},
    {PITH_OP_CONV_TRANSPOSE, CORRUPT, 3, 1, {F32(1, 1, 2), F32(1, 1, 2), F32(2)}, NO_ATTR},
    {PITH_OP_CONV_TRANSPOSE, CORRUPT, 2, 1, {F32(1, 1, 2), F32(1, 1, 2)}, ATTR(ATTR_CONV_T_PADS, 3, 2, 2, 1)},
    {PITH_OP_CONV_TRANSPOSE, CORRUPT, 2, 1, {F32(1, 1, 2), F32(1, 1, 2)}, ATTR(ATTR_CONV_T_STRIDES, 3, 2, 1, 1)},
    {PITH_OP_CONV_TRANSPOSE, CORRUPT, 2, 1, {F32(1, 1, 1 << 30), F32(1, 1, 2)},
     ATTR(ATTR_CONV_T_STRIDES, 2, 1, 65535)},
    {PITH_OP_CONV_TRANSPOSE, UNSUPPORTED, 2, 1, {F32(1, 1, 2, 2, 2, 2, 2), F32(1, 1, 2, 2, 2, 2, 2)}, NO_ATTR},
    {PITH_OP_CONV_TRANSPOSE, CORRUPT, 2, 1, {F32(1, 1), F32(1, 1)}, NO_ATTR},
};
/* clang-format on */

static void load_attrs(struct one_op *t, const int32_t *attr)
{
    for (const int32_t *a = attr; a[0] >= 0; a += 2 + a[1])
        for (int32_t i = 0; i < a[1]; i++)
            t->attr[a[0] + i] = a[2 + i];
}

TEST(test_refusals)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const struct refusal *r = &refusals[i];
        struct one_op t;
        one_op_open(&t, r->op, r->n_in, r->n_out);
        load_attrs(&t, r->attr);
        for (uint32_t k = 0; k < r->n_in; k++) {
            one_op_in(&t, k, r->in[k].type, r->in[k].rank, r->in[k].dim, NULL);
            if (r->in[k].type == 0)
                t.in_ptr[k] = NULL;
        }
        struct tview before;
        memset(&t.out[0], 0x5a, sizeof before);
        before = t.out[0];
        enum pith_status st = one_op_shape(&t);
        if (st != r->status)
            fail_msg("row %zu (operator %d): expected status %d, got %d", i, (int)r->op,
                     (int)r->status, (int)st);
        if (st != PITH_OK)
            assert_memory_equal(&before, &t.out[0], sizeof before);
    }
}

static uint32_t random_next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Mostly small numbers, now and then an extreme one. */
static int32_t random_word(uint32_t *state, int32_t min, int32_t max)
{
    uint32_t kind = random_next(state) % 16;
    if (kind == 0)
        return min;
    if (kind == 1)
        return max;
    int64_t v = (int64_t)(random_next(state) % 8) - (min < 0 ? 3 : 0);
    return (int32_t)(v < min ? min : v > max ? max : v);
}

static void random_attrs(struct one_op *t, uint32_t *state, uint32_t rank)
{
    for (uint32_t i = 0; i < t->info->n_fields; i++) {
        const struct attr_field *f = &t->info->fields[i];
        if (f->kind == ATTR_INT) {
            t->attr[f->slot] = random_word(state, f->min, f->max);
        } else if (f->kind == ATTR_LIST) {
            uint32_t counts[] = {0, rank, rank > 2 ? rank - 2 : 1, rank > 2 ? 2 * rank - 4 : 2,
                                 random_next(state) % 9};
            uint32_t n = counts[random_next(state) % 5];
            t->attr[f->slot] = (int32_t)(n > 8 ? 8 : n);
            for (int32_t k = 0; k < t->attr[f->slot]; k++)
                t->attr[f->slot + 1 + k] = random_word(state, f->min, f->max);
        }
    }
}

/* Whatever is accepted is a legal tensor; small ones are also run (canaries and sanitizers look
 * on). */
TEST(test_random_shapes)
{
    const uint32_t seed = 31337;
    uint32_t rng = seed;
    size_t n_run = 0;
    double *zeros = calloc(1 << 16, sizeof *zeros); /* of any type */
    assert_non_null(zeros);
    for (int round = 0; round < 200000; round++) {
        struct one_op t;
        enum pith_op op =
            (enum pith_op)(PITH_OP_ADD + random_next(&rng) % (PITH_OP_END - PITH_OP_ADD));
        const struct op_info *info = pith_op_get(op);
        if (!info)
            continue; /* a number not given out */
        uint32_t n_in = info->n_in_max == OP_ANY ? 2 : info->n_in_max, rank = random_next(&rng) % 6;
        one_op_open(&t, op, n_in, info->n_out_max == OP_ANY ? 2 : info->n_out_min);
        uint64_t in_elems = 1;
        for (uint32_t i = 0; i < n_in; i++) {
            uint32_t dims[8];
            for (uint32_t k = 0; k < 8; k++)
                dims[k] = random_next(&rng) % 64 == 0 ? BIG : 1 + random_next(&rng) % 4;
            enum pith_type type = random_next(&rng) % 4 ? PITH_F32 : PITH_I64;
            one_op_in(&t, i, type, op == PITH_OP_BATCH_NORM && i ? 1 : rank, dims, zeros);
            if (pith_shape_count(&t.in[i].shape, &in_elems) != PITH_OK)
                in_elems = UINT64_MAX;
            if (in_elems > 1 << 16)
                break;
        }
        random_attrs(&t, &rng, rank);
        if (in_elems > 1 << 16 || one_op_shape(&t) != PITH_OK)
            continue;
        uint64_t count, largest = 0;
        for (uint32_t i = 0; i < t.args.n_out; i++) {
            if (pith_shape_count(&t.out[i].shape, &count) != PITH_OK)
                fail_msg("seed %u, round %d: operator %d gave an illegal shape", seed, round, op);
            largest = count > largest ? count : largest;
        }
        if (largest > 1 << 16)
            continue;
        one_op_run(&t, false);
        one_op_close(&t);
        n_run++;
    }
    free(zeros);
    assert_true(n_run > 20000);
}

TEST(test_table)
{
    assert_null(pith_op_get(0));
    assert_null(pith_op_get(PITH_OP_END));
    assert_null(pith_op_get(UINT32_MAX));
    for (uint32_t op = PITH_OP_ADD; op < PITH_OP_END; op++) {
        const struct op_info *info = pith_op_get(op);
        if (!info)
            continue; /* a number not given out */
        assert_int_equal(info->op, op);
        assert_non_null(info->shape);
        assert_non_null(info->run);
        for (uint32_t i = 0; i < info->n_fields; i++) {
            const struct attr_field *f = &info->fields[i];
            uint32_t slots = f->kind == ATTR_LIST ? PITH_LIST_SLOTS : 1;
            assert_true(f->slot + slots <= info->n_slots);
        }
    }
}

static void count_call(void *arg, uint32_t i)
{
    ((uint32_t *)arg)[i]++;
}

TEST(test_parallel_covers_once)
{
    for (int split = 0; split < 2; split++) {
        uint32_t calls[5] = {0};
        struct op_env env = {.parallel_for = split ? backwards : NULL};
        pith_op_parallel(&env, 5, count_call, calls);
        for (int i = 0; i < 5; i++)
            assert_int_equal(calls[i], 1);
    }
}

/* 2^40 elements and dims of 2^31 - 1, and one more; and an input that is declared but not there. */
TEST(test_counts)
{
    const struct tview x = {.type = PITH_F32};
    const struct tview *in[] = {&x, &x};
    const struct op_args args = {.n_in = 1, .in = in};
    const struct shape flat = {1, {1, 1}}, square = {2, {1, 1}};
    uint64_t count;
    assert_int_equal(pith_shape_count(&(struct shape){2, {1u << 20, 1u << 20}}, &count), PITH_OK);
    assert_int_equal(count, UINT64_C(1) << 40);
    assert_int_equal(pith_shape_count(&(struct shape){2, {1u << 20, (1u << 20) + 1}}, &count),
                     CORRUPT);
    assert_int_equal(pith_shape_count(&(struct shape){1, {BIG}}, &count), PITH_OK);
    assert_int_equal(pith_shape_count(&(struct shape){1, {BIG + 1}}, &count), CORRUPT);
    assert_false(pith_shape_equal(&flat, &square));
    assert_false(pith_shape_equal(&square, &flat));
    assert_int_equal(pith_in_present(&args, 1), PITH_OK);
    assert_int_equal(pith_in_present(&args, 2), CORRUPT);
}

RUN_TESTS
