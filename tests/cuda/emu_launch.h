/* SPDX-License-Identifier: MIT */
/* emu_launch.h - to run a kernel on the emulator. */
#ifndef EMU_LAUNCH_H
#define EMU_LAUNCH_H

#include <stdint.h>
#include "cuda/driver.h"
#include "cuda/kernels/launch.h"

/* Kernel number `kernel` (enum launch_kernel) on a grid of blocks. order: 0, blocks and lanes in
 * turn; 1, both backwards; else shuffled with this seed. What hardware leaves undefined ends the
 * program with a line on standard error. */
void emu_launch(uint32_t kernel, const uint32_t grid[3], const void *arg, uint32_t order);

/* Bytes of the kernel's struct; its name. */
uint32_t emu_arg_bytes(uint32_t kernel);
const char *emu_kernel_name(uint32_t kernel);

#endif
