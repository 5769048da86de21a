/* SPDX-License-Identifier: MIT */
/* act_row_f32_avx512.c - see act_row_f32_impl.h. */
#include "pith_simd_avx512.h"
#include "act_row_f32_impl.h"
