/* SPDX-License-Identifier: MIT */
/* Convolutions of few weights against the sums they stand for, in double, at every instruction set
 * that this CPU has: strides, dilations, pads, odd sizes, pictures that fill no group, maps and
 * channels without a weight. Bound, of the largest value of a result: 2e-6, for sums of some
 * hundred terms in float. */
#include "test_train_kernels.h"
#include "train/conv_example.h"

/* One of `every` weights stays; map `bare` has none, and channel `bare`, where there are two. */
static uint8_t *remove_least(struct example *e, int every, int64_t bare)
{
    const struct prim_conv_shape *s = &e->s;
    const int64_t window = s->kernel[0] * s->kernel[1];
    uint8_t *alive = malloc((size_t)e->n_w);
    assert_non_null(alive);
    for (int64_t i = 0; i < e->n_w; i++) {
        state_of_random = state_of_random * 1664525u + 1013904223u;
        alive[i] = (state_of_random >> 8) % (uint32_t)every == 0;
        if ((s->o > 1 && i / window / s->c == bare) || (s->c > 1 && i / window % s->c == bare))
            alive[i] = 0;
        if (!alive[i])
            e->w[i] = 0;
    }
    return alive;
}

static void define_anew(struct example *e, const uint8_t *alive)
{
    memset(e->y, 0, (size_t)e->n_y * sizeof *e->y);
    memset(e->dx, 0, (size_t)e->n_x * sizeof *e->dx);
    memset(e->dw, 0, (size_t)e->n_w * sizeof *e->dw);
    memset(e->db, 0, (size_t)e->s.o * sizeof *e->db);
    define(e);
    for (int64_t i = 0; i < e->n_w; i++)
        if (!alive[i])
            e->dw[i] = 0;
}

static void run(const struct example *e, const uint8_t *alive, bool need_dx,
                const struct sparse_conv_kernels *kernels)
{
    struct sparse_conv *v;
    struct prim *p;
    const struct prim_conv_shape *s = &e->s;
    float *y = room(e->n_y), *dx = room(e->n_x), *dw = room(e->n_w), *db = room(s->o);
    const double bound = 2e-6;
    assert_int_equal(pith_prim_new(&p), PITH_OK);
    assert_int_equal(pith_sparse_conv_new(s, need_dx, 0.8, kernels, &v), PITH_OK);
    assert_true(pith_sparse_conv_keep(v, alive));
    pith_sparse_conv_renew(v, e->w);
    size_t bytes = ((size_t)pith_sparse_conv_scratch_bytes(v) + 63) & ~(size_t)63;
    void *scratch = aligned_alloc(64, bytes);
    assert_non_null(scratch);
    memset(scratch, 0xff, bytes); /* not-a-numbers: nothing is read before it was written */
    pith_sparse_conv_forward(v, p, scratch, e->x, e->bias, y);
    memset(scratch, 0xff, bytes);
    pith_sparse_conv_backward(v, p, scratch, e->x, e->dy, need_dx ? dx : NULL, dw, db);
    compare(e, "y", y, e->y, e->n_y, bound);
    compare(e, "dw", dw, e->dw, e->n_w, bound);
    compare(e, "db", db, e->db, s->o, bound);
    if (need_dx)
        compare(e, "dx", dx, e->dx, e->n_x, bound);
    for (int64_t i = 0; i < e->n_w; i++)
        assert_true(alive[i] || dw[i] == 0);
    pith_sparse_conv_forward(v, p, scratch, e->x, NULL, y);
    for (int64_t i = 0; i < e->n_y; i++)
        y[i] += e->bias[i % s->o];
    compare(e, "y without bias", y, e->y, e->n_y, bound);
    check_end(y, e->n_y);
    check_end(dx, need_dx ? e->n_x : 0);
    check_end(dw, e->n_w);
    check_end(db, s->o);
    assert_true(pith_prim_seconds(p) > 0);
    void *all[] = {scratch, y, dx, dw, db};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    pith_sparse_conv_free(v);
    pith_prim_free(p);
}

static void all_levels(struct prim_conv_shape s, int64_t stride, int64_t dilation, int every)
{
    for (int i = 0; i < 2; i++) {
        s.stride[i] = stride;
        s.dilation[i] = dilation;
        int64_t last = s.in[i] + s.pad_begin[i] + s.pad_end[i] - (s.kernel[i] - 1) * dilation - 1;
        s.out[i] = last / stride + 1;
    }
    assert_true(pith_sparse_conv_suits(&s));
    struct example e = make(&s);
    uint8_t *alive = remove_least(&e, every, s.c > 1 ? s.c / 2 : 0);
    define_anew(&e, alive);
    static const uint32_t masks[] = {0, PITH_CPU_AVX2, PITH_CPU_AVX2 | PITH_CPU_AVX512};
    for (size_t i = 0; i < 2 * sizeof masks / sizeof *masks; i++)
        run(&e, alive, i % 2, train_kernels_of(pith_cpu_features() & masks[i / 2]).sparse);
    free(alive);
    drop(&e);
}

static void shapes(void **state)
{
    (void)state;
    all_levels(shape(16, 1, 19, 28, 28, 5, 0, 0), 1, 1, 2);
    all_levels(shape(16, 19, 18, 12, 12, 5, 0, 0), 1, 1, 20);
    all_levels(shape(3, 5, 7, 9, 11, 3, 1, 1), 1, 1, 4);
    all_levels(shape(17, 4, 3, 13, 10, 3, 0, 1), 2, 1, 3);
    all_levels(shape(5, 3, 4, 14, 17, 3, 2, 2), 1, 2, 3);
    all_levels(shape(20, 2, 6, 16, 12, 5, 3, 1), 3, 2, 3);
    all_levels(shape(2, 6, 5, 8, 9, 4, 5, 4), 1, 1, 5); /* pads wider than the window */
    all_levels(shape(33, 20, 30, 1, 1, 1, 0, 0), 1, 1, 9);
    all_levels(shape(4, 8, 8, 7, 7, 1, 0, 0), 2, 1, 4);
}

/* Every number of columns left over, and of pictures. */
static void sizes(void **state)
{
    (void)state;
    for (int64_t w = 3; w <= 40; w++)
        all_levels(shape(w % 18 + 1, 2, 3, 4, w, 3, 0, 1), 1, 1, 3);
}

/* What is 0 but not removed learns, and so does what was removed and is back. */
static void other_masks(void **state)
{
    (void)state;
    struct prim_conv_shape s = shape(16, 3, 4, 6, 6, 3, 0, 0);
    struct example e = make(&s);
    uint8_t *alive = remove_least(&e, 3, 1);
    for (int64_t i = 0; i < e.n_w; i += 5)
        e.w[i] = 0;
    define_anew(&e, alive);
    run(&e, alive, true, NULL);
    struct sparse_conv *v;
    assert_int_equal(pith_sparse_conv_new(&s, true, 0.8, NULL, &v), PITH_OK);
    assert_false(pith_sparse_conv_keep(v, NULL));
    assert_true(pith_sparse_conv_keep(v, alive));
    struct prim *p;
    assert_int_equal(pith_prim_new(&p), PITH_OK);
    for (int64_t i = 0; i < e.n_w; i += 4)
        alive[i] = !alive[i];
    define_anew(&e, alive);
    float *dw = room(e.n_w);
    void *scratch = aligned_alloc(64, ((size_t)pith_sparse_conv_scratch_bytes(v) + 63) / 64 * 64);
    assert_non_null(scratch);
    assert_true(pith_sparse_conv_keep(v, alive));
    pith_sparse_conv_renew(v, e.w);
    pith_sparse_conv_backward(v, p, scratch, e.x, e.dy, NULL, dw, NULL);
    compare(&e, "dw of another mask", dw, e.dw, e.n_w, 2e-6);
    memset(alive, 1, (size_t)e.n_w);
    assert_false(pith_sparse_conv_keep(v, alive));
    assert_false(pith_sparse_conv_keep(v, NULL));
    free(dw);
    free(scratch);
    free(alive);
    pith_sparse_conv_free(v);
    pith_prim_free(p);
    drop(&e);
}

static void choice(void **state)
{
    (void)state;
    struct prim_conv_shape s = shape(16, 20, 50, 12, 12, 5, 0, 0);
    assert_true(pith_sparse_conv_suits(&s));
    s.group = 2;
    assert_false(pith_sparse_conv_suits(&s));
    s = shape(16, 64, 64, 224, 224, 3, 1, 1); /* no cache holds it */
    assert_false(pith_sparse_conv_suits(&s));
    s = shape(16, 1 << 30, 1 << 30, 1 << 30, 1 << 30, 1 << 20, 0, 0);
    assert_false(pith_sparse_conv_suits(&s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shapes), cmocka_unit_test(sizes),
                                       cmocka_unit_test(other_masks), cmocka_unit_test(choice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
