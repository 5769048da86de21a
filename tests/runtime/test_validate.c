/* SPDX-License-Identifier: MIT */
/* test_validate.c - texts, keys and names: what is just allowed beside what is just not. */
#include <stdint.h>
#include "test_run.h"
#include "made_file.h"
#include "pith_runtime.h"

static bool is_utf8(const char *text)
{
    struct guarded g = guard_new(strlen(text), 1);
    memcpy(g.data, text, strlen(text));
    bool ok = pith_utf8_ok(g.data, strlen(text));
    guard_free(&g);
    return ok;
}

/* The ends of what each first byte allows behind it (Unicode, table 3-7). */
TEST(utf8_bounds)
{
    static const char *const good[] = {"\x01",
                                       "\x7f",
                                       "\xc2\x80",
                                       "\xdf\xbf",
                                       "\xe0\xa0\x80",
                                       "\xe0\xbf\xbf",
                                       "\xec\x80\x80",
                                       "\xed\x80\x80",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xef\xbf\xbf",
                                       "\xf0\x90\x80\x80",
                                       "\xf3\x80\x80\x80",
                                       "\xf4\x80\x80\x80",
                                       "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {"\x80",
                                      "\xbf",
                                      "\xc1\xbf",
                                      "\xc3",
                                      "\xc3\x7f",
                                      "\xc3\xc0",
                                      "\xe0\x9f\xbf",
                                      "\xed\xa0\x80",
                                      "\xe1\x80",
                                      "\xe1\x80\x7f",
                                      "\xe1\x80\xc0",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf1\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xff"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(is_utf8(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(is_utf8(bad[i]));
    assert_false(pith_utf8_ok((const uint8_t *)"a\0b", 3));
    assert_false(pith_utf8_ok((const uint8_t *)"\xc3\x80", 1)); /* goes on behind its end */
}

/* Relu with one chunk of texts. */
static enum pith_status read_texts(const char *tag, const void *p, size_t n)
{
    static struct made f;
    const struct piece piece[] = {
        {"DATA", "", 0}, {"GRPH", "\x00\x01\x03\x00\x08", 5}, {tag, p, n}};
    seal_full(&f, piece, 3);
    return read_file(f.data, f.bytes, 0, NULL);
}

TEST(keys)
{
    static uint8_t meta[5 * (MAX_META + 1)];
    for (uint32_t i = 0; i <= MAX_META; i++)
        memcpy(meta + 5 * i,
               (uint8_t[]){18, (uint8_t)('a' + i / 676), (uint8_t)('a' + i / 26 % 26),
                           (uint8_t)('a' + i % 26), 0},
               5);
    assert_int_equal(read_texts("meta", meta, 5 * MAX_META), PITH_OK);
    assert_int_equal(read_texts("meta", meta, 5 * (MAX_META + 1)), PITH_ERR_CORRUPT);
    assert_int_equal(read_texts("meta", GRAPH("\x10"
                                              "a\x00\x11"
                                              "ab\x00")),
                     PITH_OK);
    assert_int_equal(read_texts("meta", GRAPH("\x11"
                                              "ab\x00\x10"
                                              "a\x00")),
                     PITH_ERR_CORRUPT);
    assert_int_equal(read_texts("meta", GRAPH("\x10"
                                              "a\x00\x10"
                                              "a\x00")),
                     PITH_ERR_CORRUPT);
    for (uint8_t number = 0; number < META_FIRST_LENGTH; number++) /* behind a longer key */
        if (!pith_meta_key(number)) {
            const uint8_t unknown[] = {16, 'a', 0, number, 0};
            assert_int_equal(read_texts("meta", unknown + 3, 2), PITH_ERR_CORRUPT);
            assert_int_equal(read_texts("meta", unknown, 5), PITH_ERR_CORRUPT);
        }
}

TEST(history)
{
    static uint8_t steps[3 * (MAX_HISTORY + 1)];
    for (uint32_t i = 0; i <= MAX_HISTORY; i++)
        memcpy(steps + 3 * i, "\x01v\x00", 3);
    assert_int_equal(read_texts("hist", steps, 3 * MAX_HISTORY), PITH_OK);
    assert_int_equal(read_texts("hist", steps, 3 * (MAX_HISTORY + 1)), PITH_ERR_CORRUPT);
    assert_int_equal(read_texts("hist", GRAPH("\x00\x00")), PITH_ERR_CORRUPT); /* no verb */
    assert_int_equal(read_texts("hist", GRAPH("\x01v\x02{")), PITH_ERR_CORRUPT);
    assert_int_equal(read_texts("hist", GRAPH("\x01v\x01\xff")), PITH_ERR_CORRUPT);
}

TEST(meta_by_key)
{
    static struct made f;
    const char *value;
    size_t n;
    const struct piece piece[] = {
        {"DATA", "", 0}, {"GRPH", "\x00\x01\x03\x00\x08", 5}, {"meta", "\x10z\x01v\x11zy\x01w", 9}};
    seal_full(&f, piece, 3);
    assert_int_equal(pith_blob_meta(f.data, f.bytes, "z", &value, &n), PITH_OK);
    assert_memory_equal(value, "v", 1);
    assert_int_equal(pith_blob_meta(f.data, f.bytes, "zy", &value, &n), PITH_OK);
    assert_memory_equal(value, "w", 1);
    assert_int_equal(pith_blob_meta(f.data, f.bytes, "zyx", &value, &n), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_blob_meta(f.data, f.bytes, "y", &value, &n), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_blob_meta(f.data, f.bytes, "", &value, &n), PITH_ERR_ARGUMENT);
}

/* Six values (an input, five relus) and five nodes without names; letters: the values' names. */
static enum pith_status read_names(const char letters[6])
{
    static struct made f;
    uint8_t names[12 + 5] = {0};
    const struct piece piece[] = {{"DATA", "", 0},
                                  {"GRPH", "\x00\x01\x03\x00\x08\x08\x08\x08\x08", 9},
                                  {"name", names, sizeof names}};
    for (uint32_t i = 0; i < 6; i++)
        memcpy(names + 2 * i, (uint8_t[]){1, (uint8_t)letters[i]}, 2);
    seal_full(&f, piece, 3);
    return read_file(f.data, f.bytes, 0, NULL);
}

/* In whatever order they come, two equal names are noticed. */
TEST(names_in_all_orders)
{
    for (uint32_t p = 0; p < 720; p++) {
        char distinct[6], twice[6], left[] = "abcdef";
        for (uint32_t i = 0, rest = p; i < 6; i++) {
            uint32_t n = 6 - i, pick = rest % n;
            rest /= n;
            distinct[i] = left[pick];
            memmove(left + pick, left + pick + 1, n - pick);
        }
        for (uint32_t i = 0; i < 6; i++)
            twice[i] = distinct[i] == (char)('b' + p % 5) ? (char)('a' + p % 5) : distinct[i];
        assert_int_equal(read_names(distinct), PITH_OK);
        assert_int_equal(read_names(twice), PITH_ERR_CORRUPT);
    }
}

RUN_TESTS
