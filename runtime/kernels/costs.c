/* SPDX-License-Identifier: MIT */
/* costs.c - measured speeds by class of machine, in the order of struct pith_costs: of its classes
 * a machine has the last. bench/bench_costs.c measures and prints such a line. */
#include "core/build_choice.h"
#include "kernels/kernel_sparse.h"
#include "pith_runtime.h"

static const struct {
    const char *name;
    uint32_t features;
    struct pith_costs costs;
} classes[] = {
    /* All alike: without vectors an index costs about what an f32 does, and the form takes a
     * quarter of the memory or less, which is what such machines are short of. */
    {"scalar", 0, {{8, 8, 0, 8, 8, 8}, {8, 8, 8}, 0, 0, 256, {0, 0}}},
#if NEON_BUILT
    /* Of no machine: instructions an element under emulation, at five a nanosecond, and matrices
     * that stream 12 bytes a nanosecond from L3, 8 from memory. */
    {"neon", PITH_CPU_NEON, {{7, 6, 0, 29, 18, 10}, {52, 24, 16}, 107, 0, 32, {5, 20}}},
#endif
#ifdef __x86_64__ /* Zen 4 */
    {"avx2", PITH_CPU_AVX2, {{23, 19, 0, 100, 0, 0}, {129, 116, 42}, 370, 0, 32, {22, 40}}},
    {"avx512",
     PITH_CPU_AVX512,
     {{26, 30, 90, 220, 210, 0}, {175, 105, 52}, 420, 215, 32, {32, 20}}},
    {"vbmi", PITH_CPU_VBMI, {{26, 30, 90, 220, 210, 110}, {175, 105, 52}, 420, 215, 32, {32, 20}}},
    /* Sapphire Rapids in machines that hide AMX; quads are Zen 4's. */
    {"avxvnni",
     PITH_CPU_VBMI | PITH_CPU_AVXVNNI,
     {{34, 22, 95, 230, 205, 79}, {200, 55, 53}, 600, 190, 32, {32, 20}}},
    /* Sapphire Rapids. quads: what pruned 1x1 convolutions of MobileNet-v2 take, with the copy of
     * their columns. f32 in L2 is 285 where a matrix has it for itself, which it has not. */
    {"amx",
     PITH_CPU_VBMI | PITH_CPU_AMX,
     {{34, 22, 95, 230, 205, 79}, {200, 55, 53}, 600, 190, 32, {150, 45}}},
#endif
};

void pith_costs_of(uint32_t features, struct pith_costs *costs, const char **name)
{
    if (!costs)
        return;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (classes[i].features & ~(features & PITH_BUILD_CPU))
            continue;
        *costs = classes[i].costs;
        if (name)
            *name = classes[i].name;
    }
}
