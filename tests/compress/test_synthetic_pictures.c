/* SPDX-License-Identifier: MIT */
/* test_synthetic_pictures.c - synthetic samples fit the input, look like pictures, and quantize a
 * network that they are all there is of. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "measure/small_net.h"
#include "pith_compress.h"
#include "compress/held_out.h"
#include "compress/synthetic_pictures.h"

#define SIDE 32u
#define PIXELS (SIDE * SIDE)

/* One convolution over c x SIDE x SIDE. */
static struct pith_model *picture_net(uint32_t c, const char *preprocess)
{
    struct sample_random r = sample_random_of(5);
    struct pith_model *m = sample_new();
    uint32_t x = add_input(m, "x", 4, (const uint32_t[]){1, c, SIDE, SIDE});
    uint32_t w = add_constant(m, &r, "w", 4, (const uint32_t[]){4, c, 3, 3});
    uint32_t y = add_node(m, PITH_OP_CONV, "conv", "y", 2, (const uint32_t[]){x, w})->out[0];
    m->outputs[m->n_outputs++] = y;
    if (preprocess)
        assert_int_equal(pith_model_set_meta(m, "preprocess", preprocess), PITH_OK);
    return sample_shaped(m);
}

static void read_all(struct pith_data *d, uint32_t n, size_t elems, float *x)
{
    assert_int_equal(pith_data_count(d), n);
    assert_int_equal(pith_data_elems(d), elems);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(pith_data_read(d, i, x + i * elems, NULL, NULL), PITH_OK);
}

static struct pith_data *make(const struct pith_model *m, uint32_t n, uint64_t seed)
{
    struct pith_data *d = NULL;
    struct pith_error err = {0};
    SUCCEEDS(pith_synthetic_pictures(m, n, seed, &d, &err));
    return d;
}

/* Pixels fill 0..255 in each channel, neighbours are mostly alike, and the seed decides all. */
TEST(pictures_look_like_pictures)
{
    enum { N = 8 };
    static float x[N * 3 * PIXELS], again[N * 3 * PIXELS], other[N * 3 * PIXELS];
    struct pith_model *m = picture_net(3, "scale=1");
    struct pith_data *d = make(m, N, 1);
    read_all(d, N, 3 * PIXELS, x);
    pith_data_free(d);
    d = make(m, N, 1);
    read_all(d, N, 3 * PIXELS, again);
    pith_data_free(d);
    d = make(m, N, 2);
    read_all(d, N, 3 * PIXELS, other);
    pith_data_free(d);
    assert_memory_equal(x, again, sizeof x);
    assert_memory_not_equal(x, other, sizeof x);
    for (uint32_t c = 0; c < 3; c++) {
        double sum = 0, squares = 0, steps = 0;
        for (uint32_t i = 0; i < N * PIXELS; i++) {
            const float *at = x + (i / PIXELS * 3 + c) * PIXELS + i % PIXELS;
            assert_true(*at >= 0 && *at <= 255);
            sum += (double)*at;
            squares += (double)*at * (double)*at;
            if (i % SIDE + 1 < SIDE)
                steps += ((double)at[1] - (double)at[0]) * ((double)at[1] - (double)at[0]);
        }
        double n = N * PIXELS, mean = sum / n, variance = squares / n - mean * mean;
        assert_true(mean > 90 && mean < 165);
        assert_true(variance > 45 * 45 && variance < 100 * 100);
        assert_true(steps / n < variance); /* of noise: twice the variance */
    }
    pith_model_free(m);
}

TEST(pictures_go_through_the_preprocessing)
{
    static float x[3 * PIXELS], raw[3 * PIXELS];
    struct pith_model *m = picture_net(3, "scale=1/255,mean=0.5:0.25:0,std=2,crop=32"),
                      *plain = picture_net(3, "scale=1");
    struct pith_data *d = make(m, 1, 3), *r = make(plain, 1, 3);
    read_all(d, 1, 3 * PIXELS, x);
    read_all(r, 1, 3 * PIXELS, raw);
    for (uint32_t i = 0; i < 3 * PIXELS; i++) {
        float mean = i < PIXELS ? 0.5f : i < 2 * PIXELS ? 0.25f : 0;
        assert_true(fabs((double)x[i] - ((double)raw[i] / 255 - (double)mean) / 2) < 1e-5);
    }
    pith_data_free(d);
    pith_data_free(r);
    pith_model_free(m);
    pith_model_free(plain);
}

TEST(other_shapes_get_noise)
{
    const float w[64] = {1};
    static float x[1000 * 8];
    struct pith_model *m = small_net(8, 8, w, false);
    struct pith_data *d = make(m, 1000, 1);
    read_all(d, 1000, 8, x);
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < 8000; i++) {
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
    }
    assert_true(fabs(sum / 8000) < 0.05);
    assert_true(fabs(squares / 8000 - 1) < 0.05);
    pith_data_free(d);
    pith_model_free(m);
}

TEST(a_network_is_quantized_without_data)
{
    struct pith_model *m = picture_net(1, "scale=1/255");
    const struct pith_stage_context context = {.size_bytes = sizeof context, .seed = 1};
    struct pith_stage_report r = {0};
    struct pith_stage s;
    struct pith_error err = {0};
    pith_stage_init(&s, PITH_STAGE_QUANTIZE);
    s.synthetic = true;
    s.samples = 9;
    SUCCEEDS(pith_stage_run_with(m, &s, &context, &r, &err));
    assert_int_equal(r.synthetic, 9);
    assert_true(r.loss.output_db > 30);
    assert_null(r.quantize[0].why);
    assert_non_null(strstr(m->history[0].text, "\"data\":\"none\""));
    pith_stage_report_free(&r);
    pith_model_free(m);
}

TEST(pixels_must_mean_something)
{
    struct pith_model *m = picture_net(3, NULL);
    struct pith_data *d = NULL;
    struct pith_error err = {0};
    assert_int_equal(pith_synthetic_pictures(m, 1, 1, &d, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "--preprocess"));
    assert_null(d);
    pith_model_free(m);
}

TEST(two_inputs_are_refused)
{
    const float w[4] = {1, 0, 0, 1};
    struct pith_model *m = small_net(2, 2, w, false);
    struct pith_data *d = NULL;
    m->inputs[m->n_inputs++] = m->inputs[0];
    assert_int_equal(pith_synthetic_pictures(m, 1, 1, &d, NULL), PITH_ERR_ARGUMENT);
    assert_null(d);
    pith_model_free(m);
}

RUN_TESTS
