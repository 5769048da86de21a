/* SPDX-License-Identifier: MIT */
/* linked.c - the network as a file in flash, executed by the runtime. ARENA_BYTES: plan_bytes of
 * `pith info int8.pith --target cortex-m4f --json`. */
#include "mcu.h"
#include "pith_runtime.h"

extern const uint8_t network[], network_end[];
__asm__(".section .rodata\n.balign 64\nnetwork: .incbin \"" NETWORK
        "\"\nnetwork_end: .balign 4\n.text");
static _Alignas(64) uint8_t arena[ARENA_BYTES];
static struct pith_plan *plan;

int put_frame(uint32_t t, const float *mfcc)
{
    struct pith_opts opts;
    pith_opts_init(&opts, sizeof opts);
    if (!plan &&
        pith_plan_init(arena, sizeof arena, network, (size_t)(network_end - network), &opts, &plan))
        return 0;
    float *input = pith_plan_input_data(plan, 0);
    for (uint32_t c = 0; c < COEFFICIENTS; c++)
        input[t * COEFFICIENTS + c] = mfcc[c];
    return 1;
}

const float *classify(void)
{
    return pith_plan_run(plan) ? NULL : pith_plan_output_data(plan, 0);
}
