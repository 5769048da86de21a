/* SPDX-License-Identifier: MIT */
/* winograd_f32_neon.c - see winograd_f32_impl.h. */
#include "simd_neon.h"
#include "winograd_f32_impl.h"
