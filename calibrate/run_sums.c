/* SPDX-License-Identifier: MIT */
/* run_sums.c - a square of an f32 is exact in a double, and as many as fit into memory do not
 * overflow one: so the sum of squares is finite iff every number was. */
#include "calibrate_kernels.h"

#define RUN_SUMS pith_run_sums
#define WIDE 16
#include "run_sums_impl.h"
