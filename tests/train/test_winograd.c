/* SPDX-License-Identifier: MIT */
/* Winograd's convolutions against the sums they stand for, in double, at every instruction set that
 * this CPU has. Bound, of the largest value of a result: 1e-5 on 6 points (kernels of 3), 3e-5 on 8
 * (of 5). Rounding alone makes 1e-6; what is more comes from the transforms, whose error grows with
 * the powers of the points, and is worst for sums of few terms. */
#include "winograd.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint32_t state_of_random = 20260521;

/* -1..1 */
static float next(void)
{
    state_of_random = state_of_random * 1664525u + 1013904223u;
    return (float)(state_of_random >> 8) * 0x1p-23f - 1.0f;
}

static float *numbers(int64_t n)
{
    float *p = malloc((size_t)n * sizeof *p);
    assert_non_null(p);
    for (int64_t i = 0; i < n; i++)
        p[i] = next();
    return p;
}

/* One convolution, its operands, and what the definition makes of them. */
struct example {
    struct prim_conv_shape s;
    int64_t n_x, n_w, n_y;
    float *x, *w, *dy, *bias;
    double *y, *dx, *dw, *db;
};

static struct prim_conv_shape shape(int64_t n, int64_t c, int64_t o, int64_t h, int64_t w,
                                    int64_t k, int64_t begin, int64_t end)
{
    struct prim_conv_shape s = {.axes = 2,
                                .n = n,
                                .c = c,
                                .o = o,
                                .group = 1,
                                .in = {h, w},
                                .kernel = {k, k},
                                .stride = {1, 1},
                                .dilation = {1, 1},
                                .pad_begin = {begin, end},
                                .pad_end = {end, begin}};
    for (int i = 0; i < 2; i++)
        s.out[i] = s.in[i] + begin + end - k + 1;
    return s;
}

/* What one output and one tap of the kernel add to each of the results. */
static void add_tap(struct example *e, int64_t pixel, int64_t from, int64_t kh, int64_t kw)
{
    const struct prim_conv_shape *s = &e->s;
    for (int64_t o = 0; o < s->o; o++)
        for (int64_t c = 0; c < s->c; c++) {
            int64_t w = ((o * s->c + c) * s->kernel[0] + kh) * s->kernel[1] + kw;
            double dy = (double)e->dy[pixel * s->o + o], x = (double)e->x[from * s->c + c];
            e->y[pixel * s->o + o] += x * (double)e->w[w];
            e->dx[from * s->c + c] += dy * (double)e->w[w];
            e->dw[w] += dy * x;
        }
}

static void define(struct example *e)
{
    const struct prim_conv_shape *s = &e->s;
    for (int64_t pixel = 0; pixel < s->n * s->out[0] * s->out[1]; pixel++) {
        int64_t ow = pixel % s->out[1], oh = pixel / s->out[1] % s->out[0];
        int64_t n = pixel / (s->out[0] * s->out[1]);
        for (int64_t o = 0; o < s->o; o++) {
            e->y[pixel * s->o + o] += (double)e->bias[o];
            e->db[o] += (double)e->dy[pixel * s->o + o];
        }
        for (int64_t k = 0; k < s->kernel[0] * s->kernel[1]; k++) {
            int64_t h = oh + k / s->kernel[1] - s->pad_begin[0];
            int64_t w = ow + k % s->kernel[1] - s->pad_begin[1];
            if (h >= 0 && h < s->in[0] && w >= 0 && w < s->in[1])
                add_tap(e, pixel, (n * s->in[0] + h) * s->in[1] + w, k / s->kernel[1],
                        k % s->kernel[1]);
        }
    }
}

static struct example make(const struct prim_conv_shape *s)
{
    struct example e = {.s = *s,
                        .n_x = s->n * s->in[0] * s->in[1] * s->c,
                        .n_w = s->o * s->c * s->kernel[0] * s->kernel[1],
                        .n_y = s->n * s->out[0] * s->out[1] * s->o};
    e.x = numbers(e.n_x);
    e.w = numbers(e.n_w);
    e.dy = numbers(e.n_y);
    e.bias = numbers(s->o);
    e.y = calloc((size_t)e.n_y, sizeof(double));
    e.dx = calloc((size_t)e.n_x, sizeof(double));
    e.dw = calloc((size_t)e.n_w, sizeof(double));
    e.db = calloc((size_t)s->o, sizeof(double));
    assert_true(e.y && e.dx && e.dw && e.db);
    define(&e);
    return e;
}

static void drop(struct example *e)
{
    void *all[] = {e->x, e->w, e->dy, e->bias, e->y, e->dx, e->dw, e->db};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void compare(const struct example *e, const char *what, const float *got, const double *want,
                    int64_t n)
{
    double worst = 0, largest = 0, bound = e->s.kernel[0] == 3 ? 1e-5 : 3e-5;
    for (int64_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs((double)got[i] - want[i]));
        largest = fmax(largest, fabs(want[i]));
        if (isnan(got[i]))
            worst = INFINITY;
    }
    const struct prim_conv_shape *s = &e->s;
    if (worst > bound * largest)
        print_error("%s of %lldx%lldx%lldx%lld to %lld, kernel %lld: off by %g of %g\n", what,
                    (long long)s->n, (long long)s->in[0], (long long)s->in[1], (long long)s->c,
                    (long long)s->o, (long long)s->kernel[0], worst, largest);
    assert_true(worst <= bound * largest);
}

/* Everything that is written ends where it should: a line of known numbers follows. */
static float *room(int64_t n)
{
    float *p = malloc((size_t)(n + 16) * sizeof *p);
    assert_non_null(p);
    for (int64_t i = 0; i < n + 16; i++)
        p[i] = 12345.0f;
    return p;
}

static void check_end(const float *p, int64_t n)
{
    for (int64_t i = n; i < n + 16; i++)
        assert_true(p[i] == 12345.0f);
}

static void run(const struct example *e, const struct winograd_kernels *kernels)
{
    struct winograd *v;
    struct prim *p;
    const struct prim_conv_shape *s = &e->s;
    float *y = room(e->n_y), *dx = room(e->n_x), *dw = room(e->n_w), *db = room(s->o);
    assert_int_equal(pith_prim_new(&p), PITH_OK);
    assert_int_equal(pith_winograd_new(s, true, kernels, &v), PITH_OK);
    size_t bytes = ((size_t)pith_winograd_scratch_bytes(v) + 63) & ~(size_t)63;
    void *scratch = aligned_alloc(64, bytes);
    assert_non_null(scratch);
    memset(scratch, 0xff, bytes); /* not-a-numbers: nothing is read before it was written */
    pith_winograd_renew(v, e->w);
    pith_winograd_forward(v, p, scratch, e->x, e->bias, y);
    pith_winograd_backward(v, p, scratch, e->x, e->dy, dx, false, dw, db);
    compare(e, "y", y, e->y, e->n_y);
    compare(e, "dx", dx, e->dx, e->n_x);
    compare(e, "dw", dw, e->dw, e->n_w);
    compare(e, "db", db, e->db, s->o);
    pith_winograd_backward(v, p, scratch, e->x, e->dy, dx, true, NULL, NULL);
    for (int64_t i = 0; i < e->n_x; i++)
        dx[i] *= 0.5f;
    compare(e, "dx added to", dx, e->dx, e->n_x);
    check_end(y, e->n_y);
    check_end(dx, e->n_x);
    check_end(dw, e->n_w);
    check_end(db, s->o);
    assert_true(pith_prim_seconds(p) > 0);
    void *all[] = {scratch, y, dx, dw, db};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    pith_winograd_free(v);
    pith_prim_free(p);
}

static void all_levels(const struct prim_conv_shape *s)
{
    struct example e = make(s);
    static const uint32_t masks[] = {0, PITH_CPU_AVX2, PITH_CPU_AVX2 | PITH_CPU_AVX512};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++)
        run(&e, pith_winograd_kernels(pith_cpu_features() & masks[i]));
    drop(&e);
}

static void three(void **state)
{
    (void)state;
    const struct prim_conv_shape all[] = {
        shape(2, 16, 16, 32, 32, 3, 1, 1), shape(3, 32, 32, 16, 16, 3, 1, 1),
        shape(5, 64, 64, 8, 8, 3, 1, 1),   shape(1, 8, 8, 4, 4, 3, 1, 1),
        shape(2, 9, 17, 7, 5, 3, 1, 1),    shape(1, 17, 9, 6, 11, 3, 0, 2),
        shape(1, 33, 48, 9, 10, 3, 0, 0),  shape(2, 20, 50, 3, 3, 3, 2, 2),
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        all_levels(&all[i]);
}

static void five(void **state)
{
    (void)state;
    const struct prim_conv_shape all[] = {
        shape(16, 20, 50, 12, 12, 5, 0, 0),
        shape(2, 32, 16, 8, 9, 5, 2, 2),
        shape(1, 8, 9, 5, 6, 5, 0, 1),
        shape(1, 17, 31, 13, 7, 5, 4, 0),
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        all_levels(&all[i]);
}

static void choice(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(three), cmocka_unit_test(five),
                                       cmocka_unit_test(choice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
