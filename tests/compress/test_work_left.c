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
    double told, worst; /* the last share; by what factor the whole time was off, after a tenth */
    uint32_t falls;
};

static void ask(struct run *r)
{
    double share = pith_work_share(&r->work, r->now);
    r->falls += share < r->told;
    r->told = share;
    if (r->now >= 0.1 * r->all && r->now < 0.9 * r->all) {
        double told = r->now / share / r->all;
        r->worst = fmax(r->worst, fmax(told, 1 / told));
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

static struct run run_of(double files, double all)
{
    return (struct run){.work = {.guess = {1e9, 3e9, 30e9, 0.7e9, 0.6e9},
                                 .wanted = {1, 1, files, files, 1},
                                 .at = WORK_PARTS},
                        .all = all};
}

/* All of a search of so many files, of which `likely` were told, on a machine that takes `slower`
 * times as long, with files of `each` seconds there. */
static struct run search(uint32_t files, double likely, double slower, double each)
{
    struct run r = run_of(likely, slower * (1 + 3 + files * (each + 0.7) + 0.6));
    work(&r, WORK_BASELINE, slower);
    work(&r, WORK_PREPARE, 3 * slower);
    for (uint32_t k = 0; k < files; k++) {
        r.work.wanted[WORK_ENCODE] = r.work.wanted[WORK_MEASURE] = fmax(likely, k + 1);
        work(&r, WORK_ENCODE, each * slower);
        work(&r, WORK_MEASURE, 0.7 * slower);
    }
    r.work.wanted[WORK_ENCODE] = r.work.wanted[WORK_MEASURE] = 0;
    work(&r, WORK_REPORT, 0.6 * slower);
    assert_int_equal(r.falls, 0);
    assert_true(r.told > 0.999);
    return r;
}

/* A machine ten times as fast, or as slow, is known by the first parts. */
static void any_machine_is_known_after_a_tenth(void **state)
{
    (void)state;
    for (double slower = 0.1; slower < 11; slower *= 10)
        assert_true(search(4, 4, slower, 30).worst < 1.1);
}

/* Files that take two thirds of what was guessed beside the other parts, or half as much again. */
static void files_off_their_guess_are_true_after_a_tenth(void **state)
{
    (void)state;
    const double each[] = {20, 30, 45};
    for (int i = 0; i < 3; i++)
        for (uint32_t files = 4; files <= 5; files++)
            assert_true(search(files, files, 1, each[i]).worst < 1.3);
}

/* Searches of 3 to 5 files: with the number that is likely all are off by less than 30 %. */
static void any_number_of_files_is_true(void **state)
{
    (void)state;
    const double likely = pith_goal_calls_likely(3, 5, 0);
    for (uint32_t files = 3; files <= 5; files++)
        assert_true(search(files, likely, 1, 30).worst < 1.3);
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

/* Before anything has taken time, guesses alone say it. */
static void begins_at_nothing(void **state)
{
    (void)state;
    struct run r = run_of(4, 1e9);
    assert_true(pith_work_share(&r.work, 0) == 0.0);
    pith_work_begin(&r.work, WORK_BASELINE, 0);
    assert_true(pith_work_share(&r.work, 0) == 0.0);
    r.work.share = 0.5;
    assert_true(pith_work_share(&r.work, 0.5) > 0.0);
    assert_true(pith_work_share(&r.work, 0.5) < 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_machine_is_known_after_a_tenth),
        cmocka_unit_test(files_off_their_guess_are_true_after_a_tenth),
        cmocka_unit_test(any_number_of_files_is_true), cmocka_unit_test(never_goes_back),
        cmocka_unit_test(begins_at_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
