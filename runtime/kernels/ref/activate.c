/* SPDX-License-Identifier: MIT */
/* activate.c - activations one by one, and by the row with the choice outside the loop.
 *
 * Both forms are one function, so an epilogue that activates element by element and an operator
 * that activates rows give the same bits. */
#include "kernels/ref/activate.h"
#include "core/bytes.h"
#include "kernels/ref/elementary_f32.h"
#include "kernels/ref/math_f32.h"

/* Written as two comparisons and not as min and max, so that a NaN, for which both fail, passes
 * through. */
static inline float clip(float lo, float hi, float x)
{
    x = x < lo ? lo : x;
    return x > hi ? hi : x;
}

static inline float leaky(float slope, float x)
{
    return x < 0.0f ? slope * x : x;
}

static inline float hard_sigmoid(float alpha, float beta, float x)
{
    return clip(0.0f, 1.0f, alpha * x + beta);
}

/* 1/6 rounded to f32, as ONNX's HardSwish has it. */
static inline float hard_swish(float x)
{
    return x * hard_sigmoid(1.0f / 6.0f, 0.5f, x);
}

float pith_activate(enum act_kind act, float a, float b, float x)
{
    float y = x;
    pith_activate_row(act, a, b, &x, &y, 1);
    return y;
}

/* The choice stands outside of the loop, which then has no jump. */
#define EACH(value)                                                                                \
    for (size_t i = 0; i < n; i++)                                                                 \
    y[i] = (value)

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
        EACH(clip(a, b, x[i]));
        break;
    case ACT_LEAKY:
        EACH(leaky(a, x[i]));
        break;
    case ACT_SIGMOID:
        pith_sigmoid_row_f32(x, y, n);
        break;
    case ACT_TANH:
        pith_tanh_row_f32(x, y, n);
        break;
    case ACT_HARD_SIGMOID:
        EACH(hard_sigmoid(a, b, x[i]));
        break;
    case ACT_HARD_SWISH:
        EACH(hard_swish(x[i]));
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
