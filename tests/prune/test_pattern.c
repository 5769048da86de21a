/* SPDX-License-Identifier: MIT */
/* Patterns as text: what parses, what does not, and that printing gives it back. */
#include "test_run.h"
#include <stdio.h>
#include <string.h>
#include "pith_prune.h"

TEST(patterns_round_trip)
{
    static const char *const good[] = {"any", "row", "channel",         "2:4",   "1:4096",
                                       "1x4", "4x4", "balanced:12/128", "16x16", "4:4"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct pith_pattern p;
        char text[40];
        assert_int_equal(pith_pattern_parse(good[i], &p, NULL), PITH_OK);
        pith_pattern_print(&p, text, sizeof text);
        assert_string_equal(text, good[i]);
    }
}

TEST(wrong_patterns_are_refused)
{
    static const char *const bad[] = {"",
                                      "4",
                                      "0:4",
                                      "5:4",
                                      "2:4 ",
                                      "2:",
                                      "x4",
                                      "0x4",
                                      "1x0",
                                      "1x04",
                                      "1x4x4",
                                      "-1:4",
                                      "balanced:4",
                                      "4097x1",
                                      "rows",
                                      "1x4097",
                                      "balanced:129/128",
                                      "99999999999:4"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct pith_pattern p = {PITH_PATTERN_ROW, 7, 7};
        struct pith_error err = {0};
        assert_int_equal(pith_pattern_parse(bad[i], &p, &err), PITH_ERR_ARGUMENT);
        assert_int_equal(err.status, PITH_ERR_ARGUMENT);
        assert_int_equal(p.a, 7);
        char text[256];
        snprintf(text, sizeof text,
                 "unknown pattern '%s': any, N:M (2:4), RxC (1x4), balanced:K/N (balanced:12/128), "
                 "row or channel, numbers 1 to 4096",
                 bad[i]);
        assert_string_equal(err.text, text);
    }
}

RUN_TESTS
