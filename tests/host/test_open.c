/* SPDX-License-Identifier: MIT */
/* Sessions: files that are there, are not, are not what they should be. */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "pith_host.h"
#include "pith_crc32c.h"

enum { LARGE = 1 << 21 };

/* y [1,2] = relu(x [1,2] * {{1, 2}, {3, -4}}^T + {0.5, 0.25}) with the compact header. */
static const uint8_t image[] = {
    0xb9, 0x51,                                     /* magic */
    0x01, 0x0b, 0x7f,                               /* graph: 11 bytes; data */
    0x00, 0x02, 0x01, 0x02,                         /* one input, f32 [1,2] */
    0x02, 0x02, 0x02, 0x02, 0x00,                   /* two constants */
    0x02, 0x08,                                     /* two nodes: Gemm, Relu */
    0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x00, 0x40, /* weights */
    0x00, 0x00, 0x40, 0x40, 0x00, 0x00, 0x80, 0xc0,
    0x00, 0x00, 0x00, 0x3f, 0x00, 0x00, 0x80, 0x3e, /* bias */
    0x49, 0xc4, 0x5d, 0x18                          /* checksum */
};

static char folder[] = P_tmpdir "/pith_test_open_XXXXXX";
static char path[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/net.pith", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    remove(path);
    return rmdir(folder);
}

static void write_file(const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void run_it(struct pith_session *s)
{
    struct pith_plan *p = pith_plan_of(s);
    struct pith_need need;
    float *x = pith_plan_input_data(p, 0);
    x[0] = 1.0f;
    x[1] = 2.0f;
    assert_int_equal(pith_plan_run(p), PITH_OK);
    const float *y = pith_plan_output_data(p, 0);
    assert_true(y[0] == 5.5f && y[1] == 0.0f);
    pith_session_need(s, &need);
    assert_true(need.bytes > 0);
}

static void test_file(void **state)
{
    (void)state;
    struct pith_session *s;
    struct pith_error err;
    size_t n;
    write_file(image, sizeof image);
    assert_int_equal(pith_open(path, NULL, &s, &err), PITH_OK);
    run_it(s);
    assert_memory_equal(pith_image_of(s, &n), image, sizeof image);
    assert_int_equal(n, sizeof image);
    pith_close(s);
    pith_close(NULL);
}

/* Sessions share an image, also at an odd address. */
/* A file is emptied and written anew while a session has it. */
static void changed_under(uint32_t flags)
{
    static const uint8_t other[sizeof image];
    struct pith_opts o;
    struct pith_session *s;
    struct pith_error err;
    pith_opts_init(&o, sizeof o);
    o.flags = flags;
    if (pith_open(path, &o, &s, &err))
        fail_msg("%s", err.text);
    write_file(other, sizeof other);
    run_it(s);
    assert_int_equal(truncate(path, 0), 0);
    run_it(s);
    pith_close(s);
}

/* The image with a chunk that nobody knows and that makes it too large to be read unasked. */
static size_t make_large(uint8_t *to)
{
    const uint8_t table[] = {0xb9, 0x51, 0x01, 0x0b, 0x53, 0x80, 0x80, 0x80, 0x01, 0x7f};
    size_t n = sizeof table, rest = sizeof image - 5 - 4;
    memcpy(to, table, n);
    memcpy(to + n, image + 5, 11);
    memset(to + n + 11, 0x5a, LARGE);
    memcpy(to + n + 11 + LARGE, image + 16, rest - 11);
    n += rest + LARGE;
    uint32_t crc = pith_crc32c(0, to, n);
    for (uint32_t i = 0; i < 4; i++)
        to[n++] = (uint8_t)(crc >> 8 * i);
    return n;
}

static void test_changed(void **state)
{
    (void)state;
    uint8_t *large = malloc(LARGE + 100);
    assert_non_null(large);
    write_file(image, sizeof image);
    changed_under(0);
    write_file(image, sizeof image);
    changed_under(PITH_OPEN_READ);
    write_file(large, make_large(large));
    changed_under(PITH_OPEN_READ);
    free(large);
}

static void test_memory(void **state)
{
    (void)state;
    uint8_t odd[sizeof image + 1];
    struct pith_session *a, *b;
    memcpy(odd + 1, image, sizeof image);
    assert_int_equal(pith_open_memory(odd + 1, sizeof image, NULL, &a, NULL), PITH_OK);
    assert_int_equal(pith_open_memory(odd + 1, sizeof image, NULL, &b, NULL), PITH_OK);
    run_it(a);
    run_it(b);
    pith_close(a);
    run_it(b);
    pith_close(b);
}

/* What cannot be mapped is read. */
static void test_pipe(void **state)
{
    (void)state;
    int ends[2];
    char name[32];
    struct pith_session *s;
    struct pith_error err;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], image, sizeof image), sizeof image);
    close(ends[1]);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    assert_int_equal(pith_open(name, NULL, &s, &err), PITH_OK);
    run_it(s);
    pith_close(s);
    close(ends[0]);
}

static void refused(const char *name, enum pith_status status, const char *text)
{
    struct pith_session *s = (struct pith_session *)&path;
    struct pith_error err;
    memset(&err, 0x5a, sizeof err);
    assert_int_equal(pith_open(name, NULL, &s, &err), status);
    assert_int_equal(err.status, status);
    assert_ptr_equal(s, &path);
    if (!strstr(err.text, name) || !strstr(err.text, text))
        fail_msg("'%s' lacks '%s' or '%s'", err.text, name, text);
}

static void test_refusals(void **state)
{
    (void)state;
    refused("/nowhere/net.pith", PITH_ERR_IO, "No such file");
    refused(folder, PITH_ERR_IO, "Is a directory");
    write_file("", 0);
    refused(path, PITH_ERR_CORRUPT, "corrupt file");
    write_file("not a model at all", 18);
    refused(path, PITH_ERR_CORRUPT, "corrupt file");
    for (size_t n = 1; n < sizeof image; n++) {
        write_file(image, n);
        refused(path, PITH_ERR_CORRUPT, "corrupt file");
    }
    uint8_t flipped[sizeof image];
    for (size_t bit = 0; bit < 8 * sizeof image; bit++) {
        struct pith_session *s;
        memcpy(flipped, image, sizeof image);
        flipped[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_not_equal(pith_open_memory(flipped, sizeof flipped, NULL, &s, NULL), PITH_OK);
    }
}

static void test_limit(void **state)
{
    (void)state;
    struct pith_session *s;
    struct pith_opts opts;
    struct pith_error err;
    pith_opts_init(&opts, sizeof opts);
    opts.max_bytes = 1000;
    assert_int_equal(pith_open_memory(image, sizeof image, &opts, &s, &err), PITH_ERR_LIMIT);
    assert_string_equal(err.text, "would exceed a limit");
    opts.max_bytes = 0;
    opts.flags = 1u << 20;
    assert_int_equal(pith_open_memory(image, sizeof image, &opts, &s, &err), PITH_ERR_ARGUMENT);
}

static void test_texts(void **state)
{
    (void)state;
    for (int i = PITH_OK; i <= PITH_ERR_GOAL; i++)
        assert_string_not_equal(pith_status_text((enum pith_status)i), "unknown status");
    assert_string_equal(pith_status_text((enum pith_status)99), "unknown status");
    assert_string_equal(pith_op_text(1), "Conv");
    assert_string_equal(pith_op_text(0), "?");
    assert_string_equal(pith_op_text(UINT32_MAX), "?");
    assert_string_equal(pith_type_text(PITH_BF16), "bf16");
    assert_string_equal(pith_type_text((enum pith_type)0), "?");
    struct pith_error err;
    assert_int_equal(pith_error_set(&err, PITH_ERR_IO, "%0600d", 1), PITH_ERR_IO);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

static void test_cpu_names(void **state)
{
    (void)state;
    uint32_t mask = 7;
    char text[64];
    assert_int_equal(pith_cpu_mask_parse("ref", &mask), PITH_OK);
    assert_true(mask == (uint32_t)PITH_CPU_REF);
    assert_int_equal(pith_cpu_mask_parse("vnni", &mask), PITH_OK);
    assert_int_equal(mask, PITH_CPU_AVX2 | PITH_CPU_AVX512 | PITH_CPU_VNNI);
    assert_int_equal(pith_cpu_mask_parse("avxvnni", &mask), PITH_OK);
    assert_int_equal(mask, PITH_CPU_AVX2 | PITH_CPU_AVXVNNI);
    assert_string_equal(pith_cpu_names(mask, text, sizeof text), "avx2 avxvnni");
    assert_int_equal(pith_cpu_mask_parse("dotprod", &mask), PITH_OK);
    assert_int_equal(mask, PITH_CPU_NEON | PITH_CPU_DOTPROD);
    assert_int_equal(pith_cpu_mask_parse("ref,avx2", &mask), PITH_OK);
    assert_int_equal(mask, PITH_CPU_AVX2);
    assert_int_equal(pith_cpu_mask_parse("vbmi|vnni", &mask), PITH_OK);
    assert_string_equal(pith_cpu_names(mask, text, sizeof text), "avx2 avx512 vbmi vnni");
    assert_string_equal(pith_cpu_names(0, text, sizeof text), "ref");
    assert_string_equal(pith_cpu_names(mask, text, 10), "avx2 vbmi");
    static const char *const bad[] = {"", "avx", "avx2,", "AVX2", "avx2 vnni", ","};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(pith_cpu_mask_parse(bad[i], &mask), PITH_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file),     cmocka_unit_test(test_memory),
        cmocka_unit_test(test_changed),  cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_limit),
        cmocka_unit_test(test_texts),    cmocka_unit_test(test_cpu_names),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
