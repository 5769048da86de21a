/* SPDX-License-Identifier: MIT */
/* elementwise_f32_avx512.c - see elementwise_f32_impl.h. */
#define ROW(name) name##_avx512
#include "kernels/ref/elementwise_f32_impl.h"
