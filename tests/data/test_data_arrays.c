/* SPDX-License-Identifier: MIT */
/* test_data_arrays.c - arrays, archives of them, labels in them, orders of axes, pipes and broken
 * pictures: each kind in a table, files cut at each byte. */
#define _XOPEN_SOURCE 700
#include "archive_bytes.h"
#include "open_data.h"
#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#include "core/bytes.h"
#include "core/tensor.h"
#include "data/data_source.h"
#include "guard_page.h"

#define N_OF(a) (sizeof(a) / sizeof *(a))

static char warned[512]; /* what opening warned of last */

static void keep_warning(void *user, const char *text)
{
    (void)user;
    snprintf(warned, sizeof warned, "%s", text);
}

static struct pith_data *opened(struct pith_data_opts *o)
{
    o->warn = keep_warning;
    warned[0] = '\0';
    return open_ok(o);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static enum pith_status read_npy(const uint8_t *bytes, size_t n, struct pith_array *a,
                                 struct pith_error *err)
{
    struct guarded g = guard_new(n, 1);
    memcpy(g.data, bytes, n);
    enum pith_status st = pith_npy_read(g.data, n, "a", a, err);
    guard_free(&g);
    return st;
}

/* Written, in the other byte order, too, and read; a byte less or more is refused. */
TEST(every_type_and_rank)
{
    static const uint32_t dim[PITH_MAX_RANK + 1] = {2, 3, 1, 2, 1, 1, 1, 1, 1};
    uint8_t data[12 * 8], other[12 * 8];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 37 + 1);
    for (int type = PITH_F32; type <= PITH_BOOL; type++)
        for (uint32_t rank = 0; rank <= PITH_MAX_RANK + 1; rank++) {
            struct pith_buffer f = {0};
            struct pith_array a = {0};
            struct pith_error err = {0};
            enum pith_status st = pith_npy_write((enum pith_type)type, rank, dim, data, &f, &err);
            if (type == PITH_BF16 || rank > PITH_MAX_RANK) {
                assert_int_equal(st, PITH_ERR_ARGUMENT);
                continue;
            }
            assert_int_equal(st, PITH_OK);
            const uint32_t each = pith_type_bytes((enum pith_type)type);
            const size_t count = rank < 1 ? 1 : rank < 2 ? 2 : rank < 4 ? 6 : 12;
            for (int big = 0; big < 2; big++) {
                SUCCEEDS(read_npy(f.data, f.bytes, &a, &err));
                assert_true(a.type == (enum pith_type)type && a.rank == rank && a.count == count);
                assert_memory_equal(a.dim, dim, rank * sizeof *dim);
                for (size_t i = 0; i < count * each; i++)
                    other[i] = type == PITH_BOOL ? data[i] != 0 : data[i];
                assert_memory_equal(a.data, other, count * each);
                pith_array_free(&a);
                if (each == 1 || big)
                    break;
                *strchr((char *)f.data + 10, '<') = '>';
                for (size_t i = 0; i < count; i++)
                    for (size_t k = 0; k < each; k++)
                        f.data[f.bytes - (i + 1) * each + k] = data[(count - i) * each - 1 - k];
            }
            for (size_t n = 0; n <= f.bytes + 1; n++) {
                uint8_t *cut = calloc(n + 1, 1);
                memcpy(cut, f.data, n < f.bytes ? n : f.bytes);
                if (n != f.bytes)
                    assert_int_equal(read_npy(cut, n, &a, &err), PITH_ERR_CORRUPT);
                free(cut);
            }
            pith_buffer_free(&f);
        }
}

/* `dictionary` and data as a file. */
static size_t npy_file(const char *dictionary, const void *data, size_t n, uint8_t *to)
{
    size_t length = strlen(dictionary);
    memcpy(to, "\x93NUMPY\x01", 8);
    store_le16(to + 8, (uint16_t)length);
    memcpy(to + 10, dictionary, length);
    memcpy(to + 10 + length, data, n);
    return 10 + length + n;
}

#define DICTIONARY(descr, shape)                                                                   \
    "{'descr': '" descr "', 'fortran_order': False, 'shape': " shape ", }"

TEST(wide_numbers)
{
    static const uint8_t most[8] = {255, 255, 255, 255, 255, 255, 255, 127};
    static const uint8_t more[8] = {0, 0, 0, 0, 0, 0, 0, 128};
    uint8_t f[256];
    struct pith_array a = {0};
    struct pith_error err = {0};
    size_t n = npy_file(DICTIONARY("<u4", "(2,)"), most, 8, f);
    assert_int_equal(read_npy(f, n, &a, &err), PITH_OK);
    assert_true(a.type == PITH_I64 && ((int64_t *)a.data)[0] == UINT32_MAX &&
                ((int64_t *)a.data)[1] == INT32_MAX);
    pith_array_free(&a);
    n = npy_file(DICTIONARY("<u8", "(1,)"), most, 8, f);
    assert_int_equal(read_npy(f, n, &a, &err), PITH_OK);
    assert_true(((int64_t *)a.data)[0] == INT64_MAX);
    pith_array_free(&a);
    n = npy_file(DICTIONARY("<u8", "(1,)"), more, 8, f);
    assert_int_equal(read_npy(f, n, &a, &err), PITH_ERR_UNSUPPORTED);
    assert_string_equal(err.text, "a: element 0 does not fit 64-bit signed integers");
    /* 2^64 bytes and one more than that */
    n = npy_file(DICTIONARY("<f8", "(2147483647,2147483647,8)"), most, 8, f);
    assert_int_equal(read_npy(f, n, &a, &err), PITH_ERR_CORRUPT);
    assert_non_null(strstr(err.text, "more than 2^64 bytes"));
}

/* ---- labels ---------------------------------------------------------------------------------- */

static const char *const classes = "cat\nd\xc3\xb6ner\n\xe6\x97\xa5\n\xf0\x9f\x98\x80\nox, bull";

static struct pith_data_opts two_samples(void)
{
    static const uint8_t x[4] = {1, 2, 3, 4};
    struct pith_buffer f;
    assert_int_equal(pith_npy_write(PITH_U8, 2, (uint32_t[]){2, 2}, x, &f, NULL), PITH_OK);
    put("x.npy", f.data, f.bytes);
    pith_buffer_free(&f);
    return opts_for(at("x.npy"));
}

/* UTF-32 of the first two names of a row, each of `chars` characters. */
TEST(stored_labels)
{
    static const uint32_t names[][2][6] = {{{'c', 'a', 't'}, {'d', 0xf6, 'n', 'e', 'r'}},
                                           {{0x65e5}, {0x1f600}},
                                           {{'b', 'u', 'l', 'l'}, {'1'}}};
    static const int64_t want[][2] = {{0, 1}, {2, 3}, {4, 1}};
    for (uint32_t big = 0; big < 2; big++)
        for (size_t row = 0; row < N_OF(names); row++) {
            uint8_t text[48], f[256];
            for (size_t i = 0; i < 12; i++)
                for (uint32_t k = 0; k < 4; k++)
                    text[4 * i + k] = (uint8_t)(names[row][i / 6][i % 6] >> 8 * (big ? 3 - k : k));
            put("y.npy", f,
                npy_file(big ? DICTIONARY(">U6", "(2,)") : DICTIONARY("<U6", "(2,)"), text, 48, f));
            struct pith_data_opts o = two_samples();
            o.labels = at("y.npy");
            o.class_names = classes;
            struct pith_data *d = opened(&o);
            for (uint64_t i = 0; i < 2; i++)
                assert_int_equal(pith_data_label(d, i), want[row][i]);
            assert_string_equal(pith_data_unlabelled(d), "");
            pith_data_free(d);
        }
}

TEST(labels_by_kind)
{
    const struct {
        const char *dictionary;
        const void *data;
        size_t bytes;
        const char *refusal; /* behind the file's name; NULL: labels 2, 7 */
    } rows[] = {
        {DICTIONARY("<f4", "(2,)"), (float[]){2, 7}, 8, NULL},
        {DICTIONARY("<f8", "(2,1)"), (double[]){2, 7}, 16, NULL},
        {DICTIONARY("<i2", "(2,)"), (int16_t[]){2, 7}, 4, NULL},
        {DICTIONARY("|S3", "(2,)"),
         "2\0\0"
         "7\0\0",
         6, NULL},
        {DICTIONARY("|S1", "(2,)"), "27", 2, NULL},
        {DICTIONARY("<f4", "(2,)"), (float[]){2, 7.5f}, 8,
         "the label of sample 1 is 7.5, not a class number"},
        {DICTIONARY("<f4", "(2,)"), (float[]){-1, 7}, 8,
         "the label of sample 0 is -1, not a class number"},
        {DICTIONARY("<f4", "(2,)"), (float[]){2, INFINITY}, 8,
         "the label of sample 1 is inf, not a class number"},
        {DICTIONARY("<i8", "(2,)"), (int64_t[]){INT32_MAX + INT64_C(1), 7}, 16,
         "the label of sample 0 is 2147483648, not a class number"},
        {DICTIONARY("<i8", "(2,2)"), (int64_t[]){2, 7, 1, 1}, 32,
         "2 integers a sample, not a class"},
        {DICTIONARY("|S1", "(2,2)"), "2711", 4, "2 texts a sample, not a class"},
        {DICTIONARY("|S4", "(2,)"),
         "dog\0"
         "cat",
         8,
         "the label of sample 0, 'dog', is neither a class number nor one of the 5 class names "
         "that "
         "the model stores"},
        {DICTIONARY("<u4", "(2,)"), (uint32_t[]){2, 7}, 8,
         "labels of type u4 are not supported: use i4 or i8"},
        {DICTIONARY("<i2", "(3,)"), (int16_t[]){2, 7, 1}, 6, "3 labels for 2 samples"},
        {DICTIONARY("<i2", "()"), (int16_t[]){2}, 2, "1 labels for 2 samples"},
        {DICTIONARY("<i2", "(0,)"), "", 0, "0 labels for 2 samples"},
        {DICTIONARY("|S0", "(2,)"), "", 0,
         "npy type '|S0' is not a plain number (f2 f4 f8, i1 to i8, u1 to u8, bool)"},
    };
    for (size_t i = 0; i < N_OF(rows); i++) {
        uint8_t f[256];
        char want[256];
        struct pith_data *d = NULL;
        struct pith_error err = {0};
        put("y.npy", f, npy_file(rows[i].dictionary, rows[i].data, rows[i].bytes, f));
        struct pith_data_opts o = two_samples();
        o.labels = at("y.npy");
        o.class_names = classes;
        o.output_rank = 2;
        o.output_dim[0] = 1;
        o.output_dim[1] = 10;
        enum pith_status st = pith_data_open(&o, &d, &err);
        if (rows[i].refusal) {
            snprintf(want, sizeof want, "%s: %s", at("y.npy"), rows[i].refusal);
            if (!st || strncmp(err.text, want, strlen(want)) != 0)
                fail_msg("'%s', expected '%s'", err.text, want);
            continue;
        }
        SUCCEEDS(st);
        assert_int_equal(pith_data_label(d, 0), 2);
        assert_int_equal(pith_data_label(d, 1), 7);
        pith_data_free(d);
    }
}

/* The longest text that a label may be, one more, and characters of 4 bytes up to that. */
TEST(long_texts)
{
    enum { MOST = 4096 };
    static uint8_t text[2 * 4 * MOST], f[2 * 4 * MOST + 256];
    for (uint32_t bytes = 1; bytes <= 4; bytes += 3)
        for (uint32_t n = 1018; n <= MOST + 1; n = n < 1026 ? n + 1 : n < MOST ? MOST : n + 1) {
            char dictionary[96];
            struct pith_data *d = NULL;
            struct pith_error err = {0};
            memset(text, bytes == 1 ? 'a' : 0, sizeof text);
            for (uint32_t i = 0; bytes == 4 && i < 2 * n && i < 2 * MOST; i++)
                store_le32(text + 4 * i, 0x1f600);
            snprintf(dictionary, sizeof dictionary,
                     "{'descr': '<%s%u', 'fortran_order': False, 'shape': (2,)}",
                     bytes == 1 ? "S" : "U", n);
            put("y.npy", f, npy_file(dictionary, text, n <= MOST ? (size_t)2 * n * bytes : 0, f));
            struct pith_data_opts o = two_samples();
            o.labels = at("y.npy");
            o.class_names = classes;
            enum pith_status st = pith_data_open(&o, &d, &err);
            assert_int_equal(st, n <= MOST ? PITH_ERR_CORRUPT : PITH_ERR_UNSUPPORTED);
            assert_non_null(strstr(err.text, n <= MOST ? "the label of sample 0, '" : "npy type"));
        }
}

/* ---- archives of arrays ---------------------------------------------------------------------- */

/* Stored members, each named before its array; ends with NULL. kind: 'u' bytes [2, 2], 'i' integers
 * [2], 'f' floats [2], 's' texts [2]. */
static void put_npz(const char *name, const char *const *members)
{
    static struct archive_bytes z;
    archive_begin(&z, "zip", NULL);
    for (; *members; members++) {
        uint8_t f[256];
        char file[64];
        snprintf(file, sizeof file, "%s.npy", *members + 2);
        const size_t bytes =
            **members == 'u'   ? npy_file(DICTIONARY("|u1", "(2,2)"), "\1\2\3\4", 4, f)
            : **members == 'i' ? npy_file(DICTIONARY("|i1", "(2,)"), "\2\7", 2, f)
            : **members == 's' ? npy_file(DICTIONARY("|S1", "(2,)"), "ab", 2, f)
                               : npy_file(DICTIONARY("<f4", "(2,)"), (float[]){0.5f, 1}, 8, f);
        archive_add(&z, file, f, bytes);
    }
    put_archive(&z, name);
}

#define NO_LABELS "none is named as labels are: y, labels, targets, classes, y_test, ..."

TEST(which_array_is_what)
{
    static const struct {
        const char *members[6], *input;
        uint32_t labels; /* 0: none, 1: classes, 2: targets */
        const char *why; /* of none */
    } rows[] = {
        {{"u x", "i y"}, NULL, 1, ""},
        {{"u images", "i mylabel"}, NULL, 1, ""},
        {{"u images", "i ground_truth"}, NULL, 1, ""},
        {{"i testLabels", "u images"}, NULL, 1, ""},
        {{"u images", "i CLASSES"}, NULL, 1, ""},
        {{"f y_train", "u x_train", "i y_test", "u x_test"}, "x_test", 1, ""},
        {{"f labels", "u a", "i Y_val"}, NULL, 2, ""},
        {{"u a", "i b"}, NULL, 1, ""},
        {{"u a", "i b", "i c"}, NULL, 0, "of its arrays (a, b, c) " NO_LABELS},
        {{"u a", "f b"},
         NULL,
         0,
         "of its arrays (a, b) " NO_LABELS
         ", and the other array does not hold one integer for each of 2 samples"},
        {{"u a", "s class_names"},
         NULL,
         0,
         "of its arrays (a, class_names) " NO_LABELS
         ", and the other array does not hold one integer for each of 2 samples"},
        {{"u a", "s labels"}, NULL, 0, "its array labels cannot be read as labels"},
        {{"u x", "i eye"}, "x", 1, ""},
    };
    for (size_t i = 0; i < N_OF(rows); i++) {
        put_npz("a.npz", rows[i].members);
        struct pith_data_opts o = opts_for(at("a.npz"));
        o.input_name = rows[i].input;
        struct pith_data *d = opened(&o);
        expect_sample(d, 1, (float[]){3, 4}, rows[i].labels == 1 ? 7 : PITH_NO_LABEL);
        assert_int_equal(pith_data_target_elems(d), rows[i].labels == 2);
        assert_string_equal(pith_data_unlabelled(d), rows[i].why);
        assert_true(pith_data_labelled(d) == (rows[i].labels == 1));
        pith_data_free(d);
    }
    /* words for labels, in any spelling, wherever they stand */
    static const char *const words[] = {"y",           "Y",          "label",        "labels",
                                        "Labels",      "target",     "targets",      "class",
                                        "Classes",     "y_test",     "gt",           "Category",
                                        "test_labels", "class_ids",  "ground-truth", "labels_int",
                                        "lbl",         "categories", "answer",       "answers"};
    for (size_t i = 0; i < 2 * N_OF(words); i++) {
        char word[32];
        snprintf(word, sizeof word, "i %s", words[i / 2]);
        put_npz("a.npz", i % 2 ? (const char *const[]){word, "u data", "f more", NULL}
                               : (const char *const[]){"u x", "f more", word, NULL});
        struct pith_data_opts o = opts_for(at("a.npz"));
        struct pith_data *d = opened(&o);
        expect_sample(d, 1, (float[]){3, 4}, 7);
        pith_data_free(d);
    }
    /* arrays that belong to other inputs are no labels; what is named must be there */
    static const char *const three[] = {"u a", "i label", "u b", NULL};
    static const char *const mine[] = {"b", "label"}, *const none[] = {"c"};
    put_npz("a.npz", three);
    struct pith_data_opts o = opts_for(at("a.npz"));
    o.arrays = mine;
    o.n_arrays = 2;
    struct pith_data *d = opened(&o);
    assert_false(pith_data_labelled(d));
    pith_data_free(d);
    o.arrays = none;
    o.n_arrays = 1;
    open_fails(&o, PITH_ERR_CORRUPT, "$a.npz: no array of samples inside");
}

TEST(what_an_archive_holds)
{
    static const char *const three[] = {"u a", "i labels", "f b", NULL}, *const names[] = {"b",
                                                                                           "c"};
    bool has[2] = {false, true};
    char list[64], cut[5];
    uint32_t rank = 77, dim[PITH_MAX_RANK] = {0};
    put_npz("a.npz", three);
    assert_int_equal(pith_data_find_arrays(at("a.npz"), names, 2, has, list, sizeof list), 1);
    assert_true(has[0] && !has[1]);
    assert_string_equal(list, "a, labels, b");
    assert_int_equal(pith_data_find_arrays(at("a.npz"), names, 2, has, cut, sizeof cut), 1);
    assert_string_equal(cut, "a, l");
    assert_true(pith_data_array_shape(at("a.npz"), "b", NULL, &rank, dim));
    assert_true(rank == 1 && dim[0] == 2);
    assert_true(pith_data_array_shape(at("a.npz"), NULL, "x", &rank, dim));
    assert_true(rank == 2 && dim[0] == 2 && dim[1] == 2);
    assert_false(pith_data_array_shape(at("a.npz"), "c", NULL, &rank, dim));
    struct pith_data_opts o = two_samples();
    assert_true(pith_data_array_shape(o.path, NULL, NULL, &rank, dim) && rank == 2);
    put("short", "\x93NU", 3);
    static const char *const others[] = {"short", "x.npy", "nowhere", ""};
    for (size_t i = 0; i < N_OF(others); i++) {
        assert_int_equal(pith_data_find_arrays(at(others[i]), names, 2, has, list, sizeof list), 0);
        assert_true(!has[0] && !has[1] && !list[0]);
        if (i != 1)
            assert_false(pith_data_array_shape(at(others[i]), NULL, NULL, &rank, dim));
    }
}

/* ---- orders of axes -------------------------------------------------------------------------- */

TEST(images_of_either_order)
{
    uint8_t x[2 * 4 * 5 * 3];
    for (size_t i = 0; i < sizeof x; i++)
        x[i] = (uint8_t)i;
    for (int last = 0; last < 2; last++) { /* channels of the file: last, or first */
        const uint32_t file_dim[2][4] = {{2, 3, 4, 5}, {2, 4, 5, 3}};
        struct pith_buffer f;
        char want[256];
        float got[60];
        assert_int_equal(pith_npy_write(PITH_U8, 4, file_dim[last], x, &f, NULL), PITH_OK);
        put("image.npy", f.data, f.bytes);
        pith_buffer_free(&f);
        struct pith_data_opts o = opts_for(at("image.npy"));
        o.rank = 4;
        memcpy(o.dim, file_dim[!last], sizeof file_dim[0]);
        o.dim[0] = 1;
        struct pith_data *d = opened(&o);
        snprintf(want, sizeof want, "%s: samples transposed from %s for input 'x'", at("image.npy"),
                 last ? "4x5x3 (channels last) to 1x3x4x5 (channels first)"
                      : "3x4x5 (channels first) to 1x4x5x3 (channels last)");
        assert_string_equal(pith_data_reordered(d), want);
        assert_int_equal(pith_data_read(d, 1, got, NULL, NULL), PITH_OK);
        for (uint32_t p = 0; p < 20; p++)
            for (uint32_t c = 0; c < 3; c++)
                assert_true(last ? got[c * 20 + p] == (float)x[60 + p * 3 + c]
                                 : got[p * 3 + c] == (float)x[60 + c * 20 + p]);
        assert_true(pith_data_unscaled_pixels(d));
        pith_data_free(d);
        o.preprocess = "scale=1/2";
        d = opened(&o);
        assert_false(pith_data_unscaled_pixels(d));
        pith_data_free(d);
        o.preprocess = NULL;
        o.dim[1] = file_dim[last][2];
        o.dim[2] = file_dim[last][1];
        o.dim[3] = file_dim[last][3];
        open_fails(&o, PITH_ERR_ARGUMENT,
                   last ? "$image.npy: 2 samples of 4x5x3 do not fit input 'x' 1x5x4x3: the axes "
                          "are in another order; transpose the array"
                        : "$image.npy: 2 samples of 3x4x5 do not fit input 'x' 1x4x3x5: the axes "
                          "are in another order; transpose the array");
        memcpy(o.dim + 1, file_dim[last] + 1, 12);
        d = opened(&o);
        assert_null(pith_data_reordered(d));
        pith_data_free(d);
        o.dim[1]++;
        struct pith_error err = {0};
        assert_int_equal(pith_data_open(&o, &d, &err), PITH_ERR_ARGUMENT);
        assert_non_null(strstr(err.text, ": arrays are fed as they are"));
    }
}

/* ---- pictures -------------------------------------------------------------------------------- */

/* The picture's box in the middle, its longer side that of the frame, the other one to the nearest,
 * ties to even. */
TEST(letterboxes)
{
    static const uint32_t sizes[][6] = {
        /* picture, frame, box */
        {2, 2, 4, 4, 4, 4},  {4, 2, 8, 8, 8, 4},  {2, 4, 8, 8, 4, 8},   {3, 1, 8, 8, 8, 3},
        {16, 1, 8, 8, 8, 1}, {1, 16, 8, 8, 1, 8}, {100, 1, 3, 5, 3, 1}, {8, 5, 4, 4, 4, 2},
        {8, 3, 4, 4, 4, 2},  {8, 7, 4, 5, 4, 4},  {5, 4, 5, 4, 5, 4},   {5, 4, 4, 5, 4, 3},
        {7, 9, 9, 7, 5, 7}};
    for (size_t i = 0; i < N_OF(sizes); i++)
        for (uint32_t c = 1; c <= 3; c += 2) {
            const uint32_t *s = sizes[i], left = (s[2] - s[4]) / 2, top = (s[3] - s[5]) / 2;
            struct pith_image image = {s[0], s[1], c, malloc((size_t)s[0] * s[1] * c)};
            memset(image.pixels, 200, (size_t)s[0] * s[1] * c);
            assert_int_equal(pith_image_letterbox(&image, s[2], s[3], 7, "p", NULL), PITH_OK);
            assert_true(image.width == s[2] && image.height == s[3] && image.channels == c);
            for (uint32_t y = 0; y < s[3]; y++)
                for (uint32_t x = 0; x < s[2] * c; x++) {
                    const bool in =
                        y >= top && y < top + s[5] && x >= left * c && x < (left + s[4]) * c;
                    if (image.pixels[y * s[2] * c + x] != (in ? 200 : 7))
                        fail_msg("%ux%u in %ux%u: row %u, byte %u", s[0], s[1], s[2], s[3], y, x);
                }
            pith_image_free(&image);
        }
}

/* Of four pictures one is cut at each byte: it is left out, and the others keep their names. */
TEST(broken_pictures)
{
    uint8_t whole[4096];
    const size_t n = png_of(3, 2, false, 9, whole, sizeof whole);
    char pictures[96];
    snprintf(pictures, sizeof pictures, "%s/p", folder);
    assert_int_equal(mkdir(pictures, 0700), 0);
    static const char *const names[] = {"p/a.png", "p/b.png", "p/c.png", "p/d.png"};
    for (size_t i = 0; i < 4; i++)
        put(names[i], whole, n);
    struct pith_data_opts o = opts_for(pictures);
    o.skip_broken = true;
    struct pith_data *d = opened(&o);
    assert_true(pith_data_count(d) == 4 && pith_data_skipped(d) == 0);
    pith_data_free(d);
    o.range = "1:4";
    for (size_t cut = 0; cut < n; cut++) {
        put("p/c.png", whole, cut);
        d = opened(&o);
        assert_true(pith_data_count(d) == 2 && pith_data_skipped(d) == 1);
        assert_non_null(strstr(warned, "left out: "));
        assert_non_null(strstr(warned, "p/c.png"));
        assert_non_null(strstr(pith_data_sample_name(d, 0), "b.png"));
        assert_non_null(strstr(pith_data_sample_name(d, 1), "d.png"));
        expect_sample(d, 1, (float[]){9, 9, 9, 9, 9, 9}, PITH_NO_LABEL);
        pith_data_free(d);
    }
    o.range = "2:3";
    open_fails(&o, PITH_ERR_CORRUPT, "$p: none of its pictures can be read");
    o.range = NULL;
    o.skip_broken = false;
    d = opened(&o);
    float x[6];
    struct pith_error err = {0};
    assert_int_equal(pith_data_read(d, 2, x, NULL, &err), PITH_ERR_CORRUPT);
    assert_non_null(strstr(err.text, " (--skip-broken leaves it out)"));
    static const uint32_t picked[] = {3, 0};
    uint64_t n_picked = 0;
    assert_int_equal(pith_data_pick(d, picked, 2, NULL), PITH_OK);
    assert_memory_equal(pith_data_picked(d, &n_picked), picked, sizeof picked);
    assert_int_equal(n_picked, 2);
    pith_data_free(d);
}

/* ---- pipes ----------------------------------------------------------------------------------- */

/* What a pipe brings, read whole with a bound. */
static enum pith_status read_pipe(const void *bytes, size_t n, uint64_t most, struct pith_buffer *b,
                                  struct pith_error *err)
{
    int ends[2];
    char name[32];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        for (size_t done = 0; done < n;) {
            ssize_t w = write(ends[1], (const uint8_t *)bytes + done, n - done);
            if (w < 0)
                break;
            done += (size_t)w;
        }
        _exit(0);
    }
    close(ends[1]);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    enum pith_status st = pith_file_read(name, most, b, err);
    close(ends[0]);
    waitpid(child, NULL, 0);
    return st;
}

TEST(pipes)
{
    enum { HEAD = 1 << 17, MOST = 3 * HEAD };
    static uint8_t bytes[MOST + 1], packed[2 * MOST];
    static const size_t sizes[] = {0,   1, 2, 3, HEAD - 1, HEAD, HEAD + 1, 2 * HEAD, 2 * HEAD + 1,
                                   MOST};
    struct pith_error err = {0};
    struct pith_buffer b = {0};
    size_t packed_bytes = 0;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i / 99);
    for (size_t i = 0; i < N_OF(sizes); i++)
        for (int zipped = 0; zipped < 2; zipped++) {
            const size_t n = sizes[i];
            size_t n_sent = n;
            if (zipped) {
                z_stream z = {.next_in = bytes,
                              .avail_in = (unsigned)n,
                              .next_out = packed,
                              .avail_out = sizeof packed};
                assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 31, 9, Z_DEFAULT_STRATEGY), Z_OK);
                assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
                n_sent = packed_bytes = z.total_out;
                deflateEnd(&z);
            }
            for (uint64_t less = 0; less <= (n > HEAD); less++) { /* the beginning is read anyhow */
                enum pith_status st =
                    read_pipe(zipped ? packed : bytes, n_sent, n > HEAD ? n - less : 0, &b, &err);
                assert_int_equal(st, less ? PITH_ERR_LIMIT : PITH_OK);
                if (!st) {
                    assert_int_equal(b.bytes, n);
                    assert_memory_equal(b.data, bytes, n);
                }
                pith_buffer_free(&b);
            }
        }
    /* of a packed file nothing is kept once it is whole */
    put("packed.gz", packed, packed_bytes);
    struct file_source source;
    assert_int_equal(pith_source_open(at("packed.gz"), &source, &err), PITH_OK);
    assert_true(source.rest);
    assert_int_equal(pith_source_load(&source, 0, &err), PITH_OK);
    assert_true(!source.rest && source.fd < 0 && source.bytes == MOST);
    pith_source_close(&source);
    for (size_t n = 2; n <= 3; n++) { /* the shortest that is gzip by its first bytes */
        put("short", "\x1f\x8b\x08", n);
        enum pith_status st = pith_file_read(at("short"), 0, &b, &err);
        assert_int_equal(st, n < 3 ? PITH_OK : PITH_ERR_CORRUPT);
        pith_buffer_free(&b);
    }
    /* an array says how long it is */
    static uint8_t f[MOST + 256];
    const size_t n = npy_file(DICTIONARY("|u1", "(393216,)"), bytes, MOST, f);
    assert_int_equal(read_pipe(f, n, 0, &b, &err), PITH_OK);
    assert_true(b.bytes == n && !memcmp(b.data, f, n));
    pith_buffer_free(&b);
    assert_int_equal(read_pipe(f, n + 1, 0, &b, &err), PITH_ERR_CORRUPT);
    assert_non_null(strstr(err.text, " bytes in all, the file has more"));
    /* one that ends before what was read as the beginning does, and a bound there */
    const size_t head = npy_file(DICTIONARY("|u1", "(9,)"), bytes, 9, f);
    memset(f + head, 0, MOST - head);
    for (size_t more = 1; more <= MOST - head; more = more < 2 ? HEAD - head : MOST - head) {
        enum pith_status st = read_pipe(f, head + more, 0, &b, &err);
        assert_int_equal(st, more < 2 ? PITH_OK : PITH_ERR_CORRUPT);
        pith_buffer_free(&b);
        if (more == MOST - head)
            break;
    }
    assert_int_equal(read_pipe(bytes, MOST, 1000, &b, &err), PITH_ERR_LIMIT);
    assert_int_equal(pith_file_read("/dev/zero", 0, &b, &err), PITH_ERR_UNSUPPORTED);
    assert_string_equal(err.text, "/dev/zero: it is a device, not a file or a pipe");
    assert_int_equal(pith_file_read("/dev/null", 0, &b, &err), PITH_OK);
    assert_int_equal(b.bytes, 0);
    pith_buffer_free(&b);
    assert_int_equal(pith_file_read(folder, 0, &b, &err), PITH_ERR_IO);
    assert_non_null(strstr(err.text, ": it is a folder"));
}

RUN_TESTS_WITH(make_folder, remove_folder)
