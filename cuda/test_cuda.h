/* SPDX-License-Identifier: MIT */
/* test_cuda.h - insides that tests look at: the actions that a step becomes, to run them one by one
 * on an emulator, and the bytes that weights are packed into. */
#ifndef TEST_CUDA_H
#define TEST_CUDA_H

#include "device_huffman.h"
#include "device_lower.h"
#include "device_plan.h"
#include "device_product.h"
#include "blas.h"
#include "cuda/kernels/half_bits.h"
#include "pack_forms.h"
#include "pack_relative.h"

#endif
