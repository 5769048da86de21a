/* SPDX-License-Identifier: MIT */
/* emu_kernels.c - the kernels of runtime/cuda, compiled for the emulator. */
#include "kernels.cu"
