/* SPDX-License-Identifier: MIT */
/* histogram_count.c - the loop for every machine. */
#include "calibrate_kernels.h"

#define HISTOGRAM_COUNT pith_histogram_count
#include "histogram_count_impl.h"
