/* SPDX-License-Identifier: MIT */
/* Which run form is chosen for which weight, what it promises, and that it fails as it says.
 * That the products are right is the business of test_kernels_sparse.c. */
#include <string.h>
#include "test_run.h"
#include "products/integer_conv.h"
#include "products/run_form.h"
#include "weight_case.h"

static uint64_t seed = 0xf04;

#define AVX2 PITH_CPU_AVX2
#define AVX512 (AVX2 | PITH_CPU_AVX512)
#define VBMI (AVX512 | PITH_CPU_VBMI)

static struct weight plain(uint64_t count, uint64_t nnz)
{
    return (struct weight){.type = PITH_F32, .count = count, .nnz = nnz, .support = SUPPORT_BITMAP};
}

static struct weight indexed(uint64_t count, uint64_t nnz, uint32_t n_centroids)
{
    struct weight w = plain(count, nnz);
    w.grid = GRID_CODEBOOK;
    w.n_centroids = n_centroids;
    w.index_bits = 8;
    w.n_groups = 1;
    w.group_elems = count;
    return w;
}

static struct weight dense(struct weight w)
{
    w.support = SUPPORT_DENSE;
    w.nnz = w.count;
    return w;
}

static enum pith_status need_of(const struct weight *w, uint32_t rows, uint32_t cols,
                                uint32_t level, struct run_form_need *need)
{
    struct sparse_kernels k;
    pith_sparse_kernels_fill(&k, level);
    return pith_run_form_need(w, rows, cols, &k, need);
}

TEST(test_choice)
{
    enum { R = 4096, C = 4096, N = R * C };
    static const uint32_t levels[] = {0, AVX2, AVX512, VBMI};
    struct run_form_need need;
    for (size_t i = 0; i < 4; i++) {
        struct weight w = indexed(N, N / 11, 32);
        assert_int_equal(need_of(&w, R, C, levels[i], &need), PITH_OK);
        assert_string_equal(need.kernel, "spmv-codebook");
        w = plain(N, N / 11);
        assert_int_equal(need_of(&w, R, C, levels[i], &need), PITH_OK);
        assert_string_equal(need.kernel, "spmv-f32");
        w = dense(indexed(N, N, 16));
        assert_int_equal(need_of(&w, R, C, levels[i], &need), PITH_OK);
        assert_string_equal(need.kernel, "gemv-codebook");
    }
    /* 256 centroids are looked up in registers from VBMI on */
    struct weight w = dense(indexed(N, N, 256));
    assert_int_equal(need_of(&w, R, C, VBMI, &need), PITH_OK);
    assert_int_equal(need_of(&w, R, C, AVX512, &need), PITH_ERR_UNSUPPORTED);
}

TEST(test_dense_is_faster)
{
    enum { R = 256, C = 256, N = R * C };
    struct run_form_need need = {.bytes = 77};
    struct weight w = dense(plain(N, N));
    assert_int_equal(need_of(&w, R, C, 0, &need), PITH_ERR_UNSUPPORTED);
    w = plain(N, N / 3); /* f32 values in cache */
    assert_int_equal(need_of(&w, R, C, AVX2, &need), PITH_ERR_UNSUPPORTED);
    w = plain(N, N - N / 10); /* no vectors, so never slower, but larger than f32 */
    assert_int_equal(need_of(&w, R, C, 0, &need), PITH_ERR_UNSUPPORTED);
    w = indexed(N, N / 3, 32);
    assert_int_equal(need_of(&w, R, C, AVX2, &need), PITH_ERR_UNSUPPORTED);
    assert_int_equal(need.bytes, 77);
    assert_int_equal(need_of(&w, R, C, AVX512, &need), PITH_OK);
}

TEST(test_not_a_matrix_for_it)
{
    struct run_form_need need;
    struct weight w = indexed(100 * 100, 900, 32);
    assert_int_equal(need_of(&w, 100, 99, 0, &need), PITH_ERR_UNSUPPORTED);
    w = indexed((uint64_t)65537 * 10, 900, 32); /* columns are 16 bits */
    assert_int_equal(need_of(&w, 10, 65537, 0, &need), PITH_ERR_UNSUPPORTED);
    w = indexed((uint64_t)65536 * 65536, 1 << 20, 32); /* element numbers are 32 bits */
    assert_int_equal(need_of(&w, 65536, 65536, 0, &need), PITH_ERR_UNSUPPORTED);
    w = dense(indexed(100 * 100, 0, 4)); /* codebooks of half a row */
    w.n_groups = 200;
    w.group_elems = 50;
    assert_int_equal(need_of(&w, 100, 100, 0, &need), PITH_ERR_UNSUPPORTED);
}

struct built {
    struct run_form_need need;
    struct run_form *form;
};

static enum pith_status build(const struct weight_case *k, uint32_t level, int fill,
                              struct built *b)
{
    struct pith_kernels kernels = {0};
    pith_sparse_kernels_fill(&kernels.sparse, level);
    assert_int_equal(pith_run_form_need(&k->w, k->rows, k->cols, &kernels.sparse, &b->need),
                     PITH_OK);
    struct guarded scratch = guard_new((b->need.scratch_bytes + 63) & ~(uint64_t)63, 1);
    struct op_env env = {.kernels = &kernels, .scratch = scratch.data};
    b->form = aligned_alloc(64, b->need.bytes);
    memset(b->form, fill, b->need.bytes);
    enum pith_status st = pith_run_form_build(&env, &k->w, k->rows, k->cols, b->form);
    guard_free(&scratch);
    return st;
}

TEST(test_promise_and_form)
{
    static const struct {
        double density;
        enum run_form_kind kind;
    } rows[] = {
        {0.25, FORM_WINDOW}, {0.09, FORM_WINDOW}, {0.04, FORM_WINDOW}, {0.01, FORM_CSR_CODEBOOK}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct weight_want want = {.rows = 500,
                                   .cols = 1200,
                                   .density = rows[i].density,
                                   .n_centroids = 32,
                                   .n_groups = 1,
                                   .scale = 1};
        struct weight_case k = case_new(&want, &seed);
        struct built b;
        assert_int_equal(build(&k, AVX512, 0, &b), PITH_OK);
        assert_int_equal(b.form->kind, rows[i].kind);
        assert_true(pith_run_form_bytes(b.form) <= b.need.bytes);
        assert_true(b.need.bytes < 2 * pith_run_form_bytes(b.form));
        free(b.form);
        case_free(&k);
    }
}

TEST(test_same_weight_same_bytes)
{
    static const uint32_t levels[] = {0, AVX2, AVX512, VBMI};
    static const struct weight_want wants[] = {
        {.rows = 70, .cols = 333, .density = 0.08, .n_centroids = 20, .n_groups = 1, .scale = 1},
        {.rows = 70, .cols = 333, .density = 0.08, .n_centroids = 200, .n_groups = 1, .scale = 1},
        {.rows = 70, .cols = 333, .density = 0.08, .scale = 1},
        {.rows = 70, .cols = 333, .density = 0.08, .n_centroids = 9, .n_groups = 2, .scale = 1},
    };
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        for (size_t j = 0; j < sizeof wants / sizeof *wants; j++) {
            struct weight_case k = case_new(&wants[j], &seed);
            struct built a, b;
            assert_int_equal(build(&k, levels[i], 0x55, &a), PITH_OK);
            assert_int_equal(build(&k, levels[i], 0xaa, &b), PITH_OK);
            assert_memory_equal(a.form, b.form, pith_run_form_bytes(a.form));
            free(a.form);
            free(b.form);
            case_free(&k);
        }
}

/* Codebooks of neither the tensor nor the rows: the values are stored. */
TEST(test_odd_groups_become_values)
{
    struct weight_want want = {
        .rows = 64, .cols = 300, .density = 0.05, .n_centroids = 9, .n_groups = 2, .scale = 1};
    struct weight_case k = case_new(&want, &seed);
    struct built b;
    struct sparse_kernels table;
    float x[300], y[64];
    pith_sparse_kernels_fill(&table, 0);
    assert_int_equal(build(&k, 0, 0, &b), PITH_OK);
    assert_int_equal(b.form->kind, FORM_CSR_VALUE);
    for (uint32_t c = 0; c < 300; c++)
        x[c] = 0;
    for (uint32_t c = 0; c < 300; c += 7) {
        x[c] = 1; /* one column of W, exactly */
        pith_run_form_matvec(&table, b.form, x, y, 0, pith_run_form_units(b.form));
        for (uint32_t r = 0; r < 64; r++)
            assert_true(y[r] == (float)k.dense[r * 300 + c]);
        x[c] = 0;
    }
    free(b.form);
    case_free(&k);
}

TEST(test_broken_streams)
{
    struct weight_want want = {
        .rows = 40, .cols = 200, .density = 0.05, .n_centroids = 16, .n_groups = 1, .scale = 1};
    struct weight_case k = case_new(&want, &seed);
    struct built b;
    k.w.nnz++; /* one more than the bitmap has */
    assert_int_equal(build(&k, AVX512, 0, &b), PITH_ERR_CORRUPT);
    free(b.form);
    k.w.nnz--;
    k.stream[5] = 16; /* no such centroid */
    assert_int_equal(build(&k, AVX512, 0, &b), PITH_ERR_CORRUPT);
    free(b.form);
    k.stream[5] = 15;
    k.w.codebook.n_bytes--;
    assert_int_equal(build(&k, AVX512, 0, &b), PITH_ERR_CORRUPT);
    free(b.form);
    case_free(&k);
}

RUN_TESTS
