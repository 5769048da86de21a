/* SPDX-License-Identifier: MIT */
/* test_data_texts.c - texts that say something about samples: fields of a table, ranges, shapes in
 * messages. (Names of classes: test_number_convert.c.) */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "data/csv_fields.h"
#include "data/data_source.h"
#include "guard_page.h"

/* Fields in brackets, lines ended by '/'; '!' where the table is bad. */
TEST(fields)
{
    static const struct {
        const char *text;
        char separator;
        size_t room;
        const char *fields;
        uint64_t line; /* at the end */
    } cases[] = {
        {"a,b\nc", ',', 64, "[a][b]/[c]/", 3},
        {"a,b\r\nc\r\n", ',', 64, "[a][b]/[c]/", 3},
        {"a,,b", ',', 64, "[a][][b]/", 2},
        {",\n", ',', 64, "[][]/", 2},
        {"a;b,c", ';', 64, "[a][b,c]/", 2},
        {"a,b\n", 0, 64, "[a,b]/", 2},
        {"\"a,b\",c", ',', 64, "[a,b][c]/", 2},
        {"\"say \"\"a\"\"\"\n", ',', 64, "[say \"a\"]/", 2},
        {"\"two\nlines\",x\n", ',', 64, "[two\nlines][x]/", 3},
        {"\"\",\"\"", ',', 64, "[][]/", 2},
        {"\"open", ',', 64, "[open]/!", 2},
        {"\"a\"b", ',', 64, "[a]/!", 2},
        {"a\rb", ',', 64, "[a]/!", 2},
        {"abcdef,ghi\n", ',', 4, "[abc][ghi]/", 2},
        {"\"abcdef\",\"g\"\n", ',', 4, "[abc][g]/", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t n = strlen(cases[i].text);
        struct guarded in = guard_new(n, 1), out = guard_new(cases[i].room, 1);
        char got[256] = "", *p = got;
        memcpy(in.data, cases[i].text, n);
        const char *text = in.data;
        struct csv_reader r = {
            .p = text, .end = text + n, .line = 1, .separator = cases[i].separator};
        while (r.p < r.end && !r.bad) {
            bool more;
            do {
                more = pith_csv_field(&r, out.data, cases[i].room);
                p += sprintf(p, "[%s]", (char *)out.data);
            } while (more);
            p += sprintf(p, r.bad ? "/!" : "/");
        }
        assert_string_equal(got, cases[i].fields);
        if (!r.bad)
            assert_int_equal(r.line, cases[i].line);
        guard_free(&in);
        guard_free(&out);
    }
}

TEST(ranges)
{
    static const struct {
        const char *text;
        uint64_t n;
        const char *chosen; /* or the refusal */
    } cases[] = {
        {"0:3", 5, "0 1 2 "},
        {":", 3, "0 1 2 "},
        {"2:", 5, "2 3 4 "},
        {":2", 5, "0 1 "},
        {"1:5:2", 5, "1 3 "},
        {"::3", 7, "0 3 6 "},
        {"1::", 3, "1 2 "},
        {"!1:3", 5, "0 3 4 "},
        {"!0:5:2", 5, "1 3 "},
        {"4:5", 5, "4 "},
        {"5:5", 5, "range '5:5' leaves none of the 5 samples of f"},
        {"3:2", 5, "range '3:2' leaves none of the 5 samples of f"},
        {"!:", 5, "range '!:' leaves none of the 5 samples of f"},
        {"0:6", 5, "range '0:6' goes beyond the 5 samples of f"},
        {"0:1001", 1000, "range '0:1001' goes beyond the 1,000 samples of f"},
        {"", 5, "range '' is not a:b, a:b:step or !a:b:step"},
        {"3", 5, "range '3' is not a:b, a:b:step or !a:b:step"},
        {"0:3:0", 5, "range '0:3:0' is not a:b, a:b:step or !a:b:step"},
        {"0:3:1:", 5, "range '0:3:1:' is not a:b, a:b:step or !a:b:step"},
        {"0:3x", 5, "range '0:3x' is not a:b, a:b:step or !a:b:step"},
        {"-1:3", 5, "range '-1:3' is not a:b, a:b:step or !a:b:step"},
        {" 0:3", 5, "range ' 0:3' is not a:b, a:b:step or !a:b:step"},
        {"!!0:3", 5, "range '!!0:3' is not a:b, a:b:step or !a:b:step"},
        {"0:268435457", 5, "range '0:268435457' is not a:b, a:b:step or !a:b:step"},
        {"0:268435456", 5, "range '0:268435456' goes beyond the 5 samples of f"},
        {"0:18446744073709551617", 5,
         "range '0:18446744073709551617' is not a:b, a:b:step or !a:b:step"},
        {"0:5:268435456", 5, "0 "},
    };
    uint32_t *chosen = NULL;
    uint64_t n = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pith_error err = {0};
        char got[256] = "", *p = got;
        if (pith_range_choose(cases[i].text, cases[i].n, "f", &chosen, &n, &err)) {
            assert_string_equal(err.text, cases[i].chosen);
            continue;
        }
        for (uint64_t k = 0; k < n; k++)
            p += sprintf(p, "%u ", chosen[k]);
        free(chosen);
        assert_string_equal(got, cases[i].chosen);
    }
    assert_int_equal(pith_range_choose(NULL, 7, "f", &chosen, &n, NULL), PITH_OK);
    assert_true(chosen == NULL && n == 7);
}

TEST(values_of_a_sample)
{
    struct guarded out = guard_new(PITH_SHAPE_TEXT, 1);
    assert_string_equal(pith_values_text((const uint32_t[]){1, 3, 224}, 3, out.data), "1x3x224");
    assert_string_equal(pith_values_text(NULL, 0, out.data), "1 value");
    guard_free(&out);
}

RUN_TESTS
