/* SPDX-License-Identifier: MIT */
/* RECURRENT against the equations of ONNX in double precision, step by step: every kind and option,
 * weights that are constant (plain, sparse, clustered) and computed, batches on both sides of every
 * way to multiply, all levels, work split backwards. Then a network of one neuron by hand, and what
 * the shape rule refuses. */
#include <math.h>
#include <stdio.h>
#include "test_run.h"
#include "kernels/kernels.h"
#include "one_op.h"
#include "weight_case.h"
#include "pith_runtime.h"
#include "op_interface/op_attr.h"

enum { MAX_T = 5, MAX_N = 9, MAX_H = 72, MAX_ROWS = 4 * MAX_H };

static uint64_t seed = 0x5eed;

struct setup {
    int32_t kind;
    uint32_t t, n, h;
    bool reverse, linear, forget, split;
    float clip;
    uint32_t n_acts; /* 0: defaults */
    int32_t act[3];
    float alpha[3], beta[3];
    bool bias, lengths, h0, c0, peepholes;
    bool computed; /* R is no constant */
    struct weight_want r;
    uint32_t features, flags;
};

static const uint32_t gates_of[] = {1, 3, 4}, acts_of[] = {1, 2, 3};

/* Operands, and what is expected of them. */
static struct {
    float x[MAX_T * MAX_N * MAX_ROWS], r[MAX_ROWS * MAX_H], bias[MAX_ROWS], h0[MAX_N * MAX_H],
        c0[MAX_N * MAX_H], p[3 * MAX_H];
    int32_t length[MAX_N];
    double y[MAX_T * MAX_N * MAX_H], h[MAX_N * MAX_H], c[MAX_N * MAX_H];
} v;

/* ---- the equations -------------------------------------------------------------------------- */

static double activation(int32_t act, double a, double b, double x)
{
    switch ((enum recurrent_act)act) {
    case RECURRENT_SIGMOID:
        return 1 / (1 + exp(-x));
    case RECURRENT_TANH:
        return tanh(x);
    case RECURRENT_RELU:
        return fmax(x, 0);
    case RECURRENT_AFFINE:
        return a * x + b;
    case RECURRENT_LEAKY_RELU:
        return x < 0 ? a * x : x;
    case RECURRENT_THRESHOLDED:
        return x > a ? x : 0;
    case RECURRENT_SCALED_TANH:
        return a * tanh(b * x);
    case RECURRENT_HARD_SIGMOID:
        return fmin(fmax(a * x + b, 0), 1);
    case RECURRENT_ELU:
        return x < 0 ? a * expm1(x) : x;
    case RECURRENT_SOFTSIGN:
        return x / (1 + fabs(x));
    case RECURRENT_SOFTPLUS:
        return log1p(exp(x));
    default:
        return NAN;
    }
}

/* Function `which` of f, g, h of what is clipped unless it is h. */
static double act(const struct setup *s, uint32_t which, double x)
{
    int32_t kind = which || !s->kind ? RECURRENT_TANH : RECURRENT_SIGMOID;
    if (s->n_acts)
        kind = s->act[which];
    if (which < 2)
        x = fmin(fmax(x, -(double)s->clip), (double)s->clip);
    return activation(kind, (double)s->alpha[which], (double)s->beta[which], x);
}

/* Row of R times state. */
static double dot(const double *r, uint32_t row, const double *state, uint32_t h)
{
    double sum = 0;
    for (uint32_t k = 0; k < h; k++)
        sum += r[(size_t)row * h + k] * state[k];
    return sum;
}

static void lstm_step(const struct setup *s, const double *r, const float *x, double *h, double *c)
{
    double fresh[MAX_H];
    for (uint32_t j = 0; j < s->h; j++) {
        double u[4], pi = s->peepholes ? (double)v.p[j] : 0;
        double po = s->peepholes ? (double)v.p[s->h + j] : 0;
        double pf = s->peepholes ? (double)v.p[2 * s->h + j] : 0;
        for (uint32_t g = 0; g < 4; g++) {
            uint32_t row = g * s->h + j;
            u[g] = (double)x[row] + dot(r, row, h, s->h) + (s->bias ? (double)v.bias[row] : 0);
        }
        double in = act(s, 0, u[0] + pi * c[j]), forget = act(s, 0, u[2] + pf * c[j]);
        if (s->forget)
            forget = 1 - in;
        c[j] = forget * c[j] + in * act(s, 1, u[3]);
        fresh[j] = act(s, 0, u[1] + po * c[j]) * act(s, 2, c[j]);
    }
    memcpy(h, fresh, s->h * sizeof *h);
}

static void gru_step(const struct setup *s, const double *r, const float *x, double *h)
{
    double z[MAX_H], reset[MAX_H], scaled[MAX_H], fresh[MAX_H];
    uint32_t n = s->h;
    for (uint32_t j = 0; j < n; j++) {
        double b[2] = {s->bias ? (double)v.bias[j] : 0, s->bias ? (double)v.bias[n + j] : 0};
        z[j] = act(s, 0, (double)x[j] + dot(r, j, h, n) + b[0]);
        reset[j] = act(s, 0, (double)x[n + j] + dot(r, n + j, h, n) + b[1]);
        scaled[j] = reset[j] * h[j];
    }
    for (uint32_t j = 0; j < n; j++) {
        double b = s->bias ? (double)v.bias[2 * n + j] : 0, xh = (double)x[2 * n + j];
        double g = s->linear ? act(s, 1, xh + reset[j] * (dot(r, 2 * n + j, h, n) + b))
                             : act(s, 1, xh + dot(r, 2 * n + j, scaled, n) + b);
        fresh[j] = (1 - z[j]) * g + z[j] * h[j];
    }
    memcpy(h, fresh, n * sizeof *h);
}

static void rnn_step(const struct setup *s, const double *r, const float *x, double *h)
{
    double fresh[MAX_H];
    for (uint32_t j = 0; j < s->h; j++)
        fresh[j] = act(s, 0, (double)x[j] + dot(r, j, h, s->h) + (s->bias ? (double)v.bias[j] : 0));
    memcpy(h, fresh, s->h * sizeof *h);
}

static void expect(const struct setup *s, const double *r)
{
    uint32_t rows = gates_of[s->kind] * s->h;
    memset(v.y, 0, sizeof v.y);
    for (uint32_t n = 0; n < s->n; n++) {
        double h[MAX_H] = {0}, c[MAX_H] = {0};
        uint32_t length = s->lengths ? (uint32_t)v.length[n] : s->t;
        for (uint32_t j = 0; j < s->h; j++) {
            h[j] = s->h0 ? (double)v.h0[n * s->h + j] : 0;
            c[j] = s->c0 ? (double)v.c0[n * s->h + j] : 0;
        }
        for (uint32_t k = 0; k < length; k++) {
            uint32_t at = (s->reverse ? length - 1 - k : k) * s->n + n;
            const float *x = v.x + (size_t)at * rows;
            if (s->kind == RECURRENT_LSTM)
                lstm_step(s, r, x, h, c);
            else if (s->kind == RECURRENT_GRU)
                gru_step(s, r, x, h);
            else
                rnn_step(s, r, x, h);
            memcpy(v.y + (size_t)at * s->h, h, s->h * sizeof *h);
        }
        for (uint32_t j = 0; j < s->h; j++) {
            v.h[n * s->h + j] = length ? h[j] : 0;
            v.c[n * s->h + j] = length ? c[j] : 0;
        }
    }
}

/* ---- running it ----------------------------------------------------------------------------- */

static void fill(float *p, size_t n, float scale)
{
    for (size_t i = 0; i < n; i++)
        p[i] = scale * random_f32(&seed);
}

static void set_attributes(const struct setup *s, struct one_op *t)
{
    t->attr[ATTR_RECURRENT_KIND] = s->kind;
    t->attr[ATTR_RECURRENT_REVERSE] = s->reverse;
    t->attr[ATTR_RECURRENT_LINEAR_BEFORE_RESET] = s->linear;
    t->attr[ATTR_RECURRENT_INPUT_FORGET] = s->forget;
    t->attr[ATTR_RECURRENT_CLIP] = (int32_t)f32_bits(s->clip);
    one_op_list(t, ATTR_RECURRENT_ACT, s->n_acts, s->act);
    for (uint32_t i = 0; i < s->n_acts; i++) {
        t->attr[ATTR_RECURRENT_ALPHA + 1 + i] = (int32_t)f32_bits(s->alpha[i]);
        t->attr[ATTR_RECURRENT_BETA + 1 + i] = (int32_t)f32_bits(s->beta[i]);
    }
    t->attr[ATTR_RECURRENT_ALPHA] = t->attr[ATTR_RECURRENT_BETA] = (int32_t)s->n_acts;
}

static void set_inputs(const struct setup *s, struct one_op *t)
{
    uint32_t rows = gates_of[s->kind] * s->h;
    one_op_in(t, 0, PITH_F32, DIMS(s->t, s->n, rows), v.x);
    one_op_in(t, 1, PITH_F32, DIMS(rows, s->h), s->computed ? v.r : NULL);
    one_op_in(t, 2, PITH_F32, DIMS(rows), v.bias);
    one_op_in(t, 3, PITH_I32, DIMS(s->n), v.length);
    one_op_in(t, 4, PITH_F32, DIMS(s->n, s->h), v.h0);
    one_op_in(t, 5, PITH_F32, DIMS(s->n, s->h), v.c0);
    one_op_in(t, 6, PITH_F32, DIMS(3 * s->h), v.p);
    const bool given[] = {true, true, s->bias, s->lengths, s->h0, s->c0, s->peepholes};
    for (uint32_t i = 0; i < 7; i++)
        if (!given[i])
            t->in_ptr[i] = NULL;
}

static void near(const struct setup *s, const char *what, const float *got, const double *want,
                 size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - want[i]) <= 3e-5 * (1 + fabs(want[i]))))
            fail_msg("%s %zu of kind %d T %u N %u H %u: expected %.9g, got %.9g", what, i,
                     (int)s->kind, s->t, s->n, s->h, want[i], (double)got[i]);
}

static uint8_t *room(uint64_t bytes)
{
    uint8_t *p = aligned_alloc(64, bytes / 64 * 64 + 64);
    assert_non_null(p);
    memset(p, 0xff, bytes / 64 * 64 + 64); /* NaN: what is read must have been written */
    return p;
}

static const char *check(const struct setup *s)
{
    struct weight_case k = case_new(&s->r, &seed);
    struct pith_kernels kernels;
    struct op_env env = {
        .kernels = &kernels, .flags = s->flags, .parallel_for = s->split ? backwards : NULL};
    struct op_need need;
    struct one_op t;
    float *out[3];
    for (size_t i = 0; i < (size_t)s->r.rows * s->r.cols; i++)
        v.r[i] = (float)k.dense[i];
    fill(v.x, (size_t)s->t * s->n * s->r.rows, 1.0f), fill(v.bias, s->r.rows, 0.5f);
    fill(v.h0, (size_t)s->n * s->h, 1.0f), fill(v.c0, (size_t)s->n * s->h, 1.0f);
    fill(v.p, 3u * s->h, 0.5f);
    for (uint32_t n = 0; n < s->n; n++)
        v.length[n] = (int32_t)(random_u64(&seed) % (s->t + 1));
    expect(s, k.dense);
    one_op_open(&t, PITH_OP_RECURRENT, 7, s->kind == RECURRENT_LSTM ? 3 : 2);
    set_attributes(s, &t);
    set_inputs(s, &t);
    pith_kernels_fill(&kernels, s->features);
    t.args.weight = s->computed ? NULL : &k.w;
    assert_int_equal(one_op_shape(&t), PITH_OK);
    assert_int_equal(t.info->need(&t.args, &env, &need), PITH_OK);
    t.args.prep = need.prep_bytes ? room(need.prep_bytes) : NULL;
    env.scratch = room(need.prep_scratch_bytes);
    assert_int_equal(t.info->prepare(&t.args, &env), PITH_OK);
    free(env.scratch);
    env.scratch = room(need.scratch_bytes);
    for (uint32_t i = 0; i < t.args.n_out; i++)
        t.out[i].data = out[i] = (float *)(void *)room(shape_elems(&t.out[i].shape) * 4);
    t.info->run(&t.args, &env);
    near(s, "y", out[0], v.y, (size_t)s->t * s->n * s->h);
    near(s, "h", out[1], v.h, (size_t)s->n * s->h);
    if (s->kind == RECURRENT_LSTM)
        near(s, "c", out[2], v.c, (size_t)s->n * s->h);
    for (uint32_t i = 0; i < t.args.n_out; i++)
        free(out[i]);
    free(t.args.prep), free(env.scratch);
    case_free(&k);
    return need.kernel;
}

/* ---- what is run ---------------------------------------------------------------------------- */

static bool coin(void)
{
    return random_u64(&seed) % 2;
}

static struct setup random_setup(int32_t kind)
{
    bool lstm = kind == RECURRENT_LSTM;
    struct setup s = {.kind = kind,
                      .t = 1 + (uint32_t)(random_u64(&seed) % MAX_T),
                      .n = 1 + (uint32_t)(random_u64(&seed) % MAX_N),
                      .h = 1 + (uint32_t)(random_u64(&seed) % (coin() ? MAX_H : 8)),
                      .reverse = coin(),
                      .linear = kind == RECURRENT_GRU && coin(),
                      .forget = lstm && coin(),
                      .split = coin(),
                      .clip = coin() ? 0.7f : HUGE_VALF,
                      .bias = coin(),
                      .lengths = coin(),
                      .h0 = coin(),
                      .c0 = lstm && coin(),
                      .peepholes = lstm && coin(),
                      .computed = coin()};
    if (coin()) {
        s.n_acts = acts_of[kind];
        s.clip = 0.7f; /* some functions are not bounded */
        for (uint32_t i = 0; i < s.n_acts; i++) {
            s.act[i] = (int32_t)(random_u64(&seed) % RECURRENT_ACT_END);
            s.alpha[i] = 0.25f + 0.125f * (float)i;
            s.beta[i] = 0.5f;
        }
    }
    s.r = (struct weight_want){gates_of[kind] * s.h,
                               s.h,
                               PATTERN_RANDOM,
                               coin() ? 0.15 : 1.0,
                               coin(),
                               coin() ? 0 : 16,
                               1,
                               0.3f};
    return s;
}

TEST(test_equations)
{
    static const uint32_t levels[] = {0, PITH_CPU_AVX2, PITH_CPU_AVX2 | PITH_CPU_AVX512, ~0u};
    uint32_t best = pith_cpu_features();
    printf("seed %#llx\n", (unsigned long long)seed);
    for (uint32_t i = 0; i < 1200; i++) {
        struct setup s = random_setup((int32_t)(i % 3));
        s.features = best & levels[i / 3 % 4];
        check(&s);
    }
}

/* A constant that is sparse or clustered is multiplied straight from its run form. */
TEST(test_run_forms)
{
    static const struct weight_want wants[] = {
        {0, 62, PATTERN_RANDOM, 0.1, false, 32, 1, 0.3f},
        {0, 62, PATTERN_FULL, 1.0, true, 16, 1, 0.3f},
    };
    uint32_t best = pith_cpu_features();
    for (int32_t kind = 0; kind <= RECURRENT_END; kind++) /* the last: GRU that resets before */
        for (uint32_t w = 0; w < 2; w++)
            for (uint32_t n = 1; n <= 3; n += 2) {
                struct setup s = {.kind = kind < RECURRENT_END ? kind : RECURRENT_GRU,
                                  .t = 4,
                                  .n = n,
                                  .h = 62, /* 2 * 62 rows end within a unit of any form */
                                  .linear = kind == RECURRENT_GRU,
                                  .split = n == 3,
                                  .clip = HUGE_VALF,
                                  .bias = true,
                                  .r = wants[w],
                                  .features = best};
                s.r.rows = gates_of[s.kind] * s.h;
                const char *kernel = check(&s);
                if (best & PITH_CPU_AVX512)
                    assert_string_not_equal(kernel, "gemv-f32");
                s.flags = PITH_FLAG_DENSE_ONLY;
                kernel = check(&s);
                assert_true(!strncmp(kernel, "gemv-f32", 9) ||
                            (n > 1 && !strncmp(kernel, "gemm-f32", 9)));
            }
}

/* h' = relu(x + 2 h + 1), from h = 3, of lengths 2 (out of range: -5, 9) of 3. */
TEST(test_by_hand)
{
    const float x[] = {1, 1, 1, -30, 2, 2, 5, 3, 3}, r[] = {2}, b[] = {1}, h0[] = {3, 3, 3};
    const int32_t length[] = {2, -5, 9};
    const float y[] = {8, 0, 8, 0, 0, 19, 0, 0, 42}, h[] = {0, 0, 42};
    struct pith_kernels kernels;
    struct one_op t;
    pith_kernels_fill(&kernels, 0);
    one_op_open(&t, PITH_OP_RECURRENT, 5, 2);
    t.kernels = &kernels;
    t.attr[ATTR_RECURRENT_KIND] = RECURRENT_RNN;
    one_op_list(&t, ATTR_RECURRENT_ACT, LIST(RECURRENT_RELU));
    one_op_in(&t, 0, PITH_F32, DIMS(3, 3, 1), x);
    one_op_in(&t, 1, PITH_F32, DIMS(1, 1), r);
    one_op_in(&t, 2, PITH_F32, DIMS(1), b);
    one_op_in(&t, 3, PITH_I32, DIMS(3), length);
    one_op_in(&t, 4, PITH_F32, DIMS(3, 1), h0);
    assert_int_equal(one_op_shape(&t), PITH_OK);
    one_op_run(&t, false);
    assert_memory_equal(t.out[0].data, y, sizeof y);
    assert_memory_equal(t.out[1].data, h, sizeof h);
    one_op_close(&t);
}

/* ---- the shape rule ------------------------------------------------------------------------- */

static void lstm_of(struct one_op *t)
{
    one_op_open(t, PITH_OP_RECURRENT, 7, 3);
    t->attr[ATTR_RECURRENT_KIND] = RECURRENT_LSTM;
    one_op_in(t, 0, PITH_F32, DIMS(5, 2, 12), NULL);
    one_op_in(t, 1, PITH_F32, DIMS(12, 3), NULL);
    one_op_in(t, 2, PITH_F32, DIMS(12), NULL);
    one_op_in(t, 3, PITH_I32, DIMS(2), NULL);
    one_op_in(t, 4, PITH_F32, DIMS(2, 3), NULL);
    one_op_in(t, 5, PITH_F32, DIMS(2, 3), NULL);
    one_op_in(t, 6, PITH_F32, DIMS(9), NULL);
}

TEST(test_shape)
{
    static const struct {
        uint32_t i, rank, dim[4];
    } wrong[] = {
        {0, 2, {5, 24}},    {0, 3, {5, 2, 13}}, {0, 4, {5, 2, 12, 1}},
        {1, 2, {13, 3}},    {1, 2, {12, 4}},    {1, 1, {12}},
        {1, 3, {12, 3, 1}}, {1, 2, {3, 12}},    {1, 2, {1u << 31, 1u << 29}},
        {2, 1, {11}},       {2, 2, {1, 12}},    {3, 1, {3}},
        {3, 0, {0}},        {4, 2, {2, 4}},     {4, 3, {1, 2, 3}},
        {5, 2, {3, 2}},     {6, 1, {12}},       {6, 2, {3, 3}},
    };
    struct one_op t;
    lstm_of(&t);
    assert_int_equal(one_op_shape(&t), PITH_OK);
    const struct shape y = {3, {5, 2, 3}}, h = {2, {2, 3}};
    assert_true(pith_shape_equal(&t.out[0].shape, &y));
    assert_true(pith_shape_equal(&t.out[1].shape, &h) && pith_shape_equal(&t.out[2].shape, &h));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        lstm_of(&t);
        one_op_in(&t, wrong[i].i, t.in[wrong[i].i].type, wrong[i].rank, wrong[i].dim, NULL);
        if (one_op_shape(&t) != PITH_ERR_CORRUPT)
            fail_msg("wrong shape %zu was taken", i);
    }
    for (uint32_t i = 0; i < 7; i++) {
        lstm_of(&t);
        t.in[i].type = PITH_I64;
        assert_int_equal(one_op_shape(&t), PITH_ERR_UNSUPPORTED);
        lstm_of(&t);
        t.in_ptr[i] = NULL;
        assert_int_equal(one_op_shape(&t), i < 2 ? PITH_ERR_CORRUPT : PITH_OK);
    }
}

TEST(test_attributes)
{
    struct one_op t;
#define REFUSED(slot, value)                                                                       \
    do {                                                                                           \
        lstm_of(&t);                                                                               \
        t.attr[slot] = (int32_t)(value);                                                           \
        assert_int_equal(one_op_shape(&t), PITH_ERR_CORRUPT);                                      \
    } while (0)
    REFUSED(ATTR_RECURRENT_KIND, -1);
    REFUSED(ATTR_RECURRENT_KIND, RECURRENT_END);
    REFUSED(ATTR_RECURRENT_KIND, RECURRENT_GRU); /* peepholes, three outputs */
    REFUSED(ATTR_RECURRENT_LINEAR_BEFORE_RESET, 1);
    REFUSED(ATTR_RECURRENT_CLIP, f32_bits(-1.0f));
    REFUSED(ATTR_RECURRENT_CLIP, 0x7fc00000);
    REFUSED(ATTR_RECURRENT_ACT, 2); /* of three */
    REFUSED(ATTR_RECURRENT_ACT, 8);
    REFUSED(ATTR_RECURRENT_ALPHA, 1);
    REFUSED(ATTR_RECURRENT_BETA, 4);
    lstm_of(&t);
    one_op_list(&t, ATTR_RECURRENT_ACT, LIST(0, 0, RECURRENT_ACT_END));
    assert_int_equal(one_op_shape(&t), PITH_ERR_CORRUPT);
    lstm_of(&t);
    one_op_list(&t, ATTR_RECURRENT_ALPHA, LIST(0, 0, 0x7f800000));
    assert_int_equal(one_op_shape(&t), PITH_ERR_CORRUPT);
    lstm_of(&t);
    t.attr[ATTR_RECURRENT_KIND] = RECURRENT_RNN;
    t.attr[ATTR_RECURRENT_INPUT_FORGET] = 1;
    t.args.n_in = 2;
    t.args.n_out = 2;
    one_op_in(&t, 0, PITH_F32, DIMS(5, 2, 3), NULL);
    one_op_in(&t, 1, PITH_F32, DIMS(3, 3), NULL);
    assert_int_equal(one_op_shape(&t), PITH_ERR_CORRUPT);
    t.attr[ATTR_RECURRENT_INPUT_FORGET] = 0;
    assert_int_equal(one_op_shape(&t), PITH_OK);
    t.args.n_out = 3;
    assert_int_equal(one_op_shape(&t), PITH_ERR_CORRUPT);
#undef REFUSED
}

RUN_TESTS
