/* SPDX-License-Identifier: MIT */
/* How far a search is, told by clocks that run otherwise than was guessed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include "test_compress_goal.h"

/* Parts one after the other, in hundredths; each is asked for its share as it goes on. */
struct run {
    struct work_left work;
    double now, all;    /* seconds; all: that it will take */
    double told, worst; /* the last share; by what factor the time left was off, after a tenth and
                           with a file begun */
    uint32_t falls;
};

static void ask(struct run *r)
{
    double share = pith_work_share(&r->work, r->now);
    r->falls += share < r->told;
    r->told = share;
    const bool timed =
        r->work.done[WORK_ENCODE] > 0 || (r->work.at == WORK_ENCODE && r->work.share > 0.05);
    if (timed && r->now >= 0.1 * r->all && r->now < 0.9 * r->all) {
        double left = r->now * (1 - share) / share, right = r->all - r->now;
        r->worst = fmax(r->worst, fmax(left / right, right / left));
    }
}

static void work(struct run *r, enum work_part part, double seconds)
{
    pith_work_begin(&r->work, part, r->now);
    for (int i = 1; i <= 100; i++) {
        r->now += seconds / 100;
        r->work.share = i / 100.0;
        ask(r);
    }
    pith_work_end(&r->work, r->now);
}

static struct run run_of(uint32_t files, double all)
{
    return (struct run){.work = {.guess = {1, 10, 30, 0.5, 0.5},
                                 .wanted = {1, 1, files, files, 1},
                                 .at = WORK_PARTS},
                        .all = all};
}

/* Files take a quarter of what was guessed, or four times as much, beside what comes before. */
static void time_left_is_true_after_a_tenth(void **state)
{
    (void)state;
    const double each[] = {7, 30, 120};
    for (int i = 0; i < 3; i++) {
        struct run r = run_of(4, 1 + 3 + 4 * (each[i] + 0.7) + 0.6);
        work(&r, WORK_BASELINE, 1);
        work(&r, WORK_PREPARE, 3);
        for (int k = 0; k < 4; k++) {
            work(&r, WORK_ENCODE, each[i]);
            work(&r, WORK_MEASURE, 0.7);
        }
        work(&r, WORK_REPORT, 0.6);
        assert_true(r.worst < 1.3);
        assert_int_equal(r.falls, 0);
        assert_true(r.told > 0.999);
    }
}

/* One file more than was thought, or two fewer: never back, and at the end all. */
static void never_goes_back(void **state)
{
    (void)state;
    for (uint32_t files = 2; files <= 5; files++) {
        struct run r = run_of(4, 1e9);
        work(&r, WORK_BASELINE, 1);
        for (uint32_t k = 0; k < files; k++) {
            work(&r, WORK_ENCODE, 10);
            assert_true(r.told < 1);
            work(&r, WORK_MEASURE, 1);
        }
        r.work.wanted[WORK_ENCODE] = r.work.wanted[WORK_MEASURE] = r.work.wanted[WORK_PREPARE] = 0;
        work(&r, WORK_REPORT, 1);
        assert_int_equal(r.falls, 0);
        assert_true(r.told > 0.999);
    }
}

/* Nothing is known before anything has taken time. */
static void begins_at_nothing(void **state)
{
    (void)state;
    struct run r = run_of(4, 1e9);
    assert_true(pith_work_share(&r.work, 0) == 0.0);
    pith_work_begin(&r.work, WORK_BASELINE, 0);
    assert_true(pith_work_share(&r.work, 5) == 0.0);
    r.work.share = 0.5;
    assert_true(pith_work_share(&r.work, 6) > 0.0);
    assert_true(pith_work_share(&r.work, 6) < 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(time_left_is_true_after_a_tenth),
                                       cmocka_unit_test(never_goes_back),
                                       cmocka_unit_test(begins_at_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
