/* SPDX-License-Identifier: MIT */
/* integer.cu - from real numbers to integers of few bits and back, element by element, by the CPU's
 * own rounding (ref/integer_range.h). */
#include "device_map.cuh"
#include "kernels/ref/integer_range.h"

DEVICE uint32_t scale_of(const struct quantize_args *arg, uint32_t i)
{
    const uint32_t row = i / arg->inner, place = row % arg->dim;
    if (!arg->block)
        return place;
    return (row / arg->dim * arg->blocks + place / arg->block) * arg->inner + i % arg->inner;
}

KERNEL(quantize, quantize_args)
{
    FOR_EACH(i, arg->n)
    {
        const uint32_t s = scale_of(arg, i);
        const int32_t zero = arg->zero ? (int32_t)integer_of(arg->type, arg->zero, s) : 0;
        struct integer_range r = integer_range_of((enum pith_type)arg->type, zero);
        int32_t q = arg->from_i32 ? quantized_f64(&r, (double)((const int32_t *)arg->x)[i] /
                                                          (double)arg->scale[s])
                                  : quantized(&r, ((const float *)arg->x)[i] / arg->scale[s]);
        integer_put((enum pith_type)arg->type, arg->y, i, q);
    }
}

KERNEL(dequantize, quantize_args)
{
    FOR_EACH(i, arg->n)
    {
        const uint32_t s = scale_of(arg, i);
        const int64_t zero = arg->zero ? integer_of(arg->type, arg->zero, s) : 0;
        uint64_t q = (uint64_t)integer_of(arg->type, arg->x, i) - (uint64_t)zero; /* may wrap */
        ((float *)arg->y)[i] = (float)(int64_t)q * arg->scale[s];
    }
}

/* The range, widened to hold 0, is cut into 255 steps; zeros have a scale of 1. */
KERNEL(dynamic_grid, dynamic_args)
{
    SHARED float low[LAUNCH_THREADS], high[LAUNCH_THREADS];
    float l = 0.0f, h = 0.0f;
    for (uint32_t i = THREAD; i < arg->n; i += LAUNCH_THREADS) {
        l = arg->x[i] < l ? arg->x[i] : l;
        h = arg->x[i] > h ? arg->x[i] : h;
    }
    low[THREAD] = l;
    high[THREAD] = h;
    for (uint32_t half = LAUNCH_THREADS / 2; half > 0; half /= 2) {
        barrier();
        if (THREAD < half) {
            low[THREAD] = low[THREAD + half] < low[THREAD] ? low[THREAD + half] : low[THREAD];
            high[THREAD] = high[THREAD + half] > high[THREAD] ? high[THREAD + half] : high[THREAD];
        }
    }
    if (THREAD == 0) {
        float scale = low[0] < high[0] ? (high[0] - low[0]) / 255.0f : 1.0f;
        struct integer_range r = integer_range_of(PITH_U8, 0);
        *arg->scale = scale;
        *arg->zero = (uint8_t)quantized(&r, 0.0f - low[0] / scale);
    }
}

KERNEL(requantize, requantize_args)
{
    const struct integer_range r = integer_range_of((enum pith_type)arg->type,
                                                    (int32_t)integer_of(arg->type, arg->zero, 0));
    const bool in_double = arg->type == PITH_I16 || arg->type == PITH_U16;
    FOR_EACH(i, arg->n)
    {
        const float factor = arg->factor[i / arg->inner % arg->factors];
        int32_t q;
        if (arg->wide)
            q = quantized_f64(&r, (double)((const int64_t *)arg->x)[i] * (double)factor);
        else if (in_double)
            q = quantized_f64(&r, (double)((const int32_t *)arg->x)[i] * (double)factor);
        else
            q = quantized(&r, (float)((const int32_t *)arg->x)[i] * factor);
        integer_put((enum pith_type)arg->type, arg->y, i, q);
    }
}
