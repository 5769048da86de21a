/* SPDX-License-Identifier: MIT */
/* test_half.h - how f32 become f16 and bf16, for the emulator of tests/cuda. */
#ifndef TEST_HALF_H
#define TEST_HALF_H

#include "cuda/kernels/half_bits.h"

#endif
