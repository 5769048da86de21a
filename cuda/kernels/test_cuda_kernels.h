/* SPDX-License-Identifier: MIT */
/* test_cuda_kernels.h - all kernels as source, for the emulator of tests/cuda, which
 * compiles them as C. */
#ifndef TEST_CUDA_KERNELS_H
#define TEST_CUDA_KERNELS_H

#include "kernels.cu"

#endif
