/* SPDX-License-Identifier: MIT */
/* The networks of the data folder on the fake driver, against the CPU: no step may need the CPU,
 * floats may differ by what other orders of sums make. */
#include "fake_device.h"

/* Largest difference of an output, as a share of its largest value. Products of floats alone are
 * summed in another order, each within 2 K 2^-24 of the sum of |w x|; what tens of layers make of
 * that was measured to be below 5e-6 on these networks. */
#define BOUND 2e-5
/* With factors of products rounded to f16, each by 2^-11 at most: measured, on these networks, to
 * be below 2e-3. */
#define HALF_BOUND 1e-2

static double difference(struct pith_plan *a, struct pith_plan *b, uint32_t output)
{
    struct pith_tensor t;
    pith_plan_output(a, output, &t);
    const float *x = pith_plan_output_data(a, output), *y = pith_plan_output_data(b, output);
    double largest = 0, off = 0;
    if (t.type != PITH_F32)
        return memcmp(x, y, (size_t)t.bytes) ? 1 : 0;
    for (uint64_t i = 0; i < t.bytes / sizeof *x; i++) {
        largest = fmax(largest, fabs((double)y[i]));
        off = (double)x[i] == (double)x[i] ? fmax(off, fabs((double)x[i] - (double)y[i])) : 1e30;
    }
    return largest > 0 ? off / largest : off;
}

static void compare(const char *name, uint32_t order, bool half)
{
    double most = 0;
    struct pith_packed packed = {0};
    if (!load_network(name, &packed))
        skip();
    fake_set((struct fake_cuda_behaviour){.order = order});
    struct pith_engine *cpu = open_on(&packed, NULL, 0),
                       *gpu = open_on(&packed, half ? "cuda:0,f16" : "cuda:0", 0);
    struct pith_cuda_facts facts = pith_cuda_plan_facts(gpu->device);
    if (facts.cpu_steps != 0)
        fail_msg("%s: %u of %u steps run on the CPU", name, facts.cpu_steps, facts.steps);
    assert_true(facts.launches > 0);
    if (strcmp(name, "kws_LSTM_L") == 0) /* its cell is a chain, where it was fourteen launches */
        assert_true(facts.launches < 450);
    uint64_t made = fake_counts().allocations_made;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        run_on(cpu, seed);
        run_on(gpu, seed);
        for (uint32_t i = 0; i < pith_plan_output_count(pith_engine_plan(cpu)); i++) {
            double off = difference(pith_engine_plan(gpu), pith_engine_plan(cpu), i);
            if (getenv("VERBOSE"))
                print_message("%s: %g, %u launches\n", name, off, facts.launches);
            most = fmax(most, off);
            if (!(off <= (half ? HALF_BOUND : BOUND)))
                fail_msg("%s, order %u, output %u: %g off", name, order, i, off);
        }
    }
    if (half && most < 1e-6)
        fail_msg("%s: f16 changes nothing", name);
    assert_int_equal(fake_counts().allocations_made, made);
    assert_int_equal(fake_counts().graph_launches, 2);
    pith_engine_close(gpu);
    pith_engine_close(cpu);
    pith_packed_free(&packed);
    assert_nothing_left();
}

#define NETWORK(name, order)                                                                       \
    TEST(name)                                                                                     \
    {                                                                                              \
        compare(#name, order, false);                                                              \
    }
#define HALF_NETWORK(name, order)                                                                  \
    TEST(half_##name)                                                                              \
    {                                                                                              \
        compare(#name, order, true);                                                               \
    }
NETWORK(cifar10_resnet20, 0)
NETWORK(imagenet_mobilenet_v2, 0)
NETWORK(imagenet_squeezenet_v1_1, 1)
NETWORK(imagenet_squeezenet_v1_dc, 0)
NETWORK(kws_DNN_L, 2)
NETWORK(kws_GRU_L, 77)
NETWORK(kws_LSTM_L, 1)
NETWORK(mnist_cntk, 2)
NETWORK(mnist_lenet5_caffe, 77)
NETWORK(silero_vad_16k, 1)
NETWORK(super_resolution_x3, 0)
NETWORK(tiny_ad01_ae, 2)
NETWORK(tiny_ic_resnet8, 77)
NETWORK(tiny_kws_dscnn, 1)
NETWORK(tiny_vww_mbv1, 2)
HALF_NETWORK(cifar10_resnet20, 1)
HALF_NETWORK(imagenet_mobilenet_v2, 2)
HALF_NETWORK(imagenet_squeezenet_v1_1, 0)
HALF_NETWORK(kws_DNN_L, 77)
HALF_NETWORK(kws_GRU_L, 0)
HALF_NETWORK(mnist_lenet5_caffe, 2)
HALF_NETWORK(silero_vad_16k, 0)
HALF_NETWORK(tiny_ad01_ae, 0)
HALF_NETWORK(tiny_ic_resnet8, 1)
HALF_NETWORK(tiny_kws_dscnn, 77)
HALF_NETWORK(tiny_vww_mbv1, 2)

int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return run_listed_tests(NULL, NULL);
}
