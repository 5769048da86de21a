/* SPDX-License-Identifier: MIT */
/* act_row_f32_neon.c - see act_row_f32_impl.h. */
#include "kernels/arm/simd_neon.h"
#include "kernels/ref/act_row_f32_impl.h"
