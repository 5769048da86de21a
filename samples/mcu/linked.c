/* SPDX-License-Identifier: MIT */
/* linked.c - the network as a file in flash, executed by the runtime. ARENA_BYTES: plan_bytes of
 * `pith info digits.pith --target cortex-m4f --json`. */
#include "mcu.h"
#include "pith_runtime.h"

extern const uint8_t network[], network_end[];
__asm__(".section .rodata\n.balign 64\nnetwork: .incbin \"" NETWORK
        "\"\nnetwork_end: .balign 4\n.text");
static _Alignas(64) uint8_t arena[ARENA_BYTES];

const float *classify(const uint8_t *pixels)
{
    static struct pith_plan *plan;
    struct pith_opts opts;
    pith_opts_init(&opts, sizeof opts);
    if (!plan &&
        pith_plan_init(arena, sizeof arena, network, (size_t)(network_end - network), &opts, &plan))
        return NULL;
    float *input = pith_plan_input_data(plan, 0);
    for (uint32_t i = 0; i < 28 * 28; i++)
        input[i] = (float)pixels[i] * (1.0f / 255);
    return pith_plan_run(plan) ? NULL : pith_plan_output_data(plan, 0);
}
