/* SPDX-License-Identifier: MIT */
/* test_tune.c - kernels of steps: all are timed, one of each is taken, the plan file holds it. */
#include <stdint.h>
#include "test_run.h"
#include "sample_models.h"
#include "pith_host.h"
#include "pith_pack.h"
#include "pith_tune.h"

static struct pith_packed packed;

FIXTURE(pack_lenet5)
{
    struct pith_model *m = sample_lenet5(1);
    struct pith_buffer file = {0};
    struct pith_error err = {0};
    int bad = pith_model_pack(m, NULL, &file, &err) ||
              pith_packed_read(&file, "lenet5.pith", NULL, &packed, &err);
    pith_model_free(m);
    return bad;
}

FIXTURE(free_packed)
{
    pith_packed_free(&packed);
    return 0;
}

static struct pith_engine_opts one_thread(void)
{
    return (struct pith_engine_opts){.size_bytes = sizeof(struct pith_engine_opts), .threads = 1};
}

static struct pith_engine *open_plan(const struct pith_buffer *file)
{
    struct pith_engine_opts o = one_thread();
    struct pith_engine *e = NULL;
    struct pith_error err = {0};
    o.plan_file = file->data;
    o.plan_file_bytes = file->bytes;
    assert_int_equal(pith_engine_open_packed(&packed, &o, &e, &err), PITH_OK);
    return e;
}

TEST(each_step_takes_one)
{
    const struct pith_engine_opts o = one_thread();
    const struct pith_tune_opts t = {.size_bytes = sizeof t, .seconds = 0.05};
    struct pith_tuned tuned = {0};
    struct pith_error err = {0};
    assert_int_equal(pith_tune(&packed, &o, &t, &tuned, &err), PITH_OK);
    assert_true(tuned.n_kernels >= 4); /* two convolutions at least have several */
    struct pith_engine *e = open_plan(&tuned.plan_file);
    for (uint32_t i = 0, n; i < tuned.n_kernels; i += n) {
        const struct pith_tuned_kernel *k = &tuned.kernel[i];
        uint32_t planned = 0, taken = 0;
        struct pith_layer l;
        pith_plan_layer(pith_engine_plan(e), k->step, &l);
        for (n = 0; i + n < tuned.n_kernels && k[n].step == k->step; n++) {
            planned += k[n].planned;
            taken += k[n].taken;
            assert_true(k[n].ns > 0 && k[n].ns < UINT64_MAX);
            assert_true(n == 0 || k[n].choice > k[n - 1].choice);
            if (k[n].taken)
                assert_int_equal(l.choice, k[n].choice);
        }
        assert_true(n >= 2);
        assert_int_equal(planned, 1);
        assert_int_equal(taken, 1);
    }
    assert_true(tuned.tuned.ms_median <= tuned.planned.ms_median);
    pith_engine_close(e);
    pith_tuned_free(&tuned);
    assert_null(tuned.kernel);
}

/* Every choice that tuning found gives the outputs of the planned one, but for the order of sums.
 */
TEST(choices_compute_the_same)
{
    struct pith_engine_opts o = one_thread();
    struct pith_engine *e = NULL;
    struct pith_error err = {0};
    float want[10];
    uint8_t choices[64];
    uint32_t others = 0;
    assert_int_equal(pith_engine_open_packed(&packed, &o, &e, &err), PITH_OK);
    pith_fill_normal(pith_engine_plan(e), 1);
    pith_plan_run(pith_engine_plan(e));
    memcpy(want, pith_plan_output_data(pith_engine_plan(e), 0), sizeof want);
    pith_engine_close(e);
    o.flags = PITH_FLAG_TRY_CHOICES;
    o.choices = choices;
    o.n_choices = sizeof choices;
    for (uint32_t choice = 1; choice < 256; choice++) {
        struct pith_layer l;
        memset(choices, (int)choice, sizeof choices);
        assert_int_equal(pith_engine_open_packed(&packed, &o, &e, &err), PITH_OK);
        struct pith_plan *plan = pith_engine_plan(e);
        for (uint32_t i = 0; i < pith_plan_layer_count(plan); i++) {
            pith_plan_layer(plan, i, &l);
            others += l.choice == choice;
        }
        pith_fill_normal(plan, 1);
        assert_int_equal(pith_plan_run(plan), PITH_OK);
        const float *got = pith_plan_output_data(plan, 0);
        for (int i = 0; i < 10; i++)
            assert_true(fabsf(got[i] - want[i]) <= 1e-5f);
        pith_engine_close(e);
    }
    assert_true(others >= 4);
    o.flags = 0; /* without the flag, what an operator cannot do is refused */
    assert_int_equal(pith_engine_open_packed(&packed, &o, &e, &err), PITH_ERR_CORRUPT);
}

static bool refuse_third(void *user, uint64_t done)
{
    (void)done;
    return ++*(uint32_t *)user < 3;
}

TEST(stops_on_request)
{
    uint32_t calls = 0;
    const struct pith_watch w = {refuse_third, &calls};
    const struct pith_engine_opts o = one_thread();
    const struct pith_tune_opts t = {.size_bytes = sizeof t, .seconds = 0.05, .watch = &w};
    struct pith_tuned tuned = {.n_kernels = 77};
    struct pith_error err = {0};
    assert_int_equal(pith_tune(&packed, &o, &t, &tuned, &err), PITH_ERR_STOPPED);
    assert_int_equal(calls, 3);
    assert_int_equal(tuned.n_kernels, 77);
    struct pith_engine_opts observed = one_thread();
    observed.profile = true;
    assert_int_equal(pith_tune(&packed, &observed, NULL, &tuned, &err), PITH_ERR_ARGUMENT);
}

TEST(batch_is_within_the_limit)
{
    const struct pith_engine_opts o = one_thread();
    const struct pith_tune_opts t = {.size_bytes = sizeof t, .seconds = 0.05};
    struct pith_error err = {0};
    uint32_t batch = 0;
    assert_int_equal(pith_tune_batch(&packed, &o, &t, 0, &batch, &err), PITH_OK);
    assert_true(batch >= 1 && batch <= 256 && (batch & (batch - 1)) == 0);
    batch = 77;
    assert_int_equal(pith_tune_batch(&packed, &o, &t, 1e-9, &batch, &err), PITH_ERR_GOAL);
    assert_int_equal(batch, 77);
    assert_string_equal(err.text, "one sample takes longer than 1e-09 ms");
}

RUN_TESTS_WITH(pack_lenet5, free_packed)
