/* SPDX-License-Identifier: MIT */
/* Weights with codebooks as the device has them: each form by the kernels that read it, against
 * sums in double of the matrix as it was made; and which form a weight gets. */
#include "weight_product_case.h"

static uint64_t seed = 3;

/* Sums in double of the matrix as it was made. */
static void expected_rows(const struct weight_case *k, const float *x, uint32_t m, float *y,
                          double *bound)
{
    for (uint32_t i = 0; i < m * k->rows; i++) {
        const float *row = x + (size_t)(i / k->rows) * k->cols;
        const double *w = k->dense + (size_t)(i % k->rows) * k->cols;
        double sum = 0, size = 0, sizes = 0;
        for (uint32_t c = 0; c < k->cols; c++) {
            sizes += fabs(w[c]) + fabs((double)row[c]);
            sum += w[c] * (double)row[c];
            size += fabs(w[c] * (double)row[c]);
        }
        y[i] = (float)sum;
        bound[i] = 2.0 * k->cols * size / 16777216 + 1e-30;
        if (half_products)
            bound[i] += size / 1024 + (sizes + k->cols * 3e-8) / 33554432;
    }
}

struct product_case {
    uint32_t rows, cols;
    double density; /* 0: of dense support */
    uint32_t n_centroids, n_groups, m;
    enum launch_kernel kernel;
};

static struct weight_want want_of(const struct product_case *c)
{
    return (struct weight_want){.rows = c->rows,
                                .cols = c->cols,
                                .density = c->density,
                                .dense = !(c->density > 0),
                                .n_centroids = c->n_centroids,
                                .n_groups = c->n_groups,
                                .scale = 1.0f};
}

/* NULL exact: sums may have any order. */
typedef void exact_fn(const struct step *s, const struct weight_case *k);

static void check_case(struct weight_case k, uint32_t m, enum launch_kernel kernel, exact_fn *exact)
{
    struct guarded x = guard_random((size_t)m * k.cols, 1, &seed);
    struct one_op t;
    float *y = malloc((size_t)m * k.rows * sizeof *y);
    double *bound = malloc((size_t)m * k.rows * sizeof *bound);
    one_op_open(&t, PITH_OP_GEMM, 2, 1);
    t.kernels = &reference;
    one_op_in(&t, 0, PITH_F32, DIMS(m, k.cols), x.data);
    one_op_in(&t, 1, PITH_F32, DIMS(k.rows, k.cols), NULL);
    assert_int_equal(one_op_shape(&t), PITH_OK);
    t.args.weight = &k.w;
    t.out[0].data = y;
    expected_rows(&k, x.data, m, y, bound);
    struct step s = {.args = t.args};
    check_kernel(&s, kernel);
    assert_true(try_device("product", &s, bound));
    if (exact) {
        exact(&s, &k);
        assert_true(try_device("product", &s, NULL));
    }
    free(y);
    free(bound);
    case_free(&k);
    guard_free(&x);
}

static void check_product(const struct weight_want *want, uint32_t m, enum launch_kernel kernel)
{
    check_case(case_new(want, &seed), m, kernel, NULL);
}

/* What the model makes of densities, codebooks and batches, and that the form then is right: rows
 * that end within words, chunks and tiles, codebooks for each row and for several. */
TEST(test_forms)
{
    static const struct product_case of[] = {
        /* relative index where few are left, unless rows are too long for shared memory */
        {37, 3000, 0.1, 16, 1, 1, LAUNCH_spmv_relative},
        {19, 2500, 0.12, 200, 1, 1, LAUNCH_spmv_relative},
        {9, 13000, 0.11, 16, 1, 1, LAUNCH_gemv_codes},
        {7000, 1100, 0.09, 16, 1, 1, LAUNCH_spmv_relative},
        {3300, 2500, 0.12, 16, 1, 1, LAUNCH_spmv_relative},
        {4000, 4100, 0.02, 16, 1, 1, LAUNCH_spmv_relative},
        {21, 1999, 0.03, 16, 1, 1, LAUNCH_spmv_relative},
        {9, 700, 0.03, 256, 9, 1, LAUNCH_spmv_relative},
        {9, 12033, 0.001, 1, 1, 1, LAUNCH_gemv_codes},
        {36, 11000, 0.001, 1, 1, 1, LAUNCH_spmv_relative},
        {12, 700, 0.05, 13, 3, 1, LAUNCH_spmv_relative},
        /* codes where most are, but of all of 256 centroids, which leave none for 0 */
        {37, 1700, 0.6, 200, 1, 1, LAUNCH_gemv_codes},
        {11, 2100, 0.5, 256, 1, 2, LAUNCH_spmv_relative},
        {10, 1025, 0.6, 256, 10, 1, LAUNCH_spmv_relative},
        {5, 8200, 0.5, 60, 1, 1, LAUNCH_gemv_codes},
        {50, 400, 0.95, 15, 1, 1, LAUNCH_spmv_relative},
        {24, 1700, 0.7, 16, 8, 1, LAUNCH_gemv_codes_far},
        {37, 1024, 0.7, 15, 1, 1, LAUNCH_gemv_codes},
        {37, 700, 0, 16, 1, 1, LAUNCH_gemv_codes},
        {19, 257, 0.9, 31, 1, 2, LAUNCH_spmv_relative},
        {19, 300, 0, 32, 19, 1, LAUNCH_gemv_codes_far},
        {19, 3310, 0, 16, 1, 1, LAUNCH_gemv_codes},
        {7, 2900, 0.95, 30, 1, 1, LAUNCH_gemv_codes},
        {9, 1270, 0, 256, 1, 2, LAUNCH_gemv_codes},
        {18, 400, 0, 256, 2, 2, LAUNCH_gemv_codes_far},
        {18, 400, 0.95, 254, 6, 1, LAUNCH_gemv_codes_far},
        {37, 1540, 0, 4, 1, 1, LAUNCH_gemv_codes},
        {41, 513, 0.9, 3, 1, 2, LAUNCH_gemv_codes},
        {23, 2050, 0, 3, 23, 1, LAUNCH_gemv_codes_far},
        /* more groups of rows than teams, which take turns; teams of several warps */
        {300, 1030, 0, 16, 1, 1, LAUNCH_gemv_codes},
        {300, 260, 0, 16, 10, 2, LAUNCH_gemv_codes_far},
        {300, 519, 0, 16, 1, 5, LAUNCH_gemv_codes_many},
        {70, 4100, 0, 100, 1, 1, LAUNCH_gemv_codes},
        /* several rows of x at once, and fewer than that left over */
        {37, 700, 0, 16, 1, 4, LAUNCH_gemv_codes_many},
        {21, 1028, 0.7, 15, 1, 9, LAUNCH_gemv_codes_many},
        {33, 517, 0, 4, 1, 3, LAUNCH_gemv_codes_many},
        {70, 300, 0, 256, 1, 7, LAUNCH_gemv_codes_many},
        /* many rows of x */
        {37, 700, 0.09, 16, 1, 10, LAUNCH_gemv_codes_many},
        {37, 300, 0.05, 200, 1, 17, LAUNCH_gemv_codes_many},
        {12, 300, 0.02, 16, 3, 33, LAUNCH_gemm_f32},
        {17, 300, 0.1, 256, 1, 64, LAUNCH_gemm_f32},
        {37, 300, 0.99, 256, 1, 70, LAUNCH_gemm_f32},
        {70, 100, 0.5, 16, 2, 64, LAUNCH_gemm_f32},
        {70, 37, 0, 256, 70, 65, LAUNCH_gemm_f32},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct weight_want want = want_of(&of[i]);
        processors = of[i].rows == 36 || of[i].rows == 300; /* rows take turns */
        check_product(&want, of[i].m, of[i].kernel);
    }
    processors = 0;
}

/* Rows that are empty, full, or hold one element more than the one before. */
TEST(test_patterns)
{
    static const uint32_t cols[] = {700, 1025};
    for (uint32_t round = 0; round < 2 * N_PATTERNS; round++) {
        uint32_t pattern = round % N_PATTERNS;
        struct weight_want want = {
            .rows = 37, .cols = cols[round / N_PATTERNS], .pattern = pattern, .density = 0.09};
        bool full = pattern == PATTERN_FULL;
        want.n_groups = 1;
        want.scale = 1.0f;
        want.n_centroids = 16;
        check_product(&want, 1,
                      full && want.cols > 1000 ? LAUNCH_gemv_codes : LAUNCH_spmv_relative);
        want.n_groups = 37;
        check_product(&want, 1, full ? LAUNCH_gemv_codes_far : LAUNCH_spmv_relative);
        const bool many = full || (pattern == PATTERN_RANDOM && want.cols < 1000);
        check_product(&want, 20, many ? LAUNCH_gemm_f32 : LAUNCH_spmv_relative);
    }
}

/* Rows of the weight from the seventh on, as a recurrent layer multiplies by a part of it. */
static void check_from_7th(const struct product_case *c, struct weight_case k)
{
    struct guarded x = guard_random((size_t)c->m * c->cols, 1, &seed);
    size_t n = (size_t)c->m * c->rows;
    struct guarded out = guard_new(n * sizeof(float), 1);
    float *all = malloc(n * sizeof *all), *y = out.data;
    double *bound = malloc(n * sizeof *bound);
    struct gemm_args g = {.a = x.data, .y = y, .m = c->m, .n = c->rows - 9, .k = c->cols};
    g.a_row = g.b_col = g.k;
    g.a_col = g.b_row = 1;
    g.alpha = 1.0f;
    expected_rows(&k, x.data, c->m, all, bound);
    struct lowering l = {.plan = &plan};
    assert_true(pith_device_compressed(&l, &g, &k.w, 7, false));
    struct guarded constants = pack_constants(&l), work = guard_new(l.work_bytes + 256, 1);
    l.constants = (uintptr_t)constants.data;
    l.work = (uintptr_t)work.data;
    l.n_actions = l.n_args = 0;
    assert_true(pith_device_compressed(&l, &g, &k.w, 7, false));
    assert_int_equal(l.action[l.n_actions - 1].kernel, c->kernel);
    run_actions(&l, 77);
    for (uint32_t i = 0; i < c->m * g.n; i++) {
        uint32_t from = i / g.n * c->rows + i % g.n + 7;
        if (!(fabs((double)y[i] - (double)all[from]) <= bound[from]))
            fail_msg("%s, output %u: %g, not %g", emu_kernel_name(c->kernel), i, (double)y[i],
                     (double)all[from]);
    }
    pith_device_lowering_free(&l);
    guard_free(&constants);
    guard_free(&work);
    guard_free(&x);
    guard_free(&out);
    case_free(&k);
    free(all);
    free(bound);
}

/* By tensor cores: rows that end within a warp's 32, a block's 256 and a weight's group, columns
 * that end within a step and within what a block has of x at once, sums that blocks share. */
TEST(test_tensor_cores)
{
    static const struct product_case of[] = {
        {37, 700, 0, 16, 1, 9, LAUNCH_codes_mma},
        {300, 260, 0.9, 15, 1, 16, LAUNCH_codes_mma},
        {259, 2100, 0, 16, 1, 64, LAUNCH_codes_mma},
        {70, 517, 0, 256, 1, 33, LAUNCH_codes_mma},
        {41, 1540, 0, 100, 1, 64, LAUNCH_codes_mma},
        {259, 1030, 0, 4, 1, 10, LAUNCH_codes_mma},
        {33, 3100, 0.7, 3, 1, 32, LAUNCH_codes_mma},
        {64, 2500, 0.1, 16, 1, 11, LAUNCH_codes_mma},
        {300, 1500, 0, 16, 1, 8, LAUNCH_codes_mma_few},
        {37, 700, 0, 256, 1, 5, LAUNCH_codes_mma_few},
        {520, 1025, 0.9, 3, 1, 1, LAUNCH_codes_mma_few},
    };
    half_products = true;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct weight_want want = want_of(&of[i]);
        processors = of[i].kernel == LAUNCH_codes_mma_few; /* few rows do not keep more busy */
        check_product(&want, of[i].m, of[i].kernel);
    }
    processors = 0;
    half_products = false;
}

TEST(test_later_rows)
{
    static const struct product_case of[] = {
        {37, 3000, 0.1, 16, 1, 1, LAUNCH_spmv_relative},
        {36, 11000, 0.001, 16, 1, 1, LAUNCH_spmv_relative},
        {36, 700, 0.04, 16, 12, 1, LAUNCH_spmv_relative},
        {36, 1700, 0.6, 200, 1, 1, LAUNCH_gemv_codes},
        {36, 700, 0, 16, 6, 1, LAUNCH_gemv_codes_far},
        {36, 1701, 0, 16, 1, 1, LAUNCH_gemv_codes},
        {60, 700, 0, 4, 1, 6, LAUNCH_gemv_codes_many},
        {36, 700, 0.09, 16, 6, 10, LAUNCH_spmv_relative},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct weight_want want = want_of(&of[i]);
        check_from_7th(&of[i], case_new(&want, &seed));
    }
}

/* ---- integers with scales -------------------------------------------------------------------- */

/* One scale for each `block` columns of a row; block 0: for each row; n_scales 1: one for all. */
static struct weight_case integers_new(uint32_t rows, uint32_t cols, uint32_t block, bool one)
{
    const uint32_t blocks = block ? (cols + block - 1) / block : 1, n = one ? 1 : rows * blocks;
    const uint64_t count = (uint64_t)rows * cols;
    struct weight_case k = {.rows = rows,
                            .cols = cols,
                            .dense = malloc(count * sizeof *k.dense),
                            .stream = malloc(count),
                            .codebook_bytes = malloc(4 * (size_t)n)};
    k.w = (struct weight){.type = PITH_F32,
                          .shape = {2, {rows, cols}},
                          .count = count,
                          .nnz = count,
                          .grid = GRID_SCALED,
                          .scaled = PITH_I8,
                          .index_bits = block > 0,
                          .group_elems = one ? 0 : block,
                          .n_groups = n,
                          .index_stream = {k.stream, count},
                          .codebook = {k.codebook_bytes, 4 * (size_t)n}};
    for (uint32_t i = 0; i < n; i++)
        store_le32(k.codebook_bytes + 4 * (size_t)i, f32_bits(random_f32(&seed) / 128.0f));
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t at = one ? 0 : i / cols * blocks + (block ? i % cols / block : 0);
        const float scale = f32_from_bits(load_le32(k.codebook_bytes + 4 * at));
        k.stream[i] = (uint8_t)(i % 97 ? random_u64(&seed) : 0x80);
        k.dense[i] = (double)((float)(int8_t)k.stream[i] * scale);
    }
    return k;
}

static float scale_of(const struct weight_case *k, uint64_t i)
{
    const uint64_t n =
        scale_number(&k->w.shape, k->w.index_bits, k->w.group_elems, k->w.n_groups, i);
    return f32_from_bits(load_le32(k->w.codebook.bytes + 4 * n));
}

/* What a lane has of a row of x and of the weight, from step `part` on, each `parts`th. */
static float lane_sum(const struct weight_case *k, const float *x, uint32_t row, uint32_t lane,
                      uint32_t part, uint32_t parts)
{
    float sum = 0;
    for (uint32_t first = 128 * part; first < k->cols; first += 128 * parts) {
        const uint32_t column = first + 4 * lane;
        const uint64_t at = (uint64_t)row * k->cols + column;
        float four = 0;
        for (uint32_t i = 0; i < 4; i++)
            four = column + i < k->cols
                       ? fmaf((float)(int8_t)k->stream[at + i] / 128.0f, x[column + i], four)
                       : fmaf(0.0f, 0.0f, four);
        sum = fmaf(four, column < k->cols ? 128.0f * scale_of(k, at) : 0.0f, sum);
    }
    return sum;
}

/* Lanes are added as a tree, then parts, of which a launch has as many as it says. */
static void exact_integers(const struct step *s, const struct weight_case *k)
{
    struct lowering l = {.plan = &plan, .half = half_products, .processors = processors};
    assert_true(pith_device_step(&l, s));
    const struct gemm_codes_args *arg = (const void *)(l.args + l.action[0].arg);
    const uint32_t parts = 1u << arg->log2_parts;
    float *y = s->args.out[0]->data;
    for (uint32_t i = 0; i < arg->g.m * k->rows; i++) {
        const float *x = (const float *)s->args.in[0]->data + (size_t)(i / k->rows) * k->cols;
        float sum = 0;
        for (uint32_t p = 0; p < parts; p++) {
            float of[32];
            for (uint32_t lane = 0; lane < 32; lane++)
                of[lane] = lane_sum(k, x, i % k->rows, lane, p, parts);
            for (uint32_t half = 16; half > 0; half /= 2)
                for (uint32_t lane = 0; lane < half; lane++)
                    of[lane] += of[lane + half];
            sum = p ? sum + of[0] : of[0];
        }
        y[i] = sum;
    }
    pith_device_lowering_free(&l);
}

/* Blocks that end within steps, rows within groups; several teams, and several warps of one. */
TEST(test_integers)
{
    static const struct integers_case {
        uint32_t rows, cols, block, m;
    } of[] = {{37, 1000, 64, 1},  {9, 257, 32, 1},   {16, 1024, 128, 1}, {5, 3001, 96, 1},
              {300, 700, 64, 1},  {23, 130, 256, 2}, {40, 519, 0, 4},    {8, 31, 32, 8},
              {300, 260, 160, 3}, {70, 2048, 64, 1}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const struct integers_case *c = &of[i];
        processors = c->rows == 300;
        for (int half = 0; half < 2; half++) {
            half_products = half;
            check_case(integers_new(c->rows, c->cols, c->block, i == 6), c->m, LAUNCH_gemv_scaled,
                       exact_integers);
        }
        half_products = false;
    }
    processors = 0;
    const struct product_case later = {36, 1701, 0, 0, 0, 1, LAUNCH_gemv_scaled};
    check_from_7th(&later, integers_new(36, 1701, 64, false));
    check_from_7th(&later, integers_new(36, 1701, 0, false));
    check_case(integers_new(21, 300, 64, false), 9, LAUNCH_gemm_f32, NULL);
}

/* What has no such form is expanded: other integers, zero points, scales for less than 32 columns
 * or for several rows. */
TEST(test_other_integers)
{
    for (uint32_t i = 0; i < 4; i++) {
        struct weight_case k = integers_new(20, 320, i == 2 ? 16 : 32, false);
        k.codebook_bytes = realloc(k.codebook_bytes, 5 * 400);
        k.w.codebook.bytes = k.codebook_bytes;
        for (uint32_t e = 0; e < 400; e++)
            store_le32(k.codebook_bytes + 4 * e, f32_bits(0.001f * (float)(e + 1)));
        if (i == 0) { /* zero points of 0 */
            memset(k.codebook_bytes + 4 * k.w.n_groups, 0, k.w.n_groups);
            k.w.codebook.n_bytes += k.w.n_groups;
        }
        if (i == 1)
            k.w.scaled = PITH_U8;
        if (i == 3) {
            k.w.index_bits = 0;
            k.w.n_groups = 320;
            k.w.codebook.n_bytes = 4 * 320;
        }
        for (uint64_t e = 0; e < k.w.count; e++)
            k.dense[e] = (double)((i == 1 ? (float)k.stream[e] : (float)(int8_t)k.stream[e]) *
                                  scale_of(&k, e));
        check_case(k, 1, LAUNCH_gemv_f32, NULL);
    }
}

/* Of x that is infinite or no number, a row's terms are, too; what lies behind rows and columns
 * does not come in. */
TEST(test_integers_of_no_numbers)
{
    static const float special[] = {INFINITY, -INFINITY, NAN, 0x1.fffffep+127f, 1e-42f};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        struct weight_case k = integers_new(11, 203, 64, false);
        struct guarded x = guard_random(203, 1, &seed);
        struct one_op t;
        float y[11];
        ((float *)x.data)[202] = ((float *)x.data)[64] = special[i];
        k.stream[64] = 0;
        one_op_open(&t, PITH_OP_GEMM, 2, 1);
        t.kernels = &reference;
        one_op_in(&t, 0, PITH_F32, DIMS(1, 203), x.data);
        one_op_in(&t, 1, PITH_F32, DIMS(11, 203), NULL);
        t.attr[ATTR_GEMM_TRANS_B] = 1;
        assert_int_equal(one_op_shape(&t), PITH_OK);
        t.args.weight = &k.w;
        t.out[0].data = y;
        struct step s = {.args = t.args};
        exact_integers(&s, &k);
        assert_true(i < 3 ? isnan(y[0]) : isfinite(y[0]) && isfinite(y[10]));
        assert_true(try_device("no numbers", &s, NULL));
        case_free(&k);
        guard_free(&x);
    }
}

/* ---- beside the same operator with a dense weight -------------------------------------------- */

TEST(test_conv)
{
    static const struct product_case of[] = {
        {40, 45, 0, 16, 1, 1, LAUNCH_conv_f32},    {70, 117, 0.4, 200, 1, 1, LAUNCH_conv_f32},
        {72, 63, 0.3, 31, 4, 2, LAUNCH_conv_f32},  {34, 72, 0, 9, 2, 2, LAUNCH_conv_f32},
        {40, 45, 0.5, 256, 1, 1, LAUNCH_conv_f32}, {40, 9, 0, 256, 1, 1, LAUNCH_conv_f32},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct weight_want want = want_of(&of[i]);
        struct weight_case k = case_new(&want, &seed);
        uint32_t groups = of[i].m, channels = want.cols / 9;
        struct one_op t;
        one_op_open(&t, PITH_OP_CONV, 3, 1);
        t.kernels = &reference;
        t.attr[ATTR_CONV_GROUP] = (int32_t)groups;
        one_op_list(&t, ATTR_CONV_STRIDES, 2, (int32_t[]){1, 2});
        one_op_list(&t, ATTR_CONV_PADS, 4, (int32_t[]){1, 0, 1, 2});
        random_floats(&t, &seed, 0, DIMS(2, channels * groups, 7, 19));
        one_op_in(&t, 1, PITH_F32, DIMS(want.rows, channels, 3, 3), NULL);
        random_floats(&t, &seed, 2, DIMS(want.rows));
        k.w.shape = t.in[1].shape;
        check_beside(&t, &k, of[i].kernel, 2.0 * want.cols * want.cols / 16777216);
    }
}

/* The weight is expanded: codes of each width, one codebook and several, and either order. */
TEST(test_shared_products)
{
    static const struct product_case of[] = {
        {70, 333, 0, 16, 2, 20, LAUNCH_gemm_f32},   {65, 162, 0.5, 200, 13, 130, LAUNCH_gemm_f32},
        {33, 1030, 0, 32, 33, 33, LAUNCH_gemm_f32}, {300, 9, 0, 200, 1, 65, LAUNCH_gemm_f32},
        {1030, 33, 0.7, 15, 2, 9, LAUNCH_gemm_f32}, {333, 70, 0, 31, 333, 20, LAUNCH_gemm_f32},
    };
    for (uint32_t i = 0; i < sizeof of / sizeof *of; i++) {
        const bool terms_first = of[i].rows > of[i].cols;
        const uint32_t terms = terms_first ? of[i].rows : of[i].cols;
        struct weight_want want = want_of(&of[i]);
        struct weight_case k = case_new(&want, &seed);
        struct one_op t;
        shared_product(&t, &seed, of[i].m, &k, terms_first);
        struct tview residual;
        struct guarded added = give_tail(&t, &residual, &seed, i);
        assert_true(check_beside(&t, &k, of[i].kernel, 2.0 * terms * terms / 16777216));
        guard_free(&added);
    }
}

TEST(test_shared_conv)
{
    static const uint32_t centroids[] = {16, 200, 31};
    for (uint32_t i = 0; i < 2 * sizeof shared_convs / sizeof *shared_convs; i++) {
        const struct conv_case *c = &shared_convs[i / 2];
        const uint32_t terms = c->channels * c->kh * c->kw, all = c->groups * c->outputs;
        struct weight_want want = {.rows = all,
                                   .cols = terms,
                                   .density = 0.6,
                                   .dense = i % 2,
                                   .n_centroids = centroids[i % 3],
                                   .n_groups = i % 4 == 1 && all % 2 == 0 ? 2 : 1,
                                   .scale = 1.0f};
        struct weight_case k = case_new(&want, &seed);
        struct one_op t;
        weight_conv(&t, &seed, c, &k);
        struct tview residual;
        struct guarded added = give_tail(&t, &residual, &seed, i);
        assert_true(check_beside(&t, &k, LAUNCH_conv_f32, 2.0 * terms * terms / 16777216));
        guard_free(&added);
    }
}

/* The weight as [k, n]: its rows are terms of the sums. */
TEST(test_terms_first)
{
    static const struct product_case of[] = {{70, 90, 0.3, 16, 1, 5, LAUNCH_gemm_f32},
                                             {33, 67, 0, 200, 33, 70, LAUNCH_gemm_f32},
                                             {33, 67, 0.5, 256, 1, 9, LAUNCH_gemm_f32}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct weight_want want = want_of(&of[i]);
        struct weight_case k = case_new(&want, &seed);
        struct one_op t;
        one_op_open(&t, PITH_OP_MATMUL, 2, 1);
        t.kernels = &reference;
        random_floats(&t, &seed, 0, DIMS(of[i].m, want.rows));
        one_op_in(&t, 1, PITH_F32, DIMS(want.rows, want.cols), NULL);
        check_beside(&t, &k, of[i].kernel, 2.0 * want.rows * want.rows / 16777216);
    }
}

/* A GRU's last gate is multiplied by itself: rows of the weight that do not begin with the first.
 */
TEST(test_recurrent)
{
    static const struct product_case of[] = {{60, 20, 0.2, 16, 1, 2, LAUNCH_gemv_f32},
                                             {60, 20, 0.1, 16, 3, 20, LAUNCH_gemm_f32},
                                             {60, 20, 0, 16, 3, 70, LAUNCH_gemm_f32},
                                             {240, 80, 0, 16, 240, 1, LAUNCH_gemv_codes_far}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct weight_want want = want_of(&of[i]);
        struct weight_case k = case_new(&want, &seed);
        struct one_op t;
        one_op_open(&t, PITH_OP_RECURRENT, 2, 1);
        t.kernels = &reference;
        t.attr[ATTR_RECURRENT_KIND] = 1;
        random_floats(&t, &seed, 0, DIMS(2, of[i].m, want.rows));
        one_op_in(&t, 1, PITH_F32, DIMS(want.rows, want.cols), NULL);
        check_beside(&t, &k, of[i].kernel, 1e-4);
    }
}

RUN_TESTS
