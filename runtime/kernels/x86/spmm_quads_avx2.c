/* SPDX-License-Identifier: MIT */
/* spmm_quads_avx2.c - up to 24 columns at once. */
#include "pith_simd_avx2.h"
#define NV 3
#include "quad_tail.h"
#include "spmm_quads_impl.h"
