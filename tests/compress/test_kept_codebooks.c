/* SPDX-License-Identifier: MIT */
/* test_kept_codebooks.c - which weights become codebooks, by an evaluator that some of them change.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "compress/held_out.h"
#include "compress/kept_codebooks.h"
#include "measure/small_net.h"
#include "op_interface/op_semantics.h"
#include "quantize/store_floats.h"

#define N 40u /* 1,600 weights a layer */
#define LAYERS 3u

/* noise = before + what layer i weighs, as often as it has a codebook */
struct fake_outputs {
    double before, each[LAYERS];
    uint64_t changes[LAYERS];
    uint32_t n_calls;
};

static const struct pith_const *weight(const struct pith_model *m, uint32_t i)
{
    return m->values[m->nodes[i].in[1]].constant;
}

static enum pith_status measure(void *user, const struct pith_model *m, struct output_error *e)
{
    struct fake_outputs *fake_outputs = user;
    *e = (struct output_error){.signal = 100, .noise = fake_outputs->before};
    for (uint32_t i = 0; i < LAYERS; i++)
        if (weight(m, i)->codebook) {
            e->noise += fake_outputs->each[i];
            e->changed += fake_outputs->changes[i];
        }
    fake_outputs->n_calls++;
    return PITH_OK;
}

static struct pith_model *network(void)
{
    struct sample_random r = sample_random_of(5);
    struct pith_error err = {0};
    float w[N * N];
    for (uint32_t i = 0; i < N * N; i++)
        w[i] = sample_gauss(&r);
    struct pith_model *m = small_net(N, N, w, false);
    for (uint32_t k = 1; k < LAYERS; k++) {
        uint32_t v = add_constant(m, &r, "", 2, (const uint32_t[]){N, N});
        m->outputs[0] =
            add_node(m, PITH_OP_GEMM, "", "", 2, (const uint32_t[]){m->outputs[0], v})->out[0];
    }
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    return m;
}

/* Which layers have a codebook, as bits; the others are f16, and what they were. */
static uint32_t chosen(struct fake_outputs fake_outputs, uint32_t *n_calls)
{
    struct pith_model *m = network(), *was = network();
    struct pith_stored_floats stored;
    struct pith_stage_report r = {0};
    const struct output_evaluator evaluator = {measure, &fake_outputs};
    uint32_t bits = 0, n = 0;
    assert_int_equal(pith_store_floats(m, PITH_F16, &stored, NULL), PITH_OK);
    assert_int_equal(pith_store_floats(was, PITH_F16, NULL, NULL), PITH_OK);
    r.n_narrow = stored.n_numbers;
    assert_int_equal(pith_keep_in_codebooks(m, &evaluator, &r, NULL), PITH_OK);
    for (uint32_t i = 0; i < LAYERS; i++) {
        const struct pith_const *c = weight(m, i);
        bits |= (c->codebook ? 1u : 0u) << i;
        n += c->codebook != NULL;
        assert_int_equal(c->stored, c->codebook ? 0 : PITH_F16);
        if (!c->codebook)
            assert_memory_equal(c->data, weight(was, i)->data, N * N * sizeof(float));
    }
    assert_int_equal(r.n_codebooks, n);
    assert_int_equal(r.n_indexed, n * N * N);
    assert_int_equal(r.n_narrow, stored.n_numbers - n * N * N);
    *n_calls = fake_outputs.n_calls;
    pith_model_free(m);
    pith_model_free(was);
    return bits;
}

/* Noise of 1 below a signal of 100: 20 dB, which is not enough to lose anything. */
static void outputs_that_do_not_change(void **state)
{
    (void)state;
    uint32_t n_calls;
    assert_int_equal(chosen((struct fake_outputs){1, {0, 0, 0}, {0}, 0}, &n_calls), 7);
    assert_int_equal(n_calls, 2); /* before, and with all */
    assert_int_equal(chosen((struct fake_outputs){1, {0.04, 0.009, 0}, {0}, 0}, &n_calls), 7);
    assert_int_equal(n_calls, 2);
}

static void a_layer_that_matters_stays_f16(void **state)
{
    (void)state;
    uint32_t n_calls;
    assert_int_equal(chosen((struct fake_outputs){1, {0.01, 0.06, 0.01}, {0}, 0}, &n_calls), 5);
    assert_int_equal(n_calls, 2 + LAYERS);
    assert_int_equal(chosen((struct fake_outputs){1, {0.06, 0.06, 0.06}, {0}, 0}, &n_calls), 0);
    /* what one leaves the next may have: 0.05 of 1 in all */
    assert_int_equal(chosen((struct fake_outputs){1, {0.06, 0.03, 0.015}, {0}, 0}, &n_calls), 6);
}

static void no_answer_may_change(void **state)
{
    (void)state;
    uint32_t n_calls;
    assert_int_equal(chosen((struct fake_outputs){1, {0}, {0, 0, 1}, 0}, &n_calls), 3);
}

/* Noise of 0.01: 40 dB; 0.1 is 30, and enough. */
static void far_from_their_error_outputs_may_lose(void **state)
{
    (void)state;
    uint32_t n_calls;
    assert_int_equal(chosen((struct fake_outputs){0.01, {0.03, 0.03, 0.02}, {0}, 0}, &n_calls), 7);
    assert_int_equal(chosen((struct fake_outputs){0.01, {0.02, 0.2, 0.02}, {0}, 0}, &n_calls), 5);
}

static void infinite_noise_changes_nothing(void **state)
{
    (void)state;
    uint32_t n_calls;
    assert_int_equal(chosen((struct fake_outputs){HUGE_VAL, {0}, {0}, 0}, &n_calls), 0);
    assert_int_equal(n_calls, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(outputs_that_do_not_change),
                                       cmocka_unit_test(a_layer_that_matters_stays_f16),
                                       cmocka_unit_test(no_answer_may_change),
                                       cmocka_unit_test(far_from_their_error_outputs_may_lose),
                                       cmocka_unit_test(infinite_noise_changes_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
