/* SPDX-License-Identifier: MIT */
/* Weights of 16-bit floats as the device has them: stored so, with activations as they are; and,
 * where a plan allows it, any weight by tensor cores, within what pith_cuda.h says. */
#include <float.h>
#include "weight_product_case.h"
#include "core/element_f32.h"

static uint64_t seed = 5;

/* ---- rounding ----------------------------------------------------------------------------------
 */

static float value_of(enum pith_type type, uint32_t bits)
{
    uint8_t bytes[2];
    float v;
    store_le16(bytes, (uint16_t)bits);
    pith_elements_to_f32(type, bytes, 1, &v);
    return v;
}

/* Each number stays itself; halfway to the next it goes to the even one, and by a bit more or less
 * to the nearer. */
static void check_rounding(enum pith_type type, uint32_t (*round)(float), uint32_t infinite)
{
    for (uint32_t bits = 0; bits < infinite; bits++) {
        const float low = value_of(type, bits);
        const double high = bits + 1 < infinite
                                ? (double)value_of(type, bits + 1)
                                : 2.0 * (double)low - (double)value_of(type, bits - 1);
        const float half = (float)(((double)low + high) / 2);
        assert_int_equal(round(low), bits);
        assert_int_equal(round(-low), bits | 0x8000);
        assert_int_equal(round(half), bits + bits % 2);
        assert_int_equal(round(nextafterf(half, 0)), bits);
        assert_int_equal(round(nextafterf(half, INFINITY)), bits + 1);
    }
    assert_int_equal(round(INFINITY), infinite);
    assert_int_equal(round(-INFINITY), infinite | 0x8000);
    assert_int_equal(round(-FLT_MAX), infinite | 0x8000);
    assert_int_equal(round(NAN), 0x7fff);
}

TEST(test_rounding)
{
    check_rounding(PITH_F16, f16_of_f32, 0x7c00);
    check_rounding(PITH_BF16, bf16_of_f32, 0x7f80);
}

/* ---- stored so ---------------------------------------------------------------------------------
 */

/* A dense weight of `type` with the numbers of dense[]: subnormal ones, too, and with one column
 * all there are, infinite ones and NaN among them. */
static struct weight_case half_case(uint32_t rows, uint32_t cols, enum pith_type type)
{
    struct weight_want want = {.rows = rows, .cols = cols, .dense = true, .scale = 1.0f};
    struct weight_case k = case_new(&want, &seed);
    k.w.type = type;
    for (uint64_t i = 0; i < k.w.count; i++) {
        uint32_t bits = (uint32_t)(random_u64(&seed) >> 40) & 0xffffu;
        float value;
        if (cols > 1 && type == PITH_F16)
            bits &= i % 7 ? 0xbfffu : 0x83ffu; /* below 2; subnormal */
        else if (cols > 1)
            bits = f32_bits((float)k.dense[i]) >> 16;
        store_le16(k.stream + 2 * i, (uint16_t)bits);
        pith_elements_to_f32(type, k.stream + 2 * i, 1, &value);
        k.dense[i] = (double)value;
    }
    k.w.index_stream.n_bytes = 2 * k.w.count;
    return k;
}

TEST(test_half_products)
{
    static const struct {
        uint32_t m, n, k;
        bool terms_first;
        enum launch_kernel kernel;
    } of[] = {{1, 37, 300, false, LAUNCH_gemv_half},  {3, 19, 301, false, LAUNCH_gemv_half},
              {2, 9, 2, false, LAUNCH_gemv_half},     {1, 999, 1, false, LAUNCH_gemv_half},
              {2, 11, 2008, false, LAUNCH_gemv_half}, {1, 9, 1024, false, LAUNCH_gemv_half},
              {70, 90, 75, false, LAUNCH_gemm_f32},   {5, 67, 33, true, LAUNCH_gemm_f32}};
    for (size_t i = 0; i < 2 * sizeof of / sizeof *of; i++) {
        size_t c = i / 2;
        uint32_t rows = of[c].terms_first ? of[c].k : of[c].n;
        uint32_t cols = of[c].terms_first ? of[c].n : of[c].k;
        struct weight_case k = half_case(rows, cols, i % 2 ? PITH_F16 : PITH_BF16);
        struct one_op t;
        one_op_open(&t, PITH_OP_MATMUL, 2, 1);
        t.kernels = &reference;
        t.attr[ATTR_MATMUL_TRANS_B] = !of[c].terms_first;
        random_floats(&t, &seed, 0, DIMS(of[c].m, of[c].k));
        one_op_in(&t, 1, PITH_F32, DIMS(rows, cols), NULL);
        check_beside(&t, &k, of[c].kernel, cols > 1 ? 8.0 * of[c].k * of[c].k / 16777216 : 0);
    }
}

TEST(test_half_conv)
{
    for (uint32_t groups = 1; groups <= 2; groups++) {
        struct weight_case k = half_case(40 * groups, 45, groups == 1 ? PITH_F16 : PITH_BF16);
        struct one_op t;
        one_op_open(&t, PITH_OP_CONV, 2, 1);
        t.kernels = &reference;
        t.attr[ATTR_CONV_GROUP] = (int32_t)groups;
        one_op_list(&t, ATTR_CONV_PADS, 4, (int32_t[]){1, 0, 1, 2});
        random_floats(&t, &seed, 0, DIMS(2, 5 * groups, 9, 15));
        one_op_in(&t, 1, PITH_F32, DIMS(40 * groups, 5, 3, 3), NULL);
        k.w.shape = t.in[1].shape;
        check_beside(&t, &k, LAUNCH_conv_f32, 8.0 * 45 * 45 / 16777216);
    }
}

/* Several blocks share the sums of each case. */
TEST(test_shared_products)
{
    static const struct {
        uint32_t m, n, k;
        bool terms_first;
    } of[] = {{20, 70, 333, false}, {9, 33, 1030, true}, {130, 65, 162, false}, {65, 9, 300, true}};
    for (uint32_t i = 0; i < 2 * sizeof of / sizeof *of; i++) {
        const uint32_t c = i / 2;
        const uint32_t rows = of[c].terms_first ? of[c].k : of[c].n;
        const uint32_t cols = of[c].terms_first ? of[c].n : of[c].k;
        struct weight_case k = half_case(rows, cols, i % 2 ? PITH_F16 : PITH_BF16);
        struct one_op t;
        shared_product(&t, &seed, of[c].m, &k, of[c].terms_first);
        struct tview residual;
        struct guarded added = give_tail(&t, &residual, &seed, i);
        assert_true(check_beside(&t, &k, LAUNCH_gemm_f32, 8.0 * of[c].k * of[c].k / 16777216));
        guard_free(&added);
    }
}

TEST(test_shared_conv)
{
    for (uint32_t i = 0; i < 2 * sizeof shared_convs / sizeof *shared_convs; i++) {
        const struct conv_case *c = &shared_convs[i / 2];
        const uint32_t terms = c->channels * c->kh * c->kw;
        struct weight_case k =
            half_case(c->groups * c->outputs, terms, i % 2 ? PITH_F16 : PITH_BF16);
        struct one_op t;
        weight_conv(&t, &seed, c, &k);
        struct tview residual;
        struct guarded added = give_tail(&t, &residual, &seed, i);
        assert_true(check_beside(&t, &k, LAUNCH_conv_f32, 8.0 * terms * terms / 16777216));
        guard_free(&added);
    }
}

/* ---- tensor cores ------------------------------------------------------------------------------
 */

static float *filled(size_t n, const float *from)
{
    float *p = malloc(n * sizeof *p);
    for (size_t i = 0; i < n; i++)
        p[i] = from ? fabsf(from[i]) : 1.0f;
    return p;
}

/* Adds `factor` times the sums of |x| |w|, of 1 in the place of x or w where it is NULL. */
static void add_sums(struct one_op *t, double *bound, double factor, const float *x, const float *w)
{
    void *kept[] = {t->in[0].data, t->in[1].data};
    t->in[0].data = filled(shape_elems(&t->in[0].shape), x);
    t->in[1].data = filled(shape_elems(&t->in[1].shape), w);
    one_op_run(t, false);
    for (size_t i = 0; i < shape_elems(&t->out[0].shape); i++)
        bound[i] += factor * value_at(&t->out[0], i);
    for (uint32_t i = 0; i < 2; i++) {
        free(t->in[i].data);
        t->in[i].data = kept[i];
    }
}

/* As pith_cuda.h says. The operator has a bias, too, and no activation yet; so its values are in
 * each of the sums, which may only make them larger. */
static double *mma_bound(struct one_op *t, const struct weight *w, uint32_t terms)
{
    double *bound = calloc(shape_elems(&t->out[0].shape), sizeof *bound);
    const float *x = t->in[0].data, *dense = t->in[1].data, *bias = t->in[2].data;
    const double sum = 2.0 * terms * 0x1p-24;
    t->in[2].data = filled(shape_elems(&t->in[2].shape), bias);
    add_sums(t, bound,
             sum + (w->type == PITH_BF16  ? 0x1p-8
                    : w->type == PITH_F16 ? 0x1p-11
                                          : 0x1p-10),
             x, dense);
    if (w->type != PITH_BF16)
        add_sums(t, bound, 0x1p-25, NULL, dense);
    if (w->type == PITH_F32)
        add_sums(t, bound, 0x1p-25, x, NULL);
    free(t->in[2].data);
    memcpy(&t->in[2].data, &bias, sizeof bias);
    return bound;
}

/* f32, with codebooks, f16, bf16 */
static struct weight_case any_case(uint32_t round, uint32_t rows, uint32_t cols)
{
    struct weight_want want = {.rows = rows,
                               .cols = cols,
                               .density = 0.6,
                               .dense = round % 2,
                               .scale = 1.0f,
                               .n_groups = 1};
    switch (round % 4) {
    case 0:
        want.n_centroids = 16;
        return case_new(&want, &seed);
    case 1:
        return case_new(&want, &seed);
    default:
        return half_case(rows, cols < 2 ? 2 : cols, round % 4 == 2 ? PITH_F16 : PITH_BF16);
    }
}

TEST(test_mma_products)
{
    static const struct {
        uint32_t m, n, k;
        bool turned, a_turned;
        enum launch_kernel kernel;
    } of[] = {{70, 90, 75, false, false, LAUNCH_gemm_mma},
              {65, 64, 32, false, false, LAUNCH_gemm_mma},
              {9, 33, 100, false, false, LAUNCH_gemm_mma},
              {64, 130, 33, true, false, LAUNCH_gemm_mma},
              {67, 9, 64, true, true, LAUNCH_gemm_mma},
              {10, 20, 31, false, true, LAUNCH_gemm_mma},
              {20, 70, 600, false, false, LAUNCH_gemm_mma},
              {65, 9, 521, true, true, LAUNCH_gemm_mma},
              {3, 37, 70, true, false, LAUNCH_gemv_half},
              {1, 37, 301, true, false, LAUNCH_gemv_half},
              {2, 21, 264, true, false, LAUNCH_gemv_half},
              {1, 30, 136, true, false, LAUNCH_gemv_half},
              {70, 90, 75, false, false, LAUNCH_gemm_mma_many},
              {65, 9, 521, true, true, LAUNCH_gemm_mma_many}};
    half_products = true;
    for (uint32_t i = 0; i < 4 * sizeof of / sizeof *of; i++) {
        size_t c = i / 4;
        processors = of[c].kernel == LAUNCH_gemm_mma_many ? 1 : 0;
        uint32_t rows = of[c].turned ? of[c].k : of[c].n, cols = of[c].turned ? of[c].n : of[c].k;
        struct weight_case k = any_case(i, rows, cols);
        struct one_op t;
        one_op_open(&t, PITH_OP_GEMM, 3, 1);
        t.kernels = &reference;
        t.attr[ATTR_GEMM_TRANS_A] = of[c].a_turned;
        t.attr[ATTR_GEMM_TRANS_B] = !of[c].turned;
        if (of[c].a_turned)
            random_floats(&t, &seed, 0, DIMS(of[c].k, of[c].m));
        else
            random_floats(&t, &seed, 0, DIMS(of[c].m, of[c].k));
        one_op_in(&t, 1, PITH_F32, DIMS(rows, cols), NULL);
        random_floats(&t, &seed, 2, DIMS(of[c].n));
        dense_input(&t, &k);
        double *bound = mma_bound(&t, &k.w, of[c].k);
        struct tview residual;
        struct guarded added = give_tail(&t, &residual, &seed, i);
        const bool codes = k.w.grid == GRID_CODEBOOK, along = !of[c].turned && !of[c].a_turned;
        check_within(&t, &k,
                     codes && along && of[c].m <= CODES_MMA_ROWS ? LAUNCH_codes_mma : of[c].kernel,
                     bound);
        guard_free(&added);
    }
    half_products = false;
    processors = 0;
}

/* Groups, strides, dilation; channels and terms that end within parts and slices; several images.
 */
TEST(test_mma_conv)
{
    static const struct {
        struct conv_case conv;
        enum launch_kernel kernel;
    } of[] = {{{1, 1, 3, 20, 13, 17, 3, 3, 2, 1}, LAUNCH_conv_mma},
              {{3, 1, 33, 70, 5, 7, 1, 1, 1, 1}, LAUNCH_conv_mma},
              {{2, 2, 9, 17, 6, 5, 3, 2, 1, 1}, LAUNCH_conv_mma},
              {{5, 1, 64, 16, 3, 3, 1, 3, 1, 1}, LAUNCH_conv_mma},
              {{1, 1, 8, 16, 14, 9, 3, 3, 1, 2}, LAUNCH_conv_mma},
              {{1, 3, 17, 40, 1, 70, 1, 5, 3, 1}, LAUNCH_conv_mma},
              {{67, 1, 40, 20, 1, 1, 3, 3, 9, 1}, LAUNCH_conv_mma},
              {{1, 2, 70, 65, 6, 6, 3, 3, 1, 1}, LAUNCH_conv_mma},
              {{3, 1, 531, 20, 3, 4, 1, 1, 1, 1}, LAUNCH_conv_mma},
              {{1, 1, 130, 9, 9, 9, 2, 3, 2, 2}, LAUNCH_conv_mma},
              {{3, 2, 9, 20, 8, 9, 1, 3, 1, 1}, LAUNCH_conv_mma_many},
              {{2, 1, 70, 70, 6, 9, 1, 1, 1, 1}, LAUNCH_conv_mma_many}};
    half_products = true;
    for (uint32_t i = 0; i < 4 * sizeof of / sizeof *of; i++) {
        const struct conv_case *c = &of[i / 4].conv;
        const uint32_t terms = c->channels * c->kh * c->kw;
        struct weight_case k = any_case(i, c->groups * c->outputs, terms);
        struct one_op t;
        processors = of[i / 4].kernel == LAUNCH_conv_mma_many ? 1 : 0;
        weight_conv(&t, &seed, c, &k);
        dense_input(&t, &k);
        double *bound = mma_bound(&t, &k.w, terms);
        struct tview residual;
        struct guarded added = give_tail(&t, &residual, &seed, i);
        check_within(&t, &k, of[i / 4].kernel, bound);
        guard_free(&added);
    }
    half_products = false;
    processors = 0;
}

RUN_IN_BOTH
