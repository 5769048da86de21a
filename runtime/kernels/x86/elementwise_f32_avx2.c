/* SPDX-License-Identifier: MIT */
/* elementwise_f32_avx2.c - see elementwise_f32_impl.h. */
#define ROW(name) name##_avx2
#include "kernels/ref/elementwise_f32_impl.h"
