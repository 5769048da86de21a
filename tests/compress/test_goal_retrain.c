/* SPDX-License-Identifier: MIT */
/* test_goal_retrain.c - with time, a search goes on by pruning and training; without, or where
 * nothing can be learned, it does not. */
#include <stdint.h>
#include "test_run.h"
#include "compress/redundant_net.h"

#define LONG 1e6 /* seconds: the steps of a network have a limit of their own */

static struct pith_goal_result compressed(struct pith_model *m, struct pith_data *data,
                                          const struct pith_goal *goal)
{
    const struct pith_feed_input input = {.data = data};
    const struct pith_feed feed = {.size_bytes = sizeof feed, .n_inputs = 1, .input = &input};
    const struct pith_goal_compress_opts o = {
        .size_bytes = sizeof o, .feed = &feed, .seed = 1, .threads = 1};
    struct pith_goal_result r = {.met = false};
    struct pith_error err = {0};
    SUCCEEDS(pith_goal_compress(m, goal, &o, &r, &err));
    return r;
}

static uint32_t retrained(const struct pith_goal_result *r)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->found.n; i++)
        n += strcmp(r->found.point[i].encoder, "retrained") == 0;
    return n;
}

TEST(time_is_spent_on_smaller_networks)
{
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

TEST(numbers_without_targets_are_not_trained)
{
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

RUN_TESTS
