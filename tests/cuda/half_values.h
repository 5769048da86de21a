/* SPDX-License-Identifier: MIT */
/* half_values.h - numbers of 16 bits as floats, for both that run kernels (emu.c, ptx_run.c). */
#ifndef HALF_VALUES_H
#define HALF_VALUES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static inline float of_half(uint64_t bits, bool is_bf16)
{
    const uint32_t fraction_bits = is_bf16 ? 7 : 10, most = is_bf16 ? 255 : 31;
    const uint64_t exponent = bits >> fraction_bits & most;
    const uint64_t fraction = bits & ((1u << fraction_bits) - 1);
    const int least = is_bf16 ? -126 : -14;
    double v = exponent ? (double)(fraction | 1u << fraction_bits) : (double)fraction;
    if (exponent == most)
        v = fraction ? (double)NAN : (double)INFINITY;
    else
        v = ldexp(v, least - (int)fraction_bits + (exponent ? (int)exponent - 1 : 0));
    return (float)(bits >> 15 & 1 ? -v : v);
}

/* Of all bits, made once: f16 or bf16. */
static inline const float *half_values(bool is_bf16)
{
    static float table[2][65536];
    static bool made;
    for (uint32_t i = 0; i < 2 * 65536 && !made; i++)
        table[i / 65536][i % 65536] = of_half(i % 65536, i >= 65536);
    made = true;
    return table[is_bf16];
}

#endif
