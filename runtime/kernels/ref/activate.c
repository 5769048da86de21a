/* SPDX-License-Identifier: MIT */
/* activate.c - activations one by one, and by the row with the choice outside the loop.
 *
 * Both forms are one function, so an epilogue that activates element by element and an operator
 * that activates rows give the same bits. */
#include "kernels/ref/activate.h"
#include "core/bytes.h"
#include "kernels/ref/elementary_f32.h"
#include "kernels/ref/elementwise_f32.h"
#include "kernels/ref/math_f32.h"

float pith_activate(enum act_kind act, float a, float b, float x)
{
    float y = x;
    pith_activate_row(act, a, b, &x, &y, 1);
    return y;
}

/* The choice stands outside of the loop, which then has no jump. */
void pith_activate_row(enum act_kind act, float a, float b, const float *x, float *y, size_t n)
{
    switch (act) {
    case ACT_NONE:
        if (y != x)
            EACH(x[i]);
        break;
    case ACT_CLIP:
    case ACT_RELU: /* bounds in registers become minss and maxss; a 0 that is known becomes a branch
                    */
        a = act == ACT_RELU ? 0.0f : a;
        b = act == ACT_RELU ? f32_from_bits(0x7f800000u) : b; /* infinity */
        EACH(clip_f32(a, b, x[i]));
        break;
    case ACT_LEAKY:
        EACH(prelu_f32(x[i], a));
        break;
    case ACT_SIGMOID:
        pith_sigmoid_row_f32(x, y, n);
        break;
    case ACT_TANH:
        pith_tanh_row_f32(x, y, n);
        break;
    case ACT_HARD_SIGMOID:
        EACH(hard_sigmoid_f32(a, b, x[i]));
        break;
    case ACT_HARD_SWISH:
        EACH(hard_swish_f32(x[i]));
        break;
    case ACT_SWISH:
        pith_swish_row_f32(x, y, n);
        break;
    case ACT_GELU:
        pith_gelu_row_f32(x, y, n);
        break;
    case ACT_GELU_TANH:
        pith_gelu_tanh_row_f32(x, y, n);
        break;
    }
}
