/* SPDX-License-Identifier: MIT */
/* emu_kernels.c - the kernels of cuda/kernels, compiled for the emulator. */
#include "cuda/kernels/kernels.cu"
