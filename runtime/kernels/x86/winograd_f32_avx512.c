/* SPDX-License-Identifier: MIT */
/* winograd_f32_avx512.c - see winograd_f32_impl.h. */
#include "pith_simd_avx512.h"
#include "winograd_f32_impl.h"
