/* SPDX-License-Identifier: MIT */
/* act_kind.h - activations that kernels apply to a finished sum, and that are operators of
 * their own: y = act(x). ref/activate.c defines each. */
#ifndef PITH_ACT_KIND_H
#define PITH_ACT_KIND_H

enum act_kind {
    ACT_NONE = 0,
    ACT_RELU = 1,
    ACT_CLIP = 2,  /* a: min, b: max */
    ACT_LEAKY = 3, /* a: slope */
    ACT_SIGMOID = 4,
    ACT_TANH = 5,
    ACT_HARD_SIGMOID = 6, /* a: alpha, b: beta */
    ACT_HARD_SWISH = 7,
    ACT_GELU = 8,
    ACT_GELU_TANH = 9,
    ACT_SWISH = 10 /* x * sigmoid(x) */
};

/* What happens to a finished sum or to a value: y = act(x), a and b its parameters. */
struct dense_act {
    enum act_kind kind;
    float a, b;
};

#endif
