/* SPDX-License-Identifier: MIT */
/* emu_kernels.c - the kernels of cuda/kernels, compiled for the emulator. */
#include "test_cuda_kernels.h"
