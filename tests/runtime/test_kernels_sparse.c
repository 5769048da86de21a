/* SPDX-License-Identifier: MIT */
/* Every kernel of kernel_sparse.h at every level against sums in double, on buffers that end
 * or begin at unmapped pages.
 *
 * Bound. A sum of K products in f32, in any order, each product rounded or fused, differs from the
 * exact sum by at most (K + 1) u sum |w x| (1 + small), u = 2^-24; for K >= 1 that is below
 * 2 K u sum |w x|. Values are far from underflow. */
#include <string.h>
#include <math.h>
#include "test_run.h"
#include "kernels/kernel_sparse.h"
#include "products/integer_conv.h"
#include "products/quad_form.h"
#include "products/run_form.h"
#include "weight_case.h"
#include "pith_runtime.h"

static uint64_t seed = 0x5ba5e;

static const uint32_t levels[] = {
#ifndef CASES /* under emulation, which is slow, vectors alone */
    0,
#endif
    PITH_CPU_AVX2,
    PITH_CPU_AVX2 | PITH_CPU_AVX512,
    PITH_CPU_AVX2 | PITH_CPU_AVX512 | PITH_CPU_VBMI,
    PITH_CPU_NEON,
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
    struct pith_kernels kernels = {.sparse = forcing(kind)};
    struct run_form_need need;
    assert_int_equal(pith_run_form_need(&p->k.w, p->k.rows, p->k.cols, &kernels.sparse, &need),
                     PITH_OK);
    void *form = aligned_alloc(64, need.bytes);
    void *scratch = aligned_alloc(64, need.scratch_bytes);
    struct op_env env = {.kernels = &kernels, .scratch = scratch};
    assert_int_equal(pith_run_form_build(&env, &p->k.w, p->k.rows, p->k.cols, form), PITH_OK);
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

TEST(test_csr_value)
{
    each_pattern((struct weight_want){.scale = 1}, FORM_CSR_VALUE);
}

TEST(test_csr_codebook)
{
    static const uint32_t sizes[] = {1, 16, 17, 32, 33, 256};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        each_pattern((struct weight_want){.scale = 1, .n_centroids = sizes[i], .n_groups = 1},
                     FORM_CSR_CODEBOOK);
}

TEST(test_csr_row_codebooks)
{
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

TEST(test_window)
{
    static const uint32_t sizes[] = {1, 16, 31, 32};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        each_pattern((struct weight_want){.scale = 1, .n_centroids = sizes[i], .n_groups = 1},
                     FORM_WINDOW);
    /* from 31 columns on, but for patterns that leave too many slots empty */
    assert_true(n_windows > 300);
}

TEST(test_dense)
{
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
TEST(test_extremes)
{
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
TEST(test_empty_slots_read_nothing)
{
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

/* ---- several rows at once -------------------------------------------------------------------- */

/* Rows of x one behind the other: each row of y as its own product within the bound, the same bits
 * unit by unit. */
static void check_rows(struct weight_want want, enum run_form_kind kind, uint32_t m, int at_end)
{
    struct sparse_product p = {.k = case_new(&want, &seed)};
    const uint32_t rows = want.rows, cols = want.cols;
    build(&p, kind);
    assert_int_equal(p.kind, kind);
    struct guarded x = guard_random(m * cols, at_end, &seed);
    struct guarded y = guard_new(m * rows * sizeof(float), at_end);
    float *once = malloc(m * rows * sizeof *once);
    for (size_t i = 0; i < N_LEVELS; i++) {
        struct sparse_kernels t;
        if ((pith_cpu_features() & levels[i]) != levels[i])
            continue;
        pith_sparse_kernels_fill(&t, levels[i]);
        uint32_t units = pith_run_form_units(p.form.data);
        memset(y.data, 0xff, m * rows * sizeof(float));
        pith_run_form_rows(&t, &(struct run_form_rows){p.form.data, x.data, y.data, m}, 0, units);
        for (uint32_t row = 0; row < m; row++) {
            p.x = x;
            p.x.data = (float *)x.data + (size_t)row * cols;
            for (uint32_t r = 0; r < rows; r++)
                expect_row(&p, r, ((float *)y.data)[row * rows + r], levels[i]);
        }
        memcpy(once, y.data, m * rows * sizeof *once);
        memset(y.data, 0xff, m * rows * sizeof *once);
        for (uint32_t u = units; u-- > 0;)
            pith_run_form_rows(&t, &(struct run_form_rows){p.form.data, x.data, y.data, m}, u,
                               u + 1);
        assert_memory_equal(once, y.data, m * rows * sizeof *once);
    }
    free(once);
    guard_free(&x);
    guard_free(&y);
    guard_free(&p.form);
    case_free(&p.k);
}

TEST(test_window_rows)
{
    for (uint32_t m = 1; m <= 9; m++)
        check_rows((struct weight_want){.scale = 1,
                                        .rows = m % 2 ? 37 : 16,
                                        .cols = 300,
                                        .density = 0.2,
                                        .n_centroids = 32,
                                        .n_groups = 1},
                   FORM_WINDOW, m, (int)(m / 2 % 2));
}

/* Columns of one panel and of several, codebooks of the tensor and of each row. */
TEST(test_dense_rows)
{
    static const uint32_t cols[] = {1, 95, 127, 383, 768, 769, 3100, 6200};
    for (size_t i = 0; i < sizeof cols / sizeof *cols; i++)
        for (uint32_t k = 2; k <= 35; k++) {
            const uint32_t m = k / 2, rows = m % 2 ? 37 : 16;
            struct weight_want want = {.scale = 1,
                                       .rows = rows,
                                       .cols = cols[i],
                                       .dense = true,
                                       .n_centroids = k % 2 ? 16 : 27,
                                       .n_groups = m % 3 ? 1 : rows};
            check_rows(want, k % 2 ? FORM_DENSE4 : FORM_DENSE5, m, (int)(m / 2 % 2));
        }
}

/* A form at the end of its memory, its operands likewise. */
struct narrow_product {
    struct weight_case k;
    struct quad_matrix m;
    struct guarded form, x, y, bias, residual;
    uint32_t n;
    struct dense_act act;
};

static void build_quads(struct narrow_product *p)
{
    struct quad_need need;
    assert_int_equal(pith_quads_need(&p->k.w, &p->m, &need), PITH_OK);
    void *form = aligned_alloc(64, need.bytes);
    void *scratch = aligned_alloc(64, need.scratch_bytes);
    struct op_env env = {.scratch = scratch};
    assert_int_equal(pith_quads_build(&env, &p->k.w, &p->m, form), PITH_OK);
    uint64_t bytes = ((struct quad_form *)form)->bytes;
    assert_true(bytes <= need.bytes);
    p->form = guard_new(bytes, 1);
    memcpy(p->form.data, form, bytes);
    free(form);
    free(scratch);
}

static uint32_t row_of_x(const struct quad_matrix *m, uint32_t col)
{
    return col % m->taps * (m->cols / m->taps) + col / m->taps;
}

static void expect_element(const struct narrow_product *p, uint32_t r, uint32_t j, float got,
                           uint32_t level)
{
    const double *w = p->k.dense + (size_t)r * p->k.cols;
    const float *x = p->x.data, *residual = p->residual.data;
    double bias = (double)((float *)p->bias.data)[r], more = (double)residual[r * p->n + j];
    double sum = bias + more, size = fabs(bias) + fabs(more);
    uint32_t terms = 2;
    for (uint32_t c = 0; c < p->k.cols; c++) {
        double product = w[c] * (double)x[(size_t)row_of_x(&p->m, c) * p->m.width + j];
        sum += product;
        size += fabs(product);
        terms += w[c] != 0;
    }
    double bound = 2 * terms * ldexp(1, -24) * size;
    if (p->act.kind == ACT_RELU)
        sum = sum > 0 ? sum : 0;
    if (!(fabs((double)got - sum) <= bound)) /* also when got is NaN */
        fail_msg("quads, level %x, %u x %u times %u of %u, element %u, %u: expected %.9g, got %.9g",
                 level, p->k.rows, p->k.cols, p->n, p->m.width, r, j, sum, (double)got);
}

static void run_quads(const struct narrow_product *p, const struct sparse_kernels *t,
                      uint32_t unit_begin, uint32_t unit_end)
{
    size_t row = (size_t)unit_begin * QUAD_UNIT_ROWS;
    const struct quads_job job = {.form = p->form.data,
                                  .x = p->x.data,
                                  .x_step = QUAD_WIDTH_STEP,
                                  .y = (float *)p->y.data + row * p->n,
                                  .ldy = p->n,
                                  .bias = (float *)p->bias.data + row,
                                  .residual = (float *)p->residual.data + row * p->n,
                                  .n = p->n,
                                  .unit_begin = unit_begin,
                                  .unit_end = unit_end,
                                  .act = p->act};
    t->quads(&job);
}

/* All of it, then unit by unit from the last to the first: same bits. */
static void check_quads_level(const struct narrow_product *p, uint32_t level, float *once)
{
    struct sparse_kernels t;
    pith_sparse_kernels_fill(&t, level);
    size_t bytes = (size_t)p->k.rows * p->n * sizeof(float);
    uint32_t units = ((struct quad_form *)p->form.data)->n_units;
    memset(p->y.data, 0xff, bytes);
    run_quads(p, &t, 0, units);
    for (uint32_t r = 0; r < p->k.rows; r++)
        for (uint32_t j = 0; j < p->n; j++)
            expect_element(p, r, j, ((float *)p->y.data)[r * p->n + j], level);
    memcpy(once, p->y.data, bytes);
    memset(p->y.data, 0xff, bytes);
    for (uint32_t u = units; u-- > 0;)
        run_quads(p, &t, u, u + 1);
    assert_memory_equal(once, p->y.data, bytes);
}

static void check_quads(const struct weight_want *want, uint32_t taps, uint32_t width, uint32_t n)
{
    struct narrow_product p = {.k = case_new(want, &seed),
                               .m = {want->rows, want->cols, taps, width},
                               .n = n,
                               .act = {n % 2 ? ACT_RELU : ACT_NONE, 0, 0}};
    int at_end = n / 2 % 2;
    uint32_t elements = want->rows * n, vectors = 0;
    float *once = malloc(elements * sizeof *once), *first = malloc(elements * sizeof *first);
    build_quads(&p);
    p.x = guard_random(want->cols * width, at_end, &seed);
    p.y = guard_new(elements * sizeof(float), at_end);
    p.bias = guard_random(want->rows, at_end, &seed);
    p.residual = guard_random(elements, at_end, &seed);
    for (size_t i = 0; i < N_LEVELS; i++) {
        if ((pith_cpu_features() & levels[i]) != levels[i])
            continue;
        check_quads_level(&p, levels[i], once);
        if (levels[i] && vectors++)
            assert_memory_equal(first, once, elements * sizeof *once);
        memcpy(first, once, elements * sizeof *once);
    }
    guard_free(&p.x);
    guard_free(&p.y);
    guard_free(&p.bias);
    guard_free(&p.residual);
    guard_free(&p.form);
    case_free(&p.k);
    free(once);
    free(first);
}

/* QEMU 7.2 reads masked-off lanes of vmaskmov, which here lie behind a guard page:
 * tests/build/old_cpu.sh says so. */
static void skip_where_masks_read(void)
{
    if (getenv("PITH_TEST_MASKED_LANES_ARE_READ"))
        skip();
}

/* One block and several, units that are full and not, all ends of vectors, every way weights are
 * kept; columns as convolutions have them. */
TEST(test_quads)
{
    skip_where_masks_read();
    static const uint32_t sizes[] = {0, 1, 16, 255, 256};
    for (uint32_t n = 1; n <= QUAD_WIDTH_MAX; n++) {
        struct weight_want want = {.scale = 1,
                                   .rows = n % 3 ? 9 : 270,
                                   .cols = n % 3 ? 3 * n : 40,
                                   .density = 0.3,
                                   .n_centroids = sizes[n % 5],
                                   .n_groups = 1};
        check_quads(&want, n % 3 ? 3 : 1, (n + 15) / 16 * 16, n);
    }
    struct weight_want deep = {.scale = 1, .rows = 5, .cols = 1301, .n_groups = 1};
    for (uint32_t i = 0; i < 5; i++) {
        deep.n_centroids = sizes[i];
        deep.density = i % 2 ? 0.5 : 0.01;
        check_quads(&deep, 1, 48, 17 + i);
    }
    for (int pattern = PATTERN_FIRST_ROW; pattern < N_PATTERNS; pattern++) {
        struct weight_want want = {.scale = 1,
                                   .rows = 37,
                                   .cols = 600,
                                   .pattern = (enum pattern)pattern,
                                   .n_centroids = 16,
                                   .n_groups = 1};
        check_quads(&want, 1, 16, 11);
    }
}

/* Panels of 16 columns and a narrow one hold what x of p holds: its columns from `begin` on. */
static void copy_columns(const struct narrow_product *p, uint32_t begin, uint32_t width, float *to)
{
    const float *x = p->x.data;
    for (uint32_t c = 0; c < p->m.cols; c++)
        for (uint32_t j = 0; j < width; j++)
            *to++ = begin + j < p->n ? x[(size_t)c * p->m.width + begin + j] : 0.0f;
}

static uint32_t tail_width(uint32_t n)
{
    return n % QUAD_WIDTH_STEP > 4 ? 8 : 4;
}

/* All units at once, with rows of y that have room for the whole tail and no more. */
static void run_tail(const struct narrow_product *p, const void *form, uint32_t level,
                     struct guarded *y)
{
    const uint32_t whole = p->n - p->n % QUAD_WIDTH_STEP, width = tail_width(p->n);
    struct guarded x = guard_new(p->m.cols * whole * sizeof(float), 1);
    struct guarded tail = guard_new(p->m.cols * width * sizeof(float), 1);
    for (uint32_t j = 0; j < whole; j += QUAD_WIDTH_STEP)
        copy_columns(p, j, QUAD_WIDTH_STEP, (float *)x.data + (size_t)j * p->m.cols);
    copy_columns(p, whole, width, tail.data);
    *y = guard_new(p->m.rows * (whole + width) * sizeof(float), 1);
    struct sparse_kernels t;
    pith_sparse_kernels_fill(&t, level);
    t.quads(&(struct quads_job){.form = form,
                                .x = x.data,
                                .x_step = (size_t)p->m.cols * QUAD_WIDTH_STEP,
                                .tail = tail.data,
                                .y = y->data,
                                .ldy = whole + width,
                                .n = p->n,
                                .unit_end = ((const struct quad_form *)form)->n_units});
    guard_free(&x);
    guard_free(&tail);
}

/* Columns in panels and a tail give the bits that they give side by side. */
static void check_tail(const struct weight_want *want, uint32_t n)
{
    struct narrow_product p = {
        .k = case_new(want, &seed), .m = {want->rows, want->cols, 1, QUAD_WIDTH_MAX}, .n = n};
    struct narrow_product narrow = p;
    narrow.m.width = QUAD_WIDTH_STEP;
    build_quads(&p);
    build_quads(&narrow);
    p.x = guard_random(want->cols * QUAD_WIDTH_MAX, 1, &seed);
    p.y = guard_new(want->rows * n * sizeof(float), 1);
    p.bias = guard_new(want->rows * sizeof(float), 1);
    p.residual = guard_new(want->rows * n * sizeof(float), 1);
    for (size_t i = 0; i < N_LEVELS; i++) {
        if ((pith_cpu_features() & levels[i]) != levels[i])
            continue;
        struct sparse_kernels t;
        struct guarded y;
        pith_sparse_kernels_fill(&t, levels[i]);
        if (t.quad_lanes > 1 && tail_width(n) > t.quad_lanes / 2)
            continue;
        run_quads(&p, &t, 0, ((struct quad_form *)p.form.data)->n_units);
        run_tail(&p, narrow.form.data, levels[i], &y);
        const uint32_t ldy = n - n % QUAD_WIDTH_STEP + tail_width(n);
        for (uint32_t r = 0; r < want->rows; r++)
            assert_memory_equal((float *)p.y.data + (size_t)r * n,
                                (float *)y.data + (size_t)r * ldy, n * sizeof(float));
        guard_free(&y);
    }
    guard_free(&p.x);
    guard_free(&p.y);
    guard_free(&p.bias);
    guard_free(&p.residual);
    guard_free(&p.form);
    guard_free(&narrow.form);
    case_free(&p.k);
}

TEST(test_tail)
{
    skip_where_masks_read();
    for (uint32_t n = 17; n <= 40; n++)
        if (n % QUAD_WIDTH_STEP >= 1 && n % QUAD_WIDTH_STEP <= 8) {
            struct weight_want want = {.scale = 1,
                                       .rows = n % 3 ? 9 : 300,
                                       .cols = n % 3 ? 1200 : 70,
                                       .density = 0.2,
                                       .n_centroids = 16,
                                       .n_groups = 1};
            check_tail(&want, n);
        }
}

/* A dense weight has none, and one with a codebook a row keeps its values. */
TEST(test_quads_need)
{
    skip_where_masks_read();
    struct quad_need need;
    struct weight_want want = {.scale = 1, .rows = 20, .cols = 30, .density = 0.4};
    struct quad_matrix m = {20, 30, 1, 16};
    want.dense = true;
    struct weight_case k = case_new(&want, &seed);
    assert_int_equal(pith_quads_need(&k.w, &m, &need), PITH_ERR_UNSUPPORTED);
    case_free(&k);
    want.dense = false, want.n_centroids = 8, want.n_groups = 20;
    check_quads(&want, 1, 32, 18);
}

RUN_TESTS
