/* SPDX-License-Identifier: MIT */
/* emu_kernels.c - the kernels of runtime/cuda/kernels, compiled for the emulator. */
#include "test_cuda_kernels.h"
