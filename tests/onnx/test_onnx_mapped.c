/* SPDX-License-Identifier: MIT */
/* test_onnx_mapped.c - files that are mapped while they are imported. */
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include "test_run.h"
#include "pith_onnx.h"
#include "onnx/onnx_read.h"
#include "proto_builder.h"
#include "network_text.h"

static const struct pith_value *value_named(const struct pith_model *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_values; i++)
        if (strcmp(m->values[i].name, name) == 0)
            return &m->values[i];
    fail_msg("no value '%s'", name);
    return NULL;
}

/* Blocks that begin on a page of marks and go on to the next page. */
struct straddling {
    uint8_t *pages;
    size_t page, used, broken; /* bytes of pages; marks that were not there any more */
};

enum { STRADDLE_MARK = 0xa5, STRADDLE_BYTES = 1 << 22 };

static void *straddling_alloc(void *user, size_t bytes)
{
    struct straddling *s = user;
    size_t whole = (bytes + 15) & ~(size_t)15;
    size_t border = s->used + (whole + s->page - 1) / s->page * s->page;
    if (border + s->page > STRADDLE_BYTES)
        return NULL;
    s->used = border + s->page;
    return s->pages + border + 16 - whole;
}

static void straddling_free(void *user, void *p)
{
    struct straddling *s = user;
    for (const uint8_t *mark = p; (uintptr_t)mark % s->page; mark--)
        s->broken += mark[-1] != STRADDLE_MARK;
}

static struct straddling straddling_new(void)
{
    struct straddling s = {.page = (size_t)sysconf(_SC_PAGESIZE)};
    s.pages = aligned_alloc(s.page, STRADDLE_BYTES);
    assert_non_null(s.pages);
    memset(s.pages, STRADDLE_MARK, STRADDLE_BYTES);
    return s;
}

/* Read-only, from a file without a name. */
static void *map_file(const struct proto *file)
{
    FILE *f = tmpfile();
    assert_non_null(f);
    assert_int_equal(fwrite(file->data, 1, file->n, f), file->n);
    assert_int_equal(fflush(f), 0);
    void *mapped = mmap(NULL, file->n, PROT_READ, MAP_PRIVATE, fileno(f), 0);
    assert_true(mapped != MAP_FAILED);
    fclose(f);
    return mapped;
}

static void counts_from(const struct pith_model *m, const char *name, float first, uint64_t n)
{
    const struct pith_const *c = value_named(m, name)->constant;
    assert_int_equal(c->count, n);
    for (uint64_t i = 0; i < n; i++)
        assert_true(((const float *)c->data)[i] == first + (float)i);
}

/* Pages of a mapped file are given back as its tensors are read, but not pages of the heap, where
 * short tensors are: they would come back as zeros, with all else that lies on them. */
TEST(mapped_file_keeps_the_heap)
{
    struct straddling s = straddling_new();
    struct pith_alloc alloc = {straddling_alloc, straddling_free, &s};
    struct pith_import_opts opts = {.size_bytes = sizeof opts, .alloc = &alloc};
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    struct proto g = text_graph("x f32 [d0,1000] | m:Gemm{transB=1} x w b -> y | y");
    build_floats(&g, "w", 0, 1, 2, 10, 1000); /* is read where it lies in the file */
    build_floats(&g, "b", 7, 1, 1, 10);       /* 40 bytes: protobuf-c copies them */
    struct proto file = build_model(g, 13);
    void *mapped = map_file(&file);
    SUCCEEDS(pith_onnx_read_mapped(mapped, file.n, "net.onnx", &opts, &m, &err));
    counts_from(m, "w", 0, 10000);
    counts_from(m, "b", 7, 10);
    pith_model_free(m);
    assert_true(s.used > 0);
    assert_int_equal(s.broken, 0);
    munmap(mapped, file.n);
    free(s.pages);
    free(file.data);
}

RUN_TESTS
