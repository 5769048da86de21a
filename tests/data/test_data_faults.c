/* SPDX-License-Identifier: MIT */
/* test_data_faults.c - every kind of data set: what is in it, then the same where one allocation
 * fails, or where the file is cut at a byte or has another one there. What is made is freed and
 * closed in any case, and samples that are read after all are the right ones. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include <jpeglib.h>
#include <png.h>
#include <zlib.h>
#include "archive_bytes.h"
#include "open_files.h"
#include "core/bytes.h"
#include "data/data_source.h"
#include "data/npy_header.h"

/* ---- memory that fails (tests/module.mk has the linker replace these) ----------------------- */

static long left = -1; /* allocations before the one that fails; negative: none does */
static bool hit;       /* it has failed */
static bool for_ever;  /* and all that follow fail, too */

static bool has_memory(void)
{
    if (hit || left < 0)
        return !(hit && for_ever);
    hit = left-- == 0;
    return !hit;
}

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_malloc(size_t n)
{
    return has_memory() ? __real_malloc(n) : NULL;
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
    return has_memory() ? __real_calloc(n, size) : NULL;
}

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n)
{
    return has_memory() ? __real_realloc(p, n) : NULL;
}

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text)
{
    return has_memory() ? __real_strdup(text) : NULL;
}

char *__real_strndup(const char *text, size_t n);
char *__wrap_strndup(const char *text, size_t n);
char *__wrap_strndup(const char *text, size_t n)
{
    return has_memory() ? __real_strndup(text, n) : NULL;
}

/* ---- files of each kind --------------------------------------------------------------------- */

/* Value k of sample i, as all files here have it: below 128, and different everywhere. */
static uint8_t value(unsigned i, unsigned k)
{
    return (uint8_t)((i * 37 + k * 11 + 5) % 128);
}

static char letters[3 * 128 + 1];

static void put_letter(unsigned k, char *to)
{
    to[0] = (char)(0xc4 + k / 64);
    to[1] = (char)(0x80 + k % 64);
}

static size_t png_of(unsigned i, uint32_t side, uint8_t *out, size_t room)
{
    uint8_t pixels[64];
    png_image image = {
        .version = PNG_IMAGE_VERSION, .width = side, .height = side, .format = PNG_FORMAT_GRAY};
    for (unsigned k = 0; k < side * side; k++)
        pixels[k] = value(i, k);
    png_alloc_size_t n = room;
    assert_int_equal(png_image_write_to_memory(&image, out, &n, 0, pixels, 0, NULL), 1);
    return n;
}

static void put_png(const char *name, unsigned i)
{
    uint8_t bytes[512];
    put(name, bytes, png_of(i, 2, bytes, sizeof bytes));
}

/* One shade, which every quantization keeps. */
static void put_jpeg(const char *name)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned char *out = NULL;
    unsigned long n = 0;
    uint8_t row[4];
    JSAMPROW rows[1] = {row};
    memset(row, 80, sizeof row);
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &out, &n);
    c.image_width = 4;
    c.image_height = 2;
    c.input_components = 1;
    c.in_color_space = JCS_GRAYSCALE;
    jpeg_set_defaults(&c);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < c.image_height)
        jpeg_write_scanlines(&c, rows, 1);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    put(name, out, n);
    free(out);
}

/* Two pictures, labels.csv, and a picture of no bytes that is hidden. */
static void put_pictures(const char *format, const char *name)
{
    static const char table[] = "file,class\nb.PNG,4\na.png,3\n";
    static struct archive_bytes z;
    uint8_t bytes[512];
    archive_begin(&z, format, NULL);
    archive_add(&z, "a.png", bytes, png_of(0, 2, bytes, sizeof bytes));
    archive_add(&z, "b.PNG", bytes, png_of(1, 2, bytes, sizeof bytes));
    archive_add(&z, "labels.csv", table, sizeof table - 1);
    archive_add(&z, "._a.png", NULL, 0);
    put_archive(&z, name);
}

static struct pith_buffer npy(enum pith_type type, uint32_t rank, const uint32_t *dim,
                              const void *data)
{
    struct pith_buffer f;
    assert_int_equal(pith_npy_write(type, rank, dim, data, &f, NULL), PITH_OK);
    return f;
}

static void put_arrays(void)
{
    static const uint32_t dim[] = {2, 4};
    static struct archive_bytes z;
    static const int16_t classes[] = {3, 4}, others[] = {9, 9};
    static const float targets[] = {3.5f, 4.5f};
    static const char *const labels[] = {"y.npy", "truth.npy", "other.npy", "class_names.npy"};
    uint8_t x[8];
    float wide[8];
    for (unsigned k = 0; k < 8; k++)
        wide[k] = x[k] = value(k / 4, k % 4);
    struct pith_buffer a = npy(PITH_U8, 2, dim, x), b = npy(PITH_I16, 1, dim, classes);
    struct pith_buffer t = npy(PITH_F32, 1, dim, targets), w = npy(PITH_F32, 2, dim, wide);
    put("x.npy", a.data, a.bytes);
    put("w.npy", w.data, w.bytes);
    put("y.npy", b.data, b.bytes);
    put("t.npy", t.data, t.bytes);
    for (size_t i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "%zu.npz", i);
        archive_begin(&z, "zip", NULL);
        archive_add(&z, "x.npy", a.data, a.bytes);
        archive_add(&z, labels[i], b.data, b.bytes);
        if (i == 3)
            archive_add(&z, "Label.npy", b.data, b.bytes);
        put_archive(&z, name);
    }
    archive_begin(&z, "zip", NULL);
    archive_add(&z, "first.npy", a.data, a.bytes);
    archive_add(&z, "y.npy", t.data, t.bytes);
    put_archive(&z, "t.npz");
    struct pith_buffer o = npy(PITH_I16, 1, dim, others);
    archive_begin(&z, "zip", NULL);
    archive_add(&z, "x_test.npy", a.data, a.bytes);
    archive_add(&z, "y_train.npy", o.data, o.bytes);
    archive_add(&z, "y_test.npy", b.data, b.bytes);
    put_archive(&z, "p.npz");
    pith_buffer_free(&o);
    archive_begin(&z, "zip", NULL);
    archive_add(&z, "only.npy", b.data, b.bytes);
    put_archive(&z, "y.npz");
    pith_buffer_free(&a);
    pith_buffer_free(&b);
    pith_buffer_free(&t);
    pith_buffer_free(&w);
}

static void put_bytes(void)
{
    uint8_t idx[16 + 8] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2}, *values = idx + 16;
    static const uint8_t classes[] = {0, 0, 8, 1, 0, 0, 0, 2, 3, 4};
    for (unsigned k = 0; k < 8; k++)
        values[k] = value(k / 4, k % 4);
    put("n-images-idx3", idx, sizeof idx);
    put("n-labels-idx1", classes, sizeof classes);
    put("r.raw", values, 8);
    gzFile z = gzopen(at("g-images-idx3.gz"), "wb");
    assert_int_equal(gzwrite(z, idx, sizeof idx), (int)sizeof idx);
    gzclose(z);
    put("l.csv", "class\n3\n4\n", 10);
    put("p.csv", "index,class\n0,p\n1,q\n", 20);
    put("p.txt", "p\nq\n", 4);
    put("f.csv", "file,class\nq/b.png,4\np/a.png,3\n", 31);
    uint8_t wav[44 + 16] = "RIFF....WAVEfmt ";
    store_le32(wav + 4, 36 + 16);
    store_le32(wav + 16, 16);
    store_le16(wav + 20, 1);
    store_le16(wav + 22, 1);
    store_le32(wav + 24, 8000);
    store_le32(wav + 28, 16000);
    store_le16(wav + 32, 2);
    store_le16(wav + 34, 16);
    memcpy(wav + 36, "data", 4);
    store_le32(wav + 40, 16);
    for (unsigned k = 0; k < 8; k++)
        store_le16(wav + 44 + 2 * k, (uint16_t)(value(k / 4, k % 4) << 8));
    put("s.wav", wav, sizeof wav);
    char text[2 * 9 + 1]; /* class k is called U+0100 + k; the last is behind all samples */
    for (unsigned k = 0; k < 9; k++)
        put_letter(value(k / 4, k % 4), text + 2 * k);
    put("t.txt", text, sizeof text - 1);
    for (unsigned k = 0; k < 128; k++) {
        put_letter(k, letters + 3 * k);
        letters[3 * k + 2] = '\n';
    }
    static uint8_t cifar[2 * 3073];
    for (unsigned i = 0; i < 2; i++) {
        cifar[i * 3073] = (uint8_t)(3 + i);
        for (unsigned k = 0; k < 4; k++)
            for (unsigned c = 0; c < 3; c++)
                cifar[i * 3073 + 1 + 1024 * c + 32 * (15 + k / 2) + 15 + k % 2] = value(i, k);
    }
    put("c.bin", cifar, sizeof cifar);
}

FIXTURE(make_files)
{
    if (make_folder(state))
        return -1;
    static const char *const folders[] = {"flat", "set", "set/p", "set/q", "deep", "deep/one"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (mkdir(at(folders[i]), 0700))
            return -1;
    put_bytes();
    put_arrays();
    put_pictures("gnutar", "p.tar");
    put_pictures("zip", "p.zip");
    put_jpeg("one.jpg");
    put_png("flat/a.png", 0);
    put_png("flat/b.png", 1);
    put("flat/labels.csv", "b.png,4\na.png,3\n", 16);
    put_png("set/p/a.png", 0);
    put_png("set/q/b.png", 1);
    put_png("deep/one/a.png", 0);
    put_png("deep/two.png", 1);
    return 0;
}

/* ---- what is in them ------------------------------------------------------------------------ */

/* Classes and targets may be there both. */
enum { NO_LABELS, CLASSES, FOLDERS, TARGETS = 4, POSITIONS = 8 };

/* path: %s is the folder. All hold samples 0 and 1 of `value`, times scale. */
static const struct kind {
    const char *path, *labels, *preprocess;
    int answers;
    bool flat;         /* one shade of 80 */
    const char *names; /* of classes */
    bool open;         /* height and width are those of the data */
} kinds[] = {
    {"%s/n-images-idx3", NULL, NULL, CLASSES, false, NULL, false},
    {"%s/g-images-idx3.gz", "n-labels-idx1", NULL, CLASSES, false, NULL, false},
    {"%s/x.npy", "y.npy", NULL, CLASSES, false, NULL, false},
    {"%s/w.npy", "y.npz", NULL, CLASSES, false, NULL, false},
    {"%s/x.npy", "t.npy", NULL, TARGETS, false, NULL, false},
    {"%s/0.npz", NULL, NULL, CLASSES, false, NULL, false},
    {"%s/0.npz", "t.npy", NULL, CLASSES | TARGETS, false, NULL, false},
    {"%s/0.npz", "l.csv", NULL, CLASSES, false, NULL, false},
    {"%s/1.npz", NULL, NULL, CLASSES, false, NULL, false},
    {"%s/2.npz", NULL, NULL, CLASSES, false, NULL, false},
    {"%s/3.npz", NULL, NULL, CLASSES, false, NULL, false},
    {"%s/p.npz", NULL, NULL, CLASSES, false, NULL, false},
    {"%s/t.npz", NULL, NULL, TARGETS, false, NULL, false},
    {"%s/t.npz", "t.npy", NULL, TARGETS, false, NULL, false},
    {"raw:u8:4:%s/r.raw", "l.csv", NULL, CLASSES, false, NULL, false},
    {"wav:4:4:%s/s.wav", NULL, "scale=128", NO_LABELS, false, NULL, false},
    {"text:4:%s/t.txt", NULL, NULL, POSITIONS, false, letters, false},
    {"%s/c.bin", NULL, "crop=2", CLASSES, false, NULL, false},
    {"%s/p.tar", NULL, NULL, CLASSES, false, NULL, false},
    {"%s/p.zip", NULL, NULL, CLASSES, false, NULL, false},
    {"%s/flat", NULL, NULL, CLASSES, false, NULL, false},
    {"%s/flat", NULL, NULL, CLASSES, false, NULL, true},
    {"%s/p.zip", NULL, NULL, CLASSES, false, NULL, true},
    {"%s/one.jpg", NULL, "resize=5", NO_LABELS, true, NULL, true},
    {"%s/n-images-idx3", NULL, NULL, CLASSES, false, NULL, true},
    {"%s/set", NULL, NULL, FOLDERS, false, NULL, false},
    {"%s/set", "f.csv", NULL, CLASSES, false, NULL, false},
    {"%s/set", NULL, NULL, CLASSES, false, "x\ny\nz\np\nq\n", false},
    {"%s/set", NULL, NULL, CLASSES, false, "n0 a\nn1 b\nn2 c\nP\nQ\n", false},
    {"%s/x.npy", "p.csv", NULL, CLASSES, false, "x\ny\nz\np\nq\n", false},
    {"%s/x.npy", "p.txt", NULL, CLASSES, false, "x\ny\nz\np, other\nq\n", false},
    {"%s/deep", NULL, NULL, NO_LABELS, false, NULL, false},
    {"%s/one.jpg", NULL, NULL, NO_LABELS, true, NULL, false},
    {"%s/one.jpg", NULL, "resize=6,crop=5", NO_LABELS, true, NULL, false},
    {"named", NULL, NULL, NO_LABELS, false, NULL, false},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

struct opened {
    struct pith_data_opts o;
    char path[128];
    const char *files[2];
};

static void fill(const struct kind *k, struct opened *w)
{
    memset(w, 0, sizeof *w);
    snprintf(w->path, sizeof w->path, k->path, folder);
    w->o.size_bytes = sizeof w->o;
    w->o.path = w->path;
    w->o.labels = k->labels ? at(k->labels) : NULL;
    w->o.preprocess = k->preprocess;
    w->o.class_names = k->names;
    w->o.range = k->flat ? ":1" : ":2";
    if (k->open) {
        w->o.rank = 4;
        memcpy(w->o.dim, (uint32_t[]){1, 1, 9, 7}, 4 * sizeof w->o.dim[0]);
        w->o.open[2] = w->o.open[3] = true;
    }
    if (strcmp(k->path, "named") == 0) {
        w->files[0] = at("flat/a.png");
        w->files[1] = at("set/q");
        w->o.files = w->files;
        w->o.n_files = 2;
    }
}

/* All samples, until one cannot be read; what is read is right. */
static enum pith_status read_all(const struct kind *k, struct pith_data *d, struct pith_error *err)
{
    float x[64], y = 0;
    const uint64_t n = pith_data_count(d), elems = pith_data_elems(d);
    assert_true(elems <= 64 && n == (k->flat ? 1 : 2));
    const bool classes = k->answers & (CLASSES | FOLDERS);
    const bool positions = k->answers == POSITIONS;
    if (pith_data_labelled(d) != (classes || positions))
        fail_msg("%s, labels %s", k->path, k->labels ? k->labels : "none named");
    assert_int_equal(pith_data_target_elems(d), k->answers / TARGETS % 2);
    for (uint64_t i = 0; i < n; i++) {
        int64_t label = 0;
        enum pith_status st = pith_data_read(d, i, x, &label, err);
        if (st)
            return st;
        const int first = k->answers & CLASSES ? 3 : 0;
        assert_int_equal(label, classes ? first + (int)i : PITH_NO_LABEL);
        for (uint64_t e = 0; positions && e < elems; e++)
            assert_int_equal(pith_data_labels(d, i)[e],
                             value((unsigned)(i + (e + 1) / 4), (e + 1) % 4));
        for (uint64_t e = 0; e < elems; e++)
            if (x[e] != (k->flat ? 80 : (float)value((unsigned)i, (unsigned)(e % 4))))
                fail_msg("%s: sample %d, value %d is %g", k->path, (int)i, (int)e, (double)x[e]);
        int32_t whole[64];
        if (pith_data_read_as(d, i, PITH_I32, whole, NULL, NULL) == PITH_OK)
            for (uint64_t e = 0; e < elems; e++)
                assert_true(whole[e] == (int32_t)x[e]);
        else
            assert_true(pith_data_pictures(d) || k->preprocess || strstr(k->path, "idx"));
        assert_true(strlen(pith_data_sample_name(d, i)) > 0);
        if (k->answers & TARGETS) {
            assert_int_equal(pith_data_read_target(d, i, &y), PITH_OK);
            assert_true(y == 3.5f + (float)i);
        }
    }
    static const uint32_t second[] = {1};
    enum pith_status st = n > 1 ? pith_data_pick(d, second, 1, err) : PITH_OK;
    assert_true(st || pith_data_count(d) == 1);
    return st;
}

static enum pith_status open_and_read(const struct kind *k, struct pith_error *err)
{
    struct opened w;
    struct pith_data *d = NULL;
    fill(k, &w);
    enum pith_status st = pith_data_open(&w.o, &d, err);
    assert_true(st ? !d : d != NULL);
    if (!st)
        st = read_all(k, d, err);
    pith_data_free(d);
    return st;
}

TEST(every_kind)
{
    for (size_t i = 0; i < KINDS; i++) {
        struct pith_error err = {0};
        const unsigned opened = open_files();
        if (open_and_read(&kinds[i], &err))
            fail_msg("%s: %s", kinds[i].path, err.text);
        assert_int_equal(open_files(), opened);
    }
}

/* By what the headers say; each is read at its own size, or resized in proportion. */
TEST(pictures_of_several_sizes)
{
    struct opened w;
    uint32_t dim[PITH_MAX_RANK];
    float x[64];
    fill(&kinds[KINDS - 1], &w); /* named */
    w.files[1] = at("one.jpg");
    w.o.rank = 4;
    memcpy(w.o.dim, (uint32_t[]){1, 1, 9, 7}, 4 * sizeof w.o.dim[0]);
    for (uint32_t side = 2; side <= 4; side += 2) {
        static const char *const resize[] = {"resize=2", "resize=4"};
        w.o.preprocess = resize[side / 2 - 1];
        w.o.open[2] = w.o.open[3] = true;
        struct pith_data *d = NULL;
        assert_int_equal(pith_data_open(&w.o, &d, NULL), PITH_OK);
        assert_true(pith_data_uneven(d));
        assert_int_equal(pith_data_shape(d, dim), 4);
        assert_memory_equal(dim, ((uint32_t[]){1, 1, side, 2 * side}), 4 * sizeof *dim);
        for (uint32_t i = 0; i < 2; i++) {
            const uint32_t own = side * side * (1 + i);
            assert_int_equal(pith_data_sample_shape(d, i, dim), 4);
            assert_memory_equal(dim, ((uint32_t[]){1, 1, side, side * (1 + i)}), 4 * sizeof *dim);
            memset(x, 1, sizeof x);
            assert_int_equal(pith_data_read(d, i, x, NULL, NULL), PITH_OK);
            assert_true(i == 0 || x[own - 1] == 80);
            for (uint32_t k = own; k < 2 * side * side; k++)
                assert_true(x[k] == 0);
        }
        assert_int_equal(pith_data_sample_shape(d, 2, dim), 0);
        assert_int_equal(pith_data_mask(d, &d, NULL), PITH_ERR_ARGUMENT);
        pith_data_free(d);
        /* a width that is not open has to be as it is */
        w.o.open[3] = false;
        w.o.dim[3] = side;
        struct pith_error err;
        assert_int_equal(pith_data_open(&w.o, &d, &err), PITH_OK);
        assert_false(pith_data_uneven(d));
        assert_int_equal(pith_data_read(d, 1, x, NULL, &err), PITH_ERR_ARGUMENT);
        assert_non_null(strstr(err.text, "does not fit the input"));
        pith_data_free(d);
    }
}

TEST(every_allocation_fails_once)
{
    for (size_t at = 0; at < 2 * KINDS; at++) {
        const size_t i = at / 2;
        bool failed = true;
        for_ever = at % 2;
        for (long n = 0; failed; n++) {
            struct pith_error err = {0};
            const unsigned opened = open_files();
            left = n;
            enum pith_status st = open_and_read(&kinds[i], &err);
            failed = hit;
            left = -1;
            hit = false;
            if (failed ? st != PITH_OK && st != PITH_ERR_MEMORY : st != PITH_OK)
                fail_msg("%s, allocation %ld: status %d '%s'", kinds[i].path, n, st, err.text);
            assert_true(!st || strcmp(err.text, "out of memory") == 0);
            assert_int_equal(open_files(), opened);
            assert_true(n < 500);
        }
    }
}

/* ---- cut and changed ------------------------------------------------------------------------ */

static struct pith_buffer load(const char *path)
{
    struct pith_buffer b;
    assert_int_equal(pith_file_read(path, 0, &b, NULL), PITH_OK);
    return b;
}

/* As much of a data set as there is, of any shape. */
static void read_anything(const struct pith_data_opts *o)
{
    struct pith_error err = {0};
    struct pith_data *d = NULL;
    enum pith_status st = pith_data_open(o, &d, &err);
    if (st) {
        assert_true(st == PITH_ERR_CORRUPT || st == PITH_ERR_UNSUPPORTED || st == PITH_ERR_LIMIT ||
                    st == PITH_ERR_ARGUMENT);
        assert_true(strlen(err.text) > 0);
        return;
    }
    const uint64_t n = pith_data_count(d), elems = pith_data_elems(d);
    float *x = elems < 1 << 20 ? malloc((size_t)elems * sizeof *x) : NULL;
    for (uint64_t i = 0; x && i < n && i < 3; i++) {
        (void)pith_data_read(d, i, x, NULL, &err);
        (void)pith_data_sample_name(d, i);
    }
    free(x);
    pith_data_free(d);
}

/* In memory, as a program has it that was sent a file: cut at each byte, and with every byte as 0,
 * as 255, one more and one less. */
TEST(cut_and_changed_anywhere)
{
    static const char *const names[] = {"n-images-idx3", "x.npy", "w.npy",   "0.npz",
                                        "2.npz",         "p.tar", "one.jpg", "flat/a.png"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct pith_buffer whole = load(at(names[i]));
        struct pith_data_opts o = {.size_bytes = sizeof o, .path = names[i], .max_bytes = 1 << 20};
        uint8_t *b = malloc(whole.bytes);
        memcpy(b, whole.data, whole.bytes);
        const size_t step = whole.bytes > 2000 ? 7 : 1;
        o.content = b;
        for (o.content_bytes = 0; o.content_bytes < whole.bytes; o.content_bytes += step)
            read_anything(&o);
        o.content_bytes = whole.bytes;
        for (size_t k = 0; k < whole.bytes; k += k < 600 ? 1 : step) {
            const uint8_t was = b[k], values[] = {0, 255, (uint8_t)(was + 1), (uint8_t)(was - 1)};
            for (size_t v = 0; v < 4; v++) {
                b[k] = values[v];
                read_anything(&o);
            }
            b[k] = was;
        }
        free(b);
        pith_buffer_free(&whole);
    }
}

RUN_TESTS_WITH(make_files, remove_folder)
