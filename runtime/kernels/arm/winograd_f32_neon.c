/* SPDX-License-Identifier: MIT */
/* winograd_f32_neon.c - see winograd_f32_impl.h. */
#include "kernels/arm/simd_neon.h"
#include "kernels/ref/winograd_f32_impl.h"
