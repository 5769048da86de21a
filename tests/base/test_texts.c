/* SPDX-License-Identifier: MIT */
/* test_texts.c - numbers as text, bytes in the making, floats of two bytes, files of other
 * programs: each at the ends of what it takes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include <sys/stat.h>
#include <unistd.h>
#include "guard_page.h"
#include "pith_base.h"
#include "base/byte_out.h"
#include "core/bytes.h"
#include "base/count_text.h"
#include "base/cpu_allowed.h"
#include "pith_runtime.h"
#include "base/error_fill.h"
#include "base/foreign_format.h"
#include "base/narrow_float.h"
#include "base/number_text.h"

/* ---- numbers --------------------------------------------------------------------------------- */

TEST(whole_numbers)
{
    static const struct {
        const char *text;
        bool good;
        uint64_t value;
    } cases[] = {{"0", true, 0},
                 {"18446744073709551615", true, UINT64_MAX},
                 {"18446744073709551616", false, 0},
                 {"18446744073709551620", false, 0},
                 {"99999999999999999999", false, 0},
                 {"", false, 0},
                 {"-1", false, 0},
                 {"1x", false, 0},
                 {"1/", false, 0},
                 {"1:", false, 0},
                 {" 1", false, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t v = 77;
        assert_int_equal(pith_parse_uint(cases[i].text, &v), cases[i].good);
        assert_true(v == (cases[i].good ? cases[i].value : 77));
    }
}

/* Where C writes a number as strtod reads it, the two agree. */
TEST(decimals)
{
    static const char *const good[] = {"0",       "9",      "0.3",   ".07",       "5.",
                                       "-1.5e-3", "1e3",    "1E3",   "1e+3",      "2.5E-3",
                                       "1e22",    "-0.125", "1e-22", "123456789", "0.000123456789"};
    static const char *const bad[] = {"",    "-",     ".",  "e3", "1e",  "1e-", "1e+",  "1ee3",
                                      "--1", "+1",    "1 ", " 1", "1,5", "0x1", "1e3x", "nan",
                                      "inf", "1.2.3", "1/", "1:", "1e/", "1e:"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double v = 77;
        if (!pith_parse_number(good[i], &v) || v != strtod(good[i], NULL))
            fail_msg("%s: %.17g", good[i], v);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double v = 77;
        if (pith_parse_number(bad[i], &v) || v != 77)
            fail_msg("'%s': %.17g", bad[i], v);
    }
    /* exponents of any length end at the largest and the smallest number */
    double v;
    assert_true(pith_parse_number("1e9999999999999999999", &v) && v > 1e299);
    assert_true(pith_parse_number("1e-9999999999999999999", &v) && v < 1e-299);
    assert_true(pith_parse_number("1e399", &v) && v > 1e299);
    const char *text = "12.5kg";
    assert_true(pith_take_decimal(&text, &v) && v == 12.5);
    assert_string_equal(text, "kg");
    assert_false(pith_take_decimal(&text, &v));
    assert_string_equal(text, "kg");
    static const char *const cut[] = {"1e", "1e+", "1E-x", "."};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        text = cut[i];
        assert_false(pith_take_decimal(&text, &v));
        assert_ptr_equal(text, cut[i]);
    }
}

TEST(amounts)
{
    static const struct {
        const char *text;
        double bytes, seconds; /* negative: none */
    } cases[] = {
        {"2", 2, 2},           {"2B", 2, -1},         {"2K", 2000, -1}, {"2KB", 2000, -1},
        {"2kB", 2000, -1},     {"2KiB", 2048, -1},    {"2M", 2e6, -1},  {"2MB", 2e6, -1},
        {"2MiB", 2097152, -1}, {"2G", 2e9, -1},       {"2GB", 2e9, -1}, {"2GiB", 2147483648.0, -1},
        {"2us", -1, 2 * 1e-6}, {"2ms", -1, 2 * 1e-3}, {"2s", -1, 2},    {"2m", -1, 120},
        {"2h", -1, 7200},      {"2d", -1, -1},        {"", -1, -1},     {"K", -1, -1},
        {"2k", -1, -1},        {"2 K", -1, -1},       {"-2K", -1, -1},  {"1.5K", 1500, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double v = -1;
        assert_int_equal(pith_parse_bytes(cases[i].text, &v), cases[i].bytes >= 0);
        assert_true(v == cases[i].bytes);
        v = -1;
        assert_int_equal(pith_parse_seconds(cases[i].text, &v), cases[i].seconds >= 0);
        assert_true(v == cases[i].seconds);
    }
}

TEST(shapes)
{
    uint32_t dim[12] = {1, 3, 224, 5};
    char text[PITH_SHAPE_TEXT + 1];
    text[PITH_SHAPE_TEXT] = '#';
    assert_string_equal(pith_shape_text(dim, 4, text), "1x3x224x5");
    assert_string_equal(pith_shape_text(dim, 1, text), "1");
    assert_string_equal(pith_shape_text(dim, 0, text), "");
    for (int i = 0; i < 12; i++)
        dim[i] = UINT32_MAX;
    assert_int_equal(strlen(pith_shape_text(dim, 8, text)), 8 * 10 + 7);
    assert_int_equal(strlen(pith_shape_text(dim, 12, text)), PITH_SHAPE_TEXT - 1);
    assert_int_equal(text[PITH_SHAPE_TEXT], '#');
}

TEST(counts)
{
    static const char *const texts[] = {"0",
                                        "9",
                                        "10",
                                        "999",
                                        "1,000",
                                        "9,999",
                                        "10,000",
                                        "999,999",
                                        "1,000,000",
                                        "123,456,789",
                                        "18,446,744,073,709,551,615"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint64_t n = 0;
        for (const char *p = texts[i]; *p; p++)
            n = *p == ',' ? n : n * 10 + (uint64_t)(*p - '0');
        struct guarded g = guard_new(27, 1);
        assert_ptr_equal(pith_count_text(n, g.data), g.data);
        assert_string_equal(g.data, texts[i]);
        guard_free(&g);
    }
}

TEST(errors)
{
    struct pith_error err = {.chunk = 7, .offset = 9};
    assert_int_equal(pith_error_fill(NULL, PITH_ERR_IO, "%d", 1), PITH_ERR_IO);
    assert_int_equal(pith_error_no_memory(NULL), PITH_ERR_MEMORY);
    assert_int_equal(pith_error_fill(&err, PITH_ERR_LIMIT, "%0999d", 1), PITH_ERR_LIMIT);
    assert_int_equal(err.status, PITH_ERR_LIMIT);
    assert_int_equal(err.chunk, 0);
    assert_int_equal(err.offset, 0);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_int_equal(pith_error_no_memory(&err), PITH_ERR_MEMORY);
    assert_string_equal(err.text, "out of memory");
}

/* ---- bytes in the making --------------------------------------------------------------------- */

static bool no_memory;

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n)
{
    return no_memory ? NULL : __real_realloc(p, n);
}

TEST(bytes_in_the_making)
{
    struct byte_out o = {0};
    pith_out_bytes(&o, NULL, 0);
    assert_null(o.data);
    pith_out_u8(&o, 0x1ab);
    pith_out_le32(&o, 0x04030201u);
    pith_out_le64(&o, UINT64_C(0x0807060504030201));
    pith_out_bytes(&o, "\0", 2);
    pith_out_bytes(&o, "xy", 2);
    const uint8_t want[] = {0xab, 1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 'x', 'y'};
    assert_int_equal(o.bytes, sizeof want);
    assert_memory_equal(o.data, want, sizeof want);
    /* up to each multiple of the room and past it, byte by byte and at once */
    while (o.bytes < 1030)
        pith_out_u8(&o, (uint32_t)o.bytes);
    uint8_t *room = pith_out_room(&o, 5000);
    assert_ptr_equal(room, o.data + 1030);
    memset(room, 0x5a, 5000);
    assert_int_equal(o.bytes, 6030);
    assert_int_equal(o.data[1029], 1029 & 0xff);
    assert_int_equal(o.data[17], 17);
    /* what does not fit is remembered, and nothing comes behind it */
    assert_null(pith_out_room(&o, SIZE_MAX / 4 - o.bytes + 1));
    assert_true(o.failed);
    assert_int_equal(o.bytes, 6030);
    pith_out_u8(&o, 1);
    assert_int_equal(o.bytes, 6030);
    pith_out_clear(&o);
    assert_null(o.data);
    assert_true(o.bytes == 0 && o.cap == 0 && !o.failed);
    /* a capacity of just what is wanted */
    memset(pith_out_room(&o, 256), 0, 256);
    assert_int_equal(o.cap, 256);
    pith_out_u8(&o, 1);
    assert_int_equal(o.cap, 512);
    /* room that is not there is not given, now and later; what was written stays */
    no_memory = true;
    assert_ptr_equal(pith_out_room(&o, 255), o.data + 257);
    assert_null(pith_out_room(&o, 1));
    no_memory = false;
    assert_null(pith_out_room(&o, 1));
    assert_true(o.failed && o.bytes == 512 && o.cap == 512);
    pith_out_clear(&o);
}

TEST(numbers_of_few_bytes)
{
    static const struct {
        int64_t value;
        uint8_t plain[10], folded[10];
        size_t n_plain, n_folded;
    } cases[] = {{0, {0}, {0}, 1, 1},
                 {1, {1}, {2}, 1, 1},
                 {-1, {0}, {1}, 0, 1},
                 {63, {63}, {126}, 1, 1},
                 {-64, {0}, {127}, 0, 1},
                 {64, {64}, {0x80, 1}, 1, 2},
                 {127, {127}, {0xfe, 1}, 1, 2},
                 {128, {0x80, 1}, {0x80, 2}, 2, 2},
                 {16384, {0x80, 0x80, 1}, {0x80, 0x80, 2}, 3, 3},
                 {INT64_MIN, {0}, {255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, 0, 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct byte_out o = {0};
        if (cases[i].n_plain) {
            pith_out_varint(&o, (uint64_t)cases[i].value);
            assert_int_equal(o.bytes, cases[i].n_plain);
            assert_memory_equal(o.data, cases[i].plain, o.bytes);
        }
        pith_out_clear(&o);
        pith_out_svarint(&o, cases[i].value);
        assert_int_equal(o.bytes, cases[i].n_folded);
        assert_memory_equal(o.data, cases[i].folded, o.bytes);
        pith_out_clear(&o);
    }
    struct pith_buffer b = {malloc(3), 3};
    pith_buffer_free(&b);
    assert_true(!b.data && b.bytes == 0);
    pith_buffer_free(NULL);
}

/* ---- floats of two bytes --------------------------------------------------------------------- */

static float float_of(uint32_t bits)
{
    return f32_from_bits(bits);
}

TEST(floats_of_two_bytes)
{
    static const struct {
        uint32_t x, f16, bf16; /* bits of f32: what is rounded to either */
    } cases[] = {
        {0x3f800000u, 0x3f800000u, 0x3f800000u}, /* 1 */
        {0x80000000u, 0x80000000u, 0x80000000u}, /* -0 */
        {0x3f801000u, 0x3f800000u, 0x3f800000u}, /* a tie of f16: to even, down */
        {0x3f803000u, 0x3f804000u, 0x3f800000u}, /* and up */
        {0x3f801001u, 0x3f802000u, 0x3f800000u},
        {0x3f808000u, 0x3f808000u, 0x3f800000u}, /* a tie of bf16 */
        {0x3f818000u, 0x3f818000u, 0x3f820000u},
        {0x3f808001u, 0x3f808000u, 0x3f810000u},
        {0x477fefffu, 0x477fe000u, 0x47800000u}, /* below the middle behind 65504 */
        {0x477ff000u, 0x7f800000u, 0x47800000u},
        {0x33800000u, 0x33800000u, 0x33800000u}, /* 2^-24, the smallest of f16 */
        {0x33000000u, 0x00000000u, 0x33000000u}, /* half of it: a tie, to 0 */
        {0x33000001u, 0x33800000u, 0x33000000u},
        {0xb2ffffffu, 0x80000000u, 0xb3000000u},
        {0x387fc000u, 0x387fc000u, 0x38800000u}, /* the largest subnormal of f16; bf16: a tie, up */
        {0x7f7fffffu, 0x7f800000u, 0x7f800000u},
        {0xff800000u, 0xff800000u, 0xff800000u},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float x = float_of(cases[i].x);
        uint32_t f16 = f32_bits(pith_narrow_round(PITH_F16, x));
        uint32_t bf16 = f32_bits(pith_narrow_round(PITH_BF16, x));
        if (f16 != cases[i].f16 || bf16 != cases[i].bf16)
            fail_msg("%08x: f16 %08x, bf16 %08x", cases[i].x, f16, bf16);
        assert_int_equal(pith_narrow_holds(PITH_F16, &x, 1), f16 == cases[i].x);
        assert_int_equal(pith_narrow_holds(PITH_BF16, &x, 1), bf16 == cases[i].x);
    }
    /* NaN stays NaN, and keeps the payload that the type has bits for */
    const float nan = float_of(0x7fc02000u), low = float_of(0x7f800001u),
                high = float_of(0xffff0000u);
    assert_true(f32_bits(pith_narrow_round(PITH_BF16, low)) == 0x7fc00000u);
    assert_true(pith_narrow_round(PITH_F16, low) != pith_narrow_round(PITH_F16, low));
    assert_int_equal(pith_narrow_bits(PITH_F16, nan), 0x7e01);
    assert_int_equal(pith_narrow_bits(PITH_F16, high), 0xfff8);
    assert_int_equal(pith_narrow_bits(PITH_BF16, high), 0xffff);
    assert_true(pith_narrow_holds(PITH_F16, &nan, 1));
    assert_false(pith_narrow_holds(PITH_F16, &low, 1));
    assert_false(pith_narrow_holds(PITH_BF16, &low, 1));
    /* all 65,536 of either are held; one that is not among many is found */
    for (int type = 0; type < 2; type++) {
        const enum pith_type t = type ? PITH_BF16 : PITH_F16;
        for (uint32_t h = 0; h < 65536; h++) {
            float x = type ? float_of(h << 16) : 0;
            if (!type) {
                uint32_t exponent = h >> 10 & 31, m = h & 1023, sign = (h & 0x8000u) << 16;
                x = exponent == 31  ? float_of(sign | 0x7f800000u | m << 13)
                    : exponent == 0 ? float_of(sign | f32_bits((float)m * 0x1p-24f))
                                    : float_of(sign | (exponent + 112) << 23 | m << 13);
            }
            if (pith_narrow_bits(t, x) != h || !pith_narrow_holds(t, &x, 1))
                fail_msg("%s %04x: %04x", type ? "bf16" : "f16", h, pith_narrow_bits(t, x));
        }
    }
    const float three[] = {1, 2, float_of(0x3f800001u)};
    assert_true(pith_narrow_holds(PITH_F16, three, 2));
    assert_false(pith_narrow_holds(PITH_F16, three, 3));
    assert_true(pith_type_is_narrow(PITH_F16) && pith_type_is_narrow(PITH_BF16));
    assert_false(pith_type_is_narrow(PITH_F32));
}

/* ---- files of other programs ----------------------------------------------------------------- */

static const char *format_of(const void *bytes, size_t n)
{
    struct guarded g = guard_new(n, 1);
    if (n)
        memcpy(g.data, bytes, n);
    const char *text = pith_foreign_format(g.data, n);
    guard_free(&g);
    return text;
}

/* From so many bytes on a file is known, and with fewer not. */
static void expect_format(const void *bytes, size_t n, size_t needed, const char *begins)
{
    for (size_t k = 0; k <= n; k++) {
        const char *text = format_of(bytes, k);
        if (k < needed ? text != NULL : !text || strncmp(text, begins, strlen(begins)) != 0)
            fail_msg("%s: %zu of %zu bytes: %s", begins, k, n, text ? text : "unknown");
    }
}

#define BYTES(text) text, sizeof text - 1

TEST(files_of_other_programs)
{
    expect_format(BYTES("\x80\x02\x8a\x0al\xfc\x9c"
                        "F\xf9 j\xa8P"),
                  13, "a PyTorch file");
    expect_format(BYTES("\x89HDF\r\n\x1a\n"), 8, "a Keras model");
    expect_format(BYTES("GGUF"), 4, "a GGUF file");
    expect_format(BYTES("\x08\0\0\0TFL3x"), 9, "a TensorFlow Lite model");
    expect_format(BYTES("\x09\0\0\0TFL3x"), 10, "");
    expect_format(BYTES("\x02\0\0\0\0\0\0\0{}"), 10, "a safetensors file");
    expect_format(BYTES("\x02\0\0\0\0\0\0\0{ "), 10, "a safetensors file");
    expect_format(BYTES("\x03\0\0\0\0\0\0\0{\"x"), 11, "a safetensors file");
    expect_format(BYTES("\x01\0\0\0\0\0\0\0{}"), 11, "");
    expect_format(BYTES("\x02\0\0\0\0\0\0\x01{}"), 11, "");
    expect_format(BYTES("\x02\0\0\0\0\0\0\0{x"), 11, "");
    expect_format(BYTES("\x02\0\0\0\0\0\0\0[}"), 11, "");
    expect_format(BYTES("\x08\x01\x12\x02\x0a\x00"), 6, "a TensorFlow SavedModel");
    expect_format(BYTES("\x08\x01\x12\x82\x00\x0a\x00"), 7, "a TensorFlow SavedModel");
    expect_format(BYTES("\x08\x01\x12\x02\x0b\x00"), 7, "");
    expect_format(BYTES("\x08\x01\x12\x03\x0a\x00"), 7, "");
    expect_format(BYTES("\x0a\x04\x0a\x02xy"), 6, "a TensorFlow graph");
    expect_format(BYTES("\x0a\x04\x0a\x03xy"), 7, "");
    expect_format(BYTES("\x0a\x04\x0b\x02xy"), 7, "");
    expect_format(BYTES("\x0a\x80\x80\x80\x80\x80\x01"), 8, ""); /* a length of six bytes */
    expect_format(BYTES("\x0a\x82\x80\x80\x80\x00\x0a\x00"), 8, "a TensorFlow graph");
    expect_format(BYTES("\x08\x07\x12\x02\x0a\x00"), 7, ""); /* ONNX of ir_version 7 */
    /* of a zip its entries' names, at its front or within its last 64 KiB */
    enum { SEARCHED = 1 << 16, LONG = 3 * SEARCHED };
    static const struct {
        const char *name, *begins;
    } entries[] = {{"data.pkl", "a PyTorch file"},
                   {"archive_format", "a PyTorch file"},
                   {"model.weights.h5", "a Keras model"},
                   {"x.onnx", "a zip archive"}};
    uint8_t *zip = calloc(1, LONG);
    for (size_t i = 0; i < 4; i++) {
        size_t length = strlen(entries[i].name);
        const struct {
            size_t at;
            bool searched;
        } places[] = {{4, true},
                      {SEARCHED - length, true},
                      {SEARCHED - length + 1, false},
                      {LONG - SEARCHED - 1, false},
                      {LONG - SEARCHED, true},
                      {LONG - length, true}};
        for (size_t k = 0; k < 6; k++) {
            memset(zip, 0, LONG);
            memcpy(zip, "PK\3\4", 4);
            memcpy(zip + places[k].at, entries[i].name, length);
            const char *text = format_of(zip, LONG);
            const char *want = places[k].searched ? entries[i].begins : "a zip archive";
            if (!text || strncmp(text, want, strlen(want)) != 0)
                fail_msg("%s at %zu: %s", entries[i].name, places[k].at, text ? text : "unknown");
        }
    }
    free(zip);
    assert_string_equal(format_of(BYTES("PK\3\4")), format_of(BYTES("PK\3\4x.onnx")));
}

TEST(folders_of_tensorflow)
{
    char folder[] = "/tmp/pith-test-XXXXXX", path[64];
    static char longest[5000];
    assert_non_null(mkdtemp(folder));
    assert_null(pith_foreign_folder(folder));
    snprintf(path, sizeof path, "%s/saved_model.pb", folder);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fclose(f);
    assert_non_null(strstr(pith_foreign_folder(folder), "SavedModel"));
    unlink(path);
    rmdir(folder);
    memset(longest, 'a', sizeof longest - 1);
    assert_null(pith_foreign_folder(longest));
}

/* ---- instruction sets ------------------------------------------------------------------------ */

TEST(allowed_sets)
{
    const uint32_t all = pith_cpu_features();
    assert_int_equal(pith_cpu_allowed(), all);
    for (uint32_t bit = 0; bit < 30; bit++) {
        const uint32_t mask = UINT32_C(1) << bit;
        pith_cpu_allow(mask);
        assert_int_equal(pith_cpu_allowed(), mask == PITH_CPU_REF ? 0 : all & mask);
        pith_cpu_allow(mask | PITH_CPU_REF);
        assert_int_equal(pith_cpu_allowed(), 0);
    }
    pith_cpu_allow(0); /* no mask: all that there are */
    assert_int_equal(pith_cpu_allowed(), all);
}

RUN_TESTS
