/* SPDX-License-Identifier: MIT */
/* Winograd's convolutions against the sums they stand for, in double, at every instruction set that
 * this CPU has. Bound, of the largest value of a result: 1e-5 on 6 points (kernels of 3), 3e-5 on 8
 * (of 5). Rounding alone makes 1e-6; what is more comes from the transforms, whose error grows with
 * the powers of the points, and is worst for sums of few terms. */
#include "pith_train.h"
#include "train/conv_example.h"
#include "train/kernels/panel_product.h"
#include "train/kernels/primitive.h"
#include "train/kernels_of_features.h"
#include "train/kernels/winograd.h"
#include "pith_runtime.h"

static void run(const struct example *e, const struct winograd_kernels *kernels)
{
    struct winograd *v;
    const struct prim_conv_shape *s = &e->s;
    const double bound = s->kernel[0] == 3 ? 1e-5 : 3e-5;
    float *y = room(e->n_y), *dx = room(e->n_x), *dw = room(e->n_w), *db = room(s->o);
    assert_int_equal(pith_winograd_new(s, true, kernels, &v), PITH_OK);
    size_t bytes = ((size_t)pith_winograd_scratch_bytes(v) + 63) & ~(size_t)63;
    void *scratch = aligned_alloc(64, bytes);
    assert_non_null(scratch);
    memset(scratch, 0xff, bytes); /* not-a-numbers: nothing is read before it was written */
    for (uint32_t part = 0; part < PITH_TRAIN_SLICES; part++)
        pith_winograd_renew(v, e->w, part);
    pith_winograd_forward(v, scratch, e->x, e->bias, y);
    pith_winograd_backward(
        v, scratch, &(struct conv_gradients){.x = e->x, .dy = e->dy, .dx = dx, .dw = dw, .db = db});
    compare(e, "y", y, e->y, e->n_y, bound);
    compare(e, "dx", dx, e->dx, e->n_x, bound);
    compare(e, "dw", dw, e->dw, e->n_w, bound);
    compare(e, "db", db, e->db, s->o, bound);
    pith_winograd_backward(
        v, scratch, &(struct conv_gradients){.x = e->x, .dy = e->dy, .dx = dx, .add_dx = true});
    for (int64_t i = 0; i < e->n_x; i++)
        dx[i] *= 0.5f;
    compare(e, "dx added to", dx, e->dx, e->n_x, bound);
    check_end(y, e->n_y);
    check_end(dx, e->n_x);
    check_end(dw, e->n_w);
    check_end(db, s->o);
    void *all[] = {scratch, y, dx, dw, db};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    pith_winograd_free(v);
}

static void all_levels(const struct prim_conv_shape *s)
{
    struct example e = make(s);
    static const uint32_t masks[] = {0, PITH_CPU_AVX2, PITH_CPU_AVX2 | PITH_CPU_AVX512};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++)
        run(&e, train_kernels_of(pith_cpu_features() & masks[i]).winograd);
    drop(&e);
}

TEST(three)
{
    const struct prim_conv_shape all[] = {
        shape(2, 16, 16, 32, 32, 3, 1, 1), shape(3, 32, 32, 16, 16, 3, 1, 1),
        shape(5, 64, 64, 8, 8, 3, 1, 1),   shape(1, 8, 8, 4, 4, 3, 1, 1),
        shape(2, 9, 17, 7, 5, 3, 1, 1),    shape(1, 17, 9, 6, 11, 3, 0, 2),
        shape(1, 33, 48, 9, 10, 3, 0, 0),  shape(2, 20, 50, 3, 3, 3, 2, 2),
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        all_levels(&all[i]);
}

TEST(five)
{
    const struct prim_conv_shape all[] = {
        shape(16, 20, 50, 12, 12, 5, 0, 0),
        shape(2, 32, 16, 8, 9, 5, 2, 2),
        shape(1, 8, 9, 5, 6, 5, 0, 1),
        shape(1, 17, 31, 13, 7, 5, 4, 0),
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        all_levels(&all[i]);
}

TEST(choice)
{
    struct prim_conv_shape s = shape(16, 16, 16, 32, 32, 3, 1, 1);
    assert_true(pith_winograd_suits(&s));
    s.stride[1] = 2;
    assert_false(pith_winograd_suits(&s));
    s = shape(16, 16, 16, 32, 32, 7, 1, 1);
    assert_false(pith_winograd_suits(&s));
    s = shape(16, 3, 16, 32, 32, 3, 1, 1); /* pictures: nothing to gain */
    assert_false(pith_winograd_suits(&s));
    s = shape(16, 512, 512, 8, 8, 3, 1, 1); /* 36 planes of it: too much memory */
    assert_false(pith_winograd_suits(&s));
    s = shape(16, 16, 16, 32, 32, 3, 1, 1);
    s.group = 2;
    assert_false(pith_winograd_suits(&s));
    s = shape(16, 20, 50, 12, 12, 5, 0, 0);
    assert_true(pith_winograd_suits(&s));
}

RUN_TESTS
