/* SPDX-License-Identifier: MIT */
/* test_launch.h - what kernels are called with, and which of the driver's calls there are, for the
 * emulator and the fake driver of tests/cuda. */
#ifndef TEST_LAUNCH_H
#define TEST_LAUNCH_H

#include "driver.h"
#include "cuda/kernels/launch.h"

#endif
