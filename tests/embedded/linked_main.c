/* SPDX-License-Identifier: MIT */
/* linked_main.c - the runtime and `model_image` on one of QEMU's boards. Prints the bytes that
 * pith_plan_work_bytes reserves and that a plan needs, the instructions of planning and of a run,
 * the stack of each, and a hash of the outputs. */
#include <pith_runtime.h>
#include "board.h"

extern const uint8_t model_image[];
extern const uint32_t model_image_bytes;

#ifndef MEMORY_LIMIT
#define MEMORY_LIMIT 0
#endif
#define MEMORY_BYTES (2048u * 1024u)
static _Alignas(64) uint8_t memory[MEMORY_BYTES];

static uint32_t fill_and_hash(struct pith_plan *plan, uint32_t hash)
{
    struct pith_tensor t;
    float *x = pith_plan_input_data(plan, 0);
    uint32_t state = 1;
    pith_plan_input(plan, 0, &t);
    for (uint32_t i = 0; hash == 0 && i < t.bytes / sizeof *x; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(state >> 24) * (1.0f / 64) - 2.0f;
    }
    pith_plan_output(plan, 0, &t);
    const uint8_t *y = pith_plan_output_data(plan, 0);
    for (uint32_t i = 0; hash && i < t.bytes; i++)
        hash = (hash ^ y[i]) * 16777619u;
    return hash;
}

int main(void)
{
    struct pith_opts opts;
    struct pith_need need;
    struct pith_plan *plan;
    uint64_t work;
    uint32_t begin;
    pith_opts_init(&opts, sizeof opts);
    opts.cpu_mask = PITH_CPU_REF;
    opts.max_bytes = MEMORY_LIMIT;
    begin_count();
    begin = TIMER_VALUE;
    if (pith_plan_work_bytes(model_image, model_image_bytes, &opts, &work))
        return 1;
    opts.flags |= PITH_FLAG_NO_CHECKSUM; /* it was tested */
    if (work > sizeof memory)
        return 2;
    if (pith_plan_need(model_image, model_image_bytes, &opts, memory, work, &need))
        return 3;
    if (need.bytes > sizeof memory ||
        pith_plan_init(memory, need.bytes, model_image, model_image_bytes, &opts, &plan))
        return 4;
    say_count("load", begin);
    say_number("load_stack", painted_used());
    say_number("work", (uint32_t)work);
    say_number("need", (uint32_t)need.bytes);
    fill_and_hash(plan, 0);
    begin_count();
    begin = TIMER_VALUE;
    if (pith_plan_run(plan))
        return 5;
    say_count("run", begin);
    say_number("stack", painted_used());
    say_number("hash", fill_and_hash(plan, 2166136261u));
    return 0;
}
