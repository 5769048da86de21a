/* SPDX-License-Identifier: MIT */
/* ptx_launch.h - a launch on the emulator, or on the interpreter of PTX: PTX=FILE in the
 * environment has cases run FILE's kernels, too. */
#ifndef PTX_LAUNCH_H
#define PTX_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#define ON_PTX UINT32_MAX

bool ptx_given(void);

/* As emu_launch; order ON_PTX: the kernel of FILE. */
void ptx_launch(uint32_t kernel, const uint32_t grid[3], const void *arg, uint32_t order);

#endif
