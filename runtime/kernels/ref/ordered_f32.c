/* SPDX-License-Identifier: MIT */
/* ordered_f32.c - ordered_f32_impl.h for every CPU: registers of 16 bytes, or what a compiler makes
 * of them. */
#define ORDERED(name) name##_ordered
#define VECTOR_BYTES 16
#define ROWS 4u
#include "kernels/ref/ordered_f32_impl.h"
