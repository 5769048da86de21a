/* SPDX-License-Identifier: MIT */
/* histogram_count_avx2.c - bins of eight numbers at once. */
#include "calibrate_kernels.h"

#define HISTOGRAM_COUNT pith_histogram_count_avx2
#include "histogram_count_impl.h"
