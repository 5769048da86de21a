/* SPDX-License-Identifier: MIT */
/* Quantized operators: answers small enough to check by hand, and seeded random products and
 * convolutions against definitions written as plainly as possible. NonMaxSuppression, whose output
 * gets its size at run time. */
#include <math.h>
#include "one_op.h"
#include "op_interface/op_attr.h"

#define SEED 11u

static uint32_t rng = SEED;

static uint32_t below(uint32_t n)
{
    rng = rng * 1664525u + 1013904223u;
    return (rng >> 8) % n;
}

static void expect_bytes(struct one_op *t, const void *expected, size_t bytes)
{
    assert_int_equal(one_op_shape(t), PITH_OK);
    for (int split = 0; split < 2; split++) {
        one_op_run(t, split != 0);
        assert_memory_equal(t->out[0].data, expected, bytes);
    }
    one_op_close(t);
}

static void open_quantize(struct one_op *t, uint32_t n_in, enum pith_type type)
{
    one_op_open(t, PITH_OP_QUANTIZE, n_in, 1);
    t->attr[ATTR_QUANTIZE_TYPE] = (int32_t)type;
}

TEST(test_quantize)
{
    const float x[10] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 1e30f, -1e30f, INFINITY, -INFINITY, NAN};
    const float scale = 1.0f;
    const uint8_t zero_u8 = 10, u8[10] = {10, 12, 12, 10, 8, 255, 0, 255, 0, 0};
    const int8_t zero_i8 = -3, i8[10] = {-3, -1, -1, -3, -5, 127, -128, 127, -128, -128};
    const int16_t i16[10] = {0, 2, 2, 0, -2, 32767, -32768, 32767, -32768, -32768};
    struct one_op t;
    open_quantize(&t, 3, PITH_U8);
    one_op_in(&t, 0, PITH_F32, DIMS(10), x);
    one_op_in(&t, 1, PITH_F32, 0, NULL, &scale);
    one_op_in(&t, 2, PITH_U8, 0, NULL, &zero_u8);
    expect_bytes(&t, u8, sizeof u8);
    open_quantize(&t, 3, PITH_I8);
    one_op_in(&t, 0, PITH_F32, DIMS(10), x);
    one_op_in(&t, 1, PITH_F32, 0, NULL, &scale);
    one_op_in(&t, 2, PITH_I8, 0, NULL, &zero_i8);
    expect_bytes(&t, i8, sizeof i8);
    open_quantize(&t, 2, PITH_I16);
    one_op_in(&t, 0, PITH_F32, DIMS(10), x);
    one_op_in(&t, 1, PITH_F32, 0, NULL, &scale);
    expect_bytes(&t, i16, sizeof i16);
}

/* 2^24 + 1 is no float: as one, 33554434 / 2 would lose its last bit. */
TEST(test_quantize_i32)
{
    const int32_t x[4] = {16777217, -5, 5, INT32_MIN};
    const float scale = 16777216.0f, two = 2.0f;
    const int8_t ones[4] = {1, 0, 0, -128}, halves[4] = {127, -2, 2, -128};
    struct one_op t;
    open_quantize(&t, 2, PITH_I8);
    one_op_in(&t, 0, PITH_I32, DIMS(4), x);
    one_op_in(&t, 1, PITH_F32, 0, NULL, &scale);
    expect_bytes(&t, ones, sizeof ones);
    open_quantize(&t, 2, PITH_I8);
    one_op_in(&t, 0, PITH_I32, DIMS(4), x);
    one_op_in(&t, 1, PITH_F32, 0, NULL, &two);
    expect_bytes(&t, halves, sizeof halves);
}

TEST(test_scales_along_an_axis)
{
    const float x[6] = {2, 2, 2, 8, 8, 8}, scale[3] = {1, 2, 4};
    const uint8_t zero[3] = {0, 10, 20}, y[6] = {2, 11, 20, 8, 14, 22};
    struct one_op t;
    open_quantize(&t, 3, PITH_U8);
    one_op_in(&t, 0, PITH_F32, DIMS(2, 3), x);
    one_op_in(&t, 1, PITH_F32, DIMS(3), scale);
    one_op_in(&t, 2, PITH_U8, DIMS(3), zero);
    expect_bytes(&t, y, sizeof y);
    one_op_open(&t, PITH_OP_DEQUANTIZE, 3, 1);
    one_op_in(&t, 0, PITH_U8, DIMS(2, 3), y);
    one_op_in(&t, 1, PITH_F32, DIMS(3), scale);
    one_op_in(&t, 2, PITH_U8, DIMS(3), zero);
    const float back[6] = {2, 2, 0, 8, 8, 8};
    expect_bytes(&t, back, sizeof back);
}

/* Blocks of two along axis 0 of [3, 2]: scales [2, 2]. */
TEST(test_blocks)
{
    const int8_t q[6] = {1, 2, 3, 4, 5, 6}, zero[4] = {0, 1, 0, 2};
    const float scale[4] = {1, 10, 100, 1000};
    const float y[6] = {1, 10, 3, 30, 500, 4000};
    struct one_op t;
    one_op_open(&t, PITH_OP_DEQUANTIZE, 3, 1);
    t.attr[ATTR_QUANTIZE_AXIS] = 0;
    t.attr[ATTR_QUANTIZE_BLOCK] = 2;
    one_op_in(&t, 0, PITH_I8, DIMS(3, 2), q);
    one_op_in(&t, 1, PITH_F32, DIMS(2, 2), scale);
    one_op_in(&t, 2, PITH_I8, DIMS(2, 2), zero);
    expect_bytes(&t, y, sizeof y);
}

TEST(test_long_rows)
{
    enum { N = 10000 };
    float *x = malloc(N * sizeof *x);
    uint8_t *y = malloc(N);
    assert_true(x && y);
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i % 300) - 20;
        y[i] = (uint8_t)(x[i] < 0 ? 0 : x[i] > 255 ? 255 : x[i]);
    }
    const float one = 1;
    struct one_op t;
    open_quantize(&t, 2, PITH_U8);
    one_op_in(&t, 0, PITH_F32, DIMS(N), x);
    one_op_in(&t, 1, PITH_F32, 0, NULL, &one);
    expect_bytes(&t, y, N);
    free(x);
    free(y);
}

TEST(test_dynamic)
{
    static const struct {
        float x[4], scale;
        uint8_t y[4], zero;
    } cases[] = {
        {{-1, 0, 1.55f, -0.5f}, 2.55f / 255, {0, 100, 255, 50}, 100},
        {{1, 2, 5.1f, 3}, 5.1f / 255, {50, 100, 255, 150}, 0},
        {{-2.55f, -1, -1, -1}, 2.55f / 255, {0, 155, 155, 155}, 255},
        {{0, 0, 0, 0}, 1, {0, 0, 0, 0}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct one_op t;
        one_op_open(&t, PITH_OP_DYNAMIC_QUANTIZE, 1, 3);
        one_op_in(&t, 0, PITH_F32, DIMS(4), cases[i].x);
        assert_int_equal(one_op_shape(&t), PITH_OK);
        one_op_run(&t, false);
        assert_memory_equal(t.out[0].data, cases[i].y, 4);
        assert_true(*(const float *)t.out[1].data == cases[i].scale);
        assert_int_equal(*(const uint8_t *)t.out[2].data, cases[i].zero);
        one_op_close(&t);
    }
}

TEST(test_requantize)
{
    const int32_t acc[4] = {5, -5, INT32_MAX, 7};
    const float factor[2] = {0.5f, 1};
    const int8_t zero = 1, y[4] = {3, -4, 127, 8};
    struct one_op t;
    one_op_open(&t, PITH_OP_REQUANTIZE, 3, 1);
    t.attr[ATTR_QUANTIZE_TYPE] = PITH_I8;
    one_op_in(&t, 0, PITH_I32, DIMS(2, 2), acc);
    one_op_in(&t, 1, PITH_F32, DIMS(2), factor);
    one_op_in(&t, 2, PITH_I8, 0, NULL, &zero);
    expect_bytes(&t, y, sizeof y);
}

/* In fixed point the factor is a power of two, and the sum is shifted, rounded to even: however
 * large it is where 16 places or fewer go, or where values have 16 bits or sums 64. */
static int64_t shifted(int64_t sum, uint32_t places, int64_t low, int64_t high)
{
    int64_t unit = (int64_t)1 << places, half = places ? unit / 2 : 0;
    int64_t q = sum >> places, rest = sum - q * unit;
    if (rest > half || (places && rest == half && (q & 1)))
        q++;
    return q < low ? low : q > high ? high : q;
}

#define SUMS 4096

static void fill_sums(int64_t *sum, uint32_t bits, uint32_t places)
{
    for (int i = 0; i < SUMS; i++) {
        int64_t r = (int64_t)((uint64_t)below(1u << 24) << 40 | (uint64_t)below(1u << 24) << 16 |
                              below(1u << 16));
        r >>= 64 - bits + below(bits - 1);
        if (below(2)) /* a tie, or beside one */
            r = ((r >> places) * 2 + 1) * ((int64_t)1 << places) / 2 + (int64_t)below(3) - 1;
        sum[i] = r;
    }
}

static void expect_shift(enum pith_type type, bool wide, uint32_t places)
{
    static int64_t sum[SUMS];
    static int32_t narrow[SUMS];
    static uint8_t y[2 * SUMS];
    const uint16_t zero = 0;
    const float factor = 1.0f / (float)(1u << places);
    bool bytes = type == PITH_U8 || type == PITH_I8, sign = type == PITH_I8 || type == PITH_I16;
    int64_t steps = bytes ? 256 : 65536, low = sign ? -steps / 2 : 0;
    fill_sums(sum, wide ? 52 : 31, places);
    for (int i = 0; i < SUMS; i++) {
        int64_t q = shifted(sum[i], places, low, low + steps - 1);
        narrow[i] = (int32_t)sum[i];
        y[bytes ? i : 2 * i] = (uint8_t)q;
        if (!bytes)
            y[2 * i + 1] = (uint8_t)(q >> 8);
    }
    struct one_op t;
    one_op_open(&t, PITH_OP_REQUANTIZE, 3, 1);
    t.attr[ATTR_QUANTIZE_TYPE] = (int32_t)type;
    one_op_in(&t, 0, wide ? PITH_I64 : PITH_I32, DIMS(SUMS), wide ? (const void *)sum : narrow);
    one_op_in(&t, 1, PITH_F32, 0, NULL, &factor);
    one_op_in(&t, 2, type, 0, NULL, &zero);
    expect_bytes(&t, y, bytes ? SUMS : 2 * SUMS);
}

TEST(test_requantize_is_a_shift)
{
    for (uint32_t places = 0; places <= 16; places++) {
        expect_shift(PITH_U8, false, places);
        expect_shift(PITH_I8, false, places);
    }
    for (uint32_t places = 0; places <= 30; places++)
        for (int wide = 0; wide < 2; wide++) {
            expect_shift(PITH_I16, wide != 0, places);
            expect_shift(PITH_U16, wide != 0, places);
            expect_shift(PITH_U8, true, places);
        }
}

/* The sum is rounded to f32, then multiplied. */
TEST(test_dequantize_i64)
{
    const int64_t x[4] = {((int64_t)1 << 40) + 1, -3, INT64_MAX, 0};
    const float scale = 0.25f, y[4] = {0x1p38f, -0.75f, 0x1p61f, 0};
    const int64_t zero[4] = {(int64_t)1 << 40, (int64_t)1 << 36, -1, 4}; /* the third wraps */
    const float scales[4] = {1, 0.5f, 1, 2}, less[4] = {1, -0x1p35f, -0x1p63f, -8};
    struct one_op t;
    one_op_open(&t, PITH_OP_DEQUANTIZE, 2, 1);
    one_op_in(&t, 0, PITH_I64, DIMS(4), x);
    one_op_in(&t, 1, PITH_F32, 0, NULL, &scale);
    expect_bytes(&t, y, sizeof y);
    one_op_open(&t, PITH_OP_DEQUANTIZE, 3, 1);
    t.attr[ATTR_QUANTIZE_AXIS] = 0;
    one_op_in(&t, 0, PITH_I64, DIMS(4), x);
    one_op_in(&t, 1, PITH_F32, DIMS(4), scales);
    one_op_in(&t, 2, PITH_I64, DIMS(4), zero);
    expect_bytes(&t, less, sizeof less);
}

static enum pith_type random_type(void)
{
    static const enum pith_type types[4] = {PITH_I8, PITH_U8, PITH_I16, PITH_U16};
    return types[below(4)];
}

static bool is_short(enum pith_type type)
{
    return type == PITH_I16 || type == PITH_U16;
}

static void random_bytes(void *to, size_t n)
{
    uint8_t *p = to;
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)below(256);
}

static int64_t number_at(const uint16_t *p, size_t i, enum pith_type type)
{
    const uint8_t *byte = (const uint8_t *)p;
    switch (type) {
    case PITH_I8:
        return (int8_t)byte[i];
    case PITH_U8:
        return byte[i];
    case PITH_I16:
        return (int16_t)p[i];
    default:
        return p[i];
    }
}

/* Sums with a weight of 16 bits have 64, others wrap in 32. */
static void expect_sums(struct one_op *t, const int64_t *y, size_t n, enum pith_type weight)
{
    static int32_t narrow[1200];
    for (size_t i = 0; i < n; i++)
        narrow[i] = (int32_t)(uint32_t)(uint64_t)y[i];
    assert_int_equal(one_op_shape(t), PITH_OK);
    assert_int_equal(t->out[0].type, is_short(weight) ? PITH_I64 : PITH_I32);
    if (is_short(weight))
        expect_bytes(t, y, n * sizeof *y);
    else
        expect_bytes(t, narrow, n * sizeof *narrow);
}

/* a [2, M, K], b [K, N], [2, K, N] or, with trans_b, [N, K]. */
TEST(test_matmul_integer)
{
    for (int round = 0; round < 400; round++) {
        uint32_t m = 1 + below(4), n = 1 + below(5), k = 1 + below(40), batch = 1 + below(2);
        bool rows = below(2), cols = below(2), zeros = below(4) > 0;
        bool turned = batch == 1 && below(2);
        enum pith_type ta = random_type(), tb = random_type();
        uint16_t a[2 * 4 * 40], b[2 * 40 * 5], za[4], zb[5];
        int64_t y[2 * 4 * 5];
        random_bytes(a, sizeof a), random_bytes(b, sizeof b);
        random_bytes(za, sizeof za), random_bytes(zb, sizeof zb);
        for (size_t i = 0; i < (size_t)2 * m * n; i++) {
            size_t which = i / n / m, row = i / n % m, col = i % n;
            y[i] = 0;
            for (size_t l = 0; l < k; l++) {
                int64_t va = number_at(a, (which * m + row) * k + l, ta);
                size_t at = turned ? col * k + l : l * n + col;
                int64_t vb = number_at(b, (batch > 1 ? which * k * n : 0) + at, tb);
                va -= zeros ? number_at(za, rows ? row : 0, ta) : 0;
                vb -= zeros ? number_at(zb, cols ? col : 0, tb) : 0;
                y[i] += va * vb;
            }
        }
        struct one_op t;
        one_op_open(&t, PITH_OP_MATMUL_INTEGER, zeros ? 4 : 2, 1);
        one_op_in(&t, 0, ta, DIMS(2, m, k), a);
        t.attr[ATTR_MATMUL_TRANS_B] = turned;
        const uint32_t dims_b[3] = {2, turned ? n : k, turned ? k : n};
        one_op_in(&t, 1, tb, batch > 1 ? 3 : 2, batch > 1 ? dims_b : dims_b + 1, b);
        one_op_in(&t, 2, ta, rows, &m, za);
        one_op_in(&t, 3, tb, cols, &n, zb);
        expect_sums(&t, y, (size_t)2 * m * n, tb);
    }
}

/* Two spatial axes, the plain definition. */
TEST(test_conv_integer)
{
    for (int round = 0; round < 400; round++) {
        const uint32_t c = 1 + below(2), o = 1 + below(3), group = 1 + below(2);
        const uint32_t h = 3 + below(5), w = 3 + below(5), kh = 1 + below(3), kw = 1 + below(3);
        const int32_t stride[2] = {1 + (int32_t)below(2), 1 + (int32_t)below(3)};
        const int32_t pad[4] = {(int32_t)below(3), (int32_t)below(2), (int32_t)below(2),
                                (int32_t)below(3)};
        bool per_channel = below(2), around_0 = below(2);
        enum pith_type tx = random_type(), tw = random_type();
        uint16_t x[2 * 4 * 64], k[6 * 2 * 9], zx, zw[6];
        int64_t bias[6], y[2 * 6 * 100];
        int32_t narrow[6];
        random_bytes(x, sizeof x), random_bytes(k, sizeof k);
        random_bytes(&zx, sizeof zx), random_bytes(zw, sizeof zw);
        if (around_0) {
            zx = 0;
            memset(zw, 0, sizeof zw);
        }
        for (int i = 0; i < 6; i++)
            bias[i] = narrow[i] = (int32_t)below(1000) - 500;
        int32_t oh = ((int32_t)h + pad[0] + pad[2] - (int32_t)kh) / stride[0] + 1;
        int32_t ow = ((int32_t)w + pad[1] + pad[3] - (int32_t)kw) / stride[1] + 1;
        size_t n = 0;
        for (uint32_t image = 0; image < 2; image++)
            for (uint32_t out = 0; out < o * group; out++)
                for (int32_t p = 0; p < oh * ow; p++) {
                    int64_t sum = bias[out];
                    for (uint32_t tap = 0; tap < c * kh * kw; tap++) {
                        int32_t iy = p / ow * stride[0] + (int32_t)(tap / kw % kh) - pad[0];
                        int32_t ix = p % ow * stride[1] + (int32_t)(tap % kw) - pad[1];
                        if (iy < 0 || ix < 0 || iy >= (int32_t)h || ix >= (int32_t)w)
                            continue;
                        size_t plane = (size_t)image * c * group + out / o * c + tap / kw / kh;
                        size_t at = (plane * h + (size_t)iy) * w + (size_t)ix;
                        sum += (number_at(x, at, tx) - number_at(&zx, 0, tx)) *
                               (number_at(k, (size_t)out * c * kh * kw + tap, tw) -
                                number_at(zw, per_channel ? out : 0, tw));
                    }
                    y[n++] = sum;
                }
        struct one_op t;
        one_op_open(&t, PITH_OP_CONV_INTEGER, 5, 1);
        t.attr[ATTR_CONV_GROUP] = (int32_t)group;
        one_op_list(&t, ATTR_CONV_STRIDES, 2, stride);
        one_op_list(&t, ATTR_CONV_PADS, 4, pad);
        const uint32_t outputs = o * group;
        one_op_in(&t, 0, tx, DIMS(2, c * group, h, w), x);
        one_op_in(&t, 1, tw, DIMS(outputs, c, kh, kw), k);
        one_op_in(&t, 2, tx, 0, NULL, &zx);
        one_op_in(&t, 3, tw, per_channel, &outputs, zw);
        one_op_in(&t, 4, is_short(tw) ? PITH_I64 : PITH_I32, DIMS(outputs),
                  is_short(tw) ? (const void *)bias : narrow);
        expect_sums(&t, y, n, tw);
    }
}

static void expect_selection(struct one_op *t, size_t rows, const int64_t *expected)
{
    assert_int_equal(one_op_shape(t), PITH_OK);
    uint32_t room = t->out[0].shape.dim[0];
    one_op_run(t, false);
    assert_int_equal(t->out[0].shape.dim[0], rows);
    assert_memory_equal(t->out[0].data, expected, rows * 3 * sizeof *expected);
    t->out[0].shape.dim[0] = room; /* what the canaries stand around */
    one_op_close(t);
}

/* Boxes 0 and 1 share 0.9 of 1.1; 2 lies apart; 3 is 2 with its corners the other way round. */
TEST(test_non_max_suppression)
{
    const float boxes[16] = {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 5, 5, 6, 6, 6, 6, 5, 5};
    const float scores[8] = {0.8f, 0.9f, 0.5f, 0.5f, 0.1f, 0.2f, 0.3f, 0.2f};
    const int64_t both[4 * 3] = {0, 0, 1, 0, 0, 2, 0, 1, 2, 0, 1, 1};
    const int64_t above[2 * 3] = {0, 0, 1, 0, 0, 2}, first[2 * 3] = {0, 0, 1, 0, 1, 2};
    struct one_op t;
    for (int i = 0; i < 4; i++) {
        static const float least[4] = {-INFINITY, 0.4f, -INFINITY, 1};
        one_op_open(&t, PITH_OP_NON_MAX_SUPPRESSION, 2, 1);
        t.attr[ATTR_NMS_TOP] = i == 2 ? 1 : 10;
        t.attr[ATTR_NMS_IOU] = (int32_t)f32_bits(0.5f);
        t.attr[ATTR_NMS_SCORE] = (int32_t)f32_bits(least[i]);
        one_op_in(&t, 0, PITH_F32, DIMS(1, 4, 4), boxes);
        one_op_in(&t, 1, PITH_F32, DIMS(1, 2, 4), scores);
        const int64_t *expected = i == 0 ? both : i == 1 ? above : first;
        expect_selection(&t, i == 0 ? 4 : i == 3 ? 0 : 2, expected);
    }
}

RUN_TESTS
