/* SPDX-License-Identifier: MIT */
/* elementary_f32 against libm in double: the bounds that elementary_f32.h states, over a prime
 * stride through all floats and densely where the results vary; power against C's pow, special
 * values included; rows alone, in place and cut give the same bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "core/bytes.h"
#include "kernels/ref/elementary_f32.h"
#include "kernels/ref/elementwise_f32.h"

typedef void row_function(const float *x, float *y, size_t n);

static void log_rows(const float *x, float *y, size_t n)
{
    unary_rows(UNARY_LOG, 0, 0, x, y, n);
}

static void mish_rows(const float *x, float *y, size_t n)
{
    unary_rows(UNARY_MISH, 0, 0, x, y, n);
}

static void sin_row(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = pith_sin_f32(x[i]);
}

static void cos_row(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = pith_cos_f32(x[i]);
}

static void atan_row(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = pith_atan_f32(x[i]);
}

static void elu_row(const float *x, float *y, size_t n)
{
    pith_elu_row_f32(1, 1, 1, x, y, n);
}

static double softplus(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static double mish(double x)
{
    if (x < -700)
        return 0;
    return x * tanh(softplus(x));
}

static double swish(double x)
{
    return x / (1 + exp(-x));
}

static double gelu(double x)
{
    return x < -100 ? 0 : x / 2 * erfc(-x / sqrt(2));
}

static double gelu_tanh(double x)
{
    double u = sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x);
    return x < -100 ? 0 : x / 2 * (1 + tanh(u));
}

static double elu(double x)
{
    return x > 0 ? x : expm1(x);
}

static const struct function {
    const char *name;
    row_function *row;
    double (*exact)(double x);
    double ulps;     /* of the result; 0: */
    double absolute; /* times max(|x|, 1) */
    float from, to;
} functions[] = {
    {"sin", sin_row, sin, 0.6, 0, -100, 100},
    {"cos", cos_row, cos, 0.6, 0, -100, 100},
    {"atan", atan_row, atan, 0.6, 0, -4, 4},
    {"sqrt", pith_sqrt_row_f32, sqrt, 0.5, 0, 0, 4},
    {"log", log_rows, log, 1.1, 0, 0.5f, 2},
    {"erf", pith_erf_row_f32, erf, 2.5, 0, -4.5f, 4.5f},
    {"softplus", pith_softplus_row_f32, softplus, 3, 0, -105, 20},
    {"mish", mish_rows, mish, 5, 0, -87, 20},
    {"swish", pith_swish_row_f32, swish, 4, 0, -87, 87},
    {"gelu", pith_gelu_row_f32, gelu, 0, 0x1p-23, -7, 7},
    {"gelu tanh", pith_gelu_tanh_row_f32, gelu_tanh, 0, 0x1p-22, -12, 12},
    {"elu", elu_row, elu, 3, 0, -20, 1},
};

static double error_of(const struct function *f, float x, float got)
{
    double exact = f->exact((double)x);
    if (isnan(exact))
        return isnan(got) ? 0 : INFINITY;
    if (isnan(got))
        return INFINITY;
    if (isinf(exact) || isinf(got))
        return isinf(got) && fabs(exact) > 3.4028235e38 && (got > 0) == (exact > 0) ? 0 : INFINITY;
    double off = fabs((double)got - exact);
    if (f->absolute > 0)
        return off / (f->absolute * fmax(fabs((double)x), 1));
    if ((f->row == mish_rows && off <= 0x1p-140) ||
        (f->row == pith_swish_row_f32 && off <= 0x1p-121))
        return 0; /* exp(x) is denormal there, the result is not */
    int e;
    frexp(exact, &e);
    return off / ldexp(1, e - 24 < -149 ? -149 : e - 24) / f->ulps;
}

enum { BLOCK = 256 };

static void check_block(const struct function *f, const float *x, double *worst)
{
    float y[BLOCK], z[BLOCK];
    f->row(x, y, BLOCK);
    memcpy(z, x, sizeof z);
    f->row(z, z, 3);
    f->row(z + 3, z + 3, BLOCK - 3);
    for (int i = 0; i < BLOCK; i++) {
        double err = error_of(f, x[i], y[i]);
        if (err > 1)
            fail_msg("%s(%a) = %a, exact %a: %.2f of the bound", f->name, (double)x[i],
                     (double)y[i], f->exact((double)x[i]), err);
        if (isnan(y[i]) ? !isnan(z[i]) : f32_bits(y[i]) != f32_bits(z[i]))
            fail_msg("%s(%a): %a in one row, %a in another", f->name, (double)x[i], (double)y[i],
                     (double)z[i]);
        *worst = err > *worst ? err : *worst;
    }
}

TEST(test_bounds)
{
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        const struct function *f = &functions[k];
        double worst = 0;
        float x[BLOCK];
        uint32_t bits = 0;
        for (int block = 0; block < 3000; block++) {
            for (int i = 0; i < BLOCK; i++)
                x[i] = f32_from_bits(bits += 5591u);
            check_block(f, x, &worst);
        }
        for (int block = 0; block < 2000; block++) {
            for (int i = 0; i < BLOCK; i++)
                x[i] = f->from + (f->to - f->from) * (float)(block * BLOCK + i) / (2000 * BLOCK);
            check_block(f, x, &worst);
        }
        if (getenv("PITH_VERBOSE"))
            print_message("%s: %.3f of its bound\n", f->name, worst);
        assert_true(worst > 0.2); /* the measure measures */
    }
}

TEST(test_infinities)
{
    const float x[3] = {INFINITY, -INFINITY, NAN};
    float y[3];
    pith_erf_row_f32(x, y, 3);
    assert_true(y[0] == 1 && y[1] == -1 && isnan(y[2]));
    pith_softplus_row_f32(x, y, 3);
    assert_true(y[0] == INFINITY && y[1] == 0 && isnan(y[2]));
    mish_rows(x, y, 3);
    assert_true(y[0] == INFINITY && y[1] == 0 && isnan(y[2]));
    pith_gelu_tanh_row_f32(x, y, 3);
    assert_true(y[0] == INFINITY && fabsf(y[1]) < 1e-20f && isnan(y[2]));
    elu_row(x, y, 3);
    assert_true(y[0] == INFINITY && y[1] == -1 && isnan(y[2]));
    pith_sqrt_row_f32(x, y, 3);
    assert_true(y[0] == INFINITY && isnan(y[1]) && isnan(y[2]));
    assert_true(isnan(pith_sin_f32(INFINITY)) && isnan(pith_cos_f32(-INFINITY)));
    assert_true(signbit(pith_sin_f32(-0.0f)) && pith_cos_f32(0.0f) == 1);
}

static void check_power(float x, float y)
{
    double exact = pow((double)x, (double)y);
    float got = pith_power_f32(x, y), rounded = (float)exact;
    if (isnan(exact) ? isnan(got) : got == rounded && signbit(got) == signbit(rounded))
        return;
    double off = fabs((double)got - exact), unit = fmax(fabs(exact) * 0x1p-23, 0x1p-149);
    if (!(off <= unit) && !(isinf(got) && fabs(exact) > 3.4028234e38))
        fail_msg("power(%a, %a) = %a, exact %a", (double)x, (double)y, (double)got, exact);
}

TEST(test_power)
{
    const float special[] = {0.0f,  -0.0f, 1,      -1,       2,         -2,       3,       -3, 0.5f,
                             -0.5f, 1.5f,  -2.5f,  INFINITY, -INFINITY, NAN,      7,       -7, 100,
                             -101,  1e30f, -1e30f, 1e-30f,   -1e-30f,   16777216, 16777215};
    enum { N = sizeof special / sizeof *special };
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            check_power(special[i], special[k]);
    uint32_t rng = 77;
    for (int i = 0; i < 200000; i++) {
        rng = rng * 1664525u + 1013904223u;
        float x = (float)((int)(rng >> 8) - 0x800000) / 65536.0f;
        rng = rng * 1664525u + 1013904223u;
        check_power(x, (float)((int)(rng >> 24) - 128) / (rng & 1 ? 1 : 16));
    }
}

RUN_TESTS
