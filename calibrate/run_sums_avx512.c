/* SPDX-License-Identifier: MIT */
/* run_sums_avx512.c - sixteen numbers at once, eight of double precision. */
#include "run_sums.h"

#define RUN_SUMS pith_run_sums_avx512
#define WIDE 64
#include "run_sums_impl.h"
