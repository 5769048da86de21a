/* SPDX-License-Identifier: MIT */
/* gemm_i8_avxvnni.c - see gemm_i8_impl.h: 4 products of u8 and i8 are added to 32 bits at once, on
 * machines whose vectors end at 256 bits. */
#define ISA(name) name##_avxvnni
#define VALUES_INLINE 3u /* none */
#include "kernels/x86/integer/gemm_i8_ymm.h"

/* The VEX form exists on CPUs that lack AVX-512 (Alder Lake). */
static inline ivec ivec_dot(ivec acc, ivec x, ivec w)
{
    return i32_dot_bytes(acc, x, w);
}
