/* SPDX-License-Identifier: MIT */
/* ptx_launch.h - a launch on the emulator, and on the interpreter of PTX beside it.
 *
 * PTX=FILE in the environment: each launch in the emulator's first order runs FILE's kernel, too,
 * and what both store has to be the same, bit by bit, but for NaNs. PTX_ALONE=1: the interpreter
 * runs instead of the emulator, so that a store it leaves out is missed by the test. */
#ifndef PTX_LAUNCH_H
#define PTX_LAUNCH_H

#include <stdint.h>

/* As emu_launch. */
void ptx_launch(uint32_t kernel, const uint32_t grid[3], const void *arg, uint32_t order);

#endif
