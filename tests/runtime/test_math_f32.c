/* SPDX-License-Identifier: MIT */
/* math_f32 against libm in double: the bounds that math_f32.h states, over a dense sample of all
 * floats (a prime stride through the bit patterns) and over the ranges where results are neither 0
 * nor inf; exactly the special values. */
#include <math.h>
#include <stdlib.h>
#include "test_run.h"
#include "core/bytes.h"
#include "kernels/ref/math_f32.h"
#include "kernels/ref/sum_f32.h"

/* |got - exact| in units in the last place of a float of exact's size. Results beyond the largest
 * float by less than half a unit may round to it. */
static double ulps(float got, double exact)
{
    if (isnan(exact))
        return isnan(got) ? 0 : INFINITY;
    double top = 340282356779733661637539395458142568448.0; /* rounds to inf from here */
    if (fabs(exact) >= top)
        return isinf(got) && (got > 0) == (exact > 0) ? 0 : ulps(got, copysign(0x1p127, exact));
    if (isnan(got))
        return INFINITY;
    int e;
    frexp(exact, &e);
    double unit = ldexp(1, e - 24 < -149 ? -149 : e - 24);
    return fabs((isinf(got) ? copysign(0x1p128, (double)got) : (double)got) - exact) / unit;
}

struct function {
    const char *name;
    float (*f)(float x);
    double (*exact)(double x);
    double bound;
    float from, to; /* where it is sampled a second time, more densely */
};

static double exact_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static const struct function functions[] = {
    {"exp", pith_exp_f32, exp, 1.1, -104, 89},
    {"log", pith_log_f32, log, 1.1, 0.5f, 2},
    {"tanh", pith_tanh_f32, tanh, 2.5, -9.1f, 9.1f},
    {"sigmoid", pith_sigmoid_f32, exact_sigmoid, 2.5, -104, 20},
    {"sqrt", pith_sqrt_f32, sqrt, 0.5, 0, 4},
    {"asinh", pith_asinh_f32, asinh, 0.6, -40000, 40000},
    {"asinh near 0", pith_asinh_f32, asinh, 0.6, -0.05f, 0.05f},
    {"atanh", pith_atanh_f32, atanh, 0.6, -1, 1},
    {"atanh near 0", pith_atanh_f32, atanh, 0.6, -0.05f, 0.05f},
};

static void check_at(const struct function *f, float x, double *worst)
{
    double err = ulps(f->f(x), f->exact((double)x));
    if (f->f == pith_sigmoid_f32 && x < -88.37f) /* 0 from here on */
        err = fabs((double)f->f(x) - f->exact((double)x)) > 0x1p-127 ? INFINITY : 0;
    if (err > f->bound)
        fail_msg("%s(%a) = %a, exact %a: %.2f ulp", f->name, (double)x, (double)f->f(x),
                 f->exact((double)x), err);
    *worst = err > *worst ? err : *worst;
}

TEST(test_bounds)
{
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        const struct function *f = &functions[k];
        double worst = 0;
        for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += 5003)
            check_at(f, f32_from_bits((uint32_t)bits), &worst);
        for (int i = 0; i <= 600000; i++)
            check_at(f, f->from + (f->to - f->from) * (float)i / 600000.0f, &worst);
        if (getenv("PITH_VERBOSE"))
            print_message("%s: %.3f ulp\n", f->name, worst);
        assert_true(worst > 0.3); /* the measure measures */
    }
}

TEST(test_pow_bounds)
{
    double worst = 0;
    uint32_t seed = 20240229;
    for (int i = 0; i < 1000000; i++) {
        seed = seed * 1664525u + 1013904223u;
        float x = f32_from_bits(seed >> 1); /* positive, all exponents */
        seed = seed * 1664525u + 1013904223u;
        float y = f32_from_bits((seed & 0x80000000u) | ((seed >> 1 & 0x0fffffffu) + 0x38000000u));
        if (isnan(x))
            continue;
        if (i & 1) { /* near 1, where y may be large */
            x = 1.0f + (float)((int)(seed >> 8 & 0xffff) - 0x8000) * 0x1p-23f;
            y *= 1024;
        }
        double exact = pow((double)x, (double)y), err = ulps(pith_pow_f32(x, y), exact);
        if (err > 0.6)
            fail_msg("pow(%a, %a) = %a, exact %a", (double)x, (double)y, (double)pith_pow_f32(x, y),
                     exact);
        worst = err > worst ? err : worst;
    }
    if (getenv("PITH_VERBOSE"))
        print_message("pow: %.3f ulp\n", worst);
    assert_true(worst > 0.3);
}

TEST(test_special_values)
{
    const float inf = INFINITY;
    assert_true(pith_exp_f32(0.0f) == 1.0f);
    assert_true(pith_exp_f32(-inf) == 0.0f);
    assert_true(pith_exp_f32(inf) == inf);
    assert_true(pith_exp_f32(88.8f) == inf);
    assert_true(pith_exp_f32(-103.9f) == 0x1p-149f);
    assert_true(pith_log_f32(1.0f) == 0.0f);
    assert_true(pith_log_f32(0.0f) == -inf && pith_log_f32(-0.0f) == -inf);
    assert_true(pith_log_f32(inf) == inf);
    assert_true(isnan(pith_log_f32(-1.0f)) && isnan(pith_log_f32(NAN)));
    assert_true(pith_tanh_f32(inf) == 1.0f && pith_tanh_f32(-inf) == -1.0f);
    assert_true(pith_tanh_f32(100.0f) == 1.0f);
    assert_true(pith_sigmoid_f32(inf) == 1.0f && pith_sigmoid_f32(-inf) == 0.0f);
    assert_true(pith_sigmoid_f32(0.0f) == 0.5f);
    assert_true(pith_sqrt_f32(inf) == inf && isnan(pith_sqrt_f32(-0x1p-149f)));
    assert_true(pith_sqrt_f32(-0.0f) == 0.0f && signbit(pith_sqrt_f32(-0.0f)));
    assert_true(pith_asinh_f32(inf) == inf && pith_asinh_f32(-inf) == -inf);
    assert_true(signbit(pith_asinh_f32(-0.0f)) && signbit(pith_atanh_f32(-0.0f)));
    assert_true(pith_atanh_f32(1.0f) == inf && pith_atanh_f32(-1.0f) == -inf);
    assert_true(isnan(pith_atanh_f32(1.0001f)) && isnan(pith_atanh_f32(-inf)));
    assert_true(isnan(pith_asinh_f32(NAN)) && isnan(pith_atanh_f32(NAN)));
    assert_true(isnan(pith_exp_f32(NAN)) && isnan(pith_tanh_f32(NAN)));
    assert_true(isnan(pith_sigmoid_f32(NAN)) && isnan(pith_sqrt_f32(NAN)));
}

TEST(test_pow_special_values)
{
    const float inf = INFINITY;
    assert_true(pith_pow_f32(NAN, 0.0f) == 1.0f && pith_pow_f32(1.0f, NAN) == 1.0f);
    assert_true(isnan(pith_pow_f32(2.0f, NAN)) && isnan(pith_pow_f32(NAN, 2.0f)));
    assert_true(isnan(pith_pow_f32(-2.0f, 2.0f)));
    assert_true(pith_pow_f32(0.0f, 2.0f) == 0.0f && pith_pow_f32(0.0f, -2.0f) == inf);
    assert_true(pith_pow_f32(inf, 2.0f) == inf && pith_pow_f32(inf, -0.5f) == 0.0f);
    assert_true(pith_pow_f32(2.0f, inf) == inf && pith_pow_f32(0.5f, inf) == 0.0f);
    assert_true(pith_pow_f32(2.0f, 10.0f) == 1024.0f && pith_pow_f32(4.0f, -0.5f) == 0.5f);
    assert_true(pith_pow_f32(10.0f, 39.0f) == inf && pith_pow_f32(10.0f, -46.0f) == 0.0f);
    assert_true(pith_pow_f32(2.0f, -149.0f) == 0x1p-149f);
}

/* Rows are the scalar functions, whatever vectors the compiler made of them. */
TEST(test_rows)
{
    enum { N = 1003 };
    static float x[N], y[3][N];
    for (uint32_t start = 0; start < 50; start++) {
        for (uint32_t i = 0; i < N; i++)
            x[i] = f32_from_bits((start * N + i) * 85597u);
        pith_exp_row_f32(x, 1.5f, y[0], N);
        pith_tanh_row_f32(x, y[1], N);
        memcpy(y[2], x, sizeof x);
        pith_sigmoid_row_f32(y[2], y[2], N);
        for (uint32_t i = 0; i < N; i++) {
            const float expected[3] = {pith_exp_f32(x[i] - 1.5f), pith_tanh_f32(x[i]),
                                       pith_sigmoid_f32(x[i])};
            for (int k = 0; k < 3; k++)
                if (isnan(expected[k]) ? !isnan(y[k][i])
                                       : f32_bits(y[k][i]) != f32_bits(expected[k]))
                    fail_msg("function %d of %a: row %a, scalar %a", k, (double)x[i],
                             (double)y[k][i], (double)expected[k]);
        }
    }
}

/* Lane i % 16 takes element i: with 1 in lane 0 and 2^-24 elsewhere, each lane keeps its own. */
TEST(test_sum_order)
{
    float x[33];
    for (int i = 0; i < 33; i++)
        x[i] = i % 16 == 0 ? 1.0f : 0x1p-24f;
    /* Lane 0 holds 3 and meets the sum of lane 8 first: 3 + 2 * 2^-24 rounds back to 3 (its unit is
     * 2^-22); lanes 4, 2 and 1 bring 4, 8 and 16 * 2^-24, of which 2^-22 and more stay. */
    assert_true(pith_sum_f32(x, 33) == 3.0f + 0x1p-22f + 0x1p-21f + 0x1p-20f);
    assert_true(pith_sum_f32(x, 0) == 0.0f);
    assert_true(pith_sum_f32(x, 1) == 1.0f);
}

RUN_TESTS
