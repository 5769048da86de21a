/* SPDX-License-Identifier: MIT */
/* The scale that is found for a row of a layer is no worse than the one that cuts nothing, and none
 * that the layer does not allow. */
#include "test_run.h"
#include "feedback_problem.h"
#include "quantize/layer/integer_layer.h"

static double widest(const struct problem *p)
{
    double most = 0;
    for (int k = 0; k < N; k++)
        most = fmax(most, fabs(p->goal[k]));
    return most / p->row.most;
}

/* A layer of one row, whose input is read as it is. */
static struct integer_layer layer_of(struct pith_grid *x, double *scale, double *shift,
                                     int32_t most)
{
    static float one[1] = {1};
    *x = (struct pith_grid){.type = PITH_U8, .bits = 8, .n = 1, .scale = one};
    return (struct integer_layer){.shape = {.rows = 1, .cols = N, .groups = 1},
                                  .real.w_factor = 1,
                                  .x = x,
                                  .most = most,
                                  .lowest = -most - 1,
                                  .most_x = 255,
                                  .scale = scale,
                                  .bias_shift = shift};
}

static double search(struct problem *p, const struct integer_layer *l)
{
    return pith_search_scale(&p->row, pith_layer_least_scale(l, 0), l->radix, p->q);
}

TEST(the_scale_found_is_no_worse)
{
    struct test_random r = test_seed(34);
    int finer = 0;
    for (int i = 0; i < ROWS; i++)
        for (int bits = 2; bits <= 8; bits++) {
            struct problem p;
            struct pith_grid x;
            double scale = 1, shift = 0;
            make_problem(&r, &p);
            struct integer_layer l = layer_of(&x, &scale, &shift, (1 << (bits - 1)) - 1);
            p.row.lowest = l.lowest;
            p.row.most = l.most;
            double most = pith_error_feedback(&p.row, widest(&p), HUGE_VAL, p.q);
            double found = search(&p, &l);
            assert_true(pith_error_feedback(&p.row, found, HUGE_VAL, p.q) <= most);
            finer += found < widest(&p);
            l.radix = true;
            found = search(&p, &l);
            int exponent;
            assert_true(frexp(found, &exponent) == 0.5);
        }
    assert_true(finer > ROWS);
}

/* -1 is -4 quarters and -8 eighths, both without error: the wider scale, which was tried first,
 * stays. */
TEST(the_wider_of_equal_scales_stays)
{
    struct test_random r = test_seed(36);
    struct problem p;
    struct pith_grid x;
    double scale = 1, shift = 0;
    make_problem(&r, &p);
    memset(p.goal, 0, sizeof p.goal);
    p.goal[5] = -1;
    struct integer_layer l = layer_of(&x, &scale, &shift, 7);
    l.radix = true;
    assert_true(search(&p, &l) == 0.25);
}

/* A bias that needs 32 bits at some scale allows no finer one, though the row would be rounded
 * better. */
TEST(finer_scales_than_allowed_are_not_tried)
{
    struct test_random r = test_seed(34);
    int finer = 0;
    for (int i = 0; i < ROWS; i++) {
        struct problem p;
        struct pith_grid x;
        double scale = 1, shift = 0;
        make_problem(&r, &p);
        struct integer_layer l = layer_of(&x, &scale, &shift, 7);
        double free_of_bias = search(&p, &l);
        finer += free_of_bias < 0.95 * widest(&p);
        shift = 0x1p32; /* so large that the bias alone decides the least scale, which is in
                           proportion */
        shift *= 0.95 * widest(&p) / pith_layer_least_scale(&l, 0);
        double least = pith_layer_least_scale(&l, 0);
        assert_true(least > 0.9 * widest(&p) && least < widest(&p));
        assert_true(search(&p, &l) >= least);
    }
    assert_true(finer > 0);
}

RUN_TESTS
