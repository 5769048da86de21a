/* SPDX-License-Identifier: MIT */
/* Convolutions on several threads: the bits of one thread, and steps too small to be split. */
#define GRAPH_DOUBLE_READER
#include "backwards.h"
#include "graph_double.h"
#include "plan/plan.h"
#include "op_interface/op_attr.h"

#define MAX_CHANNELS 64u

static uint32_t mask, threads; /* threads: passed to a plan */
static float data[MAX_CHANNELS * MAX_CHANNELS * 9];

static void set_pads(int32_t *attr, void *arg)
{
    const uint32_t *kernel = arg;
    attr[ATTR_CONV_PADS] = 4;
    for (uint32_t i = 1; i <= 4; i++)
        attr[ATTR_CONV_PADS + i] = (int32_t)(*kernel / 2);
}

/* side x side pixels of so many channels to as many. */
static void network(uint32_t channels, uint32_t side, uint32_t kernel)
{
    gd_clear();
    uint32_t x = gd_input(4, 1, channels, side, side);
    uint32_t w = gd_weight(data, 4, channels, channels, kernel, kernel);
    gd_output(gd_node(PITH_OP_CONV, set_pads, &kernel, 1, 2, x, w));
}

/* Its output; *calls: of parallel_for (NULL: there is none). */
static void *run(uint32_t *calls, struct pith_plan **plan)
{
    struct pith_need need;
    struct pith_tensor t;
    struct pith_opts opts = {.size_bytes = sizeof opts,
                             .cpu_mask = mask,
                             .parallel_for = calls ? backwards : NULL,
                             .parallel_user = calls,
                             .threads = calls ? threads : 0};
    void *mem = gd_plan(&opts, plan, &need);
    float *x = pith_plan_input_data(*plan, 0);
    assert_int_equal(pith_plan_input(*plan, 0, &t), PITH_OK);
    for (uint64_t k = 0; k < t.bytes / sizeof *x; k++)
        x[k] = (float)(k * 7 % 31) - 15.0f;
    if (calls)
        *calls = 0;
    assert_int_equal(pith_plan_run(*plan), PITH_OK);
    return mem;
}

static uint32_t calls_with_same_bits(uint32_t channels, uint32_t side, uint32_t kernel)
{
    struct pith_plan *alone, *split;
    uint32_t calls = 0;
    network(channels, side, kernel);
    void *mem = run(NULL, &alone), *split_mem = run(&calls, &split);
    assert_memory_equal(pith_plan_output_data(alone, 0), pith_plan_output_data(split, 0),
                        sizeof(float) * channels * side * side);
    free(mem);
    free(split_mem);
    return calls;
}

/* Tiles, rows and Winograd; images of one tile, of two that are cut alike, and of odd sizes; cut
 * for an unknown number of threads and for 1 to 5. */
TEST(test_same_bits)
{
    static const uint32_t sides[] = {7, 8, 11, 14, 16, 17};
    for (uint32_t i = 0; i < sizeof sides / sizeof *sides; i++)
        for (threads = 0; threads <= 5; threads++) {
            /* 49 pixels are one tile, which one thread keeps whole */
            const uint32_t calls = calls_with_same_bits(64, sides[i], 3);
            assert_true(calls > 0 || sides[i] == 7 || threads == 1);
            calls_with_same_bits(32, sides[i], 3);
            calls_with_same_bits(64, sides[i], 1);
        }
    threads = 0;
}

/* A plan of vector kernels does 147,456 products at once, the reference splits them. */
TEST(test_small_steps)
{
    struct pith_plan *plan;
    struct pith_layer layer;
    uint32_t calls = 0;
    network(16, 8, 3);
    void *mem = run(&calls, &plan);
    assert_int_equal(pith_plan_layer(plan, 0, &layer), PITH_OK);
    assert_true(layer.macs < 1u << 20);
    assert_int_equal(calls, strcmp(layer.kernel, "conv-f32-direct") ? 0 : 1);
    free(mem);
}

int main(void)
{
    for (uint32_t i = 0; i < sizeof data / sizeof *data; i++)
        data[i] = (float)(i * 13 % 29) / 29.0f - 0.5f;
    static const uint32_t masks[] = {0, PITH_CPU_AVX2, PITH_CPU_REF};
    int failed = 0;
    for (uint32_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        mask = masks[i];
        failed |= run_listed_tests(NULL, NULL);
    }
    return failed;
}
