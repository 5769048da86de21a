/* SPDX-License-Identifier: MIT */
/* test_goal_retrain.c - with time, a search goes on by pruning and training; without, or where
 * nothing can be learned, it does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <math.h>
#include "pith_goal_compress.h"
#include "measure/small_net.h"

enum { WIDTH = 24, HIDDEN = 64, CLASSES = 4, ROWS = 2000 };
#define LONG 1e6 /* seconds: the steps of a network have a limit of their own */

/* The class is the largest of the first n_out inputs, which many hidden units tell, each with an
 * error of its own: as many units as one in eight could do it alone. */
static struct pith_model *redundant_net(uint32_t n_out)
{
    struct sample_random r = sample_random_of(3);
    struct pith_error err = {0};
    float w[HIDDEN * WIDTH], v[CLASSES * HIDDEN];
    for (uint32_t h = 0; h < HIDDEN; h++) {
        const uint32_t input = h / 2 % n_out;
        const float sign = h % 2 ? -1 : 1;
        for (uint32_t i = 0; i < WIDTH; i++)
            w[h * WIDTH + i] = 0.3f * sample_gauss(&r) + (i == input ? sign : 0);
        for (uint32_t k = 0; k < n_out; k++)
            v[k * HIDDEN + h] = 0.02f * sample_gauss(&r) + (k == input ? 0.25f * sign : 0);
    }
    struct pith_model *m = small_net(WIDTH, HIDDEN, w, true);
    uint32_t y = add_constant(m, &r, "v", 2, (const uint32_t[]){n_out, HIDDEN});
    memcpy(m->values[y].constant->data, v, sizeof *v * n_out * HIDDEN);
    m->outputs[0] =
        add_node(m, PITH_OP_GEMM, "out", "out.out", 2, (const uint32_t[]){m->outputs[0], y})
            ->out[0];
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    return m;
}

static struct pith_data *samples(bool labelled)
{
    struct sample_random r = sample_random_of(4);
    float *x = malloc(sizeof *x * ROWS * WIDTH);
    char text[2 * ROWS + 1];
    for (uint32_t i = 0; i < ROWS * WIDTH; i++)
        x[i] = sample_gauss(&r);
    for (uint32_t i = 0; i < ROWS; i++) {
        uint32_t best = 0;
        for (uint32_t k = 1; k < CLASSES; k++)
            best = x[i * WIDTH + k] > x[i * WIDTH + best] ? k : best;
        memcpy(text + 2 * i, (const char[]){(char)('0' + best), '\n', '\0'}, 3);
    }
    char *labels = labelled ? text_file(text) : NULL;
    struct pith_data *data = rows_of(x, ROWS, WIDTH, labels);
    if (labels)
        unlink(labels);
    free(x);
    return data;
}

static struct pith_goal_result compressed(struct pith_model *m, struct pith_data *data,
                                          const struct pith_goal *goal)
{
    const struct pith_feed_input input = {.data = data};
    const struct pith_feed feed = {.size_bytes = sizeof feed, .n_inputs = 1, .input = &input};
    const struct pith_goal_compress_opts o = {
        .size_bytes = sizeof o, .feed = &feed, .seed = 1, .threads = 1};
    struct pith_goal_result r = {.met = false};
    struct pith_error err = {0};
    if (pith_goal_compress(m, goal, &o, &r, &err))
        fail_msg("%s", err.text);
    return r;
}

static uint32_t retrained(const struct pith_goal_result *r)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->found.n; i++)
        n += strcmp(r->found.point[i].encoder, "retrained") == 0;
    return n;
}

static struct pith_goal goal_of(double time)
{
    struct pith_goal goal;
    pith_goal_init(&goal);
    goal.max_drop = 0.05;
    goal.time = time;
    return goal;
}

static void time_is_spent_on_smaller_networks(void **state)
{
    (void)state;
    struct pith_model *m = redundant_net(CLASSES);
    struct pith_data *data = samples(true);
    const struct pith_goal with = goal_of(LONG), without = goal_of(0);
    struct pith_goal_result fast = compressed(m, data, &without);
    struct pith_goal_result r = compressed(m, data, &with);
    assert_int_equal(retrained(&fast), 0);
    assert_true(retrained(&r) >= 2);
    assert_true(fast.met && r.met);
    const struct pith_goal_point *best = &r.found.point[r.found.best];
    assert_string_equal(best->encoder, "retrained");
    assert_true(best->bytes < fast.found.point[fast.found.best].bytes);
    for (uint32_t i = 0; i < r.found.n && !r.gated; i++)
        assert_true(r.found.point[i].excess > 0 || r.found.point[i].bytes >= best->bytes);
    assert_int_equal(pith_data_count(data), ROWS);
    pith_goal_result_free(&fast);
    pith_goal_result_free(&r);
    pith_data_free(data);
    pith_model_free(m);
}

static void numbers_without_targets_are_not_trained(void **state)
{
    (void)state;
    struct pith_model *m = redundant_net(1);
    struct pith_data *data = samples(false);
    const struct pith_goal goal = goal_of(LONG);
    struct pith_goal_result r = compressed(m, data, &goal);
    assert_int_equal(retrained(&r), 0);
    assert_true(r.met);
    pith_goal_result_free(&r);
    pith_data_free(data);
    pith_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_spent_on_smaller_networks),
        cmocka_unit_test(numbers_without_targets_are_not_trained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
