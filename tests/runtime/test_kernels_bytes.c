/* SPDX-License-Identifier: MIT */
/* The kernels of rows of bytes of every level of this machine against the reference's, and that
 * against what they are to do: equal bits, and buffers that end at an unmapped page. */
#include <math.h>
#include <string.h>
#include "test_run.h"
#include "integer_kernel_case.h"
#include "kernels/ref/integer_element.h"

static struct byte_grid random_grid(void)
{
    static const float odd[] = {0.0f, -0.5f, 1e-40f, 1e38f, INFINITY, NAN};
    bool is_signed = pick(0, 1);
    float scale = pick(0, 9) ? (float)pick(1, 5000) * 1e-3f : odd[pick(0, 5)];
    return byte_grid_of(is_signed, scale,
                        is_signed ? (int32_t)pick(0, 255) - 128 : (int32_t)pick(0, 255));
}

/* Both levels on the same rows, at the ends of pages: y of `bytes`. */
#define SAME(name, bytes, call_reference, call_level)                                              \
    do {                                                                                           \
        struct guarded expected = guard_new(bytes, 1), y = guard_new(bytes, 1);                    \
        call_reference;                                                                            \
        call_level;                                                                                \
        if (memcmp(expected.data, y.data, bytes) != 0)                                             \
            fail_msg(name " of %u", n);                                                            \
        guard_free(&expected);                                                                     \
        guard_free(&y);                                                                            \
    } while (0)

/* Windows of a pool's output row that end where their memory does. */
static void check_largest(const struct byte_rows *r, const struct byte_rows *k, uint8_t flip)
{
    const uint32_t n = pick(1, 150), rows = pick(1, 4), columns = pick(1, 4), windows = pick(1, 6);
    const bool by_two = pick(0, 1); /* of 3 x 3, which levels have loops for */
    struct largest_bytes l = {.rows = by_two ? 3 : rows,
                              .columns = by_two ? 3 : columns,
                              .windows = windows,
                              .column = n + pick(0, 1),
                              .flip = flip ^ (pick(0, 3) ? 0 : 0xff)};
    l.step = (by_two ? 2 : pick(0, 3)) * l.column;
    l.row = (windows - 1) * l.step + l.columns * l.column;
    const size_t last = (l.rows - 1) * l.row + (windows - 1) * l.step + (l.columns - 1) * l.column;
    struct guarded x = guard_bytes(last + n);
    l.x = x.data;
    SAME("largest", (size_t)n * windows, r->largest(&l, expected.data, n),
         k->largest(&l, y.data, n));
    guard_free(&x);
}

/* What lies between rows stays as it is. */
static void combine(const struct byte_rows *k, const struct combine_bytes *c,
                    struct combined_rows at, void *y)
{
    at.y = y;
    k->combine(c, &at);
}

static void check_combine(const struct byte_rows *r, const struct byte_rows *k)
{
    const uint32_t n = pick(1, 150), rows = pick(1, 4);
    const struct combine_bytes c = {random_grid(), random_grid(), random_grid(), pick(0, 1),
                                    pick(0, 1)};
    struct combined_rows at = {
        .n = n, .rows = rows, .step = n + pick(0, 9), .b_step = n + pick(0, 9)};
    const size_t bytes = (rows - 1) * at.step + n;
    struct guarded a = guard_bytes(bytes), b = guard_bytes((rows - 1) * at.b_step + n);
    at.a = a.data;
    at.b = b.data;
    SAME("combine", bytes, combine(r, &c, at, expected.data), combine(k, &c, at, y.data));
    guard_free(&a);
    guard_free(&b);
}

static void check_rows(const struct byte_rows *r, const struct byte_rows *k)
{
    uint32_t n = pick(1, 150), taps = pick(1, 9);
    struct byte_grid a = random_grid(), b = random_grid();
    struct combine_bytes c = {a, b, random_grid(), pick(0, 1), pick(0, 1)};
    struct guarded x = guard_bytes(n), z = guard_bytes(n), many = guard_bytes((size_t)taps * n);
    struct guarded real = guard_random(n, 1, &seed), table = guard_bytes(256);
    struct guarded sum = guard_bytes(n * sizeof(int32_t));
    struct mean_bytes over = {many.data, taps, n, a, b}, along = {x.data, n, 1, a, b};
    SAME("combine_reals", n, r->combine_reals(&c, x.data, real.data, expected.data, n),
         k->combine_reals(&c, x.data, real.data, y.data, n));
    SAME("quantize", n, r->quantize(&a, real.data, expected.data, n),
         k->quantize(&a, real.data, y.data, n));
    SAME("look_up", n, r->look_up(table.data, x.data, expected.data, n),
         k->look_up(table.data, x.data, y.data, n));
    SAME("real_sums", n * sizeof(float), memcpy(expected.data, sum.data, n * sizeof(float));
         r->real_sums(real.data, expected.data, n), memcpy(y.data, sum.data, n * sizeof(float));
         k->real_sums(real.data, y.data, n));
    SAME("mean of pixels", n, r->mean(&over, expected.data, n), k->mean(&over, y.data, n));
    SAME("mean of a row", 1, r->mean(&along, expected.data, 1), k->mean(&along, y.data, 1));
    if (a.scale == a.scale && fabsf(a.scale) < INFINITY) /* bits of a NaN are undefined */
        SAME("dequantize", n * sizeof(float), r->dequantize(&a, x.data, expected.data, n),
             k->dequantize(&a, x.data, y.data, n));
    guard_free(&x);
    guard_free(&z);
    guard_free(&many);
    guard_free(&real);
    guard_free(&table);
    guard_free(&sum);
}

/* Every pair of bytes, of scales whose quotients lie in the middle between integers now and then,
 * or all of them, and of ones that are close to the largest. */
TEST(test_sums_of_rows)
{
    enum { PAIRS = 65536 };
    static uint8_t a[PAIRS], b[PAIRS], expected[PAIRS], y[PAIRS];
    struct integer_kernels k, reference;
    pith_integer_kernels_fill(&reference, 0);
    for (uint32_t i = 0; i < PAIRS; i++) {
        a[i] = (uint8_t)i;
        b[i] = (uint8_t)(i >> 8);
    }
    for (uint32_t i = 0; i < 32; i++) {
        struct byte_grid grid[3];
        for (uint32_t g = 0; g < 3; g++) {
            const float part = 1.0f / (float)(1u << pick(0, 3));
            grid[g] = random_grid();
            grid[g].scale = i == 0       ? 1e38f /* sums that are infinite */
                            : pick(0, 1) ? part
                                         : (float)pick(1, 500) * 1e-2f * part;
        }
        const struct combine_bytes c = {grid[0], grid[1], grid[2], false, pick(0, 1)};
        const struct combined_rows at = {.a = a, .b = b, .n = PAIRS, .rows = 1};
        combine(&reference.bytes, &c, at, expected);
        for (uint32_t level = 0; next_level(&level, &k);) {
            combine(&k.bytes, &c, at, y);
            assert_memory_equal(expected, y, PAIRS);
        }
    }
}

TEST(test_rows)
{
    struct integer_kernels k, reference;
    pith_integer_kernels_fill(&reference, 0);
    for (uint32_t i = 0; i < CASES; i++)
        for (uint32_t level = 0; next_level(&level, &k);) {
            check_combine(&reference.bytes, &k.bytes);
            check_rows(&reference.bytes, &k.bytes);
        }
}

TEST(test_largest)
{
    struct integer_kernels k, reference;
    pith_integer_kernels_fill(&reference, 0);
    for (uint32_t i = 0; i < CASES; i++)
        for (uint32_t level = 0; next_level(&level, &k);)
            check_largest(&reference.bytes, &k.bytes, pick(0, 1) ? 0x80 : 0);
}

/* The reference itself, by hand: two windows of two rows and columns, which share one. */
TEST(test_rule_of_largest)
{
    const uint8_t x[] = {1, 9, 200, 0,   5, 7, /* two bytes a pixel */
                         3, 2, 4,   130, 6, 8};
    struct largest_bytes l = {
        .x = x, .row = 6, .column = 2, .step = 2, .rows = 2, .columns = 2, .windows = 2};
    struct integer_kernels reference;
    uint8_t y[4];
    pith_integer_kernels_fill(&reference, 0);
    reference.bytes.largest(&l, y, 2);
    assert_memory_equal(y, ((uint8_t[]){200, 130, 200, 130}), 4);
    l.flip = 0x80;
    reference.bytes.largest(&l, y, 2);
    assert_memory_equal(y, ((uint8_t[]){4, 9, 6, 8}), 4);
}

/* The reference rows against the rule, for all bytes and zero points. */
TEST(test_rule_of_rows)
{
    const float scale = 0.37f;
    struct integer_kernels reference;
    pith_integer_kernels_fill(&reference, 0);
    for (int32_t zero = -128; zero < 256; zero++) {
        bool is_signed = zero < 128 && pick(0, 1);
        if (!is_signed && zero < 0)
            continue;
        enum pith_type type = is_signed ? PITH_I8 : PITH_U8;
        struct byte_grid g = byte_grid_of(is_signed, scale, zero);
        struct integer_range r = integer_range_of(type, zero);
        uint8_t x[256], y[256];
        float real[256];
        for (uint32_t i = 0; i < 256; i++)
            x[i] = (uint8_t)i;
        reference.bytes.dequantize(&g, x, real, 256);
        for (uint32_t i = 0; i < 256; i++) {
            assert_true(real[i] == (float)(integer_at(type, x, i) - zero) * scale);
            real[i] = real[i] * 1.3f + 0.2f;
        }
        reference.bytes.quantize(&g, real, y, 256);
        for (uint32_t i = 0; i < 256; i++)
            assert_int_equal(y[i], (uint8_t)quantized(&r, real[i] / scale));
    }
}

/* Rows that begin or end within a part of 16 bytes, at the ends of pages, and rows that are not
 * there. */
static void check_interleave(const struct byte_rows *r, const struct byte_rows *k)
{
    const uint32_t rows = pick(2, INTERLEAVE_ROWS), element = 1u << pick(0, 4);
    const uint32_t n = pick(1, 60), width = pick(1, 150);
    struct guarded row[INTERLEAVE_ROWS];
    const uint8_t *x[INTERLEAVE_ROWS];
    const struct interleave job = {.x = x,
                                   .rows = rows,
                                   .element = element,
                                   .at = (int64_t)pick(0, 40) - 35,
                                   .width = width,
                                   .flip = pick(0, 1) ? 0x80 : 0,
                                   .zero = (uint8_t)pick(0, 255)};
    for (uint32_t i = 0; i < rows; i++) {
        row[i] = guard_bytes(width);
        x[i] = pick(0, 19) ? row[i].data : NULL;
    }
    SAME("interleave", (size_t)n * rows * element, r->interleave(&job, expected.data, n),
         k->interleave(&job, y.data, n));
    for (uint32_t i = 0; i < rows; i++)
        guard_free(&row[i]);
}

TEST(test_interleave)
{
    struct integer_kernels k, reference;
    pith_integer_kernels_fill(&reference, 0);
    for (uint32_t i = 0; i < CASES; i++)
        for (uint32_t level = 0; next_level(&level, &k);)
            if (k.bytes.interleave)
                check_interleave(&reference.bytes, &k.bytes);
}

/* The reference itself, by hand: pairs of three rows, of which one is not there. */
TEST(test_rule_of_interleave)
{
    const uint8_t a[] = {1, 2, 3, 4}, b[] = {0x81, 6, 7, 8};
    const uint8_t *x[] = {a, NULL, b};
    const struct interleave job = {
        .x = x, .rows = 3, .element = 2, .at = -1, .width = 4, .flip = 0x80, .zero = 9};
    const uint8_t expected[] = {9, 0x81, 9,    9,    9, 1, 0x82, 0x83, 9,
                                9, 0x86, 0x87, 0x84, 9, 9, 9,    0x88, 9};
    struct integer_kernels reference;
    uint8_t y[sizeof expected];
    pith_integer_kernels_fill(&reference, 0);
    if (!reference.bytes.interleave)
        skip();
    reference.bytes.interleave(&job, y, 3);
    assert_memory_equal(y, expected, sizeof y);
}

RUN_TESTS
