/* SPDX-License-Identifier: MIT */
/* test_alloc_failure.c - every allocation of every call of the library fails, once alone and once
 * with all that follow (SQLite's loop). The linker sends malloc and its kin through the functions
 * below (TEST_LDFLAGS_alloc_failure), jansson is told to. What is owed each time: the status
 * PITH_ERR_MEMORY with a text, outputs as they were, the model as before where the header says so,
 * and no leak, which the AddressSanitizer variant tells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>
#include <zlib.h>
#include "model/sample_models.h"
#include "pith_calibrate.h"
#include "pith_compress.h"
#include "pith_host.h"
#include "pith_onnx.h"

/* ---- the failing heap ------------------------------------------------------------------------- */

static struct {
    bool armed;
    bool for_ever; /* else only one fails */
    bool hit;
    uint32_t left; /* allocations that still succeed */
} heap;

static bool refuse(void)
{
    if (!heap.armed)
        return false;
    if (heap.left > 0) {
        heap.left--;
        return false;
    }
    bool first = !heap.hit;
    heap.hit = true;
    return first || heap.for_ever;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t each);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t align, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t each);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);

void *__wrap_malloc(size_t n)
{
    return refuse() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t each)
{
    return refuse() ? NULL : __real_calloc(n, each);
}

void *__wrap_realloc(void *p, size_t n)
{
    return refuse() ? NULL : __real_realloc(p, n);
}

void *__wrap_aligned_alloc(size_t align, size_t n)
{
    return refuse() ? NULL : __real_aligned_alloc(align, n);
}

/* ---- the loop --------------------------------------------------------------------------------- */

/* What the scenes work on; made once, never changed by them. */
static struct {
    struct pith_model *plain;      /* the network below */
    struct pith_model *compressed; /* pruned, clustered, Huffman codes */
    struct pith_buffer onnx, packed, compact;
} made;

/* One call: sets up, arms the heap for the call alone, releases what it gave. */
typedef enum pith_status (*scene)(struct pith_error *err);

#define FAILING(call) (heap.armed = true, st = (call), heap.armed = false)

/* Allocations of the scene. */
static uint32_t fail_each(scene run, bool for_ever)
{
    for (uint32_t n = 0;; n++) {
        struct pith_error err = {0};
        heap.left = n;
        heap.for_ever = for_ever;
        heap.hit = false;
        enum pith_status st = run(&err);
        if (!heap.hit) {
            assert_int_equal(st, PITH_OK);
            return n;
        }
        if (st != PITH_ERR_MEMORY || err.status != PITH_ERR_MEMORY || !err.text[0])
            fail_msg("allocation %u failed%s: status %d, error %d '%s'", n,
                     for_ever ? " with all behind it" : "", st, err.status, err.text);
    }
}

static void fail_all(scene run)
{
    uint32_t n = fail_each(run, false);
    assert_true(n > 0);
    assert_int_equal(fail_each(run, true), n);
}

/* A model of its own, as `made` has it. */
static struct pith_model *copy_of(const struct pith_buffer *file)
{
    struct pith_model *m = NULL;
    assert_int_equal(pith_model_read(file->data, file->bytes, "copy", NULL, NULL, &m, NULL), PITH_OK);
    return m;
}

/* Frees m; after a failure it must be as the file says. */
static void done_with(struct pith_model *m, const struct pith_buffer *file, enum pith_status st)
{
    if (st) {
        struct pith_model *before = copy_of(file);
        const char *what = sample_difference(m, before);
        if (what)
            fail_msg("the model changed although the call failed: %s", what);
        pith_model_free(before);
    }
    pith_model_free(m);
}

/* ---- model/ ----------------------------------------------------------------------------------- */

static enum pith_status read_bytes(const struct pith_buffer *file, struct pith_error *err)
{
    enum pith_status st;
    struct pith_model *m = NULL;
    FAILING(pith_model_read(file->data, file->bytes, "net", NULL, NULL, &m, err));
    assert_int_equal(m == NULL, st != PITH_OK);
    pith_model_free(m);
    return st;
}

static enum pith_status import_onnx(struct pith_error *err)
{
    return read_bytes(&made.onnx, err);
}

static enum pith_status unpack_full(struct pith_error *err)
{
    return read_bytes(&made.packed, err);
}

static enum pith_status unpack_compact(struct pith_error *err)
{
    return read_bytes(&made.compact, err);
}

static enum pith_status check_onnx(struct pith_error *err)
{
    enum pith_status st;
    struct pith_onnx_report *report = NULL;
    FAILING(pith_onnx_check(made.onnx.data, made.onnx.bytes, "net", NULL, NULL, &report, err));
    assert_int_equal(report == NULL, st != PITH_OK);
    pith_onnx_report_free(report);
    return st;
}

static enum pith_status pack_with(bool compact, struct pith_error *err)
{
    enum pith_status st;
    struct pith_pack_opts opts = {.size_bytes = sizeof opts, .compact = compact};
    struct pith_buffer file = {NULL, 0};
    FAILING(pith_model_pack(made.compressed, &opts, &file, err));
    assert_int_equal(file.data == NULL, st != PITH_OK);
    pith_buffer_free(&file);
    return st;
}

static enum pith_status pack_full(struct pith_error *err)
{
    return pack_with(false, err);
}

static enum pith_status pack_compact(struct pith_error *err)
{
    return pack_with(true, err);
}

static enum pith_status write_onnx(struct pith_error *err)
{
    enum pith_status st;
    struct pith_buffer file = {NULL, 0};
    FAILING(pith_model_write_onnx(made.compressed, &file, err));
    assert_int_equal(file.data == NULL, st != PITH_OK);
    pith_buffer_free(&file);
    return st;
}

static enum pith_status infer_shapes(struct pith_error *err)
{
    enum pith_status st;
    struct pith_model *m = copy_of(&made.packed);
    FAILING(pith_model_infer_shapes(m, err));
    done_with(m, &made.packed, st);
    return st;
}

static enum pith_status fold(struct pith_error *err)
{
    enum pith_status st;
    uint32_t n = 77;
    struct pith_buffer file;
    assert_int_equal(pith_model_pack(made.plain, NULL, &file, NULL), PITH_OK);
    struct pith_model *m = copy_of(&file);
    FAILING(pith_model_fold_batch_norm(m, &n, err));
    assert_int_equal(n, st ? 77 : 1);
    pith_model_free(m);
    pith_buffer_free(&file);
    return st;
}

/* ---- data sets -------------------------------------------------------------------------------- */

/* Opens, reads the first sample twice (pictures are decoded when read), closes. */
static enum pith_status read_data(const char *path, const char *labels, struct pith_error *err)
{
    enum pith_status st;
    float x[3 * 32 * 32];
    int64_t label;
    struct pith_data *data = NULL;
    const struct pith_data_opts opts = {.size_bytes = sizeof opts,
                                        .path = path,
                                        .labels = labels,
                                        .range = "!1:2:2",
                                        .preprocess = "resize=8,crop=8,scale=1/256"};
    FAILING(pith_data_open(&opts, &data, err));
    assert_int_equal(data == NULL, st != PITH_OK);
    for (int i = 0; i < 2 && !st; i++) {
        assert_true(pith_data_elems(data) <= sizeof x / sizeof *x);
        FAILING(pith_data_read(data, 0, x, &label, err));
    }
    pith_data_free(data);
    return st;
}

static enum pith_status data_idx(struct pith_error *err)
{
    return read_data(at("images.idx.gz"), at("labels.txt"), err);
}

static enum pith_status data_csv(struct pith_error *err)
{
    return read_data(at("images.idx.gz"), at("labels.csv"), err);
}

static enum pith_status data_npz(struct pith_error *err)
{
    return read_data("tests/fuzz/corpus/fuzz_npy/npz_deflated", NULL, err);
}

static enum pith_status data_tar(struct pith_error *err)
{
    return read_data("tests/fuzz/corpus/fuzz_image/tar_u", NULL, err);
}

static enum pith_status data_folder(struct pith_error *err)
{
    return read_data(at("pictures"), NULL, err);
}
