/* SPDX-License-Identifier: MIT */
/* Two models that run a loop: iterations are compared one by one, also when their number differs.
 */
#include "test_run.h"
#include "loop_model.h"
#include "small_net.h"

static struct pith_comparison compare(const struct loop_model *a, const struct loop_model *b)
{
    /* one, two and no iterations of [sum below bound 10] */
    static const float x[] = {4, 4, 2, 2, 20, 0};
    struct pith_data *data = rows_of(x, 3, 2, NULL);
    const struct pith_feed_input input = {.data = data};
    const struct pith_feed feed = {.size_bytes = sizeof feed, .n_inputs = 1, .input = &input};
    struct pith_compare_opts o = {.size_bytes = sizeof o, .layers = true, .feed = &feed};
    struct pith_comparison c = {0};
    struct pith_error err = {0};
    SUCCEEDS(pith_compare(a->m, b->m, &o, &c, &err));
    pith_data_free(data);
    return c;
}

static const struct pith_difference *layer(const struct pith_comparison *c, const char *name)
{
    for (uint32_t i = 0; i < c->n_layers; i++)
        if (strcmp(c->layers[i].layer, name) == 0)
            return &c->layers[i];
    fail_msg("no layer %s", name);
    return NULL;
}

TEST(test_equal)
{
    struct loop_model a = loop_model(5, 10);
    struct pith_comparison c = compare(&a, &a);
    assert_int_equal(layer(&c, "more")->elements, 6); /* 8 8 | 4 4, 6 6 */
    assert_int_equal(layer(&c, "loop")->elements, 6); /* the states */
    assert_int_equal(layer(&c, "end")->elements, 6);
    for (uint32_t i = 0; i < c.n_layers; i++)
        assert_true(c.layers[i].equal_bits && c.layers[i].max_abs == 0);
    pith_comparison_free(&c);
    pith_model_free(a.m);
}

/* b stops after one iteration: what it has of each is equal, and yet they differ. */
TEST(test_fewer_iterations)
{
    struct loop_model a = loop_model(5, 10), b = loop_model(1, 10);
    for (uint32_t way = 0; way < 2; way++) {
        struct pith_comparison c = way ? compare(&b, &a) : compare(&a, &b);
        assert_int_equal(layer(&c, "more")->elements, 4);
        assert_true(layer(&c, "more")->max_abs == 0);
        assert_false(layer(&c, "more")->equal_bits);
        assert_true(layer(&c, "end")->max_abs == 2); /* 6 and 4 */
        assert_false(layer(&c, "out")->equal_bits);
        pith_comparison_free(&c);
    }
    pith_model_free(a.m);
    pith_model_free(b.m);
}

RUN_TESTS
