/* SPDX-License-Identifier: MIT */
/* row_f32_avx2.c - see row_f32_impl.h. */
#include <immintrin.h>
#define ROW(name) name##_avx2
#define SQRT_F32(x) _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)))

#include "kernels/x86/row_lanes.h"
#include "kernels/ref/row_f32_impl.h"
