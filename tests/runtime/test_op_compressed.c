/* SPDX-License-Identifier: MIT */
/* Gemm, MatMul and Conv with a sparse or clustered constant: straight from the compressed bytes
 * where there is a run form, expanded where there is none or with PITH_FLAG_DENSE_ONLY; the
 * sums are the same within the bound of kernel_dense.h and kernel_sparse.h. */
#include <math.h>
#include "test_run.h"
#include "kernels/ref/integer_element.h"
#include "kernels/kernels.h"
#include "op_interface/op_exec.h"
#include "weight_case.h"
#include "pith_runtime.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

static uint64_t seed = 0xc0de;

struct compressed {
    enum pith_op op;
    uint32_t m;
    uint32_t flags, features;
    bool residual;
    uint32_t product; /* the kernel's number in PRODUCT_KERNELS; 0: the cheapest */
};

static void floats_fill(float *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = random_f32(&seed);
}

static void expect(const struct compressed *t, const struct weight_case *k, const float *x,
                   const float *bias, const float *res, const float *y)
{
    for (size_t i = 0; i < t->m; i++)
        for (size_t r = 0; r < k->rows; r++) {
            double sum = bias ? bias[r] : 0, size = fabs(sum), res_value = 0;
            for (size_t c = 0; c < k->cols; c++) {
                double p = k->dense[r * k->cols + c] * x[i * k->cols + c];
                sum += p;
                size += fabs(p);
            }
            if (res)
                res_value = res[i * k->rows + r];
            sum += res_value;
            size += fabs(res_value);
            double want = sum < 0 ? 0 : sum, got = y[i * k->rows + r];
            double bound = 2 * (k->cols + 4) * ldexp(1, -24) * size;
            if (fabs(got - want) > bound)
                fail_msg("op %d row %zu of %u: expected %.9g, got %.9g, bound %.3g", (int)t->op, r,
                         k->rows, want, got, bound);
        }
}

/* What the operator said it needs is what it gets; the outputs have their data. */
static void prepare_and_run(struct op_args *args, struct op_env *env, const struct op_need *need)
{
    args->prep = need->prep_bytes ? aligned_alloc(64, (need->prep_bytes + 63) / 64 * 64) : NULL;
    env->scratch = aligned_alloc(64, need->prep_scratch_bytes / 64 * 64 + 64);
    assert_int_equal(args->info->prepare(args, env), PITH_OK);
    free(env->scratch);
    env->scratch = aligned_alloc(64, need->scratch_bytes / 64 * 64 + 64);
    args->info->run(args, env);
    free(args->prep), free(env->scratch);
}

/* Runs it and returns the name of the kernel that did. */
static const char *check(const struct compressed *t, const struct weight_want *want)
{
    struct weight_case k = case_new(want, &seed);
    struct pith_kernels kernels;
    struct op_env env = {.kernels = &kernels, .flags = t->flags};
    struct op_need need;
    int32_t attr[PITH_OP_MAX_SLOTS];
    bool conv = t->op == PITH_OP_CONV, has_bias = t->op != PITH_OP_MATMUL;
    size_t n_x = (size_t)t->m * k.cols, n_y = (size_t)t->m * k.rows;
    float *x = malloc(n_x * sizeof *x), *y = malloc(n_y * sizeof *y);
    float *bias = malloc(k.rows * sizeof *bias), *res = malloc(n_y * sizeof *res);
    assert_true(x && y && bias && res);
    floats_fill(x, n_x), floats_fill(bias, k.rows), floats_fill(res, n_y);
    struct tview in0 = {PITH_F32, {conv ? 4 : 2, {t->m, k.cols, conv, conv}}, x};
    struct tview in1 = {PITH_F32, {conv ? 4 : 2, {k.rows, k.cols, conv, conv}}, NULL};
    struct tview in2 = {PITH_F32, {1, {k.rows}}, bias}, out = {0}, residual;
    const struct tview *in[3] = {&in0, &in1, &in2};
    struct tview *outs[1] = {&out};
    uint64_t lowered[(OP_LOWERED_MAX + 7) / 8];
    struct op_args args = {.info = pith_op_get(t->op),
                           .attr = attr,
                           .n_in = has_bias ? 3 : 2,
                           .n_out = 1,
                           .in = in,
                           .out = outs,
                           .weight = &k.w,
                           .choice =
                               (uint8_t)(conv && t->product ? 1 + 16 * t->product : t->product),
                           .fuse = {.act = ACT_RELU},
                           .lowered = lowered};
    pith_kernels_fill(&kernels, t->features);
    pith_op_attr_defaults(args.info, attr);
    if (t->op == PITH_OP_MATMUL)
        attr[ATTR_MATMUL_TRANS_B] = 1;
    assert_int_equal(args.info->shape(&args), PITH_OK);
    residual = out;
    residual.data = res;
    if (t->residual)
        args.fuse.residual = &residual;
    assert_int_equal(args.info->need(&args, &env, &need), PITH_OK);
    out.data = y;
    prepare_and_run(&args, &env, &need);
    expect(t, &k, x, has_bias ? bias : NULL, t->residual ? res : NULL, y);
    free(x), free(y), free(bias), free(res);
    case_free(&k);
    return need.kernel;
}

static bool dense(const char *kernel)
{
    return strcmp(kernel, "gemv-f32") == 0 || strcmp(kernel, "gemm-f32") == 0;
}

static const struct weight_want weights[] = {
    {64, 300, PATTERN_RANDOM, 0.1, false, 32, 1, 1.0f},
    {40, 500, PATTERN_RANDOM, 0.3, false, 0, 1, 1.0f},
    {33, 257, PATTERN_FULL, 1.0, true, 16, 1, 1.0f},
    {37, 700, PATTERN_RANDOM, 0.5, false, 32, 1, 1.0f}, /* several blocks of K */
    {70, 100, PATTERN_TRIANGLE, 0, false, 200, 1, 1.0f},
};

TEST(test_all_ways)
{
    static const uint32_t levels[] = {0, PITH_CPU_AVX2, PITH_CPU_AVX2 | PITH_CPU_AVX512};
    static const enum pith_op ops[] = {PITH_OP_GEMM, PITH_OP_MATMUL, PITH_OP_CONV};
    static const uint32_t rows[] = {1, 3, 5, 6, 9, 10}; /* the last four: wide jobs of AVX2 */
    uint32_t forms = 0, best = pith_cpu_features();
    for (size_t w = 0; w < sizeof weights / sizeof *weights; w++)
        for (uint32_t l = 0; l < 4; l++)
            for (uint32_t o = 0; o < 3; o++)
                for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
                    uint32_t m = rows[r];
                    uint32_t features = l < 3 ? levels[l] : best;
                    struct compressed t = {
                        .op = ops[o], .m = m, .features = features, .residual = (w + m) % 2 == 0};
                    if ((best & features) != features)
                        continue;
                    const char *kernel = check(&t, &weights[w]);
                    forms += !dense(kernel);
                    t.flags = PITH_FLAG_DENSE_ONLY;
                    assert_true(dense(check(&t, &weights[w])));
                }
    if (best & PITH_CPU_AVX512)
        assert_true(forms > 0);
}

/* The kernel of several rows, whatever it costs: with one unit of rows and two, with indices and
 * values, and more rows than a strip of them. */
TEST(test_several_rows)
{
    static const struct weight_want some[] = {
        {300, 130, PATTERN_RANDOM, 0.2, false, 16, 1, 1.0f},
        {40, 1100, PATTERN_RANDOM, 0.1, false, 0, 1, 1.0f},
    };
    static const uint32_t rows[] = {2, 3, 8, 17, 49, 70};
    static const enum pith_op ops[] = {PITH_OP_GEMM, PITH_OP_MATMUL, PITH_OP_CONV};
    static const uint32_t levels[] = {PITH_CPU_AVX2, PITH_CPU_AVX2 | PITH_CPU_AVX512, UINT32_MAX};
    enum { QUADS = 7 };
    for (size_t l = 0; l < 3; l++)
        for (size_t w = 0; w < sizeof some / sizeof *some; w++)
            for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
                uint32_t best = pith_cpu_features(), features = best & levels[l];
                struct compressed t = {.op = ops[r % 3],
                                       .m = rows[r],
                                       .features = features,
                                       .residual = r % 2 == 0,
                                       .product = QUADS};
                if (!(features & (PITH_CPU_AVX2 | PITH_CPU_NEON)))
                    continue;
                assert_string_equal(check(&t, &some[w]), "spmm");
            }
}

/* A pruned convolution over images, wide enough for several tiles and a last one that is narrow. */
struct pruned_conv {
    uint32_t n, c, o, side, kernel, stride, pad, centroids;
    double density;
};

static void run_conv(const struct pruned_conv *t, const struct weight_case *k, uint32_t features,
                     uint8_t choice, struct tview *x, struct tview *bias, float *y)
{
    struct pith_kernels kernels;
    struct op_env env = {.kernels = &kernels, .flags = PITH_FLAG_DECODE_ONCE};
    struct op_need need;
    int32_t attr[PITH_OP_MAX_SLOTS];
    struct tview w = {PITH_F32, {4, {t->o, t->c, t->kernel, t->kernel}}, NULL}, out = {0}, residual;
    const struct tview *in[3] = {x, &w, bias};
    struct tview *outs[1] = {&out};
    uint64_t lowered[(OP_LOWERED_MAX + 7) / 8];
    struct op_args args = {.info = pith_op_get(PITH_OP_CONV),
                           .attr = attr,
                           .n_in = 3,
                           .n_out = 1,
                           .in = in,
                           .out = outs,
                           .weight = &k->w,
                           .choice = choice,
                           .fuse = {.act = ACT_RELU},
                           .lowered = lowered};
    pith_kernels_fill(&kernels, features);
    pith_op_attr_defaults(args.info, attr);
    attr[ATTR_CONV_STRIDES] = 2, attr[ATTR_CONV_PADS] = 4; /* lengths of the lists */
    for (uint32_t i = 1; i <= 4; i++) {
        attr[ATTR_CONV_STRIDES + (i + 1) / 2] = (int32_t)t->stride;
        attr[ATTR_CONV_PADS + i] = (int32_t)t->pad;
    }
    assert_int_equal(args.info->shape(&args), PITH_OK);
    residual = out;
    residual.data = (float *)x->data; /* as many at least */
    assert_true(shape_elems(&out.shape) <= shape_elems(&x->shape));
    args.fuse.residual = &residual;
    assert_int_equal(args.info->need(&args, &env, &need), PITH_OK);
    if (choice)
        assert_string_equal(need.kernel,
                            t->kernel == 1 && t->stride == 1 ? "conv1x1-sparse" : "conv-sparse");
    out.data = y;
    prepare_and_run(&args, &env, &need);
}

static void check_conv(const struct pruned_conv *t)
{
    enum { SPARSE = 8 }; /* in CONV_KERNELS */
    uint32_t k_n = t->c * t->kernel * t->kernel;
    struct weight_want want = {.rows = t->o,
                               .cols = k_n,
                               .density = t->density,
                               .n_centroids = t->centroids,
                               .n_groups = 1,
                               .scale = 1};
    static const uint32_t levels[] = {PITH_CPU_AVX2, PITH_CPU_AVX2 | PITH_CPU_AVX512,
                                      PITH_CPU_NEON};
    struct weight_case k = case_new(&want, &seed);
    size_t n_x = (size_t)t->n * t->c * t->side * t->side,
           n_y = (size_t)t->n * t->o * t->side * t->side;
    float *x = malloc(n_x * sizeof *x), *bias = malloc(t->o * sizeof *bias);
    float *y = malloc(n_y * sizeof *y), *right = malloc(n_y * sizeof *right);
    struct tview image = {PITH_F32, {4, {t->n, t->c, t->side, t->side}}, x};
    struct tview biases = {PITH_F32, {1, {t->o}}, bias};
    k.w.shape = (struct shape){4, {t->o, t->c, t->kernel, t->kernel}};
    floats_fill(x, n_x), floats_fill(bias, t->o);
    uint32_t side = (t->side + 2 * t->pad - t->kernel) / t->stride + 1;
    size_t n = (size_t)t->n * t->o * side * side;
    run_conv(t, &k, 0, 0, &image, &biases, right);
    for (size_t l = 0; l < sizeof levels / sizeof *levels; l++) {
        if ((pith_cpu_features() & levels[l]) != levels[l])
            continue;
        memset(y, 0xff, n_y * sizeof *y);
        run_conv(t, &k, levels[l], SPARSE, &image, &biases, y);
        for (size_t i = 0; i < n; i++)
            if (!(fabs((double)y[i] - (double)right[i]) <= ldexp(4.0 * (k_n + 2) * (k_n + 2), -24)))
                fail_msg("level %x, element %zu: %g, expected %g", levels[l], i, (double)y[i],
                         (double)right[i]);
    }
    free(x), free(y), free(bias), free(right);
    case_free(&k);
}

TEST(test_pruned_convolutions)
{
    static const struct pruned_conv some[] = {
        {2, 20, 17, 9, 1, 1, 0, 16, 0.2},  {1, 8, 3, 15, 3, 1, 1, 0, 0.3},
        {1, 6, 6, 14, 3, 2, 1, 256, 0.5},  {2, 70, 60, 7, 3, 1, 1, 30, 0.1},
        {1, 300, 270, 5, 1, 1, 0, 0, 0.1}, {1, 40, 9, 13, 1, 2, 0, 16, 0.3}};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        check_conv(&some[i]);
}

RUN_TESTS
