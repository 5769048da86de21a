/* SPDX-License-Identifier: MIT */
/* A run in one launch on the fake device: the bits of the graph's run in four orders of lanes and
 * blocks, with weights in shared memory or without, kept only where it takes less time, with no
 * more blocks than are there at once, and with the graph where anything of it cannot be had. */
#include <unistd.h>
#include "fake_device.h"
#include "pith_load.h"
#include "model/model_sizes.h"
#include "op_interface/op_attr.h"
#include "pith_pack.h"
#include "sample_models.h"
#include "cuda/device_plan.h"

/* Of launches that take long by the events, so that one launch is kept. */
static const struct fake_cuda_behaviour slow_launches = {

    .processors = 1, .cooperative = 2, .launch_ns = 1000};

static bool has_models(void)
{
    struct pith_packed packed = {0};
    const bool found = load_network("kws_DNN_L", &packed);
    if (found)
        pith_packed_free(&packed);
    return found;
}

/* One run's outputs, one behind the other, owned by the caller; launches: of the plan. */
struct outputs {
    uint8_t *data;
    size_t bytes;
    uint32_t kept; /* weights in shared memory */
};

static struct outputs run(const struct pith_packed *packed, const char *device,
                          struct fake_cuda_behaviour behaviour, uint32_t *launches)
{
    struct outputs o = {NULL, 0, 0};
    fake_set(behaviour);
    struct pith_engine *e = open_on(packed, device, 0);
    const struct pith_plan *plan = pith_engine_plan(e);
    const struct pith_cuda_facts facts = pith_cuda_plan_facts(e->device);
    *launches = facts.launches;
    o.kept = ((const struct pith_cuda_plan *)e->device)->program.table.args.n_kept;
    for (uint64_t seed = 1; seed <= 2; seed++) { /* the barrier is good for another run */
        const uint64_t programs = fake_counts().programs, all = fake_counts().launches;
        run_on(e, seed);
        if (facts.launches == 1) {
            assert_int_equal(fake_counts().programs, programs + 1);
            assert_int_equal(fake_counts().launches, all + 1);
        }
        for (uint32_t i = 0; i < pith_plan_output_count(plan); i++) {
            struct pith_tensor t;
            pith_plan_output(plan, i, &t);
            o.data = realloc(o.data, o.bytes + t.bytes);
            memcpy(o.data + o.bytes, pith_plan_output_data(plan, i), t.bytes);
            o.bytes += t.bytes;
        }
    }
    pith_engine_close(e);
    assert_nothing_left();
    return o;
}

static const uint32_t orders[] = {0, 1, 2, 77};
enum { ALL_ORDERS = 4 };

/* Bytes of shared memory that hold all weights of the networks here; in every second order there is
 * what a device has, and less. */
#define SHARED_ALL (16u << 20)

static bool some_fit; /* of the weights of a network, and others did not */

/* In n orders from number `first` on: large networks take long on the emulator. */
static void check_same(const struct pith_packed *packed, const char *name, const char *device,
                       uint32_t first, uint32_t n)
{
    uint32_t launches, kept = 0;
    const struct outputs graph = run(packed, device, (struct fake_cuda_behaviour){0}, &launches);
    assert_true(launches > 1);
    for (uint32_t i = first; i < first + n; i++) {
        struct fake_cuda_behaviour b = slow_launches;
        b.order = orders[i];
        b.processors += i;
        b.shared_bytes = i % 2 == first % 2 ? SHARED_ALL : i == 1 ? 320u << 10 : 0;
        const struct outputs one = run(packed, device, b, &launches);
        if (b.shared_bytes == SHARED_ALL)
            kept = one.kept;
        assert_true(kept > 0 && one.kept <= kept);
        some_fit = some_fit || (one.kept > 0 && one.kept < kept);
        if (launches != 1)
            fail_msg("%s: %u launches", name, launches);
        assert_int_equal(one.bytes, graph.bytes);
        if (memcmp(one.data, graph.data, graph.bytes) != 0)
            fail_msg("%s, order %u: other bits", name, orders[i]);
        free(one.data);
    }
    free(graph.data);
}

static void check_network(const char *name, const char *device, uint32_t first, uint32_t n)
{
    struct pith_packed packed = {0};
    if (!load_network(name, &packed))
        fail_msg("no %s", name);
    check_same(&packed, name, device, first, n);
    pith_packed_free(&packed);
}

static void test_recurrent(void **state)
{
    (void)state;
    check_network("silero_vad_16k", "cuda:0", 2, 1);
}

/* Hundreds of launches: run alone, by one_launch.sh. The networks share the orders, as both have
 * the same kinds of steps. */
static void test_loops(void **state)
{
    (void)state;
    check_network("kws_LSTM_L", "cuda:0", 0, 2);
    check_network("kws_GRU_L", "cuda:0", 3, 1);
}

static void test_chains(void **state)
{
    (void)state;
    check_network("kws_DNN_L", "cuda:0", 0, ALL_ORDERS);
    assert_true(some_fit);
    check_network("tiny_ad01_ae", "cuda:0", 1, 1);
    check_network("kws_DNN_L", "cuda:0,f16", 2, 1);
}

static void test_convolutions(void **state)
{
    (void)state;
    check_network("mnist_lenet5_caffe", "cuda:0", 0, 1);
}

/* Every tenth weight is left, one of 16 values. */
static void prune(struct pith_model *m, struct pith_const *c)
{
    float *x = c->data, most = 0;
    struct pith_codebook *book = pith_model_alloc(m, 1, sizeof *book);
    *book = (struct pith_codebook){.n_centroids = 16, .n_groups = 1, .group_elems = c->count};
    book->centroid = pith_model_alloc(m, 16, sizeof(float));
    book->index = pith_model_alloc(m, c->count, 1);
    c->mask = pith_model_alloc(m, c->count, 1);
    for (uint64_t i = 0; i < c->count; i++)
        most = fmaxf(most, fabsf(x[i]));
    for (uint32_t i = 0; i < 16; i++)
        book->centroid[i] = most * ((float)i - 7.5f) / 7.5f;
    for (uint64_t i = 0; i < c->count; i++) {
        const bool kept = i * 7919 % 10 == 0;
        book->index[i] = (uint8_t)fminf(15.0f, fmaxf(0.0f, roundf(x[i] / most * 7.5f + 7.5f)));
        x[i] = kept ? book->centroid[book->index[i]] : 0.0f;
        c->mask[i] = kept;
    }
    c->codebook = book;
}

static bool has_kernel(const struct pith_cuda_plan *p, enum launch_kernel kernel)
{
    for (uint32_t i = 0; i < p->lowering.n_actions; i++)
        if (p->lowering.action[i].kind == ACTION_LAUNCH && p->lowering.action[i].kernel == kernel)
            return true;
    return false;
}

/* check_same of a model, which is freed, in the first n orders. kernel: which its graph launches.
 */
static void check_model(struct pith_model *m, const char *name, enum launch_kernel kernel,
                        uint32_t n)
{
    struct pith_error err = {0};
    struct pith_packed packed = {0};
    struct pith_buffer file = {0};
    char there[] = "/tmp/pith_programXXXXXX";
    SUCCEEDS(pith_model_pack(m, NULL, &file, &err));
    pith_model_free(m);
    const int at = mkstemp(there);
    assert_int_equal(write(at, file.data, file.bytes), file.bytes);
    close(at);
    pith_buffer_free(&file);
    SUCCEEDS(pith_packed_load(there, NULL, &packed, &err));
    fake_set(slow_launches);
    struct pith_engine *e = open_on(&packed, "cuda:0", 0);
    assert_true(has_kernel(e->device, kernel));
    pith_engine_close(e);
    check_same(&packed, name, "cuda:0", 0, n);
    pith_packed_free(&packed);
    unlink(there);
}

static void test_sparse(void **state)
{
    (void)state;
    const char *data = getenv("PITH_DATA");
    char path[512];
    struct pith_model *m;
    struct pith_error err = {0};
    struct pith_weight_ref refs[64];
    snprintf(path, sizeof path, "%s/models/kws_DNN_L.onnx", data ? data : "../shared/data");
    SUCCEEDS(pith_model_load(path, NULL, &m, &err));
    const uint32_t n = pith_model_weights(m, refs);
    for (uint32_t i = 0; i < n; i++)
        if (refs[i].rows * refs[i].cols >= 10000)
            prune(m, m->values[refs[i].value].constant);
    check_model(m, "kws_DNN_L, sparse", LAUNCH_spmv_relative, ALL_ORDERS);
}

/* A last layer of one output has its weight as [k, 1]: k floats that are one row, and k rows of
 * one. */
static void test_one_output(void **state)
{
    (void)state;
    struct pith_model *m = sample_new();
    struct sample_random random = sample_random_of(1);
    uint32_t x = add_input(m, "x", 2, (uint32_t[]){1, 64});
    for (uint32_t i = 0; i < 7; i++) {
        char name[8];
        snprintf(name, sizeof name, "w%u", i);
        const uint32_t w = add_constant(m, &random, name, 2, (uint32_t[]){64, i < 6 ? 64 : 1});
        name[0] = 'y';
        struct pith_node *node = add_node(m, PITH_OP_MATMUL, name, name, 2, (uint32_t[]){x, w});
        node->attr[ATTR_MATMUL_TRANS_B] = i < 6;
        x = node->out[0];
    }
    m->outputs[m->n_outputs++] = x;
    struct pith_error err = {0};
    SUCCEEDS(pith_model_infer_shapes(m, &err));
    check_model(m, "one output", LAUNCH_gemv_f32, 2);
}

/* Bytes on the device and pinned, while the plan is there. */
static uint64_t memory_of(const struct pith_packed *packed, struct fake_cuda_behaviour behaviour)
{
    fake_set(behaviour);
    struct pith_engine *e = open_on(packed, "cuda:0", 0);
    const uint64_t bytes = fake_counts().allocated_bytes;
    pith_engine_close(e);
    return bytes;
}

/* The graph is kept, and no memory for the other: where the device cannot make blocks wait, where
 * steps take longer in one launch, where each launch is worth it, and in a plan with a clock. */
static void test_graph_is_kept(void **state)
{
    (void)state;
    struct pith_packed packed = {0};
    struct fake_cuda_behaviour b = slow_launches;
    uint32_t launches;
    if (!load_network("kws_DNN_L", &packed))
        fail_msg("no network");
    free(run(&packed, "cuda:0", b, &launches).data);
    assert_int_equal(launches, 1);
    b.cooperative = 0;
    free(run(&packed, "cuda:0", b, &launches).data);
    assert_true(launches > 1);
    b = slow_launches;
    b.step_ns = 2000;
    free(run(&packed, "cuda:0", b, &launches).data);
    assert_true(launches > 1);
    b = slow_launches;
    b.launch_ns = 20000;
    free(run(&packed, "cuda:0", b, &launches).data);
    assert_true(launches > 1);
    const uint64_t graph = memory_of(&packed, (struct fake_cuda_behaviour){0});
    assert_int_equal(memory_of(&packed, b), graph);
    assert_true(memory_of(&packed, slow_launches) > graph);
    pith_packed_free(&packed);
}

/* Both times are reported, of one run each. */
static void test_facts(void **state)
{
    (void)state;
    struct pith_packed packed = {0};
    if (!load_network("kws_DNN_L", &packed))
        fail_msg("no network");
    struct fake_cuda_behaviour b = slow_launches;
    b.step_ns = 10;
    fake_set(b);
    struct pith_engine *e = open_on(&packed, "cuda:0", 0);
    const struct pith_cuda_facts facts = pith_cuda_plan_facts(e->device);
    const struct pith_cuda_plan *p = e->device;
    const uint64_t expected = 1000 + 10 * p->program.n; /* ms of events are floats */
    assert_true(facts.one_launch_ns + 1 >= expected && facts.one_launch_ns <= expected + 1);
    assert_true(facts.graph_ns > facts.one_launch_ns);
    assert_true(facts.graph_ns <= 1000 * p->program.n);
    assert_true(p->program.table.blocks > 1);
    pith_engine_close(e);
    pith_packed_free(&packed);
    assert_nothing_left();
}

/* Without memory for its steps there is the graph; a device that is lost meanwhile is reported. */
static void test_failures(void **state)
{
    (void)state;
    struct pith_packed packed = {0};
    if (!load_network("kws_DNN_L", &packed))
        fail_msg("no network");
    uint32_t failed = 0, with_graph = 0, lost = 0;
    for (uint32_t n = 1;; n++) {
        struct fake_cuda_behaviour b = slow_launches;
        struct pith_engine *e = NULL;
        struct pith_error err = {0};
        struct pith_engine_opts o = {
            .size_bytes = sizeof o, .device = "cuda:0", .device_or_fail = true};
        b.failing_allocation = n;
        fake_set(b);
        if (pith_engine_open_packed(&packed, &o, &e, &err)) {
            failed++;
            continue;
        }
        const bool all = fake_counts().allocations_made < n;
        with_graph += pith_cuda_plan_facts(e->device).launches > 1;
        pith_engine_close(e);
        if (all)
            break;
    }
    assert_true(failed >= 3);
    assert_int_equal(with_graph, 1);
    for (uint32_t n = 1;; n++) {
        struct fake_cuda_behaviour b = slow_launches;
        struct pith_engine *e = NULL;
        struct pith_error err = {0};
        struct pith_engine_opts o = {
            .size_bytes = sizeof o, .device = "cuda:0", .device_or_fail = true};
        b.losing_wait = n;
        fake_set(b);
        if (!pith_engine_open_packed(&packed, &o, &e, &err)) {
            const bool all = fake_counts().waits < n;
            pith_engine_close(e);
            if (all)
                break;
            continue;
        }
        lost++;
        assert_non_null(strstr(err.text, "LAUNCH_FAILED"));
    }
    assert_true(lost > 10); /* each timed run is waited for */
    pith_packed_free(&packed);
    fake_set((struct fake_cuda_behaviour){0});
    assert_nothing_left();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chains),       cmocka_unit_test(test_sparse),
        cmocka_unit_test(test_one_output),   cmocka_unit_test(test_recurrent),
        cmocka_unit_test(test_convolutions), cmocka_unit_test(test_graph_is_kept),
        cmocka_unit_test(test_facts),        cmocka_unit_test(test_failures),
    };
    if (!has_models()) {
        printf("no models\n");
        return 77;
    }
    const struct CMUnitTest loops[] = {cmocka_unit_test(test_loops)};
    if (argc > 1 && strcmp(argv[1], "loops") == 0)
        return cmocka_run_group_tests(loops, NULL, NULL);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
