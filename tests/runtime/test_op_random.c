/* SPDX-License-Identifier: MIT */
/* Seeded random shapes and attributes against definitions written as plainly as possible, one
 * element at a time: what the fast paths (merged axes, blocks, ranges) must not change. */
#include <math.h>
#include "one_op.h"
#include "kernels/kernels.h"
#include "pith_runtime.h"
#include "op_interface/op_attr.h"

#define SEED 7u

static uint32_t rng = SEED;

static uint32_t below(uint32_t n)
{
    rng = rng * 1664525u + 1013904223u;
    return (rng >> 8) % n;
}

static float *random_floats(size_t n)
{
    float *x = malloc(n * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((int)below(2001) - 1000) / 64;
    return x;
}

static void random_dims(uint32_t *dims, uint32_t rank, uint32_t max)
{
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = below(4) == 0 ? 1 : 1 + below(max);
}

/* Row-major index of `flat` on each axis. */
static void unravel(const struct shape *s, size_t flat, uint32_t *index)
{
    for (uint32_t i = s->rank; i-- > 0;) {
        index[i] = (uint32_t)(flat % s->dim[i]);
        flat /= s->dim[i];
    }
}

/* Element at `index`, given with as many axes as `rank`; axes of 1 repeat. */
static size_t ravel_repeat(const struct shape *s, const uint32_t *index, uint32_t rank)
{
    size_t flat = 0;
    for (uint32_t i = 0; i < s->rank; i++) {
        uint32_t at = index[rank - s->rank + i];
        flat = flat * s->dim[i] + (s->dim[i] == 1 ? 0 : at);
    }
    return flat;
}

static void expect_near(const struct one_op *t, size_t i, double expected, double bound,
                        const char *what, int round)
{
    double got = (double)((const float *)t->out[0].data)[i];
    if (!(fabs(got - expected) <= bound) && got != expected)
        fail_msg("%s, seed %u, round %d, element %zu: expected %.9g, got %.9g", what, SEED, round,
                 i, expected, got);
}

TEST(test_broadcast)
{
    for (int round = 0; round < 400; round++) {
        uint32_t out[5], rank = below(6), dims[2][5], ranks[2];
        random_dims(out, rank, round % 50 == 0 ? 20 : 5);
        for (int k = 0; k < 2; k++) {
            ranks[k] = below(2) ? rank : below(rank + 1);
            for (uint32_t i = 0; i < ranks[k]; i++)
                dims[k][i] = below(3) == 0 ? 1 : out[rank - ranks[k] + i];
        }
        struct one_op t;
        one_op_open(&t, PITH_OP_SUB, 2, 1);
        for (uint32_t k = 0; k < 2; k++) {
            one_op_in(&t, k, PITH_F32, ranks[k], dims[k], NULL);
            t.in[k].data = random_floats(shape_elems(&t.in[k].shape));
        }
        assert_int_equal(one_op_shape(&t), PITH_OK);
        one_op_run(&t, round & 1);
        const float *a = t.in[0].data, *b = t.in[1].data;
        for (size_t i = 0; i < shape_elems(&t.out[0].shape); i++) {
            uint32_t at[8];
            unravel(&t.out[0].shape, i, at);
            float x = a[ravel_repeat(&t.in[0].shape, at, t.out[0].shape.rank)];
            float y = b[ravel_repeat(&t.in[1].shape, at, t.out[0].shape.rank)];
            expect_near(&t, i, (double)(x - y), 0, "broadcast", round);
        }
        free(t.in[0].data);
        free(t.in[1].data);
        one_op_close(&t);
    }
}

/* Rows of several pieces: both operands moving, one fixed, the other fixed. */
TEST(test_long_rows)
{
    const uint32_t n = 20011, one = 1;
    for (int round = 0; round < 6; round++) {
        struct one_op t;
        one_op_open(&t, PITH_OP_SUB, 2, 1);
        one_op_in(&t, 0, PITH_F32, 1, round % 3 == 1 ? &one : &n, NULL);
        one_op_in(&t, 1, PITH_F32, 1, round % 3 == 2 ? &one : &n, NULL);
        float *a = t.in[0].data = random_floats(n), *b = t.in[1].data = random_floats(n);
        assert_int_equal(one_op_shape(&t), PITH_OK);
        one_op_run(&t, round >= 3);
        for (size_t i = 0; i < n; i++)
            expect_near(&t, i, (double)(a[round % 3 == 1 ? 0 : i] - b[round % 3 == 2 ? 0 : i]), 0,
                        "long row", round);
        free(a);
        free(b);
        one_op_close(&t);
    }
}

struct window {
    int32_t kernel[2], stride[2], dilation[2], pad[4];
};

/* The pool's definition for one output. */
static double pool_naive(const struct one_op *t, const struct window *w, size_t plane, int oh,
                         int ow)
{
    const struct shape *s = &t->in[0].shape;
    int H = (int)s->dim[2], W = (int)s->dim[3];
    const float *x = (const float *)t->in[0].data + plane * (size_t)(H * W);
    double max = -INFINITY, sum = 0;
    int count = 0;
    for (int i = 0; i < w->kernel[0]; i++) {
        for (int j = 0; j < w->kernel[1]; j++) {
            int h = oh * w->stride[0] - w->pad[0] + i * w->dilation[0];
            int v = ow * w->stride[1] - w->pad[1] + j * w->dilation[1];
            bool inside = h >= 0 && h < H && v >= 0 && v < W;
            bool padded = h < H + w->pad[2] && v < W + w->pad[3];
            count += t->attr[ATTR_POOL_INCLUDE_PAD] ? padded : inside;
            if (inside) {
                max = fmax(max, (double)x[h * W + v]);
                sum += (double)x[h * W + v];
            }
        }
    }
    return t->info->op == PITH_OP_MAX_POOL ? max : count ? sum / count : 0;
}

static void random_window(struct window *w, bool wide)
{
    for (int i = 0; i < 2; i++) {
        w->kernel[i] = 1 + (int32_t)below(i && wide ? 90 : 4);
        w->stride[i] = 1 + (int32_t)below(i && wide ? 40 : 4);
        w->dilation[i] = 1 + (int32_t)(below(3) ? 0 : below(3));
        uint32_t span = (uint32_t)((w->kernel[i] - 1) * w->dilation[i] + 1);
        w->pad[i] = (int32_t)below(span);
        w->pad[2 + i] = (int32_t)below(span);
    }
}

/* Of sums that are rounded: kernels give the bits of the reference. */
static void expect_alike(struct one_op *t, const struct pith_kernels *best)
{
    const size_t n = shape_elems(&t->out[0].shape), n_in = shape_elems(&t->in[0].shape);
    float *want = malloc(n * sizeof *want);
    assert_non_null(want);
    for (size_t i = 0; i < n_in; i++)
        ((float *)t->in[0].data)[i] /= 3;
    one_op_run(t, false);
    memcpy(want, t->out[0].data, n * sizeof *want);
    t->kernels = best;
    one_op_run(t, true);
    assert_memory_equal(t->out[0].data, want, n * sizeof *want);
    free(want);
}

TEST(test_pools)
{
    struct pith_kernels best;
    size_t n_run = 0;
    pith_kernels_fill(&best, pith_cpu_features());
    for (int round = 0; round < 2000; round++) {
        bool wide = round % 8 == 0; /* rows of several blocks, windows wider than one */
        uint32_t dims[4] = {1 + below(2), 1 + below(3), 1 + below(9), 1 + below(wide ? 700 : 12)};
        struct one_op t;
        struct window w;
        one_op_open(&t, below(2) ? PITH_OP_MAX_POOL : PITH_OP_AVERAGE_POOL, 1, 1);
        one_op_in(&t, 0, PITH_F32, 4, dims, NULL);
        random_window(&w, wide);
        one_op_list(&t, ATTR_POOL_KERNEL, 2, w.kernel);
        one_op_list(&t, ATTR_POOL_STRIDES, 2, w.stride);
        one_op_list(&t, ATTR_POOL_DILATIONS, 2, w.dilation);
        one_op_list(&t, ATTR_POOL_PADS, 4, w.pad);
        t.attr[ATTR_POOL_CEIL] = (int32_t)below(2);
        t.attr[ATTR_POOL_INCLUDE_PAD] = (int32_t)below(2);
        if (one_op_shape(&t) != PITH_OK)
            continue;
        t.in[0].data = random_floats(shape_elems(&t.in[0].shape));
        one_op_run(&t, round & 1);
        for (size_t i = 0; i < shape_elems(&t.out[0].shape); i++) {
            uint32_t at[8];
            unravel(&t.out[0].shape, i, at);
            double expected = pool_naive(&t, &w, at[0] * dims[1] + at[1], (int)at[2], (int)at[3]);
            /* sums of multiples of 1/64 are exact; only the division rounds */
            expect_near(&t, i, expected, 1e-7 * fabs(expected), "pool", round);
        }
        expect_alike(&t, &best);
        free(t.in[0].data);
        one_op_close(&t);
        n_run++;
    }
    assert_true(n_run > 800);
}

TEST(test_transpose_slice)
{
    for (int round = 0; round < 400; round++) {
        uint32_t rank = 1 + below(5), dims[5];
        random_dims(dims, rank, round % 50 == 0 ? 20 : 5);
        struct one_op t, u;
        one_op_open(&t, PITH_OP_TRANSPOSE, 1, 1);
        one_op_in(&t, 0, PITH_F32, rank, dims, NULL);
        t.in[0].data = random_floats(shape_elems(&t.in[0].shape));
        int32_t perm[5];
        for (uint32_t i = 0; i < rank; i++) { /* inside-out shuffle */
            uint32_t k = below(i + 1);
            perm[i] = perm[k];
            perm[k] = (int32_t)i;
        }
        one_op_list(&t, ATTR_PERM, rank, perm);
        assert_int_equal(one_op_shape(&t), PITH_OK);
        one_op_run(&t, round & 1);
        const float *x = t.in[0].data;
        for (size_t i = 0; i < shape_elems(&t.out[0].shape); i++) {
            uint32_t at[8], from[8];
            unravel(&t.out[0].shape, i, at);
            for (uint32_t k = 0; k < rank; k++)
                from[perm[k]] = at[k];
            expect_near(&t, i, (double)x[ravel_repeat(&t.in[0].shape, from, rank)], 0, "transpose",
                        round);
        }
        /* every axis reversed by steps of -2 */
        one_op_open(&u, PITH_OP_SLICE, 1, 1);
        u.in[0] = t.in[0];
        const int32_t axes[5] = {0, 1, 2, 3, 4}, start[5] = {-1, -1, -1, -1, -1};
        const int32_t end[5] = {INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN};
        const int32_t step[5] = {-2, -2, -2, -2, -2};
        one_op_list(&u, ATTR_SLICE_AXES, rank, axes);
        one_op_list(&u, ATTR_SLICE_STARTS, rank, start);
        one_op_list(&u, ATTR_SLICE_ENDS, rank, end);
        one_op_list(&u, ATTR_SLICE_STEPS, rank, step);
        assert_int_equal(one_op_shape(&u), PITH_OK);
        one_op_run(&u, round & 1);
        for (size_t i = 0; i < shape_elems(&u.out[0].shape); i++) {
            uint32_t at[8];
            unravel(&u.out[0].shape, i, at);
            for (uint32_t k = 0; k < rank; k++)
                at[k] = dims[k] - 1 - 2 * at[k];
            expect_near(&u, i, (double)x[ravel_repeat(&u.in[0].shape, at, rank)], 0, "slice",
                        round);
        }
        free(t.in[0].data);
        one_op_close(&t);
        one_op_close(&u);
    }
}

/* Elements of each size that Transpose, Slice, Gather and Pad move: axes beyond a strip of planes,
 * runs of any length, every second element, indices from either end. */
TEST(test_moves)
{
    static const enum pith_type types[] = {PITH_U8, PITH_I16, PITH_F32, PITH_I64};
    static const enum pith_op ops[] = {PITH_OP_TRANSPOSE, PITH_OP_SLICE, PITH_OP_GATHER,
                                       PITH_OP_PAD};
    for (int round = 0; round < 600; round++) {
        const enum pith_type type = types[below(4)];
        const enum pith_op op = ops[round % 4];
        uint32_t rank = 3, dims[3], axis = below(3), n_index = 1 + below(300);
        random_dims(dims, rank, round % 5 ? 9 : 21);
        dims[below(3)] = 1 + below(150);
        struct one_op t;
        one_op_open(&t, op, op == PITH_OP_GATHER ? 2 : 1, 1);
        one_op_in(&t, 0, type, rank, dims, NULL);
        const size_t n = shape_elems(&t.in[0].shape), bytes = pith_type_bytes(type);
        uint8_t *x = t.in[0].data = malloc(n * bytes);
        int64_t *index = malloc(n_index * sizeof *index);
        assert_true(x && index);
        for (size_t i = 0; i < n * bytes; i++)
            x[i] = (uint8_t)(below(255) + 1); /* no element is 0, as a border is */
        for (uint32_t i = 0; i < n_index; i++)
            index[i] = (int64_t)below(2 * dims[axis]) - dims[axis];
        int32_t perm[3] = {0, 1, 2}, start[3], end[3], step[3], pad[6];
        for (uint32_t i = 0; i < rank; i++) {
            const uint32_t k = below(3);
            const int32_t swapped = perm[i];
            perm[i] = perm[k], perm[k] = swapped;
            start[i] = (int32_t)below(dims[i]), end[i] = INT32_MAX, step[i] = 1 + (int32_t)below(2);
            pad[i] = (int32_t)below(4) - (dims[i] > 2), pad[i + 3] = (int32_t)below(4);
        }
        if (op == PITH_OP_TRANSPOSE)
            one_op_list(&t, ATTR_PERM, rank, perm);
        if (op == PITH_OP_SLICE) {
            const int32_t axes[3] = {0, 1, 2};
            one_op_list(&t, ATTR_SLICE_AXES, rank, axes);
            one_op_list(&t, ATTR_SLICE_STARTS, rank, start);
            one_op_list(&t, ATTR_SLICE_ENDS, rank, end);
            one_op_list(&t, ATTR_SLICE_STEPS, rank, step);
        }
        one_op_in(&t, 1, PITH_I64, 1, &n_index, index);
        if (op == PITH_OP_GATHER)
            t.attr[ATTR_GATHER_AXIS] = (int32_t)axis;
        if (op == PITH_OP_PAD) {
            t.attr[ATTR_PAD_MODE] = round / 4 % 2 ? 0 : 2; /* a border of 0, of the edge */
            one_op_list(&t, ATTR_PAD_BEGIN, rank, pad);
            one_op_list(&t, ATTR_PAD_END, rank, pad + 3);
        }
        assert_int_equal(one_op_shape(&t), PITH_OK);
        one_op_run(&t, round & 1);
        const uint8_t zero[8] = {0}, *y = t.out[0].data;
        for (size_t i = 0; i < shape_elems(&t.out[0].shape); i++) {
            uint32_t at[8], from[8];
            bool inside = true;
            unravel(&t.out[0].shape, i, at);
            for (uint32_t k = 0; k < rank; k++) {
                int64_t place = at[k];
                if (op == PITH_OP_SLICE)
                    place = start[k] + place * step[k];
                if (op == PITH_OP_GATHER && k == axis)
                    place = index[at[k]] < 0 ? index[at[k]] + dims[k] : index[at[k]];
                if (op == PITH_OP_PAD) {
                    place -= pad[k];
                    const int64_t edge = place < 0 ? 0 : (int64_t)dims[k] - 1;
                    const bool out = place < 0 || place >= dims[k];
                    inside = inside && (!out || t.attr[ATTR_PAD_MODE]);
                    place = out ? edge : place;
                }
                from[op == PITH_OP_TRANSPOSE ? (uint32_t)perm[k] : k] = (uint32_t)place;
            }
            const uint8_t *want =
                inside ? x + ravel_repeat(&t.in[0].shape, from, rank) * bytes : zero;
            if (memcmp(y + i * bytes, want, bytes) != 0)
                fail_msg("operator %d, seed %u, round %d, element %zu", (int)op, SEED, round, i);
        }
        free(x);
        free(index);
        one_op_close(&t);
    }
}

TEST(test_reduce_mean)
{
    for (int round = 0; round < 400; round++) {
        uint32_t rank = below(6), dims[5], set = below(32);
        random_dims(dims, rank, round % 50 == 0 ? 20 : 5);
        struct one_op t;
        one_op_open(&t, PITH_OP_REDUCE_MEAN, 1, 1);
        one_op_in(&t, 0, PITH_F32, rank, dims, NULL);
        size_t n = shape_elems(&t.in[0].shape);
        t.in[0].data = random_floats(n);
        int32_t axes[5];
        uint32_t n_axes = 0;
        for (uint32_t i = 0; i < rank; i++)
            if (set >> i & 1u)
                axes[n_axes++] = (int32_t)i;
        one_op_list(&t, ATTR_AXES, n_axes, axes);
        assert_int_equal(one_op_shape(&t), PITH_OK);
        one_op_run(&t, round & 1);
        double *sum = calloc(n, sizeof *sum);
        assert_non_null(sum);
        size_t n_out = shape_elems(&t.out[0].shape);
        for (size_t i = 0; i < n; i++) { /* keepdims: reduced axes are 1 in the output */
            uint32_t at[8];
            unravel(&t.in[0].shape, i, at);
            sum[ravel_repeat(&t.out[0].shape, at, rank)] += (double)((float *)t.in[0].data)[i];
        }
        for (size_t i = 0; i < n_out; i++)
            expect_near(&t, i, sum[i] / ((double)n / (double)n_out), 1e-5, "mean", round);
        free(sum);
        free(t.in[0].data);
        one_op_close(&t);
    }
}

/* Softmax along any axis of a tensor large enough for several ranges and blocks. */
TEST(test_softmax)
{
    const uint32_t dims[3] = {7, 65, 83};
    for (uint32_t axis = 0; axis < 3; axis++) {
        struct one_op t;
        one_op_open(&t, PITH_OP_SOFTMAX, 1, 1);
        one_op_in(&t, 0, PITH_F32, 3, dims, NULL);
        size_t n = shape_elems(&t.in[0].shape), step = 1;
        const float *x = t.in[0].data = random_floats(n);
        t.attr[ATTR_SOFTMAX_AXIS] = (int32_t)axis;
        assert_int_equal(one_op_shape(&t), PITH_OK);
        one_op_run(&t, true);
        for (uint32_t i = axis + 1; i < 3; i++)
            step *= dims[i];
        for (size_t i = 0; i < n; i++) {
            size_t first = i - i / step % dims[axis] * step;
            double sum = 0;
            for (size_t k = 0; k < dims[axis]; k++)
                sum += exp((double)x[first + k * step]);
            double expected = exp((double)x[i]) / sum;
            expect_near(&t, i, expected, 1e-6 * expected, "softmax", (int)axis);
        }
        free(t.in[0].data);
        one_op_close(&t);
    }
}

static void *random_bools(size_t n)
{
    uint8_t *x = malloc(n);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = (uint8_t)below(2);
    return x;
}

/* Three operands, and Max of the last two, which is joined in two steps. */
TEST(test_where_and_max)
{
    for (int round = 0; round < 400; round++) {
        uint32_t out[5], rank = below(6), dims[3][5], ranks[3];
        random_dims(out, rank, round % 50 == 0 ? 20 : 5);
        struct one_op where, max;
        one_op_open(&where, PITH_OP_WHERE, 3, 1);
        one_op_open(&max, PITH_OP_VARIADIC, 2, 1);
        max.attr[ATTR_KIND] = VARIADIC_MAX;
        for (uint32_t k = 0; k < 3; k++) {
            ranks[k] = below(2) ? rank : below(rank + 1);
            for (uint32_t i = 0; i < ranks[k]; i++)
                dims[k][i] = below(3) == 0 ? 1 : out[rank - ranks[k] + i];
            one_op_in(&where, k, k ? PITH_F32 : PITH_BOOL, ranks[k], dims[k], NULL);
            size_t n = shape_elems(&where.in[k].shape);
            where.in[k].data = k ? (void *)random_floats(n) : random_bools(n);
            if (k)
                max.in[k - 1] = where.in[k];
        }
        assert_int_equal(one_op_shape(&where), PITH_OK);
        assert_int_equal(one_op_shape(&max), PITH_OK);
        one_op_run(&where, round & 1);
        one_op_run(&max, round & 1);
        const struct tview *c = &where.in[0], *a = &where.in[1], *b = &where.in[2];
        for (int two = 0; two < 2; two++) {
            const struct one_op *t = two ? &max : &where;
            const struct shape *s = &t->out[0].shape;
            uint32_t index[5];
            for (size_t i = 0; i < shape_elems(s); i++) {
                unravel(s, i, index);
                double va = (double)((float *)a->data)[ravel_repeat(&a->shape, index, s->rank)];
                double vb = (double)((float *)b->data)[ravel_repeat(&b->shape, index, s->rank)];
                bool first =
                    two ? va > vb : ((uint8_t *)c->data)[ravel_repeat(&c->shape, index, s->rank)];
                expect_near(t, i, first ? va : vb, 0, two ? "max" : "where", round);
            }
        }
        one_op_close(&where);
        one_op_close(&max);
        for (uint32_t k = 0; k < 3; k++)
            free(where.in[k].data);
    }
}

/* ReduceL1 and MeanVarianceNormalization over random sets of axes. */
TEST(test_reduce_kinds)
{
    for (int round = 0; round < 400; round++) {
        uint32_t rank = below(6), dims[5], set = below(32), n_axes = 0;
        random_dims(dims, rank, round % 50 == 0 ? 20 : 5);
        struct one_op l1, norm;
        one_op_open(&l1, PITH_OP_REDUCE, 1, 1);
        one_op_open(&norm, PITH_OP_MEAN_VARIANCE, 1, 1);
        l1.attr[ATTR_KIND] = REDUCE_L1;
        int32_t axes[5];
        for (uint32_t i = 0; i < rank; i++)
            if (set >> i & 1u)
                axes[n_axes++] = (int32_t)i;
        one_op_in(&l1, 0, PITH_F32, rank, dims, NULL);
        size_t n = shape_elems(&l1.in[0].shape);
        float *x = random_floats(n);
        struct one_op *const all[2] = {&l1, &norm};
        for (uint32_t k = 0; k < 2; k++) {
            one_op_in(all[k], 0, PITH_F32, rank, dims, x);
            one_op_list(all[k], k ? ATTR_AXES : ATTR_REDUCE_KIND_AXES, n_axes, axes);
            assert_int_equal(one_op_shape(all[k]), PITH_OK);
            one_op_run(all[k], round & 1);
        }
        size_t n_out = shape_elems(&l1.out[0].shape);
        double *sum = calloc(3 * n_out, sizeof *sum); /* of |x|, of x, of x^2 */
        assert_non_null(sum);
        for (int pass = 0; pass < 2; pass++)
            for (size_t i = 0; i < n; i++) {
                uint32_t index[5];
                unravel(&l1.in[0].shape, i, index);
                double v = (double)x[i], *s = sum + 3 * ravel_repeat(&l1.out[0].shape, index, rank);
                double count = (double)(n / n_out), mean = s[1] / count;
                if (pass == 0) {
                    s[0] += fabs(v);
                    s[1] += v;
                    s[2] += v * v;
                    continue;
                }
                double deviation = sqrt(fmax(s[2] / count - mean * mean, 0));
                if (deviation > 0.01)
                    expect_near(&norm, i, (v - mean) / deviation, 1e-4, "normalised", round);
            }
        for (size_t i = 0; i < n_out; i++)
            expect_near(&l1, i, sum[3 * i], 1e-6 * sum[3 * i], "L1", round);
        for (uint32_t k = 0; k < 2; k++)
            one_op_close(all[k]);
        free(sum);
        free(x);
    }
}

RUN_TESTS
