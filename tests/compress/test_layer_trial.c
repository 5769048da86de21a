/* SPDX-License-Identifier: MIT */
/* test_layer_trial.c - one layer of integers among floats loses as much when the run begins at the
 * layer as it does when the whole network runs. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "compress/layer_trial.h"
#include "compress/output_sqnr.h"
#include "measure/small_net.h"
#include "pith_quantize.h"

#define N 8u
#define SAMPLES 6u

/* fc, act, then fc1 and fc2, each with what it reads added: floats that several nodes read. */
static struct pith_model *network(bool early)
{
    float w[N * N];
    struct sample_random r = sample_random_of(7);
    for (uint32_t i = 0; i < N * N; i++)
        w[i] = sample_gauss(&r);
    struct pith_model *m = small_net(N, N, w, true);
    const char *const names[] = {"fc1", "fc2"};
    uint32_t *outputs = pith_model_alloc(m, 2, sizeof *outputs);
    outputs[0] = outputs[1] = m->outputs[0];
    m->outputs = outputs;
    m->n_outputs = early ? 2 : 1;
    for (uint32_t k = 0; k < 2; k++) {
        const uint32_t x = m->outputs[0];
        uint32_t v = add_constant(m, &r, "", 2, (const uint32_t[]){N, N});
        v = add_node(m, PITH_OP_GEMM, names[k], "", 2, (const uint32_t[]){x, v})->out[0];
        m->outputs[0] = add_node(m, PITH_OP_ADD, "", "", 2, (const uint32_t[]){v, x})->out[0];
    }
    return sample_shaped(m);
}

static void see(void *user, uint32_t value, float *x, size_t n)
{
    pith_sqnr_see(user, value, x, n);
}

static void run_whole(struct output_sqnr *a, const struct pith_model *m,
                      const struct pith_calibrate_opts *o, bool keeps)
{
    struct observed_run run = {.see = see, .user = a};
    pith_sqnr_begin(a, m, keeps);
    assert_int_equal(pith_observed_run_open(&run, m, o, NULL), PITH_OK);
    for (uint32_t i = 0; i < SAMPLES; i++)
        assert_int_equal(pith_observed_run_sample(&run, i, NULL), PITH_OK);
    pith_observed_run_close(&run);
}

static void quantize(struct pith_model *m, uint32_t layer, bool same_numbers)
{
    const char *const names[] = {"fc", "fc1", "fc2"};
    const char *keep[2];
    struct pith_quantize_opts o = {.size_bytes = sizeof o,
                                   .rounding = PITH_ROUND_NEAREST,
                                   .same_numbers = same_numbers,
                                   .keep = keep};
    for (uint32_t k = 0; k < 3; k++)
        if (k != layer)
            keep[o.n_keep++] = names[k];
    assert_int_equal(pith_quantize(m, &o, NULL, NULL, NULL), PITH_OK);
}

static void compare_trials(bool early)
{
    float x[SAMPLES * N];
    struct sample_random r = sample_random_of(3);
    for (uint32_t i = 0; i < SAMPLES * N; i++)
        x[i] = sample_gauss(&r);
    struct pith_data *data = rows_of(x, SAMPLES, N, NULL);
    struct pith_model *m = network(early);
    const struct pith_calibrate_opts o = {.size_bytes = sizeof o, .data = data};
    const struct pith_range_opts ranges = {.size_bytes = sizeof ranges};
    struct layer_trial t = {0};
    struct output_sqnr a;
    double last = 0;
    assert_int_equal(pith_calibrate(m, &o, NULL, NULL), PITH_OK);
    assert_int_equal(pith_choose_grids(m, &ranges, NULL, NULL), PITH_OK);
    assert_int_equal(pith_sqnr_open(&a, m), PITH_OK);
    assert_int_equal(pith_layer_trial_open(&t, m, &o, SAMPLES, NULL), PITH_OK);
    run_whole(&a, m, &o, true);
    for (uint32_t layer = 0; layer < 3; layer++) {
        struct pith_model q = *m;
        double noise = -1;
        quantize(&q, layer, true);
        run_whole(&a, &q, &o, false);
        const double whole = pith_sqnr_noise(&a) / a.all.signal;
        for (uint32_t run = 0; run < 2; run++) { /* the second begins behind what is kept */
            const enum pith_status st = pith_layer_trial_run(&t, &q, 0, &noise, NULL);
            const bool same = whole > 0 && whole != last && fabs(noise - whole) <= 1e-9 * whole;
            if (early && layer == 1) /* reads the early output, which stays as it is */
                assert_int_equal(st, PITH_ERR_UNSUPPORTED);
            else if (st || !same)
                fail_msg("layer %u: %g, whole %g", layer, noise, whole);
        }
        if (early && layer == 1)
            continue;
        last = whole;
        const uint64_t runs = t.outputs.n_runs;
        assert_int_equal(pith_layer_trial_run(&t, &q, 4 * whole, &noise, NULL), PITH_OK);
        assert_in_range(t.outputs.n_runs - runs, 2, SAMPLES - 1);
        q = *m;
        quantize(&q, layer, false);
        assert_int_equal(pith_layer_trial_run(&t, &q, 0, &noise, NULL), PITH_ERR_UNSUPPORTED);
    }
    pith_layer_trial_close(&t);
    pith_sqnr_close(&a);
    pith_data_free(data);
    pith_model_free(m);
}

TEST(a_trial_costs_what_the_whole_network_does)
{
    compare_trials(false);
}

TEST(so_it_does_behind_another_output)
{
    compare_trials(true);
}

RUN_TESTS
