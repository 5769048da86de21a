/* SPDX-License-Identifier: MIT */
/* winograd_f32_avx2.c - see winograd_f32_impl.h. */
#include "pith_simd_avx2.h"
#include "winograd_f32_impl.h"
