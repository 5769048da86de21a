/* SPDX-License-Identifier: MIT */
/* test_escape_text.c - nothing that a terminal acts on is left in a line, and what is cut ends
 * where a character does. */
#include <stdint.h>
#include "test_run.h"
#include <stdlib.h>
#include <string.h>
#include "base/error_fill.h"
#include "base/escape_text.h"
#include "base/json_text.h"

static void expect(const char *text, const char *wanted)
{
    char shown[64], again[64];
    pith_escape_text(text, shown, sizeof shown);
    assert_string_equal(shown, wanted);
    pith_escape_text(shown, again, sizeof again);
    assert_string_equal(again, wanted);
}

TEST(test_escapes)
{
    expect("", "");
    expect("conv1/w \\n", "conv1/w \\n");
    expect("a\nb\r\tc", "a\\nb\\r\\tc");
    expect("\x1b[31m\x7f\x01", "\\x1b[31m\\x7f\\x01");
    expect("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    expect("\xc2\x9b\xc2\x9f\xc2\xa0", "\\xc2\\x9b\\xc2\\x9f\xc2\xa0"); /* C1 controls */
    expect("\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xae\xe2\x80\xaf",
           "\xe2\x80\xa7\\xe2\\x80\\xa8\\xe2\\x80\\xae\xe2\x80\xaf");
    expect("\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xa9\xe2\x81\xaa",
           "\xe2\x81\xa5\\xe2\\x81\\xa6\\xe2\\x81\\xa9\xe2\x81\xaa");
    expect("\xe9t\xe9\xc3", "\\xe9t\\xe9\\xc3"); /* Latin-1, and a character cut short */
}

TEST(test_cut)
{
    for (size_t size = 1; size <= 9; size++) {
        char shown[16];
        memset(shown, 'x', sizeof shown);
        pith_escape_text("a\x1b\xc3\xa9", shown, size);
        assert_string_equal(shown, size < 2   ? ""
                                   : size < 6 ? "a"
                                   : size < 8 ? "a\\x1b"
                                              : "a\\x1b\xc3\xa9");
        assert_int_equal(shown[size], 'x');
    }
}

TEST(test_json)
{
    static const struct {
        const char *text;
        size_t n;
        const char *json;
    } cases[] = {
        {"", 0, "\"\""},
        {"a b", 3, "\"a b\""},
        {"a b", 2, "\"a \""},
        {"say \"a\\b\"", 9, "\"say \\\"a\\\\b\\\"\""},
        {"\x01\n\x1f\x20\x7e\x7f", 6, "\"\\u0001\\u000a\\u001f ~\\u007f\""},
        {"\0", 1, "\"\\ufffd\""},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {"\xe9t\xc3\xa9", 4, "\"\\ufffdt\xc3\xa9\""},      /* Latin-1 */
        {"\xe2\x82\xac", 2, "\"\\ufffd\\ufffd\""},         /* cut short */
        {"\xc0\x80\xed\xa0\x80", 2, "\"\\ufffd\\ufffd\""}, /* too long a form */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct byte_out out = {0};
        char *text = malloc(cases[i].n + 1); /* what stands behind it is not read */
        assert_non_null(text);
        memcpy(text, cases[i].text, cases[i].n);
        char *exact = realloc(text, cases[i].n ? cases[i].n : 1);
        pith_json_quote(&out, exact, cases[i].n);
        pith_out_u8(&out, 0);
        assert_string_equal(out.data, cases[i].json);
        pith_out_clear(&out);
        free(exact);
    }
    for (int n = 1022; n <= 1025; n++) { /* printf takes 1023 bytes */
        struct byte_out out = {0};
        pith_json_format(&out, "%s%0*d", "", n, 7);
        assert_int_equal(out.failed, n > 1023);
        assert_int_equal(out.bytes, n > 1023 ? 0 : n);
        if (!out.failed)
            assert_int_equal(out.data[n - 1], '7');
        pith_out_clear(&out);
    }
}

TEST(test_errors_are_one_line)
{
    struct pith_error err = {0};
    pith_error_fill(&err, PITH_ERR_ARGUMENT, "layer '%s'", "a\nb");
    assert_string_equal(err.text, "layer 'a\\nb'");
}

RUN_TESTS
