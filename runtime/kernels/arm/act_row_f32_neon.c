/* SPDX-License-Identifier: MIT */
/* act_row_f32_neon.c - see act_row_f32_impl.h. */
#include "simd_neon.h"
#include "act_row_f32_impl.h"
