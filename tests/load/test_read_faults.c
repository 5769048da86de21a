/* SPDX-License-Identifier: MIT */
/* test_read_faults.c - files that were kept (golden ones, those of the fuzzers, a quarter of ONNX's
 * node cases) are read, packed and written as ONNX while one allocation fails, here and there among
 * all that each call makes. What is owed each time: PITH_ERR_MEMORY with a text, or, where the call
 * can do without, what it gives with all memory; and no leak, which the AddressSanitizer variant
 * checks. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include <dirent.h>
#include <stdio.h>
#include <unistd.h>
#define FAILING_MODEL
#include "compress/failing_heap.h"
#include "base/file_write.h"
#include "pith_load.h"
#include "pith_onnx.h"
#include "pith_pack.h"
#include "sanitized.h"

enum { TRIALS = TEST_ROUNDS(5, 1) }; /* of each call and file */

struct work {
    struct pith_buffer file;
    struct pith_model *m;
};

static struct pith_buffer given; /* what the call gave, as bytes */

static enum pith_status gave(enum pith_status st, struct pith_buffer *out)
{
    assert_int_equal(out->data == NULL, st != PITH_OK);
    pith_buffer_free(&given);
    given = *out;
    return st;
}

typedef enum pith_status call_of(const struct work *w, struct pith_error *err);

static enum pith_status read_file(const struct work *w, struct pith_error *err)
{
    enum pith_status st;
    struct pith_model *m = NULL;
    struct pith_buffer out = {0};
    FAILING(pith_model_read(w->file.data, w->file.bytes, "net", NULL, &m, err));
    assert_int_equal(m == NULL, st != PITH_OK);
    if (m)
        (void)pith_model_pack(m, NULL, &out, NULL);
    pith_model_free(m);
    pith_buffer_free(&given);
    given = out;
    return st;
}

static enum pith_status check(const struct work *w, struct pith_error *err)
{
    enum pith_status st;
    struct pith_onnx_report *report = NULL;
    FAILING(pith_onnx_check(w->file.data, w->file.bytes, "net", NULL, &report, err));
    pith_onnx_report_free(report);
    pith_buffer_free(&given);
    return st;
}

static enum pith_status write_onnx(const struct work *w, struct pith_error *err)
{
    enum pith_status st;
    struct pith_buffer out = {0};
    FAILING(pith_model_write_onnx(w->m, &out, err));
    return gave(st, &out);
}

static enum pith_status pack_as(const struct work *w, bool compact, struct pith_error *err)
{
    enum pith_status st;
    struct pith_buffer out = {0};
    const struct pith_pack_opts opts = {
        .size_bytes = sizeof opts, .compact = compact, .full = !compact};
    FAILING(pith_model_pack(w->m, &opts, &out, err));
    return gave(st, &out);
}

static enum pith_status pack_full(const struct work *w, struct pith_error *err)
{
    return pack_as(w, false, err);
}

static enum pith_status pack_compact(const struct work *w, struct pith_error *err)
{
    return pack_as(w, true, err);
}

static char written[] = "/tmp/pith-written-XXXXXX";

/* In pieces, as commands write; looked at before it has its name. */
static enum pith_status write_pieces(const struct work *w, struct pith_error *err)
{
    enum pith_status st;
    uint64_t bytes = 0;
    FAILING(pith_model_write(w->m, NULL, written, true, &bytes, err));
    struct pith_buffer out = {0};
    if (!st) {
        assert_int_equal(pith_file_load(written, 1 << 24, &out, NULL), PITH_OK);
        assert_int_equal(out.bytes, bytes);
    }
    return gave(st, &out);
}

/* One at a time, spread over all allocations of the call; `file` shifts them. */
static void fail_some(const char *path, const char *what, call_of *call, const struct work *w,
                      uint32_t file)
{
    struct pith_error err = {0};
    heap.for_ever = heap.hit = false;
    heap.left = UINT32_MAX;
    const enum pith_status whole = call(w, &err);
    struct pith_buffer expected = given;
    given = (struct pith_buffer){0};
    const uint32_t n = UINT32_MAX - heap.left, step = n / TRIALS + 1;
    for (uint32_t at = file % step; at < n; at += step) {
        memset(&err, 0, sizeof err);
        heap.hit = false;
        heap.left = at;
        enum pith_status st = call(w, &err);
        assert_true(heap.hit);
        const bool same = st == whole && given.bytes == expected.bytes &&
                          (!given.bytes || !memcmp(given.data, expected.data, given.bytes));
        if (!same && (st != PITH_ERR_MEMORY || !err.text[0]))
            fail_msg("%s %s, allocation %u of %u: status %d '%s', %d with all memory", what, path,
                     at, n, st, err.text, whole);
    }
    pith_buffer_free(&expected);
    pith_buffer_free(&given);
}

static uint32_t n_files;

static void try_file(const char *path)
{
    struct work w = {0};
    FILE *f = fopen(path, "rb");
    if (!f)
        return;
    w.file.data = malloc(1 << 20);
    w.file.bytes = fread(w.file.data, 1, 1 << 20, f);
    fclose(f);
    if (w.file.bytes > 0 && w.file.bytes < 1 << 20) {
        const uint32_t file = n_files++ * 7;
        fail_some(path, "read", read_file, &w, file);
        if (pith_model_read(w.file.data, w.file.bytes, "net", NULL, &w.m, NULL) == PITH_OK) {
            fail_some(path, "pack", pack_full, &w, file);
            fail_some(path, "pack compact", pack_compact, &w, file);
            fail_some(path, "write", write_onnx, &w, file);
            fail_some(path, "write pieces", write_pieces, &w, file);
        }
        if (strstr(path, "onnx"))
            fail_some(path, "check", check, &w, file);
        pith_model_free(w.m);
    }
    free(w.file.data);
}

/* Files of the folder, or the file `inner` in each of its folders; one of `every`. */
static void try_folder(const char *folder, const char *inner, uint32_t every)
{
    DIR *dir = opendir(folder);
    const struct dirent *e;
    char path[4096];
    for (uint32_t i = 0; dir && (e = readdir(dir)) != NULL; i++) {
        snprintf(path, sizeof path, "%s/%s%s%s", folder, e->d_name, inner ? "/" : "",
                 inner ? inner : "");
        if (e->d_name[0] != '.' && i % every == 0)
            try_file(path);
    }
    if (dir)
        closedir(dir);
}

TEST(kept_files)
{
    n_files = 0;
    try_folder("tests/golden", NULL, 1);
    try_folder("tests/golden/version_3", NULL, 1);
    try_folder("tests/fuzz/corpus/fuzz_pith", NULL, 1);
    try_folder("tests/fuzz/corpus/fuzz_onnx", NULL, 1);
    assert_true(n_files > 80);
}

TEST(node_cases)
{
    const char *cases = getenv("PITH_NODE_CASES");
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/node", cases ? cases : "");
    DIR *dir = opendir(folder);
    if (!dir)
        skip();
    closedir(dir);
    n_files = 0;
    try_folder(folder, "model.onnx", TEST_ROUNDS(4, 16));
    assert_true(n_files > TEST_ROUNDS(300, 75));
}

FIXTURE(make_file)
{
    int fd = mkstemp(written);
    return fd < 0 ? -1 : close(fd);
}

FIXTURE(remove_file)
{
    return unlink(written);
}

RUN_TESTS_WITH(make_file, remove_file)
