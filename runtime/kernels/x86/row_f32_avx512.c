/* SPDX-License-Identifier: MIT */
/* row_f32_avx512.c - see row_f32_impl.h. */
#define ROW(name) name##_avx512
#include "row_f32_impl.h"
