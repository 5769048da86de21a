/* SPDX-License-Identifier: MIT */
/* spmm_quads_avx2.c - up to 24 columns at once. */
#include "kernels/x86/simd_avx2.h"
#define NV 3
#include "kernels/x86/quad_tail.h"
#include "kernels/ref/spmm_quads_impl.h"
