/* SPDX-License-Identifier: MIT */
/* row_f32_avx2.c - see row_f32_impl.h. */
#define ROW(name) name##_avx2
#include "row_f32_impl.h"
