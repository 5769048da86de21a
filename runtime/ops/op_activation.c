/* SPDX-License-Identifier: MIT */
/* op_activation.c - the activations as operators of their own. What they compute is defined in
 * ref/activate.c, which epilogues of other operators share.
 *
 * An activation is an operator of its own only where nothing before it could take it up: fuse.c
 * moves most of them into the epilogue of a convolution or product, where they cost no pass over
 * memory. Both ways call the same functions, so fusing changes no bit. */
#include "kernels/kernels.h"
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

struct activation_job {
    const struct row_kernels *row;
    struct dense_act act;
    const float *x;
    float *y;
};

/* Elements are independent: any cut of the range among threads gives the same bits. */
static void activate_range(void *arg, size_t begin, size_t end)
{
    const struct activation_job *j = arg;
    pith_activate_by(j->row, j->act, j->x + begin, j->y + begin, end - begin);
}

static void run_activation(const struct op_args *args, const struct op_env *env)
{
    struct activation_job job = {
        .row = pith_row_kernels(env->kernels),
        .act = pith_activation_of(args->info, args->attr),
        .x = args->in[0]->data,
        .y = args->out[0]->data,
    };
    pith_op_range(env, shape_elems(&args->in[0]->shape), 1, activate_range, &job);
}

/* Floats by their bits. Defaults of ONNX's attributes. A schema holds integers alone, so that it
 * is constant data on every compiler, and floats stand in it as their bits. */
#define F32_0_01 0x3c23d70a
#define F32_0_2 0x3e4ccccd
#define F32_0_5 0x3f000000
#define F32_INF 0x7f800000
#define F32_MINUS_INF (-0x800000)

static const struct attr_field leaky_fields[] = {{ATTR_FLOAT, ATTR_ALPHA, F32_0_01, 0, 0}};
static const struct attr_field clip_fields[] = {
    /* ONNX's Clip without bounds is the whole line; infinities are allowed here (the last
     * column) and nowhere else in these schemas. */
    {ATTR_FLOAT, ATTR_CLIP_MIN, F32_MINUS_INF, 0, 1},
    {ATTR_FLOAT, ATTR_CLIP_MAX, F32_INF, 0, 1},
};
static const struct attr_field hard_sigmoid_fields[] = {
    {ATTR_FLOAT, ATTR_ALPHA, F32_0_2, 0, 0},
    {ATTR_FLOAT, ATTR_BETA, F32_0_5, 0, 0},
};

/* All of them write where they read: element i of y depends on element i of x alone. What
 * rewrites may assume of each stands in its traits. */
#define ACTIVATION(name, number, schema, count, has)                                               \
    const struct op_info pith_op_##name = {                                                        \
        .op = number,                                                                              \
        .n_in_min = 1,                                                                             \
        .n_in_max = 1,                                                                             \
        .n_out_min = 1,                                                                            \
        .n_out_max = 1,                                                                            \
        .n_fields = count,                                                                         \
        .n_slots = count,                                                                          \
        .flags = OP_INPLACE,                                                                       \
        .fields = schema,                                                                          \
        .traits = {.flags = has},                                                                  \
        .shape = pith_shape_same_f32,                                                              \
        .run = run_activation,                                                                     \
    };

ACTIVATION(relu, PITH_OP_RELU, NULL, 0,
           TRAIT_UNARY | TRAIT_CLAMPS | TRAIT_RECTIFIES | TRAIT_HOMOGENEOUS)
ACTIVATION(leaky_relu, PITH_OP_LEAKY_RELU, leaky_fields, 1,
           TRAIT_UNARY | TRAIT_RECTIFIES | TRAIT_HOMOGENEOUS)
ACTIVATION(clip, PITH_OP_CLIP, clip_fields, 2, TRAIT_UNARY | TRAIT_CLAMPS | TRAIT_RECTIFIES)
ACTIVATION(sigmoid, PITH_OP_SIGMOID, NULL, 0, TRAIT_UNARY)
ACTIVATION(tanh, PITH_OP_TANH, NULL, 0, TRAIT_UNARY)
ACTIVATION(hard_sigmoid, PITH_OP_HARD_SIGMOID, hard_sigmoid_fields, 2, TRAIT_UNARY)
ACTIVATION(hard_swish, PITH_OP_HARD_SWISH, NULL, 0, TRAIT_UNARY | TRAIT_RECTIFIES)
