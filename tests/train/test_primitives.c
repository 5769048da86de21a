/* SPDX-License-Identifier: MIT */
/* Products, convolutions and pools on operands larger than the parts they are cut into, at every
 * instruction set that this CPU has: against sums in double, and the ordered ones with the same
 * bits. Bound, of the largest value of a result: 2e-5, for sums of some thousand terms one after
 * the other. */
#include "train/kernels/panel_product.h"
#include "train/kernels/primitive.h"
#include "train/kernels/train_kernels.h"
#include "train/conv_example.h"
#include "pith_runtime.h"

/* Levels of ordered primitives, then of those that fuse. */
enum { LEVELS = 3, ALL_LEVELS = 2 * LEVELS };
static const double bound = 2e-5;

static struct prim *level(int i)
{
    static const uint32_t masks[LEVELS] = {0, PITH_CPU_AVX2, ~PITH_CPU_REF};
    struct prim *p;
    const uint32_t features = pith_cpu_features() & masks[i % LEVELS];
    assert_int_equal(pith_prim_new(features, i < LEVELS, &p), PITH_OK);
    assert_int_equal(pith_prim_is_ordered(p), i < LEVELS);
    return p;
}

/* The first level's stay in first; those of other ordered ones are to be equal. */
static void same_bits(int i, float **first, float *now, int64_t n)
{
    check_end(now, n);
    if (i == 0) {
        *first = now;
        return;
    }
    if (i < LEVELS)
        assert_memory_equal(now, *first, (size_t)n * sizeof *now);
    free(now);
}

/* ---- convolutions ---------------------------------------------------------------------------- */

static void try_conv(const struct prim_conv_shape *s)
{
    struct example e = make(s);
    float *first[4];
    for (int i = 0; i < ALL_LEVELS; i++) {
        struct prim *p = level(i);
        struct prim_conv *conv, *other;
        const struct prim_conv_shape small = shape(1, 2, 3, 4, 4, 3, 1, 1);
        float *y = room(e.n_y), *dx = room(e.n_x), *dw = room(e.n_w), *db = room(s->o);
        assert_int_equal(pith_prim_conv_new(p, s, &conv), PITH_OK);
        assert_int_equal(pith_prim_conv_new(p, &small, &other), PITH_OK);
        pith_prim_conv_forward(conv, e.x, e.w, e.bias, y);
        pith_prim_conv_backward(
            conv, e.w,
            &(struct conv_gradients){.x = e.x, .dy = e.dy, .dx = dx, .dw = dw, .db = db});
        compare(&e, "y", y, e.y, e.n_y, bound);
        compare(&e, "dx", dx, e.dx, e.n_x, bound);
        compare(&e, "dw", dw, e.dw, e.n_w, bound);
        compare(&e, "db", db, e.db, s->o, bound);
        same_bits(i, &first[0], y, e.n_y);
        same_bits(i, &first[1], dx, e.n_x);
        same_bits(i, &first[2], dw, e.n_w);
        same_bits(i, &first[3], db, s->o);
        pith_prim_conv_free(conv);
        pith_prim_conv_free(other);
        pith_prim_free(p);
    }
    for (int k = 0; k < 4; k++)
        free(first[k]);
    drop(&e);
}

TEST(convolutions_in_parts)
{
    struct prim_conv_shape s = shape(2, 40, 20, 28, 26, 3, 1, 0);
    try_conv(&s);
    s = shape(1, 3, 5, 6, 7, 1, 0, 0);
    s.pad_begin[0] = 1;
    s.out[0]++;
    try_conv(&s);
    s = shape(16, 1, 20, 14, 14, 5, 0, 0); /* fewer rows of the weights' gradient than a panel's */
    try_conv(&s);
    s = shape(2, 37, 51, 29, 28, 1, 0, 0); /* x itself is the columns */
    try_conv(&s);
    for (int i = 0; i < 2; i++) {
        s.stride[i] = 2;
        s.out[i] = (s.in[i] - 1) / 2 + 1;
    }
    try_conv(&s);
}

/* ---- products -------------------------------------------------------------------------------- */

enum { M = 150, N = 100, K = 300 };

/* c + op(a) op(b) / 2, or without c. */
static void try_product(bool ta, bool tb, bool add)
{
    float *a = numbers(M * K), *b = numbers(K * N), *start = numbers(M * N), *first = NULL;
    for (int i = 0; i < ALL_LEVELS; i++) {
        struct prim *p = level(i);
        float *c = room(M * N);
        memcpy(c, start, M * N * sizeof *c);
        pith_prim_gemm(p, (struct prim_size){M, N, K}, 0.5f,
                       (struct prim_matrix){a, ta ? M : K, ta},
                       (struct prim_matrix){b, tb ? K : N, tb}, (struct prim_result){c, N, add});
        for (int r = 0; r < M; r++)
            for (int j = 0; j < N; j++) {
                double sum = add ? (double)start[r * N + j] : 0;
                for (int k = 0; k < K; k++)
                    sum += 0.5 * (double)a[ta ? k * M + r : r * K + k] *
                           (double)b[tb ? j * K + k : k * N + j];
                assert_true(fabs(sum - (double)c[r * N + j]) <= bound * 10);
            }
        same_bits(i, &first, c, M * N);
        pith_prim_free(p);
    }
    float *all[] = {a, b, start, first};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

TEST(products_in_parts)
{
    for (int i = 0; i < 8; i++)
        try_product(i & 1, i & 2, i & 4);
}

/* ---- pools ----------------------------------------------------------------------------------- */

/* Of equal values the first gets the gradient; what lies outside is none of the values. */
TEST(the_first_of_equals_is_the_largest)
{
    const struct prim_conv_shape s = {.axes = 1,
                                      .n = 1,
                                      .c = 1,
                                      .o = 1,
                                      .group = 1,
                                      .in = {4},
                                      .out = {3},
                                      .kernel = {3},
                                      .stride = {2},
                                      .dilation = {1},
                                      .pad_begin = {2},
                                      .pad_end = {1}};
    const float x[] = {-3, -2, -2, -4}, dy[] = {1, 10, 100};
    float y[3], dx[4];
    struct prim *p = level(0);
    struct prim_pool *pool;
    assert_int_equal(pith_prim_pool_new(&s, PRIM_POOL_MAX, &pool), PITH_OK);
    pith_prim_pool_forward(pool, x, y);
    pith_prim_pool_backward(pool, dy, dx);
    assert_memory_equal(y, ((const float[]){-3, -2, -2}), sizeof y);
    assert_memory_equal(dx, ((const float[]){1, 10, 100, 0}), sizeof dx);
    pith_prim_pool_free(pool);
    pith_prim_free(p);
}

RUN_TESTS
