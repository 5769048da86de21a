/* SPDX-License-Identifier: MIT */
/* ordered_f32_avx2.c - see ordered_f32_impl.h. */
#define ORDERED(name) name##_ordered_avx2
#define VECTOR_BYTES 32
#define ROWS 4u
#include "kernels/ref/ordered_f32_impl.h"
