/* SPDX-License-Identifier: MIT */
/* Convolutions of few input channels against the sums they stand for, in double, at every
 * instruction set that this CPU has: whole vectors of output channels, half ones and parts of both,
 * pads, strides. Bound, of the largest value of a result: 2e-6, for sums of some hundred terms in
 * float. */
#include "test_train_kernels.h"
#include "train/conv_example.h"

static void run(const struct example *e, const struct narrow_kernels *kernels)
{
    struct narrow_conv *v;
    struct prim *p;
    const struct prim_conv_shape *s = &e->s;
    float *y = room(e->n_y), *dw = room(e->n_w), *db = room(s->o);
    const double bound = 2e-6;
    assert_int_equal(pith_prim_new(&p), PITH_OK);
    assert_int_equal(pith_narrow_conv_new(s, kernels, &v), PITH_OK);
    size_t bytes = ((size_t)pith_narrow_conv_scratch_bytes(v) + 63) & ~(size_t)63;
    void *scratch = aligned_alloc(64, bytes);
    assert_non_null(scratch);
    memset(scratch, 0xff, bytes); /* not-a-numbers: nothing is read before it was written */
    pith_narrow_conv_forward(v, p, scratch, e->x, e->w, e->bias, y);
    pith_narrow_conv_backward(v, p, scratch, e->x, e->dy, dw, db);
    compare(e, "y", y, e->y, e->n_y, bound);
    compare(e, "dw", dw, e->dw, e->n_w, bound);
    compare(e, "db", db, e->db, s->o, bound);
    pith_narrow_conv_forward(v, p, scratch, e->x, e->w, NULL, y);
    for (int64_t i = 0; i < e->n_y; i++)
        y[i] += e->bias[i % s->o];
    compare(e, "y without bias", y, e->y, e->n_y, bound);
    check_end(y, e->n_y);
    check_end(dw, e->n_w);
    check_end(db, s->o);
    assert_true(pith_prim_seconds(p) > 0);
    void *all[] = {scratch, y, dw, db};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    pith_narrow_conv_free(v);
    pith_prim_free(p);
}

static void all_levels(struct prim_conv_shape s, int64_t stride)
{
    for (int i = 0; i < 2; i++) {
        s.stride[i] = stride;
        s.out[i] = (s.in[i] + s.pad_begin[i] + s.pad_end[i] - s.kernel[i]) / stride + 1;
    }
    assert_true(pith_narrow_conv_suits(&s));
    struct example e = make(&s);
    static const uint32_t masks[] = {0, PITH_CPU_AVX2, PITH_CPU_AVX2 | PITH_CPU_AVX512};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++)
        run(&e, train_kernels_of(pith_cpu_features() & masks[i]).narrow);
    drop(&e);
}

static void windows(void **state)
{
    (void)state;
    all_levels(shape(3, 1, 20, 28, 28, 5, 0, 0), 1);
    all_levels(shape(2, 3, 16, 32, 32, 3, 1, 1), 1);
    all_levels(shape(2, 3, 8, 17, 12, 3, 0, 1), 2);
    all_levels(shape(1, 1, 32, 9, 10, 3, 1, 1), 1);
    all_levels(shape(2, 1, 6, 12, 11, 5, 2, 2), 3);
    all_levels(shape(1, 3, 1, 3, 3, 3, 0, 0), 1);
}

/* Every number of channels left over. */
static void channels(void **state)
{
    (void)state;
    for (int64_t o = 1; o <= 33; o++) {
        all_levels(shape(1, 1, o, 7, 14, 5, 0, 1), 1);
        all_levels(shape(1, 3, o, 5, 4, 3, 1, 1), 1);
    }
}

static void choice(void **state)
{
    (void)state;
    struct prim_conv_shape s = shape(16, 1, 20, 28, 28, 5, 0, 0);
    assert_true(pith_narrow_conv_suits(&s));
    s.group = 2;
    assert_false(pith_narrow_conv_suits(&s));
    s = shape(16, 1, 20, 28, 28, 5, 0, 0);
    s.dilation[0] = 2;
    assert_false(pith_narrow_conv_suits(&s));
    s = shape(16, 3, 20, 28, 28, 5, 0, 0); /* a window that the kernels do not know */
    assert_false(pith_narrow_conv_suits(&s));
    s = shape(16, 9, 16, 28, 28, 3, 0, 0);
    assert_false(pith_narrow_conv_suits(&s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(windows), cmocka_unit_test(channels),
                                       cmocka_unit_test(choice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
