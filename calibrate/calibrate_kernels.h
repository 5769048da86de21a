/* SPDX-License-Identifier: MIT */
/* calibrate_kernels.h - the list of calibration's kernels, in the manner of the runtime's
 * (kernel_list.h). Results are the same from all. */
#ifndef CALIBRATE_KERNELS_H
#define CALIBRATE_KERNELS_H

#include "histogram_count.h"
#include "kernels/kernel_list.h"
#include "run_sums.h"

struct calibrate_kernels {
    run_sums_fn *run_sums;
    histogram_count_fn *histogram_count;
};

#define CALIBRATE_KERNELS_ANY(KERNEL)                                                              \
    KERNEL(run_sums, run_sums_fn, pith_run_sums, 0)                                                \
    KERNEL(histogram_count, histogram_count_fn, pith_histogram_count, 0)
#ifdef __x86_64__
#define CALIBRATE_KERNELS_OWN(KERNEL)                                                              \
    KERNEL(run_sums, run_sums_fn, pith_run_sums_avx2, PITH_CPU_AVX2)                               \
    KERNEL(histogram_count, histogram_count_fn, pith_histogram_count_avx2, PITH_CPU_AVX2)          \
    KERNEL(run_sums, run_sums_fn, pith_run_sums_avx512, PITH_CPU_AVX512)                           \
    KERNEL(histogram_count, histogram_count_fn, pith_histogram_count_avx512, PITH_CPU_AVX512)
#else
#define CALIBRATE_KERNELS_OWN(KERNEL)
#endif
#define CALIBRATE_KERNELS(KERNEL) CALIBRATE_KERNELS_ANY(KERNEL) CALIBRATE_KERNELS_OWN(KERNEL)

CALIBRATE_KERNELS(KERNEL_DECLARE)

/* features: PITH_CPU_ bits, 0: the base alone. */
void pith_calibrate_kernels_fill(struct calibrate_kernels *k, uint32_t features);

#endif
