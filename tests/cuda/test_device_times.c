/* SPDX-License-Identifier: MIT */
/* Times of steps on the fake device, by events: in the graph, around single steps where the driver
 * is older, and each allocation of theirs given back; and how fast the device copies. */
#include "fake_device.h"
#include "cuda/device_plan.h"

static struct pith_packed packed;

/* Before a device is opened: what a skipped test holds would count as a leak of the next. */
static void need_models(void)
{
    if (!load_network("mnist_lenet5_caffe", &packed))
        skip();
    pith_packed_free(&packed);
}

/* A plan with a clock. */
static struct pith_engine *open_timed(const char *name)
{
    struct pith_engine *e;
    struct pith_error err = {0};
    struct pith_engine_opts o = {.size_bytes = sizeof o, .profile = true};
    if (!load_network(name, &packed))
        fail_msg("%s is not there", name);
    SUCCEEDS(pith_engine_open_packed(&packed, &o, &e, &err));
    return e;
}

static struct pith_cuda *open_fake(void)
{
    struct pith_cuda *cuda;
    struct pith_error err = {0};
    fake_set((struct fake_cuda_behaviour){0});
    SUCCEEDS(pith_cuda_open(0, &cuda, &err));
    return cuda;
}

/* Runs twice; each step that has launches took some time, all of them no longer than the run. */
static void check_times(struct pith_cuda *cuda, const char *name, uint64_t graphs)
{
    struct pith_engine *e = open_timed(name);
    struct pith_plan *plan = pith_engine_plan(e);
    struct pith_cuda_plan *p;
    struct pith_error err = {0};
    SUCCEEDS(pith_cuda_plan_new(cuda, plan, &p, &err));
    uint64_t made = fake_counts().objects, begin = fake_counts().graph_launches, sum = 0, took = 0;
    for (int i = 0; i < 2; i++) {
        pith_fill_normal(plan, 1);
        uint64_t start = pith_clock_ns(NULL);
        SUCCEEDS(pith_cuda_plan_run(p, &err));
        took = pith_clock_ns(NULL) - start;
    }
    assert_int_equal(fake_counts().graph_launches - begin, graphs);
    if (graphs)
        assert_int_equal(fake_counts().objects, made); /* events are made with the plan */
    for (uint32_t i = 0; i < pith_plan_layer_count(plan); i++) {
        struct pith_layer l;
        pith_plan_layer(plan, i, &l);
        if (p->step[i].n > 0 && l.ns == 0)
            fail_msg("%s: step %u took no time", name, i);
        if (p->step[i].n > 0)
            assert_true(pith_cuda_plan_step_bytes(p, i) > 0);
        sum += l.ns;
    }
    assert_true(sum > 0);
    assert_true(sum <= took);
    pith_cuda_plan_free(p);
    pith_engine_close(e);
    pith_packed_free(&packed);
}

TEST(test_in_graph)
{
    need_models();
    struct pith_cuda *cuda = open_fake();
    check_times(cuda, "mnist_lenet5_caffe", 2);
    check_times(cuda, "kws_GRU_L", 2); /* a loop: its steps are there many times */
    pith_cuda_close(cuda);
    assert_nothing_left();
}

/* A driver that cannot record events in a graph. */
TEST(test_by_pairs)
{
    need_models();
    struct pith_cuda *cuda = open_fake();
    cuda->cuEventRecordWithFlags = NULL;
    check_times(cuda, "mnist_lenet5_caffe", 0);
    check_times(cuda, "kws_GRU_L", 0);
    pith_cuda_close(cuda);
    assert_nothing_left();
}

TEST(test_copy_speed)
{
    struct pith_cuda *cuda = open_fake();
    struct pith_error err = {0};
    double speed = 0;
    assert_int_equal(pith_cuda_copy_speed(cuda, &speed, &err), PITH_OK);
    assert_true(speed > 1e7);
    assert_true(speed < 1e14);
    fake_set((struct fake_cuda_behaviour){.failing_allocation = 1});
    assert_int_equal(pith_cuda_copy_speed(cuda, &speed, &err), PITH_ERR_MEMORY);
    assert_int_equal(fake_counts().allocations, 0);
    fake_set((struct fake_cuda_behaviour){.losing_wait = 1});
    assert_int_equal(pith_cuda_copy_speed(cuda, &speed, &err), PITH_ERR_IO);
    fake_set((struct fake_cuda_behaviour){0});
    pith_cuda_close(cuda);
    assert_nothing_left();
}

RUN_TESTS
