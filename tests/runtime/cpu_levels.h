/* SPDX-License-Identifier: MIT */
/* cpu_levels.h - the sets of features beyond the reference that kernels are tested with. */
#ifndef CPU_LEVELS_H
#define CPU_LEVELS_H

#include "pith_runtime.h"

#define X86_512 PITH_CPU_AVX2 | PITH_CPU_AVX512
#define CPU_LEVELS                                                                                 \
    PITH_CPU_NEON, PITH_CPU_NEON | PITH_CPU_DOTPROD,                                               \
        PITH_CPU_NEON | PITH_CPU_DOTPROD | PITH_CPU_I8MM, PITH_CPU_AVX2,                           \
        PITH_CPU_AVX2 | PITH_CPU_AVXVNNI, X86_512, X86_512 | PITH_CPU_VBMI,                        \
        X86_512 | PITH_CPU_VNNI, X86_512 | PITH_CPU_VBMI | PITH_CPU_VNNI,                          \
        X86_512 | PITH_CPU_VNNI | PITH_CPU_AMX,                                                    \
        X86_512 | PITH_CPU_VBMI | PITH_CPU_VNNI | PITH_CPU_AMX

#endif
