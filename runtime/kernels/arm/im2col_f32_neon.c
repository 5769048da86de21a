/* SPDX-License-Identifier: MIT */
/* im2col_f32_neon.c - see im2col_f32_impl.h. */
#include "simd_neon.h"
#include "im2col_f32_impl.h"
