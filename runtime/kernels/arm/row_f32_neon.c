/* SPDX-License-Identifier: MIT */
/* row_f32_neon.c - see row_f32_impl.h. */
#define ROW(name) name##_neon
#include "kernels/ref/row_f32_impl.h"
