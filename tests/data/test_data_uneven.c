/* SPDX-License-Identifier: MIT */
/* test_data_uneven.c - samples of different lengths: lines of text, arrays in a folder, their mask.
 */
#define _XOPEN_SOURCE 700
#include "open_data.h"
#include <sys/stat.h>

static const char *put_text(const char *text)
{
    put("x.txt", text, strlen(text));
    return at("x.txt");
}

static struct pith_data *open_text(const char *text, const char *range)
{
    struct pith_data_opts o = opts_for(put_text(text));
    o.range = range;
    return open_ok(&o);
}

/* Of its first axis; 0: all samples are as long, or there is no such sample. */
static uint32_t length_of(const struct pith_data *d, uint64_t i)
{
    uint32_t dim[PITH_MAX_RANK];
    return pith_data_uneven(d) && pith_data_sample_shape(d, i, dim) ? dim[1] : 0;
}

static void refused(const struct pith_data_opts *o, enum pith_status status, const char *words)
{
    struct pith_data *d = NULL;
    struct pith_error err = {0};
    assert_int_equal(pith_data_open(o, &d, &err), status);
    assert_null(d);
    if (!strstr(err.text, words))
        fail_msg("'%s' does not say '%s'", err.text, words);
}

TEST(lines_are_filled_up)
{
    static const int64_t wanted[3][3] = {{1, -2, 3}, {40, 0, 0}, {5, 6, 0}};
    static const uint32_t length[] = {3, 1, 2};
    struct pith_data *d = open_text("1 -2,3\r\n\n \t\n+40\n5\t, 6", NULL), *mask;
    uint32_t dim[PITH_MAX_RANK];
    assert_int_equal(pith_data_count(d), 3);
    assert_int_equal(pith_data_shape(d, dim), 2);
    assert_int_equal(dim[1], 3);
    assert_int_equal(pith_data_mask(d, &mask, NULL), PITH_OK);
    for (uint32_t i = 0; i < 3; i++) {
        int64_t x[3], seen[3];
        assert_int_equal(pith_data_read_as(d, i, PITH_I64, x, NULL, NULL), PITH_OK);
        assert_memory_equal(x, wanted[i], sizeof x);
        assert_int_equal(length_of(d, i), length[i]);
        assert_int_equal(length_of(mask, i), length[i]);
        assert_int_equal(pith_data_read_as(mask, i, PITH_I64, seen, NULL, NULL), PITH_OK);
        for (uint32_t k = 0; k < 3; k++)
            assert_int_equal(seen[k], k < length[i]);
    }
    assert_int_equal(length_of(d, 3), 0);
    pith_data_free(mask);
    /* the numbers of a range, in the order that is picked */
    assert_int_equal(pith_data_pick(d, (uint32_t[]){2, 0}, 2, NULL), PITH_OK);
    assert_int_equal(length_of(d, 0), 2);
    assert_int_equal(pith_data_mask(d, &mask, NULL), PITH_OK);
    assert_int_equal(length_of(mask, 1), 3);
    pith_data_free(mask);
    pith_data_free(d);
    d = open_text("1 -2 3\n40\n5 6\n", "1:");
    assert_int_equal(pith_data_count(d), 2);
    assert_int_equal(length_of(d, 0), 1);
    pith_data_free(d);
}

TEST(equal_lengths_need_no_mask)
{
    struct pith_data *d = open_text("1.5,-2e1\n.25 3\n", NULL), *mask = NULL;
    float x[2];
    assert_int_equal(length_of(d, 0), 0);
    assert_int_equal(pith_data_mask(d, &mask, NULL), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_data_read(d, 0, x, NULL, NULL), PITH_OK);
    assert_true(x[0] == 1.5f && x[1] == -20.0f);
    assert_int_equal(pith_data_read(d, 1, x, NULL, NULL), PITH_OK);
    assert_true(x[0] == 0.25f && x[1] == 3.0f);
    pith_data_free(d);
}

TEST(broken_lines)
{
    static const struct {
        const char *text, *words;
    } bad[] = {{"1 2\n3 - 4\n", "line 2 has no number at '- 4"},
               {"1 2\n3 4.5.6\n", "line 2"},
               {"7,,8", "line 1 has no number at ',,8"},
               {"1e", "line 1"},
               {"--1", "line 1"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct pith_data_opts o = opts_for(put_text(bad[i].text));
        refused(&o, PITH_ERR_CORRUPT, bad[i].words);
    }
}

/* What filling up takes is bounded: 3,000 short lines beside a long one are 72 MB. */
TEST(filling_up_is_bounded)
{
    enum { N = 3000 };
    char *text = malloc(4 * N);
    size_t n = 0;
    for (uint32_t i = 0; i < N; i++, n += 2)
        memcpy(text + n, "1\n", 2);
    for (uint32_t i = 0; i < N; i++, n += 2)
        memcpy(text + n, "1 ", 2);
    put("x.txt", text, n);
    struct pith_data_opts o = opts_for(at("x.txt"));
    refused(&o, PITH_ERR_LIMIT, "");
    o.max_bytes = 100 << 20;
    struct pith_data *d = open_ok(&o);
    assert_int_equal(pith_data_count(d), N + 1);
    assert_int_equal(length_of(d, N), N);
    pith_data_free(d);
    free(text);
}

static void put_array(const char *name, enum pith_type type, uint32_t rank, const uint32_t *dim,
                      const void *data)
{
    struct pith_buffer file;
    char path[64];
    assert_int_equal(pith_npy_write(type, rank, dim, data, &file, NULL), PITH_OK);
    snprintf(path, sizeof path, "arrays/%s", name);
    put(path, file.data, file.bytes);
    pith_buffer_free(&file);
}

TEST(arrays_of_a_folder)
{
    static const float x[] = {1, 2, 3, 4, 5, 6};
    static const int32_t y[] = {1, 2};
    char path[96];
    snprintf(path, sizeof path, "%s/arrays", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    put_array("b.npy", PITH_F32, 2, (uint32_t[]){1, 2}, x + 4);
    put_array("a.npy", PITH_F32, 2, (uint32_t[]){2, 2}, x);
    put("arrays/notes.txt", "?", 1);
    struct pith_data_opts o = opts_for(path);
    struct pith_data *d = open_ok(&o);
    float got[4];
    assert_int_equal(pith_data_count(d), 2);
    assert_int_equal(length_of(d, 0), 2);
    assert_int_equal(length_of(d, 1), 1);
    assert_int_equal(pith_data_read(d, 1, got, NULL, NULL), PITH_OK);
    assert_memory_equal(got, ((float[]){5, 6, 0, 0}), sizeof got);
    pith_data_free(d);
    /* with a batch axis */
    put_array("c.npy", PITH_F32, 3, (uint32_t[]){1, 3, 2}, x);
    refused(&o, PITH_ERR_ARGUMENT, "c.npy: arrays of a folder have one type");
    o.rank = 3;
    memcpy(o.dim, ((uint32_t[]){1, 3, 2}), 3 * sizeof *o.dim);
    d = open_ok(&o);
    assert_int_equal(length_of(d, 0), 2);
    assert_int_equal(length_of(d, 2), 3);
    pith_data_free(d);
    uint32_t rank, dim[PITH_MAX_RANK];
    remove(at("arrays/c.npy"));
    assert_true(pith_data_array_shape(path, NULL, "x", &rank, dim));
    assert_int_equal(rank, 3);
    assert_memory_equal(dim, ((uint32_t[]){2, 2, 2}), 3 * sizeof *dim);
    o.rank = 0;
    put_array("c.npy", PITH_I32, 2, (uint32_t[]){1, 2}, y);
    refused(&o, PITH_ERR_ARGUMENT, "c.npy: arrays of a folder have one type");
    put_array("c.npy", PITH_F32, 2, (uint32_t[]){0, 2}, x);
    refused(&o, PITH_ERR_ARGUMENT, "which is not 0");
    put("arrays/c.npy", "\x93NUMPY", 6);
    refused(&o, PITH_ERR_CORRUPT, "c.npy");
}

/* An array of something else beside pictures is none of the samples. */
TEST(arrays_beside_pictures)
{
    char path[96];
    snprintf(path, sizeof path, "%s/pictures", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    put_png("pictures/a.png", 4, 4, false, 9);
    put("pictures/labels.npy", "?", 1);
    struct pith_data_opts o = opts_for(path);
    struct pith_data *d = open_ok(&o);
    assert_true(pith_data_pictures(d));
    pith_data_free(d);
    snprintf(path, sizeof path, "%s/classes", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/classes/cat", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    put_png("classes/cat/a.png", 4, 4, false, 9);
    put("classes/labels.npy", "?", 1);
    snprintf(path, sizeof path, "%s/classes", folder);
    d = open_ok(&o);
    assert_true(pith_data_pictures(d));
    pith_data_free(d);
}

static void put_grey(const char *name, uint32_t w, uint32_t h, const uint8_t *pixels)
{
    uint8_t bytes[1024];
    png_image image = {
        .version = PNG_IMAGE_VERSION, .width = w, .height = h, .format = PNG_FORMAT_GRAY};
    png_alloc_size_t n = sizeof bytes;
    assert_true(png_image_write_to_memory(&image, bytes, &n, 0, pixels, 0, NULL));
    put(name, bytes, n);
}

/* The middle of each, an odd rest being right and below; whole ones are there beside it. */
TEST(pictures_are_cut)
{
    static const uint8_t wide[] = {10, 20, 30, 40, 50, 60, 70, 80}, high[] = {1, 2, 3, 4, 5, 6};
    char path[96];
    float x[8];
    struct pith_error err;
    snprintf(path, sizeof path, "%s/sizes", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    put_grey("sizes/a.png", 4, 2, wide);
    put_grey("sizes/b.png", 2, 3, high);
    struct pith_data_opts o = opts_for(path);
    o.rank = 4;
    memcpy(o.dim, ((uint32_t[]){1, 1, 2, 2}), 4 * sizeof *o.dim);
    struct pith_data *d;
    const uint32_t to[] = {1, 1, 2, 1}, larger[] = {1, 1, 2, 3};
    refused(&o, PITH_ERR_ARGUMENT, "do not fit");
    o.open[2] = o.open[3] = true;
    d = open_ok(&o);
    assert_int_equal(pith_data_cut(d, larger, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "b.png: 3 x 2 pixels, the others are cut to 2 x 3"));
    assert_int_equal(pith_data_elems(d), 12);
    assert_int_equal(pith_data_cut(d, to, &err), PITH_OK);
    assert_int_equal(pith_data_elems(d), 2);
    assert_true(pith_data_uneven(d));
    assert_int_equal(pith_data_read(d, 0, x, NULL, NULL), PITH_OK);
    assert_memory_equal(x, ((float[]){20, 60}), 2 * sizeof *x);
    assert_int_equal(pith_data_read(d, 1, x, NULL, NULL), PITH_OK);
    assert_memory_equal(x, ((float[]){1, 3}), 2 * sizeof *x);
    assert_int_equal(pith_data_read_whole(d, 0, x, NULL), PITH_OK);
    assert_memory_equal(x, ((float[]){10, 20, 30, 40, 50, 60, 70, 80}), 8 * sizeof *x);
    assert_int_equal(pith_data_read_whole(d, 2, x, NULL), PITH_ERR_ARGUMENT);
    pith_data_free(d);
    o.range = "1:"; /* of one size */
    d = open_ok(&o);
    assert_false(pith_data_uneven(d));
    assert_int_equal(pith_data_cut(d, to, &err), PITH_OK);
    assert_int_equal(pith_data_read(d, 0, x, NULL, NULL), PITH_OK);
    assert_memory_equal(x, ((float[]){1, 3}), 2 * sizeof *x);
    pith_data_free(d);
    o.open[2] = o.open[3] = false;
    memcpy(o.dim, ((uint32_t[]){1, 1, 3, 2}), 4 * sizeof *o.dim);
    d = open_ok(&o);
    assert_int_equal(pith_data_cut(d, to, &err), PITH_ERR_ARGUMENT);
    pith_data_free(d);
}

RUN_TESTS_WITH(make_folder, remove_folder)
