/* SPDX-License-Identifier: MIT */
/* test_run.h - cmocka, and tests that list themselves: TEST(what_holds) { ... } defines a test, and
 * RUN_TESTS at the end of the file runs all of them in their order. */
#ifndef TEST_RUN_H
#define TEST_RUN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static struct CMUnitTest listed_tests[64];
static size_t n_listed_tests;

static inline void test_add(const char *name, CMUnitTestFunction run)
{
    if (n_listed_tests == sizeof listed_tests / sizeof *listed_tests)
        abort();
    listed_tests[n_listed_tests++] = (struct CMUnitTest){.name = name, .test_func = run};
}

#define TEST(name)                                                                                 \
    static void name(void **state);                                                                \
    static __attribute__((constructor)) void list_##name(void)                                     \
    {                                                                                              \
        test_add(#name, name);                                                                     \
    }                                                                                              \
    static void name(__attribute__((unused)) void **state)

/* The call gives PITH_OK, or the test fails with what `err` says, which it fills. */
#define SUCCEEDS(call)                                                                             \
    do {                                                                                           \
        if (call)                                                                                  \
            fail_msg("%s", err.text);                                                              \
    } while (0)

/* FIXTURE(set_up) { ...; return 0; }: runs before or behind tests. */
#define FIXTURE(name) static __attribute__((unused)) int name(__attribute__((unused)) void **state)

#define run_listed_tests(set_up, tear_down)                                                        \
    _cmocka_run_group_tests("tests", listed_tests, n_listed_tests, set_up, tear_down)

/* Before all of them and behind all of them. */
#define RUN_TESTS_WITH(set_up, tear_down)                                                          \
    int main(void)                                                                                 \
    {                                                                                              \
        return run_listed_tests(set_up, tear_down);                                                \
    }
#define RUN_TESTS RUN_TESTS_WITH(NULL, NULL)

/* Before each and behind each. */
#define RUN_EACH_TEST_WITH(set_up, tear_down)                                                      \
    int main(void)                                                                                 \
    {                                                                                              \
        for (size_t i = 0; i < n_listed_tests; i++) {                                              \
            listed_tests[i].setup_func = set_up;                                                   \
            listed_tests[i].teardown_func = tear_down;                                             \
        }                                                                                          \
        return run_listed_tests(NULL, NULL);                                                       \
    }

#endif
