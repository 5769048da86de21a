/* SPDX-License-Identifier: MIT */
/* test_range_search.c - what no output heeds is cut off, what they all heed is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "measure/small_net.h"
#include "pith_compress.h"
#include "compress/held_out.h"
#include "compress/range_search.h"

#define N 8u
#define SAMPLES 64u
#define LOUD 1000.0f /* number 0 of the input, beside the others' 1 */

/* Two layers N -> N; weight: of number 0, beside the others' 1. */
static struct pith_model *network(float weight)
{
    float w[N * N];
    struct sample_random r = sample_random_of(7);
    struct pith_error err = {0};
    for (uint32_t i = 0; i < N * N; i++)
        w[i] = sample_gauss(&r) * (i % N == 0 ? weight : 1.0f);
    struct pith_model *m = small_net(N, N, w, true);
    uint32_t v = add_constant(m, &r, "w2", 2, (const uint32_t[]){N, N});
    for (uint32_t i = 0; i < N * N; i++)
        ((float *)m->values[v].constant->data)[i] = sample_gauss(&r);
    m->outputs[0] =
        add_node(m, PITH_OP_GEMM, "fc2", "", 2, (const uint32_t[]){m->outputs[0], v})->out[0];
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    return m;
}

static struct pith_data *inputs(void)
{
    float x[SAMPLES * N];
    struct sample_random r = sample_random_of(3);
    for (uint32_t i = 0; i < SAMPLES * N; i++)
        x[i] = sample_gauss(&r) * (i % N == 0 ? LOUD : 1.0f);
    return rows_of(x, SAMPLES, N, NULL);
}

/* The observed range of the input, then what is left of it when ranges were searched. */
static void search(struct pith_model *m, struct pith_quantize_opts *opts, double *range,
                   double *left)
{
    struct pith_data *data = inputs();
    struct pith_error err = {0};
    const struct pith_calibrate_opts see = {.size_bytes = sizeof see, .data = data};
    const struct pith_range_opts all = {
        .size_bytes = sizeof all, .method = PITH_RANGE_MAX, .per = PITH_RANGE_PER_TENSOR};
    opts->size_bytes = sizeof *opts;
    assert_int_equal(pith_calibrate(m, &see, NULL, &err), PITH_OK);
    assert_int_equal(pith_choose_grids(m, &all, NULL, &err), PITH_OK);
    const struct pith_value *x = &m->values[m->inputs[0]];
    *range = (double)x->max - (double)x->min;
    assert_int_equal(pith_search_ranges(m, opts, &see, &err), PITH_OK);
    x = &m->values[m->inputs[0]]; /* folding may have moved it */
    *left = (double)x->grid->scale[0] * 255;
    pith_data_free(data);
}

static void what_no_output_heeds_is_cut_off(void **state)
{
    (void)state;
    struct pith_model *m = network(0);
    struct pith_quantize_opts opts = {0};
    double range, left;
    search(m, &opts, &range, &left);
    assert_true(range > 2 * (double)LOUD);
    assert_true(left > 3 && left < 20);
    pith_model_free(m);
}

static void what_all_outputs_heed_is_kept(void **state)
{
    (void)state;
    struct pith_model *m = network(1);
    struct pith_quantize_opts opts = {0};
    double range, left;
    search(m, &opts, &range, &left);
    assert_true(left > 0.9 * range);
    pith_model_free(m);
}

/* There scales are powers of two, which the search does not know. */
static void fixed_point_is_left_alone(void **state)
{
    (void)state;
    struct pith_model *m = network(0);
    struct pith_quantize_opts opts = {.fixed_bits = 8};
    double range, left;
    search(m, &opts, &range, &left);
    assert_true(left > 0.99 * range && left < 1.01 * range);
    pith_model_free(m);
}

static void the_command_s_stage_searches(void **state)
{
    (void)state;
    struct pith_model *m = network(0);
    struct pith_data *data = inputs();
    const struct pith_stage_context context = {.size_bytes = sizeof context, .train = data};
    struct pith_stage_report r = {0};
    struct pith_error err = {0};
    struct pith_stage s;
    pith_stage_init(&s, PITH_STAGE_QUANTIZE);
    assert_int_equal(pith_stage_run_with(m, &s, &context, &r, &err), PITH_OK);
    assert_int_equal(r.n_kept_float, 0);
    assert_true(r.output_db > 25);
    pith_stage_report_free(&r);
    pith_data_free(data);
    pith_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_no_output_heeds_is_cut_off),
        cmocka_unit_test(what_all_outputs_heed_is_kept),
        cmocka_unit_test(fixed_point_is_left_alone),
        cmocka_unit_test(the_command_s_stage_searches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
