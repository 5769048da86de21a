/* SPDX-License-Identifier: MIT */
/* Every kernel of pith_kernel_sparse.h at every level against sums in double, on buffers that end
 * or begin at unmapped pages.
 *
 * Bound. A sum of K products in f32, in any order, each product rounded or fused, differs from the
 * exact sum by at most (K + 1) u sum |w x| (1 + small), u = 2^-24; for K >= 1 that is below
 * 2 K u sum |w x|. Values are far from underflow. */
#include <stdarg.h>
#include <setjmp.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>
#include "pith_kernel_sparse.h"
#include "test_products.h"
#include "weight_case.h"

static uint64_t seed = 0x5ba5e;

static const uint32_t levels[] = {
    0,
    PITH_CPU_AVX2,
    PITH_CPU_AVX2 | PITH_CPU_AVX512,
    PITH_CPU_AVX2 | PITH_CPU_AVX512 | PITH_CPU_VBMI,
};
#define N_LEVELS (sizeof levels / sizeof *levels)

static uint32_t n_windows; /* products checked that really had the window form */

/* A built form at the end of its memory, x and y likewise. */
struct sparse_product {
    struct weight_case k;
    enum run_form_kind kind;
    struct guarded form, x, y;
};

/* A table that builds `kind` wherever the weight has it, however slow. */
static struct sparse_kernels forcing(enum run_form_kind kind)
{
    struct sparse_kernels t;
    pith_sparse_kernels_fill(&t, 0);
    memset(t.costs.dense, 0, sizeof t.costs.dense);
    for (uint32_t i = 0; i < RUN_FORM_KINDS; i++)
        t.costs.form[i] = 1;
    if (kind != FORM_WINDOW)
        t.costs.form[FORM_WINDOW] = 0;
    return t;
}

static void build(struct sparse_product *p, enum run_form_kind kind)
{
    struct sparse_kernels table = forcing(kind);
    struct run_form_need need;
    assert_int_equal(pith_run_form_need(&p->k.w, p->k.rows, p->k.cols, &table, &need), PITH_OK);
    void *form = aligned_alloc(64, need.bytes);
    void *scratch = aligned_alloc(64, need.scratch_bytes);
    assert_int_equal(pith_run_form_build(&p->k.w, p->k.rows, p->k.cols, &table, form, scratch),
                     PITH_OK);
    p->kind = ((struct run_form *)form)->kind;
    p->form = guard_new(pith_run_form_bytes(form), 1);
    memcpy(p->form.data, form, pith_run_form_bytes(form));
    free(form);
    free(scratch);
}

static void expect_row(const struct sparse_product *p, uint32_t r, float got, uint32_t level)
{
    const double *w = p->k.dense + (size_t)r * p->k.cols;
    const float *x = p->x.data;
    double sum = 0, size = 0;
    uint32_t terms = 0;
    for (uint32_t c = 0; c < p->k.cols; c++) {
        sum += w[c] * (double)x[c];
        size += fabs(w[c] * (double)x[c]);
        terms += w[c] != 0;
    }
    double bound = 2 * terms * ldexp(1, -24) * size;
    if (!(fabs((double)got - sum) <= bound)) /* also when got is NaN */
        fail_msg("kind %d, level %x, %u x %u, row %u: expected %.9g, got %.9g, bound %.3g (seed "
                 "0x5ba5e)",
                 p->kind, level, p->k.rows, p->k.cols, r, sum, (double)got, bound);
}

/* The whole product, then unit by unit from the last to the first: same bits. */
static void check_level(const struct sparse_product *p, uint32_t level)
{
    struct sparse_kernels t;
    pith_sparse_kernels_fill(&t, level);
    uint32_t rows = p->k.rows, units = pith_run_form_units(p->form.data);
    float *y = p->y.data, *once = malloc(rows * sizeof *once);
    memset(y, 0xff, rows * sizeof *y); /* NaN: every entry must be written */
    pith_run_form_matvec(&t, p->form.data, p->x.data, y, 0, units);
    for (uint32_t r = 0; r < rows; r++)
        expect_row(p, r, y[r], level);
    memcpy(once, y, rows * sizeof *once);
    memset(y, 0xff, rows * sizeof *y);
    for (uint32_t u = units; u-- > 0;)
        pith_run_form_matvec(&t, p->form.data, p->x.data, y, u, u + 1);
    assert_memory_equal(y, once, rows * sizeof *once);
    free(once);
}

static void check(const struct weight_want *want, enum run_form_kind kind)
{
    struct sparse_product p = {.k = case_new(want, &seed)};
    if (kind == FORM_CSR_VALUE && p.k.w.nnz * 6 > p.k.w.count * 4) {
        case_free(&p.k); /* larger than f32: never built */
        return;
    }
    build(&p, kind);
    n_windows += p.kind == FORM_WINDOW;
    for (int at_end = 0; at_end < 2; at_end++) {
        p.x = guard_random(want->cols, at_end, &seed);
        p.y = guard_new(want->rows * sizeof(float), at_end);
        for (size_t i = 0; i < N_LEVELS; i++)
            if ((pith_cpu_features() & levels[i]) == levels[i])
                check_level(&p, levels[i]);
        guard_free(&p.x);
        guard_free(&p.y);
    }
    guard_free(&p.form);
    case_free(&p.k);
}

static const uint32_t some_rows[] = {1, 3, 16, 17, 37};
static const uint32_t some_cols[] = {1,  2,  7,  15, 16, 30,  31,  32,  33,  47,  63,  64,
                                     65, 95, 96, 97, 99, 127, 128, 129, 191, 193, 300, 1031};
#define N_ROWS (sizeof some_rows / sizeof *some_rows)
#define N_COLS (sizeof some_cols / sizeof *some_cols)

static void each_shape(struct weight_want want, enum run_form_kind kind)
{
    for (size_t i = 0; i < N_ROWS; i++)
        for (size_t j = 0; j < N_COLS; j++) {
            want.rows = some_rows[i];
            want.cols = some_cols[j];
            check(&want, kind);
        }
}

static void each_pattern(struct weight_want want, enum run_form_kind kind)
{
    static const double densities[] = {0.03, 0.1, 0.4};
    for (size_t i = 0; i < sizeof densities / sizeof *densities; i++) {
        want.density = densities[i];
        each_shape(want, kind);
    }
    for (int p = PATTERN_FIRST_ROW; p < N_PATTERNS; p++) {
        want.pattern = (enum pattern)p;
        want.rows = 37;
        for (uint32_t cols = 20; cols < 90; cols += 23) {
            want.cols = cols;
            check(&want, kind);
        }
    }
}

static void test_csr_value(void **state)
{
    (void)state;
    each_pattern((struct weight_want){.scale = 1}, FORM_CSR_VALUE);
}

static void test_csr_codebook(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 16, 17, 32, 33, 256};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        each_pattern((struct weight_want){.scale = 1, .n_centroids = sizes[i], .n_groups = 1},
                     FORM_CSR_CODEBOOK);
}

static void test_csr_row_codebooks(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {5, 32, 256};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check(&(struct weight_want){.scale = 1,
                                    .n_centroids = sizes[i],
                                    .n_groups = 37,
                                    .rows = 37,
                                    .cols = 201,
                                    .density = 0.3},
              FORM_CSR_CODEBOOK);
}

static void test_window(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 16, 31, 32};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        each_pattern((struct weight_want){.scale = 1, .n_centroids = sizes[i], .n_groups = 1},
                     FORM_WINDOW);
    /* from 31 columns on, but for patterns that leave too many slots empty */
    assert_true(n_windows > 300);
}

static void test_dense(void **state)
{
    (void)state;
    static const struct {
        uint32_t n_centroids;
        enum run_form_kind kind;
    } forms[] = {{1, FORM_DENSE4},  {16, FORM_DENSE4}, {17, FORM_DENSE5},
                 {32, FORM_DENSE5}, {33, FORM_DENSE8}, {256, FORM_DENSE8}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct weight_want want = {
            .scale = 1, .dense = true, .n_centroids = forms[i].n_centroids, .n_groups = 1};
        each_shape(want, forms[i].kind);
        want.rows = 37;
        want.cols = 203;
        want.n_groups = forms[i].kind == FORM_DENSE8 ? 1 : 37;
        check(&want, forms[i].kind);
    }
}

/* Sums of the size of the largest floats, and products near the smallest normal ones. */
static void test_extremes(void **state)
{
    (void)state;
    static const float scales[] = {0x1p117f, 0x1p-100f};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        struct weight_want want = {
            .scale = scales[i], .rows = 32, .cols = 400, .density = 0.2, .n_groups = 1};
        check(&want, FORM_CSR_VALUE);
        want.n_centroids = 32;
        check(&want, FORM_CSR_CODEBOOK);
        n_windows = 0;
        check(&want, FORM_WINDOW);
        assert_int_equal(n_windows, 1);
        want.dense = true;
        check(&want, FORM_DENSE5);
        want.n_centroids = 256;
        check(&want, FORM_DENSE8);
    }
}

/* A slot that holds nothing must not read x: a NaN there stays out of rows that lack the column. */
static void test_empty_slots_read_nothing(void **state)
{
    (void)state;
    struct weight_want want = {.scale = 1,
                               .rows = 16,
                               .cols = 64,
                               .pattern = PATTERN_TRIANGLE,
                               .n_centroids = 32,
                               .n_groups = 1};
    struct sparse_product p = {.k = case_new(&want, &seed)};
    build(&p, FORM_WINDOW);
    assert_int_equal(p.kind, FORM_WINDOW);
    p.x = guard_random(want.cols, 1, &seed);
    ((float *)p.x.data)[8] = NAN;
    for (size_t i = 0; i < N_LEVELS; i++) {
        struct sparse_kernels t;
        float y[16];
        if ((pith_cpu_features() & levels[i]) != levels[i])
            continue;
        pith_sparse_kernels_fill(&t, levels[i]);
        pith_run_form_matvec(&t, p.form.data, p.x.data, y, 0, 1);
        for (uint32_t r = 0; r < 16; r++)
            assert_true(isnan(y[r]) == (r > 8));
    }
    guard_free(&p.x);
    guard_free(&p.form);
    case_free(&p.k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csr_value),
        cmocka_unit_test(test_csr_codebook),
        cmocka_unit_test(test_csr_row_codebooks),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_dense),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_empty_slots_read_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
