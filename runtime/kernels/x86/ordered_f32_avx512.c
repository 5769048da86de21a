/* SPDX-License-Identifier: MIT */
/* ordered_f32_avx512.c - see ordered_f32_impl.h. */
#define ORDERED(name) name##_ordered_avx512
#define VECTOR_BYTES 64
#define ROWS 8u
#include "kernels/ref/ordered_f32_impl.h"
