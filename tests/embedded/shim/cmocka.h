/* SPDX-License-Identifier: MIT */
/* cmocka.h - as much of cmocka as the runtime's own tests need, for machines that are emulated and
 * have no libraries but C's: the first failure says where and ends the program. */
#ifndef CMOCKA_H
#define CMOCKA_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*CMUnitTestFunction)(void **state);

struct CMUnitTest {
    const char *name;
    CMUnitTestFunction test_func;
};

#define fail_msg(...)                                                                              \
    do {                                                                                           \
        printf("%s:%d: ", __FILE__, __LINE__);                                                     \
        printf(__VA_ARGS__);                                                                       \
        printf("\n");                                                                              \
        exit(1);                                                                                   \
    } while (0)
#define assert_true(c)                                                                             \
    do {                                                                                           \
        if (!(c))                                                                                  \
            fail_msg("%s", #c);                                                                    \
    } while (0)
#define assert_false(c) assert_true(!(c))
#define assert_non_null(p) assert_true((p) != NULL)
#define assert_ptr_equal(a, b) assert_true((const void *)(a) == (const void *)(b))
#define assert_int_equal(a, b) assert_true((intmax_t)(a) == (intmax_t)(b))
#define assert_string_equal(a, b) assert_true(strcmp(a, b) == 0)
#define assert_string_not_equal(a, b) assert_true(strcmp(a, b) != 0)
#define assert_memory_equal(a, b, n) assert_true(memcmp(a, b, n) == 0)

/* Ends the test that it stands in. */
#define skip() return

static inline int run_tests(const struct CMUnitTest *tests, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tests[i].test_func(NULL);
    return 0;
}

#define _cmocka_run_group_tests(group, tests, n, setup, teardown) run_tests(tests, n)

#endif
