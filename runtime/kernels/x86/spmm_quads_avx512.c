/* SPDX-License-Identifier: MIT */
/* spmm_quads_avx512.c - up to 48 columns at once. */
#include "pith_simd_avx512.h"
#define NV 3
#include "quad_tail.h"
#include "spmm_quads_impl.h"
