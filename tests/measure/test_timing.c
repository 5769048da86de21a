/* SPDX-License-Identifier: MIT */
/* test_timing.c - seeded inputs, and the order of the results of pith_time. */
#include <stdint.h>
#include <stdio.h>
#include "test_run.h"
#include "small_net.h"
#include "pith_host.h"

enum { WIDTH = 100, SEEDS = 200 };

TEST(inputs_are_seeded_and_normal)
{
    struct pith_model *m = identity_net(WIDTH);
    struct pith_engine *e = engine_of(m);
    struct pith_plan *plan = pith_engine_plan(e);
    float first[WIDTH];
    double sum = 0, squares = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const float *x = pith_plan_input_data(plan, 0);
        pith_fill_normal(plan, seed);
        for (int i = 0; i < WIDTH; i++) {
            sum += (double)x[i];
            squares += (double)x[i] * (double)x[i];
        }
    }
    /* standard error of the mean of 20,000 values: 0.0071; of the variance: 0.01 */
    assert_true(fabs(sum / (double)(WIDTH * SEEDS)) < 0.03);
    assert_true(fabs(squares / (double)(WIDTH * SEEDS) - 1) < 0.04);
    pith_fill_normal(plan, 1);
    memcpy(first, pith_plan_input_data(plan, 0), sizeof first);
    pith_fill_normal(plan, 2);
    assert_memory_not_equal(first, pith_plan_input_data(plan, 0), sizeof first);
    pith_fill_normal(plan, 1);
    assert_memory_equal(first, pith_plan_input_data(plan, 0), sizeof first);
    pith_engine_close(e);
    pith_model_free(m);
}

TEST(times_are_ordered)
{
    struct pith_model *m = identity_net(WIDTH);
    struct pith_engine *e = engine_of(m);
    struct pith_timing t;
    struct pith_error err = {0};
    uint64_t start = pith_clock_ns(NULL);
    assert_int_equal(pith_time(e, 0.01, &t, &err), PITH_OK);
    assert_true(t.ms_min > 0 && t.ms_min <= t.ms_median && t.ms_median <= t.ms_p90);
    assert_true(t.runs >= 5);
    /* the runs fit into the time that went by */
    assert_true(t.ms_min * t.runs <= (double)(pith_clock_ns(NULL) - start) / 1e6);
    assert_int_equal(pith_time(e, 0, &t, &err), PITH_OK);
    assert_int_equal(t.runs, 5);
    pith_engine_close(e);
    pith_model_free(m);
}

/* What a run gives is the same with nothing in the caches, on one thread and several. */
TEST(cold_runs_are_runs)
{
    struct pith_model *m = identity_net(WIDTH);
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        const struct pith_engine_opts opts = {.size_bytes = sizeof opts, .threads = threads};
        struct pith_engine *e = NULL;
        struct pith_error err = {0};
        struct pith_tensor t;
        float x[WIDTH];
        double ms = 0;
        assert_int_equal(pith_engine_open(m, &opts, &e, &err), PITH_OK);
        pith_fill_normal(pith_engine_plan(e), 1);
        memcpy(x, pith_plan_input_data(pith_engine_plan(e), 0), sizeof x);
        assert_int_equal(pith_time_cold(e, &ms, &err), PITH_OK);
        assert_true(ms > 0 && ms < 1e4);
        assert_int_equal(pith_plan_output(pith_engine_plan(e), 0, &t), PITH_OK);
        assert_memory_equal(pith_plan_output_data(pith_engine_plan(e), 0), x, sizeof x);
        pith_engine_close(e);
    }
    pith_model_free(m);
}

TEST(layers_are_the_fastest_runs)
{
    struct pith_model *m = identity_net(WIDTH);
    const struct pith_engine_opts opts = {.size_bytes = sizeof opts, .profile = true};
    struct pith_engine *e = NULL, *plain = engine_of(m);
    struct pith_timing t;
    struct pith_error err = {0};
    uint32_t n;
    double sum = 0;
    assert_int_equal(pith_engine_open(m, &opts, &e, &err), PITH_OK);
    n = pith_plan_layer_count(pith_engine_plan(e));
    assert_int_equal(pith_engine_layer_ns(e, 0), 0);
    assert_int_equal(pith_time(e, 0.01, &t, &err), PITH_OK);
    for (uint32_t i = 0; i < n; i++) {
        struct pith_layer last;
        pith_plan_layer(pith_engine_plan(e), i, &last);
        assert_true(pith_engine_layer_ns(e, i) > 0 && pith_engine_layer_ns(e, i) <= last.ns);
        sum += (double)pith_engine_layer_ns(e, i);
    }
    /* the fastest layers together are no slower than the fastest run */
    assert_true(n > 0 && sum <= t.ms_min * 1e6);
    assert_int_equal(pith_engine_layer_ns(e, n), 0);
    assert_int_equal(pith_time(plain, 0, &t, &err), PITH_OK);
    assert_int_equal(pith_engine_layer_ns(plain, 0), 0);
    pith_engine_close(e);
    pith_engine_close(plain);
    pith_model_free(m);
}

/* x and y are WIDTH floats each, w WIDTH x WIDTH. */
TEST(layers_move_what_they_read_and_write)
{
    struct pith_model *m = identity_net(WIDTH);
    struct pith_engine *e = engine_of(m);
    assert_int_equal(pith_plan_layer_count(pith_engine_plan(e)), 1);
    assert_int_equal(pith_engine_moved_bytes(e, 0), 4 * (WIDTH + WIDTH + WIDTH * WIDTH));
    assert_int_equal(pith_engine_moved_bytes(NULL, 0), 0);
    pith_engine_close(e);
    pith_model_free(m);
}

/* Any machine computes between a million and 10^16 numbers a second, and reads as many bytes; a
 * cache is not slower than memory by more than what other work takes. */
TEST(a_roofline_is_measured)
{
    struct pith_model *m = identity_net(WIDTH);
    for (uint32_t threads = 1; threads <= 2; threads++) {
        const struct pith_engine_opts opts = {.size_bytes = sizeof opts, .threads = threads};
        struct pith_engine *e = NULL;
        struct pith_error err = {0};
        struct pith_roofline roof = {0};
        assert_int_equal(pith_engine_open(m, &opts, &e, &err), PITH_OK);
        assert_int_equal(pith_engine_roofline(e, &roof, &err), PITH_OK);
        assert_true(roof.flops_per_s > 1e6 && roof.flops_per_s < 1e16);
        assert_true(roof.memory_bytes_per_s > 1e6 && roof.memory_bytes_per_s < 1e16);
        assert_true(roof.cache_bytes_per_s > roof.memory_bytes_per_s / 10 &&
                    roof.cache_bytes_per_s < 1e16);
        assert_int_equal(pith_engine_roofline(e, NULL, &err), PITH_ERR_ARGUMENT);
        assert_int_equal(pith_engine_roofline(NULL, &roof, &err), PITH_ERR_ARGUMENT);
        pith_engine_close(e);
    }
    pith_model_free(m);
}

RUN_TESTS
