/* SPDX-License-Identifier: MIT */
/* test_sense.c - what one coarse layer does to the outputs, held against sums done by hand. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "pith_sense.h"
#include "compress/held_out.h"
#include "measure/small_net.h"
#include "numeric/error_feedback.h"

#define N 4u
#define SAMPLES 5u

static const float first[N * N] = {0.7f, -0.1f, 0.4f,  0.21f, 0.13f, 0.9f,  -0.3f, 0.05f,
                                   0.2f, 0.33f, -0.8f, 0.4f,  0.11f, -0.6f, 0.5f,  1.0f};
static const float second[N * N] = {1, 0, 0, 1, 0, 1, -1, 0, 0, 0, 1, 0, -1, 0, 0, 1};

/* y = second (first x); `second` lies on every grid. */
static struct pith_model *two_layers(void)
{
    struct sample_random r = sample_random_of(1);
    struct pith_model *m = small_net(N, N, first, false);
    uint32_t w = add_constant(m, &r, "w2", 2, (const uint32_t[]){N, N});
    memcpy(m->values[w].constant->data, second, sizeof second);
    m->outputs[0] =
        add_node(m, PITH_OP_GEMM, "fc2", "fc2.out", 2, (const uint32_t[]){m->outputs[0], w})
            ->out[0];
    return sample_shaped(m);
}

static void fill(float *x)
{
    for (uint32_t i = 0; i < SAMPLES * N; i++)
        x[i] = (float)((i * 37u + 11u) % 29u) / 7 - 2;
}

static void product(const float *w, const float *x, float *y)
{
    for (uint32_t o = 0; o < N; o++) {
        y[o] = 0;
        for (uint32_t i = 0; i < N; i++)
            y[o] += w[o * N + i] * x[i];
    }
}

static void add_centred(const float *x, const float *y, double *signal, double *noise)
{
    double mean = 0, change = 0;
    for (uint32_t i = 0; i < N; i++) {
        mean += (double)y[i] / N;
        change += ((double)x[i] - (double)y[i]) / N;
    }
    for (uint32_t i = 0; i < N; i++) {
        *signal += ((double)y[i] - mean) * ((double)y[i] - mean);
        *noise += ((double)x[i] - (double)y[i] - change) * ((double)x[i] - (double)y[i] - change);
    }
}

static struct pith_sense sense(struct pith_model *m, struct pith_data *data,
                               const struct pith_sense_trial *trials, uint32_t n)
{
    const struct pith_calibrate_opts samples = {.size_bytes = sizeof samples, .data = data};
    const struct pith_sense_opts o = {
        .size_bytes = sizeof o, .samples = &samples, .trials = trials, .n_trials = n};
    struct pith_sense s;
    struct pith_error err = {0};
    SUCCEEDS(pith_sense(m, &o, &s, &err));
    return s;
}

/* dB of the outputs where the first layer's weights are `coarse`. */
static double expected(const float *coarse, const float *x)
{
    double signal = 0, noise = 0;
    for (uint32_t s = 0; s < SAMPLES; s++) {
        float a[N], b[N], y[N], z[N];
        product(first, x + s * N, a);
        product(second, a, y);
        product(coarse, x + s * N, b);
        product(second, b, z);
        add_centred(z, y, &signal, &noise);
    }
    return 10 * log10(signal / noise);
}

/* `first` on the integers of so many bits, each row with the scale that numeric/ finds. */
static void round_first(uint32_t bits, float *to)
{
    const int32_t most = (1 << (bits - 1)) - 1;
    for (uint32_t o = 0; o < N; o++) {
        double goal[N], e[N];
        int16_t q[N];
        for (uint32_t i = 0; i < N; i++)
            goal[i] = (double)first[o * N + i];
        const struct error_feedback row = {
            .n = N, .goal = goal, .lowest = -most, .most = most, .n_paths = 1, .e = e};
        const double scale = pith_search_scale(&row, 1e-6, false, q);
        for (uint32_t i = 0; i < N; i++)
            to[o * N + i] = (float)(fmax(-most, fmin(most, nearbyint(goal[i] / scale))) * scale);
    }
}

/* The larger half of `first`: of the two of 0.4 at its edge the first. */
static void prune_first(float *to)
{
    for (uint32_t i = 0; i < N * N; i++) {
        uint32_t before = 0;
        for (uint32_t k = 0; k < N * N; k++)
            before +=
                fabsf(first[k]) > fabsf(first[i]) || (fabsf(first[k]) == fabsf(first[i]) && k < i);
        to[i] = before < N * N / 2 ? first[i] : 0;
    }
}

TEST(a_coarse_layer_costs_what_it_costs)
{
    const struct pith_sense_trial trials[] = {
        {PITH_SENSE_BITS, 8}, {PITH_SENSE_BITS, 3}, {PITH_SENSE_PRUNE, 0.5}};
    float x[SAMPLES * N], coarse[N * N];
    fill(x);
    struct pith_model *m = two_layers();
    struct pith_data *data = rows_of(x, SAMPLES, N, NULL);
    struct pith_sense s = sense(m, data, trials, 3);
    assert_int_equal(s.samples, SAMPLES);
    assert_int_equal(s.predictions, 0); /* numbers, not classes */
    assert_int_equal(s.n_layers, 2);
    assert_string_equal(s.layer[0].layer, "fc");
    assert_int_equal(s.layer[0].n_weights, N * N);
    for (uint32_t t = 0; t < 2; t++) {
        round_first((uint32_t)trials[t].amount, coarse);
        assert_true(fabs(s.layer[0].cost[t].output_db - expected(coarse, x)) < 0.01);
        assert_true(isinf(s.layer[1].cost[t].output_db)); /* 0 and +-1 lie on the grid */
        assert_true(isinf(s.layer[1].cost[t].layer_db));
        assert_int_equal(s.layer[1].cost[t].changed, 0);
    }
    prune_first(coarse);
    assert_true(fabs(s.layer[0].cost[2].output_db - expected(coarse, x)) < 0.01);
    assert_true(s.layer[0].cost[0].output_db > s.layer[0].cost[1].output_db + 15);
    /* the model is as it was */
    assert_memory_equal(m->values[m->nodes[0].in[1]].constant->data, first, sizeof first);
    pith_sense_free(&s);
    pith_data_free(data);
    pith_model_free(m);
}

TEST(coarse_activations_are_those_a_layer_reads)
{
    const struct pith_sense_trial trials[] = {{PITH_SENSE_ACTIVATIONS, 16},
                                              {PITH_SENSE_ACTIVATIONS, 4}};
    float x[SAMPLES * N];
    fill(x);
    struct pith_model *m = two_layers();
    struct pith_data *data = rows_of(x, SAMPLES, N, NULL);
    struct pith_sense s = sense(m, data, trials, 2);
    for (uint32_t l = 0; l < 2; l++) {
        assert_true(s.layer[l].cost[0].output_db > 75);
        assert_true(s.layer[l].cost[1].output_db > 12);
        assert_true(s.layer[l].cost[1].output_db < 40);
    }
    pith_sense_free(&s);
    pith_data_free(data);
    pith_model_free(m);
}

TEST(layers_are_put_in_order)
{
    struct pith_sense_cost cost[4] = {
        {.output_db = 30}, {.output_db = 10}, {.output_db = HUGE_VAL}, {.output_db = 10}};
    struct pith_sense_layer layer[4];
    for (uint32_t i = 0; i < 4; i++)
        layer[i] = (struct pith_sense_layer){.cost = &cost[i]};
    const struct pith_sense s = {.n_layers = 4, .n_trials = 1, .layer = layer};
    uint32_t order[4];
    pith_sense_order(&s, 0, order);
    assert_memory_equal(order, ((const uint32_t[]){1, 3, 0, 2}), sizeof order);
}

TEST(odd_options_are_refused)
{
    static const struct pith_sense_trial bad[] = {{PITH_SENSE_BITS, 9},
                                                  {PITH_SENSE_BITS, 1},
                                                  {PITH_SENSE_BITS, 4.5},
                                                  {PITH_SENSE_ACTIVATIONS, 17},
                                                  {PITH_SENSE_PRUNE, 1.5}};
    float x[SAMPLES * N];
    fill(x);
    struct pith_model *m = two_layers();
    struct pith_data *data = rows_of(x, SAMPLES, N, NULL), *wide = rows_of(x, 1, 2 * N, NULL);
    struct pith_calibrate_opts samples = {.size_bytes = sizeof samples, .data = data};
    struct pith_sense_opts o = {.size_bytes = sizeof o, .samples = &samples, .n_trials = 1};
    struct pith_sense s;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        o.trials = &bad[i];
        assert_int_equal(pith_sense(m, &o, &s, NULL), PITH_ERR_ARGUMENT);
    }
    const struct pith_sense_trial good = {PITH_SENSE_BITS, 4};
    o.trials = &good;
    samples.data = wide;
    assert_int_equal(pith_sense(m, &o, &s, NULL), PITH_ERR_ARGUMENT);
    pith_data_free(data);
    pith_data_free(wide);
    pith_model_free(m);
}

/* Equal magnitudes: half of them goes all the same, the last two rows. */
TEST(weights_at_the_edges)
{
    const struct pith_sense_trial trials[] = {{PITH_SENSE_PRUNE, 0},
                                              {PITH_SENSE_PRUNE, 0.5},
                                              {PITH_SENSE_PRUNE, 1},
                                              {PITH_SENSE_BITS, 2}};
    const double expected_db[] = {HUGE_VAL, 10 * log10(4), 0, HUGE_VAL};
    float w[N * N], x[2 * N] = {3, 3, 3, 3, -1, -1, -1, -1};
    for (uint32_t i = 0; i < N * N; i++)
        w[i] = i < N * N / 2 ? 1 : -1; /* y = sum of x times (1, 1, -1, -1) */
    struct pith_model *m = small_net(N, N, w, false);
    struct pith_data *data = rows_of(x, 2, N, NULL);
    struct pith_sense s = sense(m, data, trials, 4);
    for (uint32_t t = 0; t < 4; t++) {
        const double db = s.layer[0].cost[t].output_db;
        assert_true(isinf(expected_db[t]) ? isinf(db) : fabs(db - expected_db[t]) < 0.01);
    }
    pith_sense_free(&s);
    pith_data_free(data);
    pith_model_free(m);
}

/* Of the first layer half of each weight, of the second none. */
static bool give_half(void *user, const struct pith_weight_ref *ref, const float *was, float *to)
{
    (void)user;
    for (uint64_t i = 0; i < ref->rows * ref->cols; i++)
        to[i] = was[i] / 2;
    return strcmp(ref->layer, "fc2") != 0;
}

TEST(given_weights_cost_what_they_cost)
{
    struct pith_model *m = two_layers();
    float x[SAMPLES * N], half[N * N];
    const struct pith_sense_trial trial = {PITH_SENSE_GIVEN, 0};
    fill(x);
    struct pith_data *data = rows_of(x, SAMPLES, N, NULL);
    for (uint32_t i = 0; i < N * N; i++)
        half[i] = first[i] / 2;
    const struct pith_calibrate_opts samples = {.size_bytes = sizeof samples, .data = data};
    struct pith_sense_opts o = {.size_bytes = sizeof o,
                                .samples = &samples,
                                .trials = &trial,
                                .n_trials = 1,
                                .given = give_half};
    struct pith_sense s;
    assert_int_equal(pith_sense(m, &o, &s, NULL), PITH_OK);
    assert_int_equal(s.n_layers, 2);
    assert_true(fabs(s.layer[0].cost[0].output_db - expected(half, x)) < 0.01);
    assert_true(isnan(s.layer[1].cost[0].output_db) && s.layer[1].cost[0].changed == 0);
    pith_sense_free(&s);
    o.given = NULL; /* nothing gives them */
    assert_int_equal(pith_sense(m, &o, &s, NULL), PITH_ERR_ARGUMENT);
    pith_data_free(data);
    pith_model_free(m);
}

RUN_TESTS
