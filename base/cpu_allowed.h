/* SPDX-License-Identifier: MIT */
/* cpu_allowed.h - the instruction sets that kernels of the stages (training, calibration, Gram
 * matrices) may use, one set for the process: what the processor has, less what its user masks. A
 * runtime plan has its own, pith_opts.cpu_mask. */
#ifndef PITH_CPU_ALLOWED_H
#define PITH_CPU_ALLOWED_H

#include <stdint.h>

/* mask: as pith_opts.cpu_mask, 0: all. Called before the first stage, or between two. */
void pith_cpu_allow(uint32_t mask);

/* PITH_CPU_ bits, 0: the reference alone. Any thread; cheap, unlike pith_cpu_features, which
 * executes CPUID each time. */
uint32_t pith_cpu_allowed(void);

#endif
