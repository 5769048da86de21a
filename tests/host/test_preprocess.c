/* SPDX-License-Identifier: MIT */
/* The preprocessing text: reading, writing back, applying. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "test_seed.h"
#include "guard_page.h"
#include "host/decimal.h"
#include "pith_preprocess.h"

static struct pith_preprocess parsed(const char *text)
{
    struct pith_preprocess pre;
    struct pith_error err;
    if (pith_preprocess_read(text, strlen(text), &pre, &err))
        fail_msg("'%s': %s", text, err.text);
    return pre;
}

TEST(test_read)
{
    struct pith_preprocess p = parsed("scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225,"
                                      "resize=256,crop=224,order=bgr,layout=nhwc");
    assert_true(p.scale == 1.0f / 255.0f && p.n_mean == 3 && p.n_std == 3);
    assert_true(p.mean[0] == 0.485f && p.mean[2] == 0.406f && p.std[1] == 0.224f);
    assert_true(p.resize == 256 && p.crop == 224 && p.bgr && p.nhwc);
    p = parsed("");
    assert_true(p.scale == 1.0f && p.n_mean == 0 && p.n_std == 0 && !p.bgr && !p.nhwc);
    assert_true(p.pad == 114 && p.resize_h == 0 && p.letterbox_h == 0);
    p = parsed("imagenet,resize=320x480");
    assert_true(p.resize_h == 320 && p.resize_w == 480 && p.resize == 0 && p.crop == 0);
    p = parsed("imagenet,crop=200,resize=320x480");
    assert_true(p.resize_h == 320 && p.crop == 200);
    p = parsed("imagenet,letterbox=416x640,pad=0");
    assert_true(p.letterbox_h == 416 && p.letterbox_w == 640 && p.pad == 0 && p.n_mean == 3);
    assert_true(p.resize == 0 && p.resize_h == 0 && p.crop == 0);
    p = parsed("mean=-83,scale=0.5847029089927673,order=rgb,layout=nchw");
    assert_true(p.n_mean == 1 && p.mean[0] == -83.0f && p.scale == 0.5847029089927673f);
}

TEST(test_names)
{
    static const char *const same[][2] = {
        {"imagenet",
         "scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225,resize=256,crop=224"},
        {"caffe", "mean=104:117:123,resize=256,crop=224,order=bgr"},
        {"unit", "scale=1/255"},
        {"signed", "scale=0.00784313725490196,mean=1"},
        {"raw", ""},
        {"raw,order=bgr", "order=bgr"},
        {"caffe,crop=227", "mean=104:117:123,resize=256,crop=227,order=bgr"},
        {"unit,scale=1/256", "scale=1/256"},
        {"imagenet,mean=0.5,std=0.5", "scale=1/255,mean=0.5,std=0.5,resize=256,crop=224"}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        struct pith_preprocess a = parsed(same[i][0]), b = parsed(same[i][1]);
        char left[PITH_PREPROCESS_TEXT_BYTES], right[PITH_PREPROCESS_TEXT_BYTES];
        assert_int_equal(pith_preprocess_format(&a, left, sizeof left), PITH_OK);
        assert_int_equal(pith_preprocess_format(&b, right, sizeof right), PITH_OK);
        assert_string_equal(left, right);
    }
    assert_true(
        fabsf(pith_preprocess_value(
                  &(struct pith_preprocess){.scale = 1.0f / 127.5f, .n_mean = 1, .mean = {1}},
                  255.0f, 0) -
              1) < 1e-6f);
}

TEST(test_refusals)
{
    static const char *const bad[] = {"scale",
                                      "scale=",
                                      "scale=x",
                                      "scale=1,",
                                      ",scale=1",
                                      "scale=1,scale=2",
                                      "imagenet,",
                                      "imagenet,scale=1,scale=2",
                                      "scale=1,imagenet",
                                      "imagenet=1",
                                      "imagenets",
                                      "scale=1/0",
                                      "scale=0",
                                      "scale=1e39",
                                      "scale=nan",
                                      "scale=inf",
                                      "scale=0x10",
                                      "scale= 1",
                                      "scale=1/2/3",
                                      "scale=1:2",
                                      "mean=",
                                      "mean=1:",
                                      "mean=1::2",
                                      "mean=1:2:3:4:5:6:7:8:9",
                                      "std=0",
                                      "std=-1",
                                      "std=1:0",
                                      "mean=1:2,std=1:2:3",
                                      "resize=0",
                                      "resize=1.5",
                                      "resize=-1",
                                      "resize=65537",
                                      "resize=99999999999999999999",
                                      "crop=",
                                      "crop=1x2",
                                      "resize=x",
                                      "resize=1x",
                                      "resize=x1",
                                      "resize=1x0",
                                      "resize=0x1",
                                      "resize=1x2x3",
                                      "resize=65537x1",
                                      "resize=1x65537",
                                      "letterbox=640",
                                      "letterbox=0x640",
                                      "letterbox=640x640,pad=256",
                                      "letterbox=640x640,pad=",
                                      "letterbox=640x640,pad=-1",
                                      "letterbox=640x640,pad=0255",
                                      "letterbox=640x640,pad=1.5",
                                      "letterbox=640x640,crop=640",
                                      "resize=640,letterbox=640x640",
                                      "pad=114",
                                      "order=grb",
                                      "layout=chw",
                                      "colour=1",
                                      "scale=1 ",
                                      "scale=1e",
                                      "scale=.",
                                      "scale=1.2.3",
                                      "scale=+-1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct pith_preprocess pre, before;
        struct pith_error err = {.text = ""};
        memset(&pre, 0x5a, sizeof pre);
        before = pre;
        if (pith_preprocess_read(bad[i], strlen(bad[i]), &pre, &err) != PITH_ERR_ARGUMENT)
            fail_msg("'%s' was accepted", bad[i]);
        assert_memory_equal(&pre, &before, sizeof pre);
        assert_int_equal(err.status, PITH_ERR_ARGUMENT);
        assert_true(strlen(err.text) > 10);
        assert_int_equal(pith_preprocess_parse(bad[i], strlen(bad[i]), &pre), PITH_ERR_ARGUMENT);
    }
}

TEST(test_write)
{
    static const char *const pairs[][2] = {
        {"", ""},
        {"scale=0.00392156862745098", "scale=1/255"},
        {"scale=1/256", "scale=1/256"},
        {"scale=0.5", "scale=0.5"},
        {"order=rgb,scale=1.0,layout=nchw", "layout=nchw"},
        {"crop=224,resize=256,std=0.2290,mean=1.04e2:117:123", "mean=104:117:123,std=0.229,"
                                                               "resize=256,crop=224"},
        {"layout=nhwc,pad=0,letterbox=416x640", "letterbox=416x640,pad=0,layout=nhwc"},
        {"pad=114,letterbox=65536x65536", "letterbox=65536x65536"},
        {"crop=224,resize=00256x341", "resize=256x341,crop=224"},
        {"mean=-1e-30,layout=nhwc,order=bgr", "mean=-1e-30,order=bgr,layout=nhwc"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char text[PITH_PREPROCESS_TEXT_BYTES];
        struct pith_preprocess p = parsed(pairs[i][0]);
        assert_int_equal(pith_preprocess_format(&p, text, sizeof text), PITH_OK);
        assert_string_equal(text, pairs[i][1]);
        size_t n = strlen(text);
        assert_int_equal(pith_preprocess_format(&p, text, n), PITH_ERR_SPACE);
        assert_int_equal(pith_preprocess_format(&p, text, n + 1), PITH_OK);
        struct pith_preprocess again = parsed(text);
        assert_memory_equal(&again, &p, sizeof p);
    }
}

static uint64_t seed;

static uint32_t random_bits(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 32);
}

static float any_f32(void)
{
    for (;;) {
        uint32_t bits = random_bits();
        float v;
        memcpy(&v, &bits, sizeof v);
        if (isfinite(v))
            return v;
    }
}

/* Every f32 reads back as it was written, and reading agrees with strtof. */
TEST(test_decimal)
{
    seed = test_seed(20261124);
    uint64_t first = seed;
    for (int i = 0; i < 200000; i++) {
        char text[DECIMAL_TEXT_BYTES], longer[64];
        float v =
            i < 4 ? (const float[]){0.0f, 3.4028235e38f, 1e-45f, -1.17549435e-38f}[i] : any_f32();
        float back = 1.0f;
        size_t n = pith_decimal_format(v, text);
        if (n != strlen(text) || n >= sizeof text || !pith_decimal_parse(text, n, &back) ||
            back != v || strtof(text, NULL) != v)
            fail_msg("seed %llu: %.9g written as '%s', read as %.9g", (unsigned long long)first,
                     (double)v, text, (double)back);
        snprintf(longer, sizeof longer, "%.17e", (double)v);
        if (!pith_decimal_parse(longer, strlen(longer), &back) || back != v)
            fail_msg("seed %llu: '%s' read as %.9g", (unsigned long long)first, longer,
                     (double)back);
    }
}

TEST(test_decimal_edges)
{
    static const struct {
        const char *text;
        float value;
    } good[] = {
        {"1", 1.0f},
        {"+1.", 1.0f},
        {".5", 0.5f},
        {"-0", -0.0f},
        {"1E+2", 100.0f},
        {"00000000000000000000000000000000000001", 1.0f},
        {"1e-9999", 0.0f},
        {"0e9999", 0.0f},
        {"10000000000000000000000000000000000000e-37", 1.0f},
        {"1e-60", 0.0f},
        {"0.000000000000000000000000000000000000000000000000000001e54", 1.0f},
        {"1e-400", 0.0f},
        {"1e-401", 0.0f},
        {"12345678901234567890e-400", 0.0f},
        {"0.1e39", 1e38f},
        {"1000000000000000000000000000000000000000e-1", 1e38f},
        {"340282356000000000000000000000000000000", 3.4028235e38f}, /* below the middle */
        {"0.00000000000000000000000000000000000000000000000000000000000000000001e68", 1.0f},
        {"99999999999999999999e-20", 1.0f},
        {"1844674407370955161500000e-5", 18446744073709551615.0f},
        {"16777217", 16777216.0f},
        {"123456789012345678901234567890", 123456789012345678901234567890.0f},
    };
    static const char *const bad[] = {
        "",     "-",      ".",     "e5",
        "1e",   "1e+",    "1x",    "0x1",
        "1e39", "1e9999", "1e400", "1e401",
        "1e-",  "1ee1",   "1e1.5", "340282357000000000000000000000000000000",
        "nan",  "inf",    "1,5",   " 1",
        "1 "};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        float v = 7.0f;
        if (!pith_decimal_parse(good[i].text, strlen(good[i].text), &v) || v != good[i].value)
            fail_msg("'%s' read as %.9g", good[i].text, (double)v);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        float v;
        if (pith_decimal_parse(bad[i], strlen(bad[i]), &v))
            fail_msg("'%s' was accepted", bad[i]);
    }
}

/* What people read: plain from 0.0001 to 10^9, else with an exponent. */
TEST(test_layout_of_digits)
{
    static const struct {
        float value;
        const char *text;
    } cases[] = {
        {0.0f, "0"},
        {-0.0f, "0"},
        {1.0f, "1"},
        {-1.5f, "-1.5"},
        {10.0f, "10"},
        {123456.0f, "123456"},
        {1e8f, "100000000"},
        {1e9f, "1e9"},
        {1.5e9f, "1.5e9"},
        {999999.9f, "999999.9"},
        {0.1f, "0.1"},
        {0.0001f, "0.0001"},
        {0.00001f, "0.00001"},
        {0.000001f, "1e-6"},
        {1.25e-6f, "1.25e-6"},
        {0.000123456f, "0.000123456"},
        {3.4028235e38f, "3.4028235e38"},
        {1e-45f, "1e-45"},
        {16777216.0f, "16777216"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[DECIMAL_TEXT_BYTES];
        assert_int_equal(pith_decimal_format(cases[i].value, text), strlen(cases[i].text));
        assert_string_equal(text, cases[i].text);
    }
}

/* Texts end where they say: nothing behind them is read, however they are cut. */
TEST(test_cut_texts)
{
    static const char *const texts[] = {
        "imagenet,scale=-1.5e-3,mean=1/"
        "3:2:3.25,std=1:2:3,resize=256,crop=224,order=bgr,layout=nhwc",
        "mean=1:2:3:4:5:6:7:8",
        "resize=65536",
        "unit",
        "letterbox=65536x65536,pad=255",
        "resize=65536x65536"};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        size_t n = strlen(texts[t]);
        for (size_t cut = 0; cut <= n; cut++) {
            struct pith_preprocess pre;
            struct guarded g = guard_new(cut, 1);
            if (cut)
                memcpy(g.data, texts[t], cut);
            enum pith_status st = pith_preprocess_read(g.data, cut, &pre, NULL);
            assert_true(st == PITH_OK || st == PITH_ERR_ARGUMENT);
            assert_true(cut < n || st == PITH_OK);
            float v;
            (void)pith_decimal_parse(g.data, cut, &v);
            guard_free(&g);
        }
    }
    struct pith_preprocess p = parsed(texts[1]);
    assert_true(p.n_mean == 8 && p.mean[7] == 8.0f && p.n_std == 0);
    assert_true(parsed(texts[2]).resize == 65536);
    /* long keys and values are cut in messages */
    static char key[500];
    struct pith_error err;
    memset(key, 'k', sizeof key - 1);
    assert_int_equal(pith_preprocess_read(key, sizeof key - 1, &p, &err), PITH_ERR_ARGUMENT);
    assert_int_equal(strncmp(err.text, "preprocessing has no 'kkk", 24), 0);
    assert_int_equal(strspn(strchr(err.text, '\'') + 1, "k"), 64);
    assert_int_equal(pith_preprocess_read("mean=1:2,std=1:2:3", 18, &p, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "preprocessing has 2 means and 3 stds");
    assert_int_equal(pith_preprocess_read("crop=1,crop=2", 13, &p, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "preprocessing names 'crop' twice");
}

TEST(test_apply)
{
    /* two pixels: (1, 2, 3) and (255, 0, 10) */
    static const uint8_t pixels[6] = {1, 2, 3, 255, 0, 10};
    float out[6];
    struct pith_preprocess p = parsed("");
    assert_int_equal(pith_preprocess_apply(&p, pixels, 1, 2, 3, out), PITH_OK);
    assert_memory_equal(out, ((float[]){1, 255, 2, 0, 3, 10}), sizeof out);
    p = parsed("order=bgr,mean=3:2:1,std=1:2:4");
    assert_int_equal(pith_preprocess_apply(&p, pixels, 1, 2, 3, out), PITH_OK);
    assert_memory_equal(out, ((float[]){0, 7, 0, -1, 0, 63.5f}), sizeof out);
    p = parsed("layout=nhwc,scale=2,mean=1");
    assert_int_equal(pith_preprocess_apply(&p, pixels, 1, 2, 3, out), PITH_OK);
    assert_memory_equal(out, ((float[]){1, 3, 5, 509, -1, 19}), sizeof out);
    p = parsed("order=bgr,layout=nhwc");
    assert_int_equal(pith_preprocess_apply(&p, pixels, 1, 2, 3, out), PITH_OK);
    assert_memory_equal(out, ((float[]){3, 2, 1, 10, 0, 255}), sizeof out);
    p = parsed("mean=1:2:3");
    assert_int_equal(pith_preprocess_apply(&p, pixels, 2, 3, 1, out), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_preprocess_apply(&p, pixels, 1, 1, 9, out), PITH_ERR_ARGUMENT);
    p = parsed("std=1:2:3");
    assert_int_equal(pith_preprocess_apply(&p, pixels, 2, 3, 1, out), PITH_ERR_ARGUMENT);
    p = parsed("");
    assert_int_equal(pith_preprocess_apply(&p, pixels, 1, 1, 0, out), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_preprocess_apply(&p, pixels, 1, 1, 9, out), PITH_ERR_ARGUMENT);
    struct guarded in = guard_new(8, 1), to = guard_new(8 * sizeof(float), 1);
    memset(in.data, 9, 8);
    assert_int_equal(pith_preprocess_apply(&p, in.data, 1, 1, 8, to.data), PITH_OK);
    assert_true(((float *)to.data)[7] == 9.0f);
    guard_free(&in);
    guard_free(&to);
    p = parsed("scale=1/255,mean=0.485,std=0.229");
    assert_true(pith_preprocess_value(&p, 255.0f, 0) == (1.0f - 0.485f) / 0.229f ||
                fabsf(pith_preprocess_value(&p, 255.0f, 0) - 2.2489083f) < 1e-6f);
}

RUN_TESTS
