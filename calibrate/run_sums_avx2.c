/* SPDX-License-Identifier: MIT */
/* run_sums_avx2.c - eight numbers at once. */
#include "run_sums.h"

#define RUN_SUMS pith_run_sums_avx2
#define WIDE 32
#include "run_sums_impl.h"
