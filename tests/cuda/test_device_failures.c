/* SPDX-License-Identifier: MIT */
/* What goes wrong with a device: each allocation fails once, the driver is lost at each wait, is
 * too old, has no device or no code for it. Each is a status and a line, or the CPU takes over and
 * gives its own answers; nothing is left on the device. */
#include "fake_device.h"
#include "op_interface/op_attr.h"
#include "pith_pack.h"
#include "sample_models.h"

static struct pith_packed packed;

FIXTURE(load)
{
    return load_network("mnist_lenet5_caffe", &packed) ? 0 : 1;
}

FIXTURE(unload)
{
    pith_packed_free(&packed);
    return 0;
}

static enum pith_status try_open(const char *device, bool or_fail, struct pith_engine **e,
                                 struct pith_error *err)
{
    struct pith_engine_opts o = {
        .size_bytes = sizeof o, .device = device, .device_or_fail = or_fail};
    *e = NULL;
    return pith_engine_open_packed(&packed, &o, e, err);
}

/* Opens and runs once; whether both went well. or_fail: what fails is reported, in one line. */
static bool runs(const char *device, bool or_fail, struct pith_error *err)
{
    struct pith_engine *e;
    enum pith_status st = try_open(device, or_fail, &e, err);
    if (!st) {
        pith_fill_normal(pith_engine_plan(e), 1);
        st = pith_engine_run(e, err);
    }
    if (st) {
        assert_int_equal(st, PITH_ERR_UNSUPPORTED);
        assert_int_equal(strncmp(err->text, "cuda: ", 6), 0);
        assert_null(strchr(err->text, '\n'));
    }
    pith_engine_close(e);
    assert_nothing_left();
    return st == PITH_OK;
}

/* The CPU takes over, says why, and gives the CPU's bits. */
static void assert_taken_over(const char *device, const char *why)
{
    struct pith_engine *e, *cpu = open_on(&packed, NULL, 0);
    struct pith_error err = {0};
    assert_int_equal(try_open(device, false, &e, &err), PITH_OK);
    run_on(e, 1);
    run_on(cpu, 1);
    assert_null(pith_engine_device(e));
    if (!strstr(pith_engine_note(e), why))
        fail_msg("'%s' says nothing of '%s'", pith_engine_note(e), why);
    assert_memory_equal(pith_plan_output_data(pith_engine_plan(e), 0),
                        pith_plan_output_data(pith_engine_plan(cpu), 0), 10 * sizeof(float));
    pith_engine_close(e);
    pith_engine_close(cpu);
    assert_nothing_left();
}

TEST(test_allocations)
{
    struct pith_error err = {0};
    uint32_t n = 1;
    for (;; n++) {
        fake_set((struct fake_cuda_behaviour){.failing_allocation = n});
        if (runs("cuda:0", true, &err))
            break;
        assert_non_null(strstr(err.text, "OUT_OF_MEMORY"));
        fake_set((struct fake_cuda_behaviour){.failing_allocation = n});
        assert_taken_over("cuda:0", "OUT_OF_MEMORY");
    }
    assert_int_equal(n, 4); /* arena, constants, pinned memory; then none fails */
}

TEST(test_too_large)
{
    struct pith_error err = {0};
    fake_set((struct fake_cuda_behaviour){.memory_bytes = 1000});
    assert_false(runs("cuda:0", true, &err));
    assert_taken_over("cuda:0", "OUT_OF_MEMORY");
}

TEST(test_lost)
{
    struct pith_error err = {0};
    uint32_t n = 1;
    for (;; n++) {
        fake_set((struct fake_cuda_behaviour){.losing_wait = n});
        if (runs("cuda:0", true, &err))
            break;
        assert_non_null(strstr(err.text, "LAUNCH_FAILED"));
        fake_set((struct fake_cuda_behaviour){.losing_wait = n});
        assert_taken_over("cuda:0", "LAUNCH_FAILED");
    }
    assert_true(n > 2);
    fake_set((struct fake_cuda_behaviour){0});
}

/* A device that is lost stays so for the plan. */
TEST(test_lost_for_ever)
{
    struct pith_error err = {0};
    fake_set((struct fake_cuda_behaviour){0});
    struct pith_engine *e = open_on(&packed, "cuda:0", 0);
    run_on(e, 1);
    fake_set((struct fake_cuda_behaviour){.losing_wait = 1});
    assert_int_equal(pith_cuda_plan_run(e->device, &err), PITH_ERR_IO);
    fake_set((struct fake_cuda_behaviour){0});
    assert_int_equal(pith_cuda_plan_run(e->device, &err), PITH_ERR_IO);
    pith_engine_close(e);
    assert_nothing_left();
}

TEST(test_drivers)
{
    struct pith_error err = {0};
    fake_set((struct fake_cuda_behaviour){.no_device = 1});
    assert_false(runs("cuda:0", true, &err));
    assert_non_null(strstr(err.text, "no device 0"));
    fake_set((struct fake_cuda_behaviour){.version = 10020});
    assert_false(runs("cuda:0", true, &err));
    assert_non_null(strstr(err.text, "too old: it is of CUDA 10.2"));
    fake_set((struct fake_cuda_behaviour){.no_code = 1});
    assert_false(runs("cuda:0", true, &err));
    assert_taken_over("cuda:0", "NO_BINARY");
    fake_set((struct fake_cuda_behaviour){0});
    assert_false(runs("cuda:7", true, &err));
    assert_non_null(strstr(err.text, "no device 7: there is 1"));
}

TEST(test_auto)
{
    struct pith_engine *e;
    struct pith_error err = {0};
    fake_set((struct fake_cuda_behaviour){0});
    assert_int_equal(try_open("auto", false, &e, &err), PITH_OK);
    assert_true(fake_counts().graph_launches > 0); /* it was tried */
    assert_null(pith_engine_device(e));            /* an emulator is slower */
    assert_string_equal(pith_engine_note(e), "");
    pith_engine_close(e);
    assert_nothing_left();
}

TEST(test_embedded)
{
    struct pith_error err = {0};
    fake_set((struct fake_cuda_behaviour){0});
    struct pith_engine *e = open_on(&packed, "cuda:0", 0);
    assert_int_not_equal(pith_cuda_plan_input_address(e->device, 0), 0);
    assert_int_not_equal(pith_cuda_plan_output_address(e->device, 0), 0);
    assert_int_equal(pith_cuda_plan_input_address(e->device, 1), 0);
    assert_int_equal(pith_cuda_plan_output_address(e->device, 1), 0);
    assert_int_equal(pith_cuda_plan_enqueue(e->device, NULL, &err), PITH_OK);
    assert_int_equal(fake_counts().graph_launches, 1);
    assert_true(pith_cuda_plan_facts(e->device).device_bytes > 1000000);
    pith_engine_close(e);
}

/* Values in memory of the caller are not on the device. */
TEST(test_caches)
{
    struct pith_model *m = sample_new();
    struct pith_buffer file = {0};
    struct pith_error err = {0};
    m->inputs[m->n_inputs++] = add_value(m, "past", PITH_F32, 2, (const uint32_t[]){3, 4});
    m->inputs[m->n_inputs++] = add_value(m, "new", PITH_F32, 2, (const uint32_t[]){1, 4});
    const uint32_t v = add_node(m, PITH_OP_RELU, "relu", "r", 1, (const uint32_t[]){1})->out[0];
    struct pith_node *node =
        add_node(m, PITH_OP_CONCAT, "join", "present", 2, (const uint32_t[]){0, v});
    node->attr[ATTR_AXIS] = 0;
    m->outputs[m->n_outputs++] = node->out[0];
    SUCCEEDS(pith_model_infer_shapes(m, &err) || pith_model_pack(m, NULL, &file, &err));
    pith_model_free(m);
    fake_set((struct fake_cuda_behaviour){0});
    static _Alignas(64) float memory[5 * 4];
    const struct pith_cache cache = {0, 0, 0, 5, memory};
    struct pith_cuda *cuda;
    assert_int_equal(pith_cuda_open(0, &cuda, &err), PITH_OK);
    for (uint32_t n = 0; n < 2; n++) {
        struct pith_plans *plans;
        struct pith_plan *plan;
        struct pith_cuda_plan *p = NULL;
        struct pith_opts opts = {.size_bytes = sizeof opts, .n_caches = n, .caches = &cache};
        assert_int_equal(pith_plans_open(file.data, file.bytes, &opts, &plans, &err), PITH_OK);
        assert_int_equal(pith_plans_get(plans, 1, &plan, &err), PITH_OK);
        assert_int_equal(pith_cuda_plan_new(cuda, plan, &p, &err),
                         n ? PITH_ERR_UNSUPPORTED : PITH_OK);
        if (n)
            assert_non_null(strstr(err.text, "opts.caches"));
        pith_cuda_plan_free(p);
        pith_plans_close(plans);
    }
    pith_cuda_close(cuda);
    pith_buffer_free(&file);
    assert_nothing_left();
}

int main(void)
{
    if (!load_network("mnist_lenet5_caffe", &packed)) {
        printf("no models\n");
        return 77;
    }
    unload(NULL);
    return run_listed_tests(load, unload);
}
