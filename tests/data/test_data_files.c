/* SPDX-License-Identifier: MIT */
/* Data readers on files made here: what is in them, what is said when they do not fit. */
#define _GNU_SOURCE
#include "test_run.h"
#include <stdio.h>
#include <jpeglib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include "archive_bytes.h"
#include "open_data.h"
#include "data/data_source.h"
#include "core/bytes.h"
#include "data/npy_header.h"
#include "data/number_convert.h"

static void put_gz(const char *name, const void *bytes, size_t n)
{
    gzFile f = gzopen(at(name), "wb");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, bytes, (unsigned)n), (int)n);
    assert_int_equal(gzclose(f), Z_OK);
}

static const uint8_t images[] = {0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6};
static const uint8_t labels[] = {0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9};

TEST(idx_with_labels_beside)
{
    put_gz("t-images-idx3-ubyte.gz", images, sizeof images);
    put_gz("t-labels-idx1-ubyte.gz", labels, sizeof labels);
    struct pith_data_opts o = opts_for(at("t-images-idx3-ubyte.gz"));
    o.rank = 4;
    memcpy(o.dim, (uint32_t[]){0, 1, 1, 2}, 16);
    o.preprocess = "scale=2,mean=1";
    struct pith_data *d = open_ok(&o);
    assert_int_equal(pith_data_count(d), 3);
    expect_sample(d, 0, (float[]){1, 3}, 7);
    expect_sample(d, 2, (float[]){9, 11}, 9);
    assert_string_equal(pith_data_sample_name(d, 2), "sample 2");
    assert_int_equal(pith_data_read(d, 3, (float[2]){0}, NULL, NULL), PITH_ERR_ARGUMENT);
    pith_data_free(d);
}

TEST(ranges)
{
    put("r-images-idx3", images, sizeof images);
    static const struct {
        const char *text;
        int n;
        float first[3]; /* first value of each sample */
    } cases[] = {{"0:2", 2, {1, 3}}, {"1:", 2, {3, 5}},   {":3:2", 2, {1, 5}},
                 {"!0:3:2", 1, {3}}, {"!1:2", 2, {1, 5}}, {":", 3, {1, 3, 5}}};
    struct pith_data_opts o = opts_for(at("r-images-idx3"));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        o.range = cases[i].text;
        struct pith_data *d = open_ok(&o);
        assert_int_equal(pith_data_count(d), cases[i].n);
        for (int k = 0; k < cases[i].n; k++)
            expect_sample(d, (uint64_t)k, (float[]){cases[i].first[k], cases[i].first[k] + 1},
                          PITH_NO_LABEL);
        pith_data_free(d);
    }
    o.range = "0:4";
    open_fails(&o, PITH_ERR_ARGUMENT, "range '0:4' goes beyond the 3 samples of $r-images-idx3");
    o.range = "2:2";
    open_fails(&o, PITH_ERR_ARGUMENT, "range '2:2' leaves none of the 3 samples of $r-images-idx3");
    o.range = "1-2";
    open_fails(&o, PITH_ERR_ARGUMENT, "range '1-2' is not a:b, a:b:step or !a:b:step");
    o.range = "0:3:0";
    open_fails(&o, PITH_ERR_ARGUMENT, "range '0:3:0' is not a:b, a:b:step or !a:b:step");
}

/* Picked samples are numbers of the range, in the order given; none: all again. */
TEST(picked_samples)
{
    put("r-images-idx3", images, sizeof images);
    struct pith_data_opts o = opts_for(at("r-images-idx3"));
    struct pith_error err = {0};
    o.range = "1:";
    struct pith_data *d = open_ok(&o);
    assert_int_equal(pith_data_pick(d, (const uint32_t[]){1, 0, 1}, 3, &err), PITH_OK);
    assert_int_equal(pith_data_count(d), 3);
    expect_sample(d, 0, (float[]){5, 6}, PITH_NO_LABEL);
    expect_sample(d, 1, (float[]){3, 4}, PITH_NO_LABEL);
    expect_sample(d, 2, (float[]){5, 6}, PITH_NO_LABEL);
    assert_string_equal(pith_data_sample_name(d, 1), "sample 1");
    assert_int_equal(pith_data_read(d, 3, (float[2]){0}, NULL, NULL), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_data_pick(d, (const uint32_t[]){0, 2}, 2, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "no sample 2"));
    assert_int_equal(pith_data_count(d), 3);
    assert_int_equal(pith_data_pick(d, (const uint32_t[]){1}, 1, &err), PITH_OK);
    assert_int_equal(pith_data_count(d), 1);
    assert_int_equal(pith_data_read(d, 1, (float[2]){0}, NULL, NULL), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_data_pick(d, NULL, 0, &err), PITH_OK);
    assert_int_equal(pith_data_count(d), 2);
    expect_sample(d, 0, (float[]){3, 4}, PITH_NO_LABEL);
    pith_data_free(d);
}

TEST(cifar_records)
{
    uint8_t *b = calloc(2, 3073);
    b[0] = 3;
    memset(b + 1, 10, 1024);        /* red */
    memset(b + 1 + 1024, 20, 1024); /* green */
    b[3073] = 9;
    put("data.bin", b, 2 * 3073);
    struct pith_data_opts o = opts_for(at("data.bin"));
    o.preprocess = "order=bgr,crop=4";
    struct pith_data *d = open_ok(&o);
    float want[48];
    for (int i = 0; i < 48; i++)
        want[i] = i < 16 ? 0 : i < 32 ? 20 : 10;
    expect_sample(d, 0, want, 3);
    pith_data_free(d);
    b[3073] = 10;
    put("data.bin", b, 2 * 3073);
    open_fails(&o, PITH_ERR_CORRUPT, "$data.bin: record 1 has label 10, CIFAR-10 has 0 to 9");
    put("data.bin", b, 3072);
    open_fails(&o, PITH_ERR_CORRUPT,
               "$data.bin: 3072 bytes are not a whole number of CIFAR-10 records of 3,073 bytes");
    free(b);
}

/* Colours and places all apart, so that nothing but left and right may change. */
static void expect_mirrored(const char *preprocess)
{
    struct pith_data_opts o = opts_for(at("mirror.bin"));
    const bool last = strstr(preprocess, "nhwc") != NULL;
    float was[3 * 5 * 5], now[3 * 5 * 5];
    int64_t label;
    o.preprocess = preprocess;
    struct pith_data *d = open_ok(&o);
    assert_true(pith_data_mirror(d));
    assert_int_equal(pith_data_count(d), 4);
    for (uint64_t i = 0; i < 4; i += 2) {
        assert_int_equal(pith_data_read(d, i, was, NULL, NULL), PITH_OK);
        assert_int_equal(pith_data_read(d, i + 1, now, &label, NULL), PITH_OK);
        assert_int_equal(label, i ? 7 : 4);
        assert_int_equal(pith_data_label(d, i + 1), label);
        for (int k = 0; k < 75; k++) {
            const int z = last ? k / 3 % 5 : k % 5, step = last ? 3 : 1;
            assert_true(was[k] == now[k + (4 - 2 * z) * step]);
        }
        assert_true(memcmp(was, now, sizeof was) != 0);
    }
    assert_int_equal(pith_data_read(d, 4, was, NULL, NULL), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_data_pick(d, (const uint32_t[]){1}, 1, NULL), PITH_OK);
    assert_int_equal(pith_data_count(d), 1); /* without, until it is requested again */
    assert_true(pith_data_mirror(d));
    assert_int_equal(pith_data_count(d), 2);
    assert_int_equal(pith_data_read(d, 1, was, &label, NULL), PITH_OK);
    assert_memory_equal(was, now, sizeof was);
    assert_int_equal(label, 7);
    pith_data_free(d);
}

TEST(mirror_images)
{
    uint8_t *b = calloc(2, 3073);
    for (int i = 0; i < 2 * 3073; i++)
        b[i] = (uint8_t)(i * 37 + i / 256);
    b[0] = 4;
    b[3073] = 7;
    put("mirror.bin", b, 2 * 3073);
    free(b);
    expect_mirrored("crop=5");
    expect_mirrored("crop=5,layout=nhwc");
    put_png("grey-mirror.png", 4, 4, false, 9);
    put("m-images-idx3", images, sizeof images);
    const char *others[] = {at("grey-mirror.png"), at("m-images-idx3")};
    for (int i = 0; i < 2; i++) {
        struct pith_data_opts o = opts_for(others[i]);
        struct pith_data *d = open_ok(&o);
        const uint64_t count = pith_data_count(d);
        assert_false(pith_data_mirror(d)); /* they have no three channels */
        assert_int_equal(pith_data_count(d), count);
        pith_data_free(d);
    }
}

TEST(headerless_records)
{
    put("r.raw", "\x01\xff\x80\x7f", 4);
    put("l.csv", "index,class\r\n0,5\r\n1,\"6\"\r\n", 25);
    char spec[300];
    snprintf(spec, sizeof spec, "raw:i8:2:%s", at("r.raw"));
    struct pith_data_opts o = opts_for(spec);
    o.labels = at("l.csv");
    o.preprocess = "scale=0.5,mean=1,std=2";
    struct pith_data *d = open_ok(&o);
    expect_sample(d, 0, (float[]){-0.25f, -0.75f}, 5);
    expect_sample(d, 1, (float[]){-32.5f, 31.25f}, 6);
    pith_data_free(d);
    snprintf(spec, sizeof spec, "raw:i8:3:%s", at("r.raw"));
    open_fails(&o, PITH_ERR_CORRUPT,
               "$r.raw: 4 bytes are not a whole number of records of 3 bytes");
    o.path = "raw:i9:3:x";
    open_fails(&o, PITH_ERR_ARGUMENT,
               "'raw:i9:3:x' is not raw:TYPE:VALUES:FILE with TYPE i8 u8 i16 u16 i32 f16 f32 or "
               "f64");
}

TEST(arrays_and_label_files)
{
    struct pith_buffer f;
    static const float x[] = {1, 2, 3, 4, 5, 6};
    static const int32_t y[] = {4, 5, 6};
    assert_int_equal(pith_npy_write(PITH_F32, 2, (uint32_t[]){3, 2}, x, &f, NULL), PITH_OK);
    assert_int_equal(f.bytes % 64, 24); /* header of a multiple of 64, then the data */
    put("x.npy", f.data, f.bytes);
    pith_buffer_free(&f);
    assert_int_equal(pith_npy_write(PITH_I32, 1, (uint32_t[]){3}, y, &f, NULL), PITH_OK);
    put("y.npy", f.data, f.bytes);
    pith_buffer_free(&f);
    put("y.txt", "4\n5\n6\n", 6);
    put("y.idx", labels, sizeof labels);
    struct pith_data_opts o = opts_for(at("x.npy"));
    static const char *const label_files[] = {"y.npy", "y.txt"};
    for (int i = 0; i < 2; i++) {
        o.labels = at(label_files[i]);
        struct pith_data *d = open_ok(&o);
        expect_sample(d, 1, (float[]){3, 4}, 5);
        pith_data_free(d);
    }
    o.within = "1:3";
    o.range = "!0:1";
    struct pith_data *rest = open_ok(&o);
    assert_int_equal(pith_data_count(rest), 1);
    expect_sample(rest, 0, (float[]){5, 6}, 6);
    pith_data_free(rest);
    o.within = o.range = NULL;
    put("y.txt", "4\n5\n", 4);
    o.labels = at("y.txt");
    open_fails(&o, PITH_ERR_CORRUPT, "$y.txt: 2 labels for 3 samples of $x.npy");
    put("y.txt", "4\nfive\n6\n", 9);
    open_fails(&o, PITH_ERR_CORRUPT,
               "$y.txt: line 2: 'five' is not a class number, and the "
               "model stores no class names (pith import --class-names FILE)");
    put("y.txt", "name,file\n", 10);
    open_fails(&o, PITH_ERR_CORRUPT,
               "$y.txt: line 1: 'name,file' is not a class number, and the model stores no class "
               "names (pith import --class-names FILE); nor is it a line of column names with "
               "`class` or `label` among them");
    o.class_names = "one\ntwo_words\nn01440764 tench, Tinca tinca\nONE\n"; /* as they are first */
    put("y.txt", "ONE\nTwo Words\ntinca tinca", 25);
    struct pith_data *named = open_ok(&o);
    assert_int_equal(pith_data_label(named, 0), 3);
    assert_int_equal(pith_data_label(named, 1), 1);
    assert_int_equal(pith_data_label(named, 2), 2);
    pith_data_free(named);
    put("y.txt", "one\nOne\n2\n", 10); /* which one? */
    open_fails(&o, PITH_ERR_CORRUPT, "$y.txt: line 2: 'One' is the name of 2 classes");
    o.labels = at("nowhere.csv");
    open_fails(&o, PITH_ERR_IO, "$nowhere.csv: No such file or directory");
    o.labels = at("x.npy"); /* floats are targets */
    struct pith_data *d = open_ok(&o);
    float target[2];
    assert_false(pith_data_labelled(d));
    assert_int_equal(pith_data_target_elems(d), 2);
    assert_int_equal(pith_data_read_target(d, 2, target), PITH_OK);
    assert_true(target[0] == 5 && target[1] == 6);
    pith_data_free(d);
}

/* Label files whose numbers are none, and what stands in the message. */
TEST(labels_that_are_none)
{
    static const uint8_t idx_long[] = {0, 0, 8, 1, 0, 0, 0, 4, 1, 2, 3},
                         idx_wide[] = {0, 0, 11, 1, 0, 0, 0, 1, 0, 7};
    static const int64_t wide[] = {3, 1, (int64_t)1 << 31}, below[] = {1, -1, 2};
    static const uint8_t fine[] = {1, 2, 255};
    struct pith_buffer f;
    assert_int_equal(
        pith_npy_write(PITH_F32, 2, (uint32_t[]){3, 2}, (float[]){1, 2, 3, 4, 5, 6}, &f, NULL),
        PITH_OK);
    put("x.npy", f.data, f.bytes);
    pith_buffer_free(&f);
    put("long", idx_long, sizeof idx_long);
    put("wide", idx_wide, sizeof idx_wide);
    const struct {
        const char *name;
        enum pith_type type;
        const void *labels;
        const char *text; /* NULL: they are fine */
    } arrays[] = {{"wide.npy", PITH_I64, wide,
                   "$wide.npy: the label of sample 2 is 2147483648, not a class number"},
                  {"below.npy", PITH_I64, below,
                   "$below.npy: the label of sample 1 is -1, not a class number"},
                  {"fine.npy", PITH_U8, fine, NULL}};
    struct pith_data_opts o = opts_for(at("x.npy"));
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        assert_int_equal(
            pith_npy_write(arrays[i].type, 1, (uint32_t[]){3}, arrays[i].labels, &f, NULL),
            PITH_OK);
        put(arrays[i].name, f.data, f.bytes);
        pith_buffer_free(&f);
        o.labels = at(arrays[i].name);
        if (arrays[i].text) {
            open_fails(&o, PITH_ERR_CORRUPT, arrays[i].text);
            continue;
        }
        struct pith_data *d = open_ok(&o);
        assert_int_equal(pith_data_label(d, 2), 255);
        pith_data_free(d);
    }
    o.labels = at("long");
    open_fails(&o, PITH_ERR_CORRUPT, "$long: header declares 4 labels, the file has 3");
    o.labels = at("wide");
    open_fails(&o, PITH_ERR_UNSUPPORTED, "$wide: IDX labels must be one unsigned byte a sample");
}

/* What names the channels of pictures and arrays: a mean for each, or one for all. */
TEST(means_are_those_of_the_channels)
{
    struct pith_buffer f;
    const float x[12] = {0};
    assert_int_equal(pith_npy_write(PITH_F32, 4, (uint32_t[]){1, 3, 2, 2}, x, &f, NULL), PITH_OK);
    put("three.npy", f.data, f.bytes);
    pith_buffer_free(&f);
    put_png("three.png", 2, 2, true, 9);
    static const char *const names[] = {"three.npy", "three.png"};
    for (int i = 0; i < 2; i++) {
        struct pith_data_opts o = opts_for(at(names[i]));
        char text[128];
        snprintf(text, sizeof text,
                 "$%s: mean or std is given for other than the 3 channels of input 'x'", names[i]);
        o.rank = 4;
        memcpy(o.dim, (uint32_t[]){1, 3, 2, 2}, 4 * sizeof *o.dim);
        o.preprocess = "mean=1:2";
        open_fails(&o, PITH_ERR_ARGUMENT, text);
        o.preprocess = "std=1:2";
        open_fails(&o, PITH_ERR_ARGUMENT, text);
        o.preprocess = "means=1";
        open_fails(&o, PITH_ERR_ARGUMENT,
                   "preprocessing has no 'means': it is scale, mean, std, resize, crop, letterbox, "
                   "pad, order or layout, and in front of them a name may stand: imagenet, caffe, "
                   "unit, signed or raw");
        o.preprocess = "mean=1:2:3,std=4";
        pith_data_free(open_ok(&o));
    }
}

static float *copy_of(const float *x, size_t n)
{
    float *copy = malloc(n * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, x, n * sizeof *copy);
    return copy;
}

TEST(numbers_in_memory)
{
    static const float x[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, y[3] = {0.5f, 1.5f, 2.5f};
    const uint32_t dim[3] = {1, 2, 2}, none[2] = {1, 0};
    struct pith_error err = {0};
    struct pith_data *d = NULL;
    assert_int_equal(pith_data_of_numbers(&(struct pith_numbers){.rank = 3,
                                                                 .dim = dim,
                                                                 .n = 3,
                                                                 .x = copy_of(x, 12),
                                                                 .targets = copy_of(y, 3),
                                                                 .target_elems = 1},
                                          &d, &err),
                     PITH_OK);
    uint32_t shape[PITH_MAX_RANK];
    float got[4], target;
    assert_int_equal(pith_data_shape(d, shape), 3);
    assert_true(shape[0] == 1 && shape[1] == 2 && shape[2] == 2);
    assert_int_equal(pith_data_count(d), 3);
    assert_int_equal(pith_data_elems(d), 4);
    assert_int_equal(pith_data_read(d, 2, got, NULL, &err), PITH_OK);
    assert_memory_equal(got, x + 8, sizeof got);
    assert_int_equal(pith_data_target_elems(d), 1);
    assert_int_equal(pith_data_read_target(d, 1, &target), PITH_OK);
    assert_true(target == 1.5f);
    assert_false(pith_data_labelled(d));
    assert_int_equal(pith_data_read(d, 3, got, NULL, &err), PITH_ERR_ARGUMENT);
    pith_data_free(d);

    assert_int_equal(
        pith_data_of_numbers(
            &(struct pith_numbers){.rank = 2, .dim = none, .n = 3, .x = copy_of(x, 12)}, &d, &err),
        PITH_ERR_ARGUMENT);
    assert_int_equal(
        pith_data_of_numbers(
            &(struct pith_numbers){.rank = 3, .dim = dim, .n = 0, .x = copy_of(x, 12)}, &d, &err),
        PITH_ERR_ARGUMENT);
}

TEST(folders_are_classes)
{
    assert_int_equal(
        mkdir(at("set"), 0700) | mkdir(at("set/cat"), 0700) | mkdir(at("set/ant"), 0700), 0);
    put_png("set/cat/1.png", 2, 2, true, 30);
    put_png("set/ant/2.png", 2, 2, false, 20); /* grey becomes three channels */
    put_png("set/ant/1.png", 2, 2, true, 10);
    put("set/ant/notes.txt", "x", 1);
    struct pith_data_opts o = opts_for(at("set"));
    o.rank = 4;
    memcpy(o.dim, (uint32_t[]){1, 3, 2, 2}, 16);
    struct pith_data *d = open_ok(&o);
    float want[12];
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 12; k++)
            want[k] = (float)(10 * (i + 1));
        expect_sample(d, (uint64_t)i, want, i == 2);
    }
    assert_string_equal(pith_data_sample_name(d, 1), "ant/2.png");
    pith_data_free(d);
    memcpy(o.dim, (uint32_t[]){1, 3, 4, 4}, 16);
    open_fails(
        &o, PITH_ERR_ARGUMENT,
        "$set: 3 samples of 3x2x2 do not fit input 'x' 1x3x4x4: --preprocess NAME,resize=4,crop=4 "
        "makes "
        "pictures fit, NAME being imagenet, caffe, unit, signed or raw (pith help preprocess)");
    o.preprocess = "scale=1/255,order=bgr";
    open_fails(&o, PITH_ERR_ARGUMENT,
               "$set: 3 samples of 3x2x2 do not fit input 'x' 1x3x4x4: --preprocess "
               "scale=1/255,resize=4,crop=4,order=bgr makes pictures fit");
    o.preprocess = "unit";
    memcpy(o.dim, (uint32_t[]){1, 224, 224, 3}, 16);
    open_fails(&o, PITH_ERR_ARGUMENT,
               "$set: 3 samples of 3x2x2 do not fit input 'x' 1x224x224x3: --preprocess "
               "scale=1/255,resize=256,crop=224,layout=nhwc makes pictures fit");
    memcpy(o.dim, (uint32_t[]){1, 3, 4, 8}, 16);
    open_fails(&o, PITH_ERR_ARGUMENT,
               "$set: 3 samples of 3x2x2 do not fit input 'x' 1x3x4x8: --preprocess "
               "scale=1/255,resize=4x8 "
               "makes pictures fit");
    o.preprocess = "unit,crop=4";
    memcpy(o.dim, (uint32_t[]){1, 3, 4, 4}, 16);
    open_fails(&o, PITH_ERR_ARGUMENT,
               "ant/1.png: cannot crop 4x4 out of a picture of 2x2 (resize=N in front of crop=N "
               "makes it large "
               "enough)");
}

/* The last part of a path that names a class counts; without any, the file has none. */
TEST(folders_of_named_classes)
{
    static const char *const folders[] = {"deep", "deep/cat", "deep/cat/ant", "deep/n01440764",
                                          "deep/n01440764/images"};
    for (int i = 0; i < 5; i++)
        assert_int_equal(mkdir(at(folders[i]), 0700), 0);
    put_png("deep/cat/1.png", 2, 2, true, 30);
    put_png("deep/cat/ant/1.png", 2, 2, true, 30);
    put_png("deep/n01440764/images/1.png", 2, 2, true, 30);
    struct pith_data_opts o = opts_for(at("deep"));
    o.rank = 4;
    memcpy(o.dim, (uint32_t[]){1, 3, 2, 2}, 16);
    o.class_names = "ant\ncat\nn01440764 tench\n";
    struct pith_data *d = open_ok(&o);
    assert_int_equal(pith_data_count(d), 3);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(pith_data_label(d, i), i == 0 ? 1 : i == 1 ? 0 : 2);
    pith_data_free(d);
}

/* A JPEG of one colour in four inks, as Adobe stores them: inverted. */
static void put_inks(const char *name, const uint8_t inks[4], J_COLOR_SPACE stored)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    uint8_t row[4 * 16], *rows[1] = {row};
    FILE *f = fopen(at(name), "wb");
    assert_non_null(f);
    for (size_t i = 0; i < sizeof row; i++)
        row[i] = inks[i % 4];
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_stdio_dest(&c, f);
    c.image_width = c.image_height = 16;
    c.input_components = 4;
    c.in_color_space = JCS_CMYK;
    jpeg_set_defaults(&c);
    jpeg_set_colorspace(&c, stored);
    jpeg_set_quality(&c, 100, TRUE);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < c.image_height)
        (void)jpeg_write_scanlines(&c, rows, 1);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    assert_int_equal(fclose(f), 0);
}

/* What Pillow's convert("RGB") makes of the same. */
TEST(inks_become_colours)
{
    static const struct {
        uint8_t inks[4], rgb[3];
    } cases[] = {{{200, 100, 50, 255}, {200, 100, 50}},
                 {{255, 255, 255, 128}, {128, 128, 128}},
                 {{200, 100, 50, 128}, {100, 50, 25}},
                 {{0, 255, 7, 0}, {0, 0, 0}}};
    static const J_COLOR_SPACE spaces[] = {JCS_CMYK, JCS_YCCK};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        put_inks("inks.jpg", cases[i / 2].inks, spaces[i % 2]);
        struct pith_data_opts o = opts_for(at("inks.jpg"));
        struct pith_data *d = open_ok(&o);
        float x[3 * 16 * 16];
        assert_int_equal(pith_data_elems(d), 3 * 16 * 16);
        assert_int_equal(pith_data_read(d, 0, x, NULL, NULL), PITH_OK);
        for (int k = 0; k < 3; k++)
            assert_true(fabsf(x[256 * k + 100] - cases[i / 2].rgb[k]) <= 2);
        pith_data_free(d);
    }
}

/* Named one by one: in that order, a folder's pictures sorted; no labels, though their folders are
 * classes elsewhere. */
TEST(pictures_by_name)
{
    assert_int_equal(
        mkdir(at("named"), 0700) | mkdir(at("named/cat"), 0700) | mkdir(at("named/ant"), 0700), 0);
    put_png("named/cat/1.png", 2, 2, true, 30);
    put_png("named/ant/2.png", 2, 2, true, 20);
    put_png("named/ant/1.png", 2, 2, true, 10);
    const char *one = at("named/cat/1.png"), *files[] = {one, at("named/"), one};
    struct pith_data_opts o = opts_for("three");
    o.rank = 4;
    memcpy(o.dim, (uint32_t[]){1, 3, 2, 2}, 16);
    o.files = files;
    o.n_files = 3;
    struct pith_data *d = open_ok(&o);
    static const int shade[] = {30, 10, 20, 30, 30};
    assert_int_equal(pith_data_count(d), 5);
    assert_false(pith_data_labelled(d));
    for (uint64_t i = 0; i < 5; i++) {
        float want[12];
        for (int k = 0; k < 12; k++)
            want[k] = (float)shade[i];
        expect_sample(d, i, want, PITH_NO_LABEL);
    }
    assert_string_equal(pith_data_sample_file(d, 0), one);
    assert_string_equal(pith_data_sample_name(d, 4), one);
    assert_string_equal(strrchr(pith_data_sample_file(d, 2), '/') - 4, "/ant/2.png");
    assert_null(pith_data_sample_file(d, 5));
    pith_data_free(d);
}

TEST(csv_names_pictures)
{
    assert_int_equal(mkdir(at("flat"), 0700), 0);
    put_png("flat/b.png", 1, 1, false, 2);
    put_png("flat/a.png", 1, 1, false, 1);
    static const char *const good[] = {"class,file\n4,\"b.png\"\n\n3,a.png\n",
                                       "class,weight\n3,a\n4,b\n"};
    struct pith_data_opts o = opts_for(at("flat"));
    for (size_t i = 0; i < 2; i++) { /* by name, and in their order */
        put("flat/labels.csv", good[i], strlen(good[i]));
        struct pith_data *d = open_ok(&o);
        expect_sample(d, 0, (float[]){1}, 3);
        expect_sample(d, 1, (float[]){2}, 4);
        pith_data_free(d);
    }
    put("flat/labels.csv", "file,class\na.png,1\n", 19);
    open_fails(&o, PITH_ERR_CORRUPT, "$flat/labels.csv: no row for 'b.png'");
    static const struct {
        const char *csv, *says;
    } wrong[] = {
        {"file,label\na.png,1\nb.png,2\nabsent.png,1\n", "4: no picture 'absent.png' in $flat"},
        {"label,file\n1,a.png\n2,b.png\n1,a.png\n", "4: 'a.png' has a class already"},
        {"label,file\n1,elsewhere/a.png\n", "2: no picture 'elsewhere/a.png' in $flat"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char says[128];
        snprintf(says, sizeof says, "$flat/labels.csv: line %s", wrong[i].says);
        put("flat/labels.csv", wrong[i].csv, strlen(wrong[i].csv));
        open_fails(&o, PITH_ERR_CORRUPT, says);
    }
}

/* A name that several folders have: the whole path distinguishes them, a part of it may not. */
TEST(csv_distinguishes_folders)
{
    assert_int_equal(
        mkdir(at("tree"), 0700) | mkdir(at("tree/p"), 0700) | mkdir(at("tree/q"), 0700), 0);
    put_png("tree/a.png", 1, 1, false, 0);
    put_png("tree/p/a.png", 1, 1, false, 1);
    put_png("tree/q/a.png", 1, 1, false, 2);
    static const char good[] = "file,class\nq/a.png,7\na.png,5\np/a.png,6\n",
                      bad[] = "file,class\na.png,5\n";
    put("tree/labels.csv", good, sizeof good - 1);
    struct pith_data_opts o = opts_for(at("tree"));
    struct pith_data *d = open_ok(&o);
    for (int i = 0; i < 3; i++)
        expect_sample(d, (uint64_t)i, (float[]){(float)i}, 5 + i);
    pith_data_free(d);
    assert_int_equal(remove(at("tree/a.png")), 0);
    put("tree/labels.csv", bad, sizeof bad - 1);
    o.labels = at("tree/labels.csv");
    open_fails(
        &o, PITH_ERR_CORRUPT,
        "$tree/labels.csv: line 2: 'a.png' is 'p/a.png' and 'q/a.png': name the folder, too");
}

/* Under each compression; what is cut or changed is refused, with the member's name. */
TEST(archives_of_pictures)
{
    static const char *const formats[] = {"gnutar", "pax", "zip"}, *const filters[] = {NULL, "gzip",
                                                                                       "xz", "zstd",
                                                                                       "bzip2"};
    static struct archive_bytes z;
    uint8_t png[512];
    size_t n = png_of(1, 1, false, 77, png, sizeof png);
    for (size_t i = 0; i < 3 * 5; i++) {
        archive_begin(&z, formats[i % 3], filters[i / 3]);
        archive_add(&z, "deep/\303\251.png", png, n);
        archive_add(&z, "deep/._one.png", "none", 4); /* beside each file, by macOS */
        archive_add(&z, "read.me", "none", 4);
        put_archive(&z, "pictures");
        struct pith_data_opts o = opts_for(at("pictures"));
        struct pith_data *d = open_ok(&o);
        assert_int_equal(pith_data_count(d), 1);
        assert_string_equal(pith_data_sample_name(d, 0), "deep/\303\251.png");
        expect_sample(d, 0, (float[]){77}, PITH_NO_LABEL);
        pith_data_free(d);
        if (!filters[i / 3])
            continue;
        z.b[z.n / 2] ^= 1;
        put("pictures", z.b, z.n);
        assert_int_equal(pith_data_open(&o, &d, NULL), PITH_ERR_CORRUPT);
        z.b[z.n / 2] ^= 1;
        put("pictures", z.b, z.n / 2);
        assert_int_equal(pith_data_open(&o, &d, NULL), PITH_ERR_CORRUPT);
    }
    archive_begin(&z, "gnutar", NULL);
    archive_add(&z, "one.png", png, n);
    put_archive(&z, "bad.tar");
    struct pith_data_opts o = opts_for(at("bad.tar"));
    put("bad.tar", z.b, TAR_BLOCK + n - 1);
    open_fails(&o, PITH_ERR_CORRUPT,
               "$bad.tar: one.png: broken archive: the file goes beyond the end");
    z.b[TAR_BLOCK + 20] ^= 1; /* a tar has no checksum of its own */
    put("bad.tar", z.b, z.n);
    open_fails(&o, PITH_ERR_CORRUPT, "$bad.tar: one.png: broken PNG: IHDR: CRC error");
}

TEST(broken_and_missing)
{
    put("e-images-idx3", images, sizeof images - 1);
    struct pith_data_opts o = opts_for(at("e-images-idx3"));
    open_fails(&o, PITH_ERR_CORRUPT,
               "$e-images-idx3: header declares 6 bytes of data, the file has 5");
    put("f-images-idx3", images, sizeof images);
    o.path = at("f-images-idx3");
    o.rank = 4;
    memcpy(o.dim, (uint32_t[]){1, 3, 8, 8}, 16);
    open_fails(
        &o, PITH_ERR_ARGUMENT,
        "$f-images-idx3: 3 samples of 1x2 do not fit input 'x' 1x3x8x8: --preprocess "
        "NAME,resize=8,crop=8 makes pictures fit, NAME being imagenet, caffe, unit, signed or raw "
        "(pith help preprocess)");
    put("what.dat", "hello there", 11);
    o.path = at("what.dat");
    open_fails(
        &o, PITH_ERR_CORRUPT,
        "$what.dat: not IDX, npy, npz, PNG, JPEG, a tar or zip of those, or CIFAR-10 (.bin); "
        "headerless records are given as raw:TYPE:VALUES:FILE, sound as wav:FRAME:HOP:FILE, "
        "text as text:LENGTH:FILE");
    o.path = at("none");
    open_fails(&o, PITH_ERR_IO, "$none: No such file or directory");
    uint8_t png[256];
    size_t n = png_of(3, 3, true, 5, png, sizeof png);
    put("cut.png", png, n - 20);
    o = opts_for(at("cut.png"));
    open_fails(&o, PITH_ERR_CORRUPT, "$cut.png: broken PNG: ends early");
    uint8_t *zeros = calloc(1, 1 << 20);
    put_gz("bomb.npy.gz", zeros, 1 << 20);
    free(zeros);
    o = opts_for(at("bomb.npy.gz"));
    open_fails(
        &o, PITH_ERR_CORRUPT,
        "$bomb.npy.gz: not IDX, npy, npz, PNG, JPEG, a tar or zip of those, or CIFAR-10 (.bin); "
        "headerless records are given as raw:TYPE:VALUES:FILE, sound as wav:FRAME:HOP:FILE, "
        "text as text:LENGTH:FILE");
    char raw[600];
    snprintf(raw, sizeof raw, "raw:u8:1024:%s", at("bomb.npy.gz"));
    o.path = raw;
    o.max_bytes = 100000;
    open_fails(
        &o, PITH_ERR_LIMIT,
        "$bomb.npy.gz: 1,048,576 bytes or more when inflated or decoded; allowed are 100,000 "
        "(--max-memory allows more)");
    o.max_bytes = 1 << 20; /* just enough */
    pith_data_free(open_ok(&o));
}

TEST(npz_members)
{
    static struct archive_bytes z;
    static const uint8_t x[] = {1, 2, 3, 4};
    struct pith_buffer f;
    assert_int_equal(pith_npy_write(PITH_U8, 2, (uint32_t[]){2, 2}, x, &f, NULL), PITH_OK);
    archive_begin(&z, "zip", NULL);
    archive_write_zip_set_compression_store(z.a);
    archive_add(&z, "x.npy", f.data, f.bytes);
    put_archive(&z, "a.npz");
    struct pith_data_opts o = opts_for(at("a.npz"));
    struct pith_data *d = open_ok(&o);
    expect_sample(d, 1, (float[]){3, 4}, PITH_NO_LABEL);
    pith_data_free(d);
    uint8_t *array = memmem(z.b, z.n, f.data, f.bytes);
    array[f.bytes - 1] ^= 1;
    put("a.npz", z.b, z.n);
    struct pith_error err;
    assert_int_equal(pith_data_open(&o, &d, &err), PITH_ERR_CORRUPT);
    SUCCEEDS(!strstr(err.text, "/a.npz: x.npy: broken archive: ZIP bad CRC"));
    put("a.npz", z.b, z.n - 1);
    open_fails(&o, PITH_ERR_CORRUPT, "$a.npz: broken archive: Unrecognized archive format");
    pith_buffer_free(&f);
}

RUN_TESTS_WITH(make_folder, remove_folder)
