/* SPDX-License-Identifier: MIT */
/* kernels_calibrate.c - fills the table of calibration's kernels from their list. */
#include "calibrate_kernels.h"

void pith_calibrate_kernels_fill(struct calibrate_kernels *k, uint32_t features)
{
    CALIBRATE_KERNELS(KERNEL_TAKE)
}
