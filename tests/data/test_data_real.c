/* SPDX-License-Identifier: MIT */
/* The real data sets (PITH_DATA; skipped without): first labels and weighted sums of all values, as
 * numpy and Pillow compute them. The sum of x[k] * (k mod 97) notices a swapped channel, a shifted
 * crop and a differing JPEG transform alike. */
#include "test_run.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "pith_data.h"

struct real_case {
    const char *path, *labels, *preprocess, *range;
    uint32_t rank, dim[4];
    uint64_t count;
    int64_t first_labels[3];
    double total, tolerance; /* of the weighted sums; relative */
};

static const char *data_folder(void)
{
    const char *folder = getenv("PITH_DATA");
    return folder ? folder : "../shared/data";
}

static double weighted_sum(const float *x, uint64_t n)
{
    double sum = 0;
    for (uint64_t k = 0; k < n; k++)
        sum += (double)x[k] * (double)(k % 97);
    return sum;
}

static void check(const struct real_case *c)
{
    char path[1200], labels[600], file[600];
    struct stat info;
    const char *raw = strrchr(c->path, ':');
    size_t prefix = raw ? (size_t)(raw - c->path) + 1 : 0;
    snprintf(file, sizeof file, "%s/%s", data_folder(), c->path + prefix);
    if (stat(file, &info) != 0)
        skip();
    snprintf(path, sizeof path, "%.*s%s", prefix < 500 ? (int)prefix : 0, c->path, file);
    snprintf(labels, sizeof labels, "%s/%s", data_folder(), c->labels ? c->labels : "");
    struct pith_data_opts o = {.size_bytes = sizeof o,
                               .path = path,
                               .labels = c->labels ? labels : NULL,
                               .preprocess = c->preprocess,
                               .range = c->range,
                               .rank = c->rank};
    memcpy(o.dim, c->dim, sizeof c->dim);
    struct pith_data *d = NULL;
    struct pith_error err = {0};
    SUCCEEDS(pith_data_open(&o, &d, &err));
    assert_int_equal(pith_data_count(d), c->count);
    float *x = malloc(pith_data_elems(d) * sizeof *x);
    double total = 0;
    for (uint64_t i = 0; i < c->count; i++) {
        int64_t label;
        SUCCEEDS(pith_data_read(d, i, x, &label, &err));
        if (i < 3)
            assert_int_equal(label, c->first_labels[i]);
        total += weighted_sum(x, pith_data_elems(d));
    }
    if (!(fabs(total - c->total) <= c->tolerance * fabs(c->total)))
        fail_msg("%s: %.6f, expected %.6f", path, total, c->total);
    free(x);
    pith_data_free(d);
}

TEST(mnist)
{
    check(&(struct real_case){.path = "mnist/t10k-images-idx3-ubyte.gz",
                              .preprocess = "scale=1/256",
                              .rank = 4,
                              .dim = {0, 1, 28, 28},
                              .count = 10000,
                              .first_labels = {7, 2, 1},
                              .total = 50213232.214844,
                              .tolerance = 1e-12});
}

TEST(cifar_tar_of_jpeg)
{
    check(&(struct real_case){.path = "cifar10/test_jpeg.tar.gz",
                              .rank = 4,
                              .dim = {1, 3, 32, 32},
                              .count = 10000,
                              .first_labels = {0, 0, 0},
                              .total = 177677646513.0});
}

TEST(imagenet_bgr_crop)
{
    check(&(struct real_case){.path = "imagenet/imagenet_a500.tar",
                              .preprocess = "mean=104:117:123,order=bgr,crop=227",
                              .rank = 4,
                              .dim = {1, 3, 227, 227},
                              .count = 500,
                              .first_labels = {0, 2, 4},
                              .total = 5903280205.0});
}

/* Pillow's sum is computed in float32 here and there: the tolerance is that of rounding, while one
 * grey level of one pixel in a thousand would show as 1e-5. */
TEST(imagenet_resized)
{
    check(&(struct real_case){
        .path = "imagenet/imagenet_a500.tar",
        .preprocess =
            "scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225,resize=200,crop=192",
        .range = "0:100:3",
        .count = 34,
        .first_labels = {0, 6, 12},
        .total = 13623764.438587,
        .tolerance = 2e-6});
}

/* mean = 83 * 0.5847029089927673: the value fed is (int8 - 83) * 0.5847029089927673. */
TEST(keyword_records)
{
    check(&(struct real_case){.path = "raw:i8:490:kws/kws01_mfcc_int8.bin.gz",
                              .labels = "kws/kws01_labels.csv",
                              .preprocess = "scale=0.5847029089927673,mean=48.530341446399685",
                              .rank = 4,
                              .dim = {1, 1, 49, 10},
                              .count = 1000,
                              .first_labels = {7, 2, 6},
                              .total = -40186080.676231,
                              .tolerance = 1e-6});
}

TEST(keyword_npy_every_other)
{
    check(&(struct real_case){.path = "kws/kws_mfcc490_f32.npy",
                              .labels = "kws/kws_mfcc_labels_i32.npy",
                              .range = "!0:304:2",
                              .rank = 2,
                              .dim = {1, 490},
                              .count = 152,
                              .first_labels = {1, 1, 1},
                              .total = -52046402.114175,
                              .tolerance = 1e-12});
}

RUN_TESTS
