/* SPDX-License-Identifier: MIT */
/* Fixed point: radix points and how they are chosen, sums that cannot overflow, values of 16 bits.
 */
#include "test_run.h"
#include "network_run.h"
#include "pith_quantize.h"
#include "quantize/layer/integer_layer.h"
#include "quantize/layer/radix.h"
#include "quantize/layer/radix_weight.h"

#define SIDE 6u
#define PIXELS (4 * SIDE * SIDE)

/* ---- powers of two --------------------------------------------------------------------------- */

TEST(finds_the_power_of_two_above)
{
    assert_true(pith_radix_above(1) == 1 && pith_radix_above(0.5) == 0.5);
    assert_true(pith_radix_above(1.0000001) == 2 && pith_radix_above(0.7) == 1);
    assert_true(pith_radix_above(0x1.8p-40) == 0x1p-39);
    assert_true(pith_radix_above(1e-300) == 0x1p-126 && pith_radix_above(1e300) == 0x1p127);
    assert_true(pith_is_radix(0x1p-20) && !pith_is_radix(3) && !pith_is_radix(0));
}

/* A row of numbers around 0 and a large one: `large` is cut when that costs less than coarse steps.
 */
static double radix_of_row(float large)
{
    enum { N = 1000 };
    static float w[N];
    struct sample_random r = sample_random_of(1);
    for (uint32_t i = 0; i < N; i++)
        w[i] = 0.1f * sample_gauss(&r);
    w[7] = large;
    struct integer_layer l = {.shape = {1, N, 1}, .real.w = w, .real.w_factor = 1, .most = 127};
    return pith_radix_of_weights(&l, 0, 1, NULL, pith_radix_above((double)large / 127), 0);
}

TEST(takes_the_radix_of_least_error)
{
    assert_true(radix_of_row(1.01f) == 0x1p-7); /* 2^-6 would cut nothing */
    assert_true(radix_of_row(3.9f) == 0x1p-5);
    assert_true(radix_of_row(0.9f) == 0x1p-7);
    /* what is not worth anything is not kept out of the way, and no scale falls below the least */
    float w[2] = {1.5f, 0.01f};
    const double first[2] = {1, 0}, second[2] = {0, 1};
    struct integer_layer l = {.shape = {1, 2, 1}, .real.w = w, .real.w_factor = 1, .most = 127};
    assert_true(pith_radix_of_weights(&l, 0, 1, first, 0x1p-6, 0) == 0x1p-6);
    assert_true(pith_radix_of_weights(&l, 0, 1, second, 0x1p-6, 0) == 0x1p-8);
    assert_true(pith_radix_of_weights(&l, 0, 1, second, 0x1p-6, 0x1p-7) == 0x1p-7);
}

/* ---- a network ------------------------------------------------------------------------------- */

/* conv, relu, depthwise conv, conv beside it, their sum, mean, gemm */
static struct pith_model *network(uint64_t seed)
{
    struct sample_random r = sample_random_of(seed);
    struct pith_model *m = sample_new();
    uint32_t x = add_input(m, "x", 4, (const uint32_t[]){1, 4, SIDE, SIDE}), y;
    x = add_layer(m, &r, PITH_OP_CONV, "a", x, 4, (const uint32_t[]){8, 4, 3, 3});
    pads_of_one(&m->nodes[m->n_nodes - 1]);
    x = add_node(m, PITH_OP_RELU, "relu", "relu.out", 1, &x)->out[0];
    x = add_layer(m, &r, PITH_OP_CONV, "b", x, 4, (const uint32_t[]){8, 1, 3, 3});
    m->nodes[m->n_nodes - 1].attr[ATTR_CONV_GROUP] = 8;
    y = add_layer(m, &r, PITH_OP_CONV, "c", x, 4, (const uint32_t[]){8, 8, 1, 1});
    x = add_node(m, PITH_OP_ADD, "add", "add.out", 2, (const uint32_t[]){x, y})->out[0];
    x = add_node(m, PITH_OP_GLOBAL_AVERAGE_POOL, "mean", "mean.out", 1, &x)->out[0];
    x = add_node(m, PITH_OP_FLATTEN, "flat", "flat.out", 1, &x)->out[0];
    x = add_layer(m, &r, PITH_OP_GEMM, "d", x, 2, (const uint32_t[]){10, 8});
    return sample_done(m, x);
}

static double quantized_snr(struct pith_model *m, struct pith_quantize_opts o, const float *x,
                            uint64_t n, struct pith_quantize_layer *layers)
{
    float a[64], b[64];
    struct pith_error err = {0};
    uint32_t n_out = m->values[m->outputs[0]].dim[1];
    o.size_bytes = sizeof o;
    run_network(m, m, x, n, a);
    SUCCEEDS(pith_quantize(m, &o, layers, NULL, &err));
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    run_network(m, NULL, x, n, b);
    return snr_db(a, b, n_out);
}

static const struct pith_const *constant(const struct pith_model *m, uint32_t v)
{
    return m->values[v].constant;
}

/* The scales of what node reads as number `in`; returns how many there are. */
static uint64_t all_radix(const struct pith_model *m, const struct pith_node *node, uint32_t in)
{
    const struct pith_const *c = constant(m, node->in[in]);
    assert_non_null(c);
    for (uint64_t i = 0; i < c->count; i++)
        assert_true(pith_is_radix((double)((const float *)c->data)[i]));
    return c->count;
}

static bool all_zero(const struct pith_model *m, uint32_t v)
{
    const struct pith_const *c = constant(m, v);
    uint64_t bytes = c->count * pith_type_bytes(m->values[v].type), sum = 0;
    for (uint64_t i = 0; i < bytes; i++)
        sum += ((const uint8_t *)c->data)[i];
    return sum == 0;
}

static bool differ(const struct pith_const *c)
{
    const float *x = c->data;
    for (uint64_t i = 1; i < c->count; i++)
        if (x[i] > x[0] || x[i] < x[0])
            return true;
    return false;
}

/* Every scale and factor; does any layer have several? */
static bool check_scales(const struct pith_model *m)
{
    bool several = false;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *node = &m->nodes[i];
        bool scales = node->op == PITH_OP_QUANTIZE || node->op == PITH_OP_DEQUANTIZE;
        if (!scales && node->op != PITH_OP_REQUANTIZE)
            continue;
        all_radix(m, node, 1);
        if (node->n_in > 2)
            assert_true(all_zero(m, node->in[2]));
        several |= differ(constant(m, node->in[1]));
    }
    return several;
}

TEST(all_scales_are_powers_of_two)
{
    float x[PIXELS];
    struct sample_random r = sample_random_of(2);
    for (uint32_t i = 0; i < PIXELS; i++)
        x[i] = sample_gauss(&r);
    for (uint32_t bits = 8; bits <= 16; bits += 8)
        for (int per_channel = 0; per_channel < 2; per_channel++) {
            struct pith_model *m = network(3);
            struct pith_quantize_layer layers[8];
            double snr = quantized_snr(
                m, (struct pith_quantize_opts){.fixed_bits = bits, .per_channel = per_channel != 0},
                x, PIXELS, layers);
            if (snr < (bits == 8 ? 25 : 70))
                fail_msg("%u bits, per channel %d: %.1f dB", bits, per_channel, snr);
            assert_int_equal(check_scales(m), per_channel);
            for (uint32_t i = 0; i < 4; i++)
                assert_int_equal(layers[i].sum_bits, bits == 8 ? 32 : 64);
            const struct pith_node *conv = first_op(m, PITH_OP_CONV_INTEGER);
            assert_int_equal(m->values[conv->in[1]].type, bits == 8 ? PITH_I8 : PITH_I16);
            assert_int_equal(m->values[conv->in[0]].type, bits == 8 ? PITH_I8 : PITH_I16);
            pith_model_free(m);
        }
}

/* Each bit halves the steps, of weights and of activations. */
TEST(short_words_are_coarser)
{
    float x[PIXELS];
    double before = 0;
    struct sample_random r = sample_random_of(8);
    for (uint32_t i = 0; i < PIXELS; i++)
        x[i] = sample_gauss(&r);
    for (uint32_t bits = 4; bits <= 8; bits++) {
        double sum = 0;
        for (uint64_t seed = 1; seed <= 8; seed++) {
            struct pith_model *m = network(seed);
            sum +=
                quantized_snr(m, (struct pith_quantize_opts){.fixed_bits = bits}, x, PIXELS, NULL) /
                8;
            check_scales(m);
            pith_model_free(m);
        }
        if (sum < before + 3)
            fail_msg("%u bits: %.1f dB, before %.1f", bits, sum, before);
        before = sum;
    }
}

/* Grids that were chosen otherwise are widened to fit. */
TEST(other_grids_are_made_to_fit)
{
    float x[PIXELS], scale = 0.03f;
    struct pith_grid grid = {
        .type = PITH_U8, .bits = 8, .method = 1, .zero_point = 100, .n = 1, .scale = &scale};
    struct sample_random r = sample_random_of(4);
    for (uint32_t i = 0; i < PIXELS; i++)
        x[i] = sample_gauss(&r);
    struct pith_model *m = network(5);
    m->values[m->inputs[0]].grid = &grid; /* -3 to 4.65 */
    assert_true(quantized_snr(m, (struct pith_quantize_opts){.fixed_bits = 8}, x, PIXELS, NULL) >
                20);
    const struct pith_node *first = first_op(m, PITH_OP_QUANTIZE);
    assert_int_equal(m->values[first->out[0]].type, PITH_I8);
    assert_true(*(const float *)constant(m, first->in[1])->data == 0x1p-4f);
    pith_model_free(m);
}

/* ---- sums ------------------------------------------------------------------------------------ */

enum { LONG = 4000 };

/* gemm a [4, n], relu, gemm b [3, 4]: row o of a holds weights up to size[o], all alike or, odd
 * ones, of both signs. */
static struct pith_model *long_rows(uint32_t n, float size)
{
    struct sample_random r = sample_random_of(6);
    struct pith_model *m = sample_new();
    uint32_t x = add_input(m, "x", 2, (const uint32_t[]){1, n});
    x = add_layer(m, &r, PITH_OP_GEMM, "a", x, 2, (const uint32_t[]){4, n});
    float *w = m->values[m->nodes[0].in[1]].constant->data;
    for (uint32_t i = 0; i < 4 * n; i++)
        w[i] = i / n % 2 == 0 ? size : i % 2 ? -size / 2 : size * 0.7f;
    x = add_node(m, PITH_OP_RELU, "relu", "relu.out", 1, &x)->out[0];
    x = add_layer(m, &r, PITH_OP_GEMM, "b", x, 2, (const uint32_t[]){3, 4});
    return sample_done(m, x);
}

static void ramp(float *x, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        x[i] = 1 - (float)i / (2 * (float)n);
}

static int64_t number(const struct pith_model *m, uint32_t v, uint64_t i)
{
    const void *p = constant(m, v)->data;
    switch (m->values[v].type) {
    case PITH_I8:
        return ((const int8_t *)p)[i];
    case PITH_I16:
        return ((const int16_t *)p)[i];
    case PITH_I32:
        return ((const int32_t *)p)[i];
    default:
        return ((const int64_t *)p)[i];
    }
}

/* The proof, made once more from what the network holds; the largest |sum| of its first product. */
static double most_of_first(const struct pith_model *m)
{
    const struct pith_node *product = first_op(m, PITH_OP_MATMUL_INTEGER);
    const struct pith_node *add = first_op(m, PITH_OP_ADD);
    uint32_t w = product->in[1], n = m->values[w].dim[1];
    enum pith_type type = m->values[product->in[0]].type;
    double x = type == PITH_U8    ? 255
               : type == PITH_I8  ? 128
               : type == PITH_U16 ? 65535
                                  : 32768,
           most = 0;
    for (uint32_t o = 0; o < n; o++) {
        double sum = fabs((double)number(m, add->in[1], o));
        for (uint64_t k = 0; k < m->values[w].dim[0]; k++)
            sum += fabs((double)number(m, w, k * n + o)) * x;
        most = fmax(most, sum);
    }
    return most;
}

static void sums_are_proven(uint32_t n, struct pith_quantize_opts o, uint32_t sum_bits,
                            double least_snr)
{
    static float x[LONG];
    struct pith_quantize_layer layers[2];
    struct pith_model *m = long_rows(n, 3);
    ramp(x, n);
    double snr = quantized_snr(m, o, x, n, layers);
    double most = most_of_first(m);
    assert_int_equal(layers[0].sum_bits, sum_bits);
    assert_true(layers[0].most_sum == most);
    assert_true(most < ldexp(1, (int)sum_bits - 1));
    assert_int_equal(m->values[first_op(m, PITH_OP_MATMUL_INTEGER)->in[1]].type,
                     sum_bits == 64 ? PITH_I16 : PITH_I8);
    if (snr < least_snr)
        fail_msg("%u columns: %.1f dB", n, snr);
    if (o.fixed_bits)
        check_scales(m);
    pith_model_free(m);
}

TEST(sums_cannot_overflow)
{
    const struct pith_quantize_opts short_values = {.activation_bits = 16},
                                    fixed = {.fixed_bits = 8},
                                    fixed_16 = {.fixed_bits = 16, .weight_bits = 8};
    sums_are_proven(100, short_values, 32, 38); /* 100 * 127 * 65535 < 2^30 */
    sums_are_proven(140, short_values, 64, 38); /* and 140 are not */
    sums_are_proven(LONG, short_values, 64, 38);
    sums_are_proven(100, fixed_16, 32, 38);
    sums_are_proven(LONG, fixed_16, 64, 38);
    sums_are_proven(LONG, fixed, 32, 25);
    sums_are_proven(LONG, (struct pith_quantize_opts){.fixed_bits = 16}, 64, 70);
}

/* Sums of equal signs are 4,000 times larger than one product; Requantize shifts by 16 places at
 * most. */
TEST(no_shift_goes_too_far)
{
    static float x[LONG];
    struct pith_model *m = long_rows(LONG, 3);
    ramp(x, LONG);
    assert_true(quantized_snr(m, (struct pith_quantize_opts){.fixed_bits = 8}, x, LONG, NULL) > 25);
    const struct pith_node *node = first_op(m, PITH_OP_REQUANTIZE);
    const float *factor = constant(m, node->in[1])->data;
    for (uint32_t o = 0; o < 4; o++)
        assert_true(factor[o] >= 0x1p-16f && factor[o] < 0x1p-10f);
    pith_model_free(m);
}

/* Rows longer than 32 bits hold with any bytes: float, or in fixed point 64 bits. */
TEST(rows_too_long_are_widened)
{
    enum { TOO_LONG = 40000 };
    static float x[TOO_LONG];
    struct pith_quantize_layer layers[2];
    ramp(x, TOO_LONG);
    struct pith_model *m = long_rows(TOO_LONG, 3);
    quantized_snr(m, (struct pith_quantize_opts){.weight_bits = 8}, x, TOO_LONG, layers);
    assert_string_equal(layers[0].why, "its sums may exceed 32 bits");
    assert_int_equal(layers[0].sum_bits, 0);
    pith_model_free(m);
    m = long_rows(TOO_LONG, 3);
    assert_true(
        quantized_snr(m, (struct pith_quantize_opts){.fixed_bits = 8}, x, TOO_LONG, layers) > 25);
    assert_null(layers[0].why);
    assert_int_equal(layers[0].sum_bits, 64);
    assert_true(layers[0].most_sum == most_of_first(m));
    pith_model_free(m);
}

TEST(bits_have_bounds)
{
    const struct {
        struct pith_quantize_opts o;
        const char *text;
    } wrong[] = {
        {{.activation_bits = 9}, "activations of 9 bits"},
        {{.fixed_bits = 12}, "activations of 12 bits, supported are 2 to 8, and 16"},
        {{.activation_bits = 16, .weight_bits = 17}, "weights of 17 bits, supported are 2 to 16"},
        {{.fixed_bits = 8, .weight_bits = 9}, "weights of 9 bits, supported are 2 to 8"}};
    struct pith_model *m = network(7);
    for (uint32_t i = 0; i < 4; i++) {
        struct pith_error err = {0};
        struct pith_quantize_opts o = wrong[i].o;
        o.size_bytes = sizeof o;
        assert_int_equal(pith_quantize(m, &o, NULL, NULL, &err), PITH_ERR_ARGUMENT);
        assert_non_null(strstr(err.text, wrong[i].text));
    }
    pith_model_free(m);
}

RUN_TESTS
