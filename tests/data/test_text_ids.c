/* SPDX-License-Identifier: MIT */
/* test_text_ids.c - text as samples of ids: windows, their labels, and what is refused. */
#include <stdint.h>
#include <stdio.h>
#include "test_run.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "data/data_source.h"
#include "data_folder.h"

static const char names[] = "a\nb\n\\n\n \n\xc3\xa9\n";

/* Opens text:SPEC:FILE for a model of ids [1, length] and those names. */
static enum pith_status open_text(const char *text, const char *spec, uint32_t length,
                                  const char *class_names, struct pith_data **d,
                                  struct pith_error *err)
{
    char path[300];
    put("t.txt", text, strlen(text));
    snprintf(path, sizeof path, "text:%s:%s", spec, at("t.txt"));
    struct pith_data_opts o = {.size_bytes = sizeof o,
                               .path = path,
                               .class_names = class_names,
                               .rank = 2,
                               .dim = {1, length},
                               .output_rank = 3,
                               .output_dim = {1, length, 5}};
    return pith_data_open(&o, d, err);
}

static void expect_sample(struct pith_data *d, uint64_t i, const int64_t *ids, const int64_t *next,
                          uint64_t n)
{
    int64_t x[8];
    float real[8];
    assert_int_equal(pith_data_read_as(d, i, PITH_I64, x, NULL, NULL), PITH_OK);
    assert_int_equal(pith_data_read(d, i, real, NULL, NULL), PITH_OK);
    assert_int_equal(pith_data_label_count(d), n);
    assert_memory_equal(x, ids, n * sizeof *x);
    assert_memory_equal(pith_data_labels(d, i), next, n * sizeof *next);
    for (uint64_t k = 0; k < n; k++)
        assert_true(real[k] == (float)ids[k]);
}

/* a b \n space e-acute a: ids 0 1 2 3 4 0 */
TEST(windows_overlap_as_the_step_says)
{
    const char text[] = "ab\n \xc3\xa9"
                        "a";
    struct pith_data *d = NULL;
    struct pith_error err = {0};
    assert_int_equal(open_text(text, "3:2", 3, names, &d, &err), PITH_OK);
    assert_int_equal(pith_data_count(d), 2);
    expect_sample(d, 0, (const int64_t[]){0, 1, 2}, (const int64_t[]){1, 2, 3}, 3);
    expect_sample(d, 1, (const int64_t[]){2, 3, 4}, (const int64_t[]){3, 4, 0}, 3);
    assert_null(pith_data_labels(d, 2));
    pith_data_free(d);
    assert_int_equal(open_text(text, "2", 2, names, &d, &err), PITH_OK);
    assert_int_equal(pith_data_count(d), 2);
    expect_sample(d, 1, (const int64_t[]){2, 3}, (const int64_t[]){3, 4}, 2);
    pith_data_free(d);
}

TEST(what_has_no_class_is_refused)
{
    static const struct {
        const char *text, *spec, *names, *says;
    } bad[] = {
        {"ab\nax", "3", names, "line 2: no class is named by the character 'x', U+0078"},
        {"ab\ra", "3", names, "line 1: no class is named by the character U+000D"},
        {"ab a", "3", "a\nb\n", "line 1: no class is named by the character ' ', U+0020"},
        {"ab\xff"
         "a",
         "3", names, "line 1: not UTF-8"},
        {"ab\xc3", "2", names, "line 1: not UTF-8"},
        {"aba", "3", names, "3 characters are less than a sample of 3 and the one behind it"},
        {"", "3", names, "0 characters are less than a sample of 3"},
        {"abaa", "3", NULL, "text needs a model with class names of one character each"},
        {"abaa", "3", "a\nbee\n", "class names of one character each, class 1 is 'bee'"},
        {"abaa", "3", "a\n\nb\n", "class names of one character each, class 1 is ''"},
        {"abaa", "3", "a\nb\na\n", "classes 0 and 2 are both 'a'"},
        {"abaa", "0", names, "is not text:LENGTH[:STEP]:FILE"},
        {"abaa", "x:3", names, "is not text:LENGTH[:STEP]:FILE"},
        {"abaa", "3", "a\nb\n", NULL},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct pith_data *d = NULL;
        struct pith_error err = {0};
        enum pith_status st = open_text(bad[i].text, bad[i].spec, 3, bad[i].names, &d, &err);
        if (bad[i].says && (st == PITH_OK || !strstr(err.text, bad[i].says)))
            fail_msg("%s: %s", bad[i].says, err.text);
        if (!bad[i].says)
            assert_int_equal(st, PITH_OK);
        pith_data_free(d);
    }
}

TEST(escapes_stand_for_characters)
{
    static const struct {
        const char *name, *text;
    } cases[] = {{"\\n", "\n"},          {"\\", "\\"},   {"\\\\", "\\"}, {"\\\\n", "\\n"},
                 {"a\\t\\r.", "a\t\r."}, {"\\x", "\\x"}, {"", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[16] = "";
        size_t n = pith_class_name_text(cases[i].name, strlen(cases[i].name), text);
        assert_int_equal(n, strlen(cases[i].text));
        assert_memory_equal(text, cases[i].text, n);
    }
}

/* [2 samples, 3 positions], as the output has; another number of them is no label. */
TEST(arrays_of_labels_follow_the_output)
{
    const int32_t x[6] = {0, 1, 2, 3, 4, 5};
    const int64_t y[6] = {1, -100, 3, 4, 5, 0};
    struct pith_buffer samples = {0}, labels = {0};
    struct pith_data *d = NULL;
    struct pith_error err = {0};
    assert_int_equal(pith_npy_write(PITH_I32, 2, (const uint32_t[]){2, 3}, x, &samples, &err), 0);
    assert_int_equal(pith_npy_write(PITH_I64, 2, (const uint32_t[]){2, 3}, y, &labels, &err), 0);
    put("y.npy", labels.data, labels.bytes);
    struct pith_data_opts o = {.size_bytes = sizeof o,
                               .path = "x.npy",
                               .content = samples.data,
                               .content_bytes = samples.bytes,
                               .labels = at("y.npy"),
                               .rank = 2,
                               .dim = {1, 3},
                               .output_rank = 3,
                               .output_dim = {1, 3, 6}};
    assert_int_equal(pith_data_open(&o, &d, &err), PITH_OK);
    expect_sample(d, 0, (const int64_t[]){0, 1, 2}, y, 3);
    expect_sample(d, 1, (const int64_t[]){3, 4, 5}, y + 3, 3);
    pith_data_free(d);
    o.output_dim[1] = 4;
    assert_int_equal(pith_data_open(&o, &d, &err), PITH_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "3 integers a sample, not a class or one for each of the "
                                     "output's 4 positions"));
    o.output_rank = 2;
    o.output_dim[1] = 6;
    assert_int_equal(pith_data_open(&o, &d, &err), PITH_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "3 integers a sample, not a class"));
    pith_buffer_free(&samples);
    pith_buffer_free(&labels);
}

RUN_TESTS_WITH(make_folder, remove_folder)
