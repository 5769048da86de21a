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

#define RUN_TESTS                                                                                  \
    int main(void)                                                                                 \
    {                                                                                              \
        return _cmocka_run_group_tests("tests", listed_tests, n_listed_tests, NULL, NULL);         \
    }

#endif
