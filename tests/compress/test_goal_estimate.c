/* SPDX-License-Identifier: MIT */
/* What a search would end at, beside what it does end at: on a network made here, near to the
 * factor that is stated; a tighter goal takes more; one that cannot be is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <math.h>
#include "pith_goal_estimate.h"
#include "measure/small_net.h"

enum { WIDTH = 48, HIDDEN = 96, ROWS = 128 };

static struct pith_model *wide_net(void)
{
    struct sample_random r = sample_random_of(3);
    struct pith_error err = {0};
    float w[HIDDEN * WIDTH], v[WIDTH * HIDDEN];
    for (uint32_t i = 0; i < HIDDEN * WIDTH; i++)
        w[i] = 0.2f * sample_gauss(&r);
    for (uint32_t i = 0; i < HIDDEN * WIDTH; i++)
        v[i] = 0.1f * sample_gauss(&r);
    struct pith_model *m = small_net(WIDTH, HIDDEN, w, true);
    uint32_t y = add_constant(m, &r, "v", 2, (const uint32_t[]){WIDTH, HIDDEN});
    memcpy(m->values[y].constant->data, v, sizeof v);
    m->outputs[0] =
        add_node(m, PITH_OP_GEMM, "out", "out.out", 2, (const uint32_t[]){m->outputs[0], y})
            ->out[0];
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    return m;
}

/* alike: share of a number that is common to all columns. */
static struct pith_data *samples(float alike)
{
    struct sample_random r = sample_random_of(4);
    float *x = malloc(sizeof *x * ROWS * WIDTH);
    for (uint32_t i = 0; i < ROWS; i++) {
        const float common = sample_gauss(&r);
        for (uint32_t k = 0; k < WIDTH; k++)
            x[i * WIDTH + k] = alike * common + (1 - alike) * sample_gauss(&r);
    }
    struct pith_data *data = rows_of(x, ROWS, WIDTH, NULL);
    free(x);
    return data;
}

struct fixture {
    struct pith_model *m;
    struct pith_data *data;
    struct pith_feed_input input;
    struct pith_feed feed;
    struct pith_goal_compress_opts opts;
};

static void open_fixture_of(struct fixture *f, float alike)
{
    f->m = wide_net();
    f->data = samples(alike);
    f->input = (struct pith_feed_input){.data = f->data};
    f->feed = (struct pith_feed){.size_bytes = sizeof f->feed, .n_inputs = 1, .input = &f->input};
    f->opts = (struct pith_goal_compress_opts){
        .size_bytes = sizeof f->opts, .feed = &f->feed, .seed = 1, .threads = 1};
}

static void open_fixture(struct fixture *f)
{
    open_fixture_of(f, 0);
}

static void close_fixture(struct fixture *f)
{
    pith_model_free(f->m);
    pith_data_free(f->data);
}

static struct pith_goal_estimate estimated(const struct fixture *f, const struct pith_goal *goal)
{
    struct pith_goal_estimate e;
    struct pith_error err = {0};
    if (pith_goal_estimate(f->m, goal, &f->opts, &e, &err))
        fail_msg("%s", err.text);
    return e;
}

static void is_near_to_the_search(void **state)
{
    (void)state;
    struct fixture f;
    struct pith_goal goal;
    struct pith_goal_result r;
    struct pith_error err = {0};
    open_fixture(&f);
    pith_goal_init(&goal);
    goal.min_snr = 25;
    const struct pith_goal_estimate e = estimated(&f, &goal);
    assert_true(e.met);
    assert_true(e.low_bytes < e.bytes && e.bytes < e.high_bytes);
    assert_int_equal(pith_goal_compress(f.m, &goal, &f.opts, &r, &err), PITH_OK);
    const double bytes = (double)r.found.point[r.found.best].bytes;
    /* Random weights have no redundancy for the sweep to find: its gain is less than networks'. */
    assert_true(bytes > e.low_bytes && bytes < 1.5 * e.high_bytes);
    pith_goal_result_free(&r);
    close_fixture(&f);
}

/* Error feedback leaves little where inputs say the same: so little is left to estimate. */
static void inputs_that_are_alike_take_less(void **state)
{
    (void)state;
    double bytes[2];
    for (int i = 0; i < 2; i++) {
        struct fixture f;
        struct pith_goal goal;
        open_fixture_of(&f, i == 0 ? 0 : 0.8f);
        pith_goal_init(&goal);
        goal.min_snr = 25;
        bytes[i] = estimated(&f, &goal).bytes;
        close_fixture(&f);
    }
    assert_true(bytes[1] < 0.9 * bytes[0]);
}

static void tighter_goals_take_more(void **state)
{
    (void)state;
    struct fixture f;
    struct pith_goal goal;
    double before = 0;
    open_fixture(&f);
    for (double snr = 15; snr < 40; snr += 6) {
        pith_goal_init(&goal);
        goal.min_snr = snr;
        const struct pith_goal_estimate e = estimated(&f, &goal);
        assert_true(e.bytes > before);
        assert_true(fabs(e.loss.snr_db - snr) < 6);
        before = e.bytes;
    }
    goal.max_size = before / 3;
    assert_false(estimated(&f, &goal).met);
    goal.min_snr = 0; /* the size alone: something can be had for it */
    assert_true(estimated(&f, &goal).met);
    close_fixture(&f);
}

static void cannot_be(void **state)
{
    (void)state;
    struct fixture f;
    struct pith_goal goal;
    open_fixture(&f);
    pith_goal_init(&goal);
    goal.min_snr = 150;
    assert_false(estimated(&f, &goal).met);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_near_to_the_search),
        cmocka_unit_test(inputs_that_are_alike_take_less),
        cmocka_unit_test(tighter_goals_take_more),
        cmocka_unit_test(cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
