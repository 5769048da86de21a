/* SPDX-License-Identifier: MIT */
/* Weights put onto grids, with nothing trained. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include "small_network.h"

static struct pith_train_opts rounding(float step)
{
    struct pith_train_opts o;
    pith_train_opts_init(&o, sizeof o);
    o.levels = o.bias_levels = 127;
    o.gptq_samples = 64;
    o.first_step = step;
    o.gptq_fisher_share = 0.7f;
    o.step_init = PITH_STEP_INIT_FISHER_TENSOR;
    o.threads = 1;
    return o;
}

/* How far w1 and w2 are from those of another model. */
static double moved(struct pith_model *a, struct pith_model *b)
{
    double sum = 0;
    static const char *const name[] = {"w1", "w2"};
    for (int i = 0; i < 2; i++) {
        const float *x = constant(a, name[i])->data, *y = constant(b, name[i])->data;
        for (uint64_t k = 0; k < constant(a, name[i])->count; k++)
            sum += ((double)x[k] - (double)y[k]) * ((double)x[k] - (double)y[k]);
    }
    return sum;
}

static void test_a_finer_step_moves_less(void **state)
{
    (void)state;
    struct pith_data *data = clouds(0);
    struct pith_model *was = network_of(3, false), *fine = network_of(3, false),
                      *coarse = network_of(3, false);
    struct pith_train_opts o = rounding(0.1f);
    struct pith_error err = {0};
    assert_int_equal(pith_train_round(fine, data, &o, NULL, &err), PITH_OK);
    o = rounding(0.8f);
    assert_int_equal(pith_train_round(coarse, data, &o, NULL, &err), PITH_OK);
    assert_non_null(constant(fine, "w1")->codebook);
    assert_true(moved(was, fine) > 0);
    assert_true(moved(was, coarse) > 10 * moved(was, fine));
    pith_model_free(was);
    pith_model_free(fine);
    pith_model_free(coarse);
    pith_data_free(data);
}

/* What is remembered is used - the samples it was found on may be gone - and changes nothing. */
static void test_memory_changes_nothing(void **state)
{
    (void)state;
    struct pith_data *data = clouds(0);
    struct pith_round_memory *memory = pith_round_memory_new();
    struct pith_error err = {0};
    assert_non_null(memory);
    for (int i = 0; i < 3; i++) {
        struct pith_train_opts o = rounding(0.2f * (float)(i + 1));
        o.step_init = i == 1 ? PITH_STEP_INIT_FISHER_ROW : PITH_STEP_INIT_FISHER_TENSOR;
        struct pith_model *with = network_of(3, false), *without = network_of(3, false);
        assert_int_equal(pith_train_round(with, data, &o, memory, &err), PITH_OK);
        assert_int_equal(pith_train_round(without, data, &o, NULL, &err), PITH_OK);
        assert_true(moved(with, without) == 0);
        pith_model_free(with);
        pith_model_free(without);
    }
    pith_round_memory_free(memory);
    pith_data_free(data);
}

static void test_outputs_that_are_numbers(void **state)
{
    (void)state;
    struct pith_data *data = clouds(0);
    struct pith_model *classes = network_of(3, false), *numbers = network_of(3, false);
    struct pith_train_opts o = rounding(0.5f);
    struct pith_error err = {0};
    assert_int_equal(pith_train_round(classes, data, &o, NULL, &err), PITH_OK);
    o.loss = PITH_SQUARED_ERROR; /* without a target */
    assert_int_equal(pith_train_round(numbers, data, &o, NULL, &err), PITH_OK);
    assert_true(moved(classes, numbers) > 0);
    pith_model_free(classes);
    pith_model_free(numbers);
    pith_data_free(data);
}

/* However fine the step: with `cover` no weight is cut off, which without it most are. */
static void test_weights_stay_in_range(void **state)
{
    (void)state;
    struct pith_data *data = clouds(0);
    for (int by = PITH_STEP_INIT_FISHER_TENSOR; by <= PITH_STEP_INIT_FISHER_ROW; by++) {
        struct pith_model *was = network_of(3, false), *m = network_of(3, false),
                          *cut = network_of(3, false);
        struct pith_train_opts o = rounding(0.001f);
        struct pith_error err = {0};
        o.step_init = (enum pith_step_init)by;
        assert_int_equal(pith_train_round(cut, data, &o, NULL, &err), PITH_OK);
        o.cover = true;
        assert_int_equal(pith_train_round(m, data, &o, NULL, &err), PITH_OK);
        if (by == PITH_STEP_INIT_FISHER_TENSOR) /* by row, units change places */
            assert_true(20 * moved(was, m) < moved(was, cut));
        double most = 0, most_was = 0;
        const float *x = constant(m, "w1")->data, *y = constant(was, "w1")->data;
        for (uint64_t k = 0; k < constant(m, "w1")->count; k++) {
            most = fmax(most, fabs((double)x[k]));
            most_was = fmax(most_was, fabs((double)y[k]));
        }
        assert_true(most > 0.97 * most_was);
        pith_model_free(was);
        pith_model_free(m);
        pith_model_free(cut);
    }
    pith_data_free(data);
}

struct watch {
    uint32_t done, total, stop_at;
};

static void rounded(void *user, uint32_t done, uint32_t total)
{
    struct watch *w = user;
    assert_int_equal(done, w->done + 1);
    w->done = done;
    w->total = total;
}

static bool stop(void *user)
{
    const struct watch *w = user;
    return w->done == w->stop_at;
}

static void test_it_stops_between_weights(void **state)
{
    (void)state;
    struct pith_data *data = clouds(0);
    struct pith_model *was = network_of(3, false), *m = network_of(3, false);
    struct watch w = {.stop_at = 1};
    struct pith_train_opts o = rounding(0.5f);
    struct pith_error err = {0};
    o.rounded = rounded;
    o.stop = stop;
    o.user = &w;
    assert_int_equal(pith_train_round(m, data, &o, NULL, &err), PITH_ERR_STOPPED);
    assert_int_equal(w.total, 2);
    assert_true(moved(was, m) == 0); /* as it came */
    assert_null(constant(m, "w1")->codebook);
    w = (struct watch){.stop_at = 9};
    assert_int_equal(pith_train_round(m, data, &o, NULL, &err), PITH_OK);
    assert_int_equal(w.done, 2);
    pith_model_free(was);
    pith_model_free(m);
    pith_data_free(data);
}

static void refused(struct pith_data *data, const struct pith_train_opts *o, const char *text)
{
    struct pith_model *m = network_of(3, false);
    struct pith_error err = {0};
    assert_int_equal(pith_train_round(m, data, o, NULL, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, text));
    pith_model_free(m);
}

static void test_refusals(void **state)
{
    (void)state;
    struct pith_data *data = clouds(0);
    struct pith_train_opts o = rounding(0.5f);
    struct pith_error err = {0};
    o.levels = 0;
    refused(data, &o, "needs levels");
    o = rounding(0.5f);
    o.gptq_fisher_share = 2;
    refused(data, &o, "0..1");
    o = rounding(0.5f);
    assert_int_equal(pith_data_pick(data, (const uint32_t[]){0, 1, 2, 3, 4, 5, 6}, 7, &err),
                     PITH_OK);
    refused(data, &o, "needs 8 samples, there are 7");
    pith_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_finer_step_moves_less),
        cmocka_unit_test(test_memory_changes_nothing),
        cmocka_unit_test(test_outputs_that_are_numbers),
        cmocka_unit_test(test_weights_stay_in_range),
        cmocka_unit_test(test_it_stops_between_weights),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
