/* SPDX-License-Identifier: MIT */
/* Arrays that wait: in memory, in files beyond the limit, and where there can be no file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "pith_kept_values.h"

enum { ARRAYS = 5, PARTS = 7, PART = 1000 };

static uint8_t byte_of(uint32_t i, uint64_t at)
{
    return (uint8_t)(i * 31 + at * 7 + at / 251);
}

static void write_part(struct kept_values *k, uint32_t i, uint64_t part)
{
    uint8_t data[PART];
    struct pith_error err = {0};
    for (uint64_t at = 0; at < PART; at++)
        data[at] = byte_of(i, part * PART + at);
    if (pith_kept_write(k, i, PARTS * PART, part * PART, data, PART, &err))
        fail_msg("%s", err.text);
}

static void expect_part(const struct kept_values *k, uint32_t i, uint64_t part)
{
    uint8_t data[PART];
    struct pith_error err = {0};
    if (pith_kept_read(k, i, part * PART, data, PART, &err))
        fail_msg("%s", err.text);
    for (uint64_t at = 0; at < PART; at++)
        assert_int_equal(data[at], byte_of(i, part * PART + at));
}

/* With memory for none of them, for two, for all; parts in any order, and again in a place left. */
static void test_all_come_back(void **state)
{
    (void)state;
    static const uint64_t limit[] = {0, 2 * PARTS * PART, 1 << 20};
    for (int way = 0; way < 3; way++) {
        struct kept_values *k = pith_kept_new(ARRAYS, limit[way]);
        assert_non_null(k);
        for (uint32_t part = PARTS; part > 0; part--)
            for (uint32_t i = 0; i < ARRAYS; i++)
                write_part(k, i, part - 1);
        for (uint32_t i = 0; i < ARRAYS; i++)
            for (uint32_t part = 0; part < PARTS; part++)
                expect_part(k, i, part);
        pith_kept_drop(k, 0);
        pith_kept_drop(k, 0);
        write_part(k, 0, 3);
        expect_part(k, 0, 3);
        expect_part(k, ARRAYS - 1, 0);
        pith_kept_free(k);
    }
}

static void test_no_place_for_files(void **state)
{
    (void)state;
    struct pith_error err = {0};
    assert_int_equal(setenv("TMPDIR", "/nowhere/at all", 1), 0);
    struct kept_values *k = pith_kept_new(1, 10);
    assert_int_equal(pith_kept_write(k, 0, 8, 0, "12345678", 8, &err), PITH_OK);
    pith_kept_drop(k, 0);
    assert_int_equal(pith_kept_write(k, 0, 11, 0, "12345678", 8, &err), PITH_ERR_IO);
    assert_non_null(strstr(err.text, "/nowhere/at all"));
    assert_non_null(strstr(err.text, "TMPDIR"));
    pith_kept_free(k);
    unsetenv("TMPDIR");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_come_back),
        cmocka_unit_test(test_no_place_for_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
