/* SPDX-License-Identifier: MIT */
/* Every operator but Conv, ConvTranspose, Gemm and MatMul against onnxruntime's answers
 * (op_cases.inc, made by gen_op_cases.py): shapes exactly, integers exactly, floats within 1e-5 of
 * the value or of the output's largest. Each case runs whole and cut into ranges, which must give
 * the same bits, with the reference kernels and with this CPU's. */
#include "op_case.h"
#include "kernels/kernels.h"
#include "pith_runtime.h"

static double f16_value(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 0x3ff;
    double v = e == 31 ? INFINITY : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return h & 0x8000 ? -v : v;
}

static double element(const struct tview *t, size_t i)
{
    switch (t->type) {
    case PITH_F32:
        return (double)((const float *)t->data)[i];
    case PITH_F16:
        return f16_value(((const uint16_t *)t->data)[i]);
    case PITH_F64:
        return ((const double *)t->data)[i];
    case PITH_I8:
        return ((const int8_t *)t->data)[i];
    case PITH_I16:
        return ((const int16_t *)t->data)[i];
    case PITH_U16:
        return ((const uint16_t *)t->data)[i];
    case PITH_I32:
        return ((const int32_t *)t->data)[i];
    case PITH_I64:
        return (double)((const int64_t *)t->data)[i];
    default:
        return ((const uint8_t *)t->data)[i];
    }
}

static void check_output(const struct op_case *c, const struct tview *t, const double *expected)
{
    size_t n = shape_elems(&t->shape);
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, isfinite(expected[i]) ? fabs(expected[i]) : 0);
    bool exact = t->type != PITH_F32;
    for (size_t i = 0; i < n; i++) {
        double got = element(t, i), bound = exact ? 0 : 1e-5 * fmax(largest, fabs(expected[i]));
        bool same = got == expected[i] || (isnan(got) && isnan(expected[i]));
        if (!same && !(fabs(got - expected[i]) <= bound))
            fail_msg("%s (seed %u), element %zu: expected %.9g, got %.9g", c->name, c->seed, i,
                     expected[i], got);
    }
}

static void check_split(struct one_op *t, const struct op_case *c)
{
    void *whole[ONE_OP_MAX];
    size_t bytes[ONE_OP_MAX];
    for (uint32_t i = 0; i < c->n_out; i++) {
        bytes[i] = shape_elems(&t->out[i].shape) * pith_type_bytes(t->out[i].type);
        whole[i] = malloc(bytes[i]);
        assert_non_null(whole[i]);
        memcpy(whole[i], t->out[i].data, bytes[i]);
    }
    one_op_run(t, true);
    for (uint32_t i = 0; i < c->n_out; i++) {
        assert_memory_equal(whole[i], t->out[i].data, bytes[i]);
        free(whole[i]);
    }
}

static void run_case(const struct op_case *c)
{
    struct one_op t;
    load_case(&t, c);
    enum pith_status st = one_op_shape(&t);
    if (st != PITH_OK)
        fail_msg("%s (seed %u): status %d", c->name, c->seed, (int)st);
    struct pith_kernels kernels;
    for (int own = 0; own < 2; own++) {
        const double *expected = c->expected;
        pith_kernels_fill(&kernels, own ? pith_cpu_features() : 0);
        t.kernels = &kernels;
        one_op_run(&t, false);
        for (uint32_t i = 0; i < c->n_out; i++) {
            if (t.out[i].type != c->out[i].type ||
                !pith_shape_equal(&t.out[i].shape, &c->out[i].shape))
                fail_msg("%s (seed %u): output %u has another type or shape", c->name, c->seed, i);
            check_output(c, &t.out[i], expected);
            expected += shape_elems(&t.out[i].shape);
        }
        check_split(&t, c);
    }
    one_op_close(&t);
    for (uint32_t i = 0; i < c->n_in; i++)
        free(t.in[i].data);
}

TEST(test_all_cases)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run_case(&cases[i]);
}

/* The same bits; of NaNs, which carry no number, sign and payload may differ (a compiler may take
 * scalar code where memory overlaps and vector code where it does not). */
static void assert_same_values(const struct tview *t, const void *a, const void *b)
{
    size_t n = shape_elems(&t->shape);
    if (t->type != PITH_F32) {
        assert_memory_equal(a, b, n * pith_type_bytes(t->type));
        return;
    }
    const float *x = a, *y = b;
    for (size_t i = 0; i < n; i++)
        if (!(isnan(x[i]) && isnan(y[i])))
            assert_memory_equal(&x[i], &y[i], sizeof *x);
}

/* Operators marked OP_INPLACE give the same values when input 0 and output share memory. */
TEST(test_in_place)
{
    size_t n_run = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct op_case *c = &cases[i];
        struct one_op t;
        load_case(&t, c);
        assert_int_equal(one_op_shape(&t), PITH_OK);
        if ((t.info->flags & OP_INPLACE) && pith_shape_equal(&t.in[0].shape, &t.out[0].shape)) {
            struct op_env env = {0};
            one_op_run(&t, false);
            void *apart = t.out[0].data;
            t.out[0].data = t.in[0].data;
            t.info->run(&t.args, &env);
            assert_same_values(&t.out[0], apart, t.in[0].data);
            n_run++;
        }
        one_op_close(&t);
        for (uint32_t k = 0; k < c->n_in; k++)
            free(t.in[k].data);
    }
    assert_true(n_run > 40);
}

RUN_TESTS
