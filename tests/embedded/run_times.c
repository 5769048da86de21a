/* SPDX-License-Identifier: MIT */
/* run_times N - plans `model_image` for the processor and runs it N times, for
 * count_instructions.c: the difference of two counts is that of runs. 1 to 4: where it failed. */
#include <pith_runtime.h>
#include <stdlib.h>

extern const uint8_t model_image[];
extern const uint32_t model_image_bytes;

static _Alignas(64) uint8_t memory[256u * 1024 * 1024];

int main(int argc, char **argv)
{
    struct pith_opts opts;
    struct pith_need need;
    struct pith_plan *plan;
    struct pith_tensor input;
    pith_opts_init(&opts, sizeof opts);
    opts.cpu_mask = CPU_MASK;
    if (pith_plan_need(model_image, model_image_bytes, &opts, memory, sizeof memory, &need))
        return 1;
    if (pith_plan_init(memory, sizeof memory, model_image, model_image_bytes, &opts, &plan))
        return 2;
    if (pith_plan_input(plan, 0, &input))
        return 3;
    for (int i = argc > 1 ? atoi(argv[1]) : 0; i > 0; i--) {
        float *x = pith_plan_input_data(plan, 0);
        for (uint32_t k = 0; k < input.bytes / sizeof *x; k += 97)
            x[k] = (float)(k % 251) * (1.0f / 251);
        if (pith_plan_run(plan))
            return 4;
    }
    return 0;
}
