/* SPDX-License-Identifier: MIT */
/* dense_case.h - one Conv, Gemm or MatMul, run at every level of this machine, with its second
 * input as a constant weight (plain in the image, or of 16 bits and so expanded) and as data, on
 * one thread and cut up, and held against the sums a test computes in double. */
#ifndef DENSE_CASE_H
#define DENSE_CASE_H

#include <math.h>
#include <string.h>
#include "test_run.h"
#include "backwards.h"
#include "kernels/ref/activate.h"
#include "kernels/ref/integer_element.h"
#include "guard_page.h"
#include "kernels/kernels.h"
#include "op_interface/op_exec.h"
#include "decode/weight.h"
#include "pith_runtime.h"
#include "core/op_number.h"

static uint64_t seed;

struct dense_case {
    struct op_args args;
    int32_t attr[PITH_OP_MAX_SLOTS];
    struct tview view[5]; /* a, b, c, residual, y */
    const struct tview *in[3];
    struct tview *out[1];
    double *sum, *size; /* per output: before the activation; sum of |terms| */
    uint32_t terms;
};

static uint32_t pick(uint32_t from, uint32_t to)
{
    return from + (uint32_t)(random_u64(&seed) % (to - from + 1));
}

/* random values with 10 bits, so that f16 holds them exactly */
static void case_view(struct tview *v, uint32_t rank, const uint32_t *dim)
{
    *v = (struct tview){.type = PITH_F32, .shape = {.rank = rank}};
    memcpy(v->shape.dim, dim, rank * sizeof *dim);
    size_t n = shape_elems(&v->shape);
    float *data = malloc(n * sizeof *data);
    assert_non_null(data);
    for (size_t i = 0; i < n; i++)
        data[i] = (float)((int)(random_u64(&seed) % 1025) - 512) / 512.0f;
    v->data = data;
}

/* Opens a case of `op` with defaults; view[0], view[1] must be set before case_shape. */
static void case_open(struct dense_case *t, enum pith_op op)
{
    memset(t, 0, sizeof *t);
    const struct op_info *info = pith_op_get(op);
    pith_op_attr_defaults(info, t->attr);
    t->args = (struct op_args){
        .info = info, .attr = t->attr, .n_in = 2, .n_out = 1, .in = t->in, .out = t->out};
    t->in[0] = &t->view[0], t->in[1] = &t->view[1];
    t->out[0] = &t->view[4];
}

static enum pith_status case_shape(struct dense_case *t)
{
    enum pith_status st = pith_op_check(t->args.info, t->attr, t->args.n_in, 1);
    return st ? st : t->args.info->shape(&t->args);
}

static void case_add(struct dense_case *t, size_t i, double a, double b)
{
    t->sum[i] += a * b;
    t->size[i] += fabs(a * b);
}

/* After case_shape: room for the expected sums, a residual and an activation at random. */
static void case_expect(struct dense_case *t, uint32_t terms)
{
    static const struct epilogue fuses[] = {
        {.act = ACT_NONE, .a = 0, .b = 0},        {.act = ACT_RELU, .a = 0, .b = 0},
        {.act = ACT_CLIP, .a = -0.5f, .b = 1.5f}, {.act = ACT_TANH, .a = 0, .b = 0},
        {.act = ACT_LEAKY, .a = 0.1f, .b = 0},    {.act = ACT_HARD_SWISH, .a = 0, .b = 0},
        {.act = ACT_SWISH, .a = 0, .b = 0}};
    size_t n = shape_elems(&t->view[4].shape);
    t->sum = calloc(n, sizeof *t->sum);
    t->size = calloc(n, sizeof *t->size);
    assert_true(t->sum && t->size);
    t->terms = terms + 2;
    t->args.fuse = fuses[pick(0, 6)];
    if (pick(0, 2) == 0) {
        case_view(&t->view[3], t->view[4].shape.rank, t->view[4].shape.dim);
        t->args.fuse.residual = &t->view[3];
        for (size_t i = 0; i < n; i++)
            case_add(t, i, ((float *)t->view[3].data)[i], 1);
    }
}

/* Bound: 2 T 2^-24 sum |terms| (test_kernels_dense.c), times the steepest slope, 1.5; alpha and
 * beta round once more each. */
static void case_compare(const struct dense_case *t, const float *y, const char *what)
{
    const struct epilogue *f = &t->args.fuse;
    for (size_t i = 0; i < shape_elems(&t->view[4].shape); i++) {
        float want = pith_activate(f->act, f->a, f->b, (float)t->sum[i]);
        double bound = 1.5 * 2 * (t->terms + 2) * ldexp(1, -24) * t->size[i] + ldexp(1, -20);
        if (fabs((double)y[i] - want) > bound)
            fail_msg("%s: element %zu: expected %.9g, got %.9g (seed %llu)", what, i, want, y[i],
                     (unsigned long long)seed);
    }
}

/* One way of running; y: guarded, of the output's size. */
static void case_run_one(struct dense_case *t, const struct pith_kernels *kernels,
                         const struct weight *weight, bool cut, float *y)
{
    struct op_env env = {.kernels = kernels, .parallel_for = cut ? backwards : NULL};
    struct op_need need;
    float *b = t->view[1].data;
    t->args.weight = weight;
    t->args.prep = NULL;
    if (weight)
        t->view[1].data = NULL;
    t->view[4].data = NULL;
    struct guarded lowered = guard_new((op_lowered_bytes(&t->args, &env) + 7) / 8 * 8, 1);
    t->args.lowered = lowered.data;
    assert_int_equal(t->args.info->need(&t->args, &env, &need), PITH_OK);
    assert_non_null(need.kernel);
    struct guarded prep = guard_new((need.prep_bytes + 63) / 64 * 64, 1);
    struct guarded prep_scratch = guard_new((need.prep_scratch_bytes + 63) / 64 * 64, 1);
    struct guarded scratch = guard_new((need.scratch_bytes + 63) / 64 * 64, 1);
    t->args.prep = need.prep_bytes ? prep.data : NULL;
    env.scratch = prep_scratch.data;
    assert_int_equal(t->args.info->prepare(&t->args, &env), PITH_OK);
    guard_free(&prep_scratch);
    env.scratch = scratch.data;
    t->view[4].data = y;
    t->args.info->run(&t->args, &env);
    guard_free(&scratch);
    guard_free(&prep);
    guard_free(&lowered);
    t->view[1].data = b;
}

/* exact: values with at most 10 bits */
static uint16_t f16_of(float f)
{
    if (f == 0.0f)
        return 0;
    int e;
    float m = frexpf(fabsf(f), &e); /* 0.5 .. 1, f = m 2^e, e >= -8 */
    return (uint16_t)((f < 0 ? 0x8000 : 0) | (uint32_t)(e + 14) << 10 |
                      ((uint32_t)(m * 2048.0f) & 0x3ff));
}

/* All ways; results of one level are the same bits however the work is cut. Under emulation,
 * which is slow, vectors alone, and kinds of weights take turns. */
static void case_check(struct dense_case *t, const char *what)
{
#ifdef CASES
    static uint32_t turn;
    const uint32_t levels[] = {PITH_CPU_NEON}, w0 = turn++ % 3, w1 = w0 + 1;
#else
    const uint32_t levels[] = {0, PITH_CPU_AVX2, PITH_CPU_AVX2 | PITH_CPU_AVX512, PITH_CPU_NEON};
    const uint32_t w0 = 0, w1 = 3;
#endif
    const float *b = t->view[1].data;
    size_t n_b = shape_elems(&t->view[1].shape), n_y = shape_elems(&t->view[4].shape);
    uint16_t *half = malloc(n_b * sizeof *half);
    assert_non_null(half);
    for (size_t i = 0; i < n_b; i++)
        half[i] = f16_of(b[i]);
    struct weight plain = {.type = PITH_F32,
                           .shape = t->view[1].shape,
                           .count = n_b,
                           .nnz = n_b,
                           .group_elems = n_b,
                           .n_groups = 1,
                           .index_stream = {(const uint8_t *)b, n_b * sizeof *b}};
    struct weight f16 = plain;
    f16.type = PITH_F16;
    f16.index_stream = (struct stream){(const uint8_t *)half, n_b * sizeof *half};
    const struct weight *weights[] = {NULL, &plain, &f16};
    for (uint32_t l = 0; l < sizeof levels / sizeof *levels; l++) {
        struct pith_kernels kernels;
        if ((pith_cpu_features() & levels[l]) != levels[l])
            continue;
        pith_kernels_fill(&kernels, levels[l]);
        for (uint32_t w = w0; w < w1; w++) {
            struct guarded y = guard_new(n_y * sizeof(float), 1);
            struct guarded cut = guard_new(n_y * sizeof(float), 1);
            case_run_one(t, &kernels, weights[w], false, y.data);
            case_compare(t, y.data, what);
            case_run_one(t, &kernels, weights[w], true, cut.data);
            assert_memory_equal(y.data, cut.data, n_y * sizeof(float));
            guard_free(&y), guard_free(&cut);
        }
    }
    free(half);
}

static void case_close(struct dense_case *t)
{
    for (uint32_t i = 0; i < 4; i++)
        free(t->view[i].data);
    free(t->sum);
    free(t->size);
}

#endif
