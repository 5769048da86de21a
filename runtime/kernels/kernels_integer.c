/* SPDX-License-Identifier: MIT */
/* kernels_integer.c - fills the integer part of the kernel table from its list. */
#include "kernels/kernel_integer.h"
#include "core/build_choice.h"

/* What kernels of a level take: the last whose features are there. */
struct panels {
    uint32_t features;
    uint8_t nr, k_step, block, group, middle, words_nr;
    bool wide;
};

static const struct panels levels[] = {
    {0, .nr = 8, .k_step = 1, .block = 8, .group = 1},
#ifdef __x86_64__
    {PITH_CPU_AVX2, .nr = 8, .k_step = 2, .block = 32, .group = 2, .wide = true},
    {PITH_CPU_AVXVNNI, .nr = 8, .k_step = 4, .block = 32, .group = 4},
    {PITH_CPU_VNNI, .nr = 16, .k_step = 4, .block = 32, .group = 4, .words_nr = 16},
#elif NEON_BUILT
    {PITH_CPU_NEON, .nr = 8, .k_step = 16, .block = 16, .group = 1, .middle = 128},
    {PITH_CPU_DOTPROD, .nr = 8, .k_step = 4, .block = 16, .group = 1, .middle = 128},
    {PITH_CPU_I8MM, .nr = 8, .k_step = 8, .block = 16, .group = 1, .middle = 128},
#endif
};

static void set_panels(struct integer_kernels *k, uint32_t features)
{
    const struct panels *p = levels;
    for (uint32_t i = 1; i < sizeof levels / sizeof *levels; i++)
        if (!(levels[i].features & ~features))
            p = &levels[i];
    *k = (struct integer_kernels){.nr = p->nr,
                                  .k_step = p->k_step,
                                  .block = p->block,
                                  .group = p->group,
                                  .middle = p->middle,
                                  .words_nr = p->words_nr ? p->words_nr : WORDS_NR,
                                  .wide = p->wide};
}

#define FEW_ROWS                                                                                   \
    4u /* more take dense products: 2.5 times as fast with 16 rows and 25 % on VNNI                \
        */

#define AMX_ROWS 16u

/* Spans where 128 columns cannot be permuted at once; few rows where dense products of bytes are
 * fast and permutations are not. */
static void set_slots(struct integer_kernels *k, uint32_t features)
{
    const uint32_t fast_dense = PITH_CPU_AVXVNNI | PITH_CPU_VNNI | PITH_CPU_DOTPROD;
    const bool best =
        (features & (PITH_CPU_VBMI | PITH_CPU_VNNI)) == (PITH_CPU_VBMI | PITH_CPU_VNNI);
    k->slots_in_spans = !best && !(features & PITH_CPU_DOTPROD);
    k->slots_middle = best ? 0 : SLOTS_MIDDLE;
    k->slots_rows = !best && features & fast_dense ? FEW_ROWS : UINT32_MAX;
    k->slots_fetch = features & PITH_CPU_AMX; /* as of Sapphire Rapids; not Zen 4 */
    k->tile_rows = features & PITH_CPU_AMX ? AMX_ROWS : 0;
}

void pith_integer_kernels_fill(struct integer_kernels *k, uint32_t features)
{
    features &= PITH_BUILD_CPU;
    set_panels(k, features);
    set_slots(k, features);
    INTEGER_KERNELS(KERNEL_TAKE)
}
