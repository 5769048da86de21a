/* SPDX-License-Identifier: MIT */
/* Networks of integers: what they are made of, what vanishes, how near they stay, refusals. */
#include "test_run.h"
#include "network_run.h"
#include "pith_quantize.h"
#include "pith_value_stats.h"

#define SIDE 6u
#define CHANNELS 4u

/* A network is built by adding to `at`, the value made last. */
struct built {
    struct pith_model *m;
    struct sample_random r;
    uint32_t at;
};

static struct built begin(uint64_t seed, uint32_t rank, const uint32_t *dim)
{
    struct built b = {.m = sample_new(), .r = sample_random_of(seed)};
    b.at = add_value(b.m, "x", PITH_F32, rank, dim);
    b.m->inputs[b.m->n_inputs++] = b.at;
    return b;
}

static struct built begin_image(uint64_t seed)
{
    return begin(seed, 4, (const uint32_t[]){1, CHANNELS, SIDE, SIDE});
}

static void conv(struct built *b, const char *name, uint32_t from, uint32_t to, uint32_t group)
{
    b->at = add_layer(b->m, &b->r, PITH_OP_CONV, name, b->at, 4,
                      (const uint32_t[]){to, from / group, 3, 3});
    struct pith_node *node = &b->m->nodes[b->m->n_nodes - 1];
    node->attr[ATTR_CONV_GROUP] = (int32_t)group;
    node->attr[ATTR_CONV_PADS] = 4;
    for (int i = 1; i <= 4; i++)
        node->attr[ATTR_CONV_PADS + i] = 1;
}

static void gemm(struct built *b, const char *name, uint32_t from, uint32_t to)
{
    b->at = add_layer(b->m, &b->r, PITH_OP_GEMM, name, b->at, 2, (const uint32_t[]){to, from});
}

static struct pith_node *op(struct built *b, uint32_t number, const char *name)
{
    char out[40];
    snprintf(out, sizeof out, "%s.out", name);
    struct pith_node *node = add_node(b->m, number, name, out, 1, &b->at);
    b->at = node->out[0];
    return node;
}

static void clip(struct built *b, const char *name, float low, float high)
{
    struct pith_node *node = op(b, PITH_OP_CLIP, name);
    memcpy(&node->attr[ATTR_CLIP_MIN], &low, sizeof low);
    memcpy(&node->attr[ATTR_CLIP_MAX], &high, sizeof high);
}

static void end(struct built *b)
{
    struct pith_error err = {0};
    b->m->outputs[b->m->n_outputs++] = b->at;
    SUCCEEDS(pith_model_infer_shapes(b->m, &err));
}

static void fill(struct sample_random *r, float *x, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        x[i] = sample_gauss(r);
}

/* Calibrates on x alone and quantizes; the SNR of the outputs. */
static double quantized_snr(struct built *b, const float *x, uint64_t n,
                            const struct pith_quantize_opts *opts,
                            struct pith_quantize_layer *layers)
{
    static float before[4096], after[4096];
    struct pith_error err = {0};
    uint64_t n_out = 1;
    const struct pith_value *out = &b->m->values[b->m->outputs[0]];
    for (uint32_t i = 0; i < out->rank; i++)
        n_out *= out->dim[i];
    assert_true(n_out <= 4096);
    run_network(b->m, b->m, x, n, before);
    SUCCEEDS(pith_quantize(b->m, opts, layers, NULL, &err));
    assert_int_equal(pith_model_infer_shapes(b->m, &err), PITH_OK);
    run_network(b->m, NULL, x, n, after);
    return snr_db(before, after, n_out);
}

static const struct pith_quantize_opts defaults = {.size_bytes = sizeof defaults};

/* ---- structure ------------------------------------------------------------------------------- */

TEST(layers_become_integers_and_relu_vanishes)
{
    struct built b = begin_image(1);
    float x[CHANNELS * SIDE * SIDE];
    conv(&b, "a", CHANNELS, 8, 1);
    op(&b, PITH_OP_RELU, "relu");
    conv(&b, "b", 8, 8, 2);
    clip(&b, "clip", 0, 6);
    conv(&b, "c", 8, 3, 1);
    end(&b);
    fill(&b.r, x, sizeof x / sizeof *x);
    struct pith_quantize_layer layers[8];
    assert_true(quantized_snr(&b, x, sizeof x / sizeof *x, &defaults, layers) > 30);
    assert_int_equal(b.m->n_nodes, 7);
    static const uint32_t ops[] = {PITH_OP_QUANTIZE,     PITH_OP_CONV_INTEGER, PITH_OP_REQUANTIZE,
                                   PITH_OP_CONV_INTEGER, PITH_OP_REQUANTIZE,   PITH_OP_CONV_INTEGER,
                                   PITH_OP_DEQUANTIZE};
    for (uint32_t i = 0; i < 7; i++)
        assert_int_equal(b.m->nodes[i].op, ops[i]);
    for (uint32_t i = 0; i < 3; i++) {
        assert_null(layers[i].why);
        assert_true(layers[i].snr_db > 40 && layers[i].snr_db < 60);
    }
    assert_string_equal(layers[1].layer, "b");
    assert_string_equal(layers[1].tensor, "b.weight");
    assert_string_equal(b.m->values[b.m->outputs[0]].name, "c.out");
    const struct pith_node *first = first_op(b.m, PITH_OP_CONV_INTEGER);
    const struct pith_value *w = &b.m->values[first->in[1]];
    assert_int_equal(w->type, PITH_I8);
    assert_string_equal(w->name, "a.weight");
    pith_model_free(b.m);
}

/* A grid that goes below 0 does not do what Relu does. */
TEST(relu_stays_where_the_grid_does_not_cut)
{
    struct built b = begin_image(2);
    float x[CHANNELS * SIDE * SIDE];
    uint32_t in = b.at;
    conv(&b, "a", CHANNELS, 4, 1);
    op(&b, PITH_OP_RELU, "relu");
    uint32_t first = b.at;
    b.at = in;
    conv(&b, "b", CHANNELS, 4, 1);
    struct pith_node *node =
        add_node(b.m, PITH_OP_CONCAT, "join", "join.out", 2, (const uint32_t[]){first, b.at});
    b.at = node->out[0];
    conv(&b, "c", 8, 3, 1);
    end(&b);
    fill(&b.r, x, sizeof x / sizeof *x);
    assert_true(quantized_snr(&b, x, sizeof x / sizeof *x, &defaults, NULL) > 28);
    assert_int_equal(count_ops(b.m, PITH_OP_RELU), 1);
    const struct pith_node *join = first_op(b.m, PITH_OP_CONCAT);
    assert_int_equal(b.m->values[join->out[0]].type, PITH_U8); /* its inputs are on its grid */
    assert_int_equal(b.m->values[join->in[0]].type, PITH_U8);
    pith_model_free(b.m);
}

TEST(sums_and_pools_are_computed_in_between)
{
    struct built b = begin_image(3);
    float x[CHANNELS * SIDE * SIDE];
    conv(&b, "a", CHANNELS, 4, 1);
    uint32_t left = b.at;
    conv(&b, "b", 4, 4, 1);
    struct pith_node *node =
        add_node(b.m, PITH_OP_ADD, "add", "add.out", 2, (const uint32_t[]){left, b.at});
    b.at = node->out[0];
    op(&b, PITH_OP_RELU, "relu");
    op(&b, PITH_OP_GLOBAL_AVERAGE_POOL, "pool");
    op(&b, PITH_OP_FLATTEN, "flat");
    gemm(&b, "fc", 4, 5);
    op(&b, PITH_OP_SOFTMAX, "soft");
    end(&b);
    fill(&b.r, x, sizeof x / sizeof *x);
    assert_true(quantized_snr(&b, x, sizeof x / sizeof *x, &defaults, NULL) > 20);
    assert_int_equal(b.m->values[first_op(b.m, PITH_OP_ADD)->out[0]].type, PITH_F32);
    assert_int_equal(b.m->values[first_op(b.m, PITH_OP_FLATTEN)->out[0]].type, PITH_U8);
    assert_int_equal(count_ops(b.m, PITH_OP_MATMUL_INTEGER), 1);
    assert_int_equal(count_ops(b.m, PITH_OP_ADD), 2);      /* the bias of fc */
    assert_int_equal(count_ops(b.m, PITH_OP_QUANTIZE), 3); /* x, relu, pool */
    pith_model_free(b.m);
}

TEST(operators_behind_a_layer_are_folded)
{
    struct built b = begin(4, 2, (const uint32_t[]){1, 16});
    float x[16];
    gemm(&b, "a", 16, 12);
    uint32_t a = add_constant(b.m, &b.r, "scale", 1, (const uint32_t[]){12});
    struct pith_node *node =
        add_node(b.m, PITH_OP_MUL, "mul", "mul.out", 2, (const uint32_t[]){b.at, a});
    uint32_t c = add_constant(b.m, &b.r, "shift", 2, (const uint32_t[]){1, 12});
    node = add_node(b.m, PITH_OP_ADD, "add", "add.out", 2, (const uint32_t[]){c, node->out[0]});
    b.at = node->out[0];
    op(&b, PITH_OP_RELU, "relu");
    gemm(&b, "b", 12, 3);
    end(&b);
    fill(&b.r, x, 16);
    assert_true(quantized_snr(&b, x, 16, &defaults, NULL) > 25);
    assert_int_equal(count_ops(b.m, PITH_OP_MUL), 0);
    assert_int_equal(count_ops(b.m, PITH_OP_RELU), 0);
    assert_int_equal(b.m->n_nodes,
                     7); /* quantize, twice product and bias, requantize, dequantize */
    pith_model_free(b.m);
}

/* Channels of very different size: one scale for all would leave the small ones a few steps. What
 * else reads the values takes one scale. */
TEST(depthwise_inputs_have_a_scale_a_channel)
{
    enum { NO_STATISTICS, BY_CHANNEL, READ_BY_MUL, N_CASES };
    for (int k = 0; k < N_CASES; k++) {
        struct built b = begin_image(5);
        static const float most[CHANNELS] = {100, 10, 1, 0};
        float x[CHANNELS * SIDE * SIDE];
        conv(&b, "a", CHANNELS, CHANNELS, CHANNELS);
        if (k == READ_BY_MUL)
            b.at = add_node(b.m, PITH_OP_MUL, "mul", "mul.out", 2,
                            (const uint32_t[]){b.at, b.m->inputs[0]})
                       ->out[0];
        end(&b);
        for (uint32_t i = 0; i < sizeof x / sizeof *x; i++)
            x[i] = most[i / (SIDE * SIDE)] * (float)sample_below(&b.r, 1001) / 1000;
        struct pith_channel_stats channel[CHANNELS];
        for (uint32_t c = 0; c < CHANNELS; c++)
            channel[c] = (struct pith_channel_stats){.max = most[c]};
        struct pith_value_stats stats = {
            .n_channels = CHANNELS, .channel_axis = 1, .channel = channel};
        float *w = b.m->values[b.m->nodes[0].in[1]].constant->data;
        for (uint32_t i = 0; i < 9 * CHANNELS; i++)
            w[i] *= i / 9 == 3 ? 1 : 1 / most[i / 9];
        float before[sizeof x / sizeof *x], after[sizeof x / sizeof *x];
        struct pith_error err = {0};
        run_network(b.m, b.m, x, sizeof x / sizeof *x, before);
        b.m->values[b.m->inputs[0]].stats = k == NO_STATISTICS ? NULL : &stats;
        assert_int_equal(pith_quantize(b.m, &defaults, NULL, NULL, &err), PITH_OK);
        b.m->values[b.m->inputs[0]].stats = NULL; /* too little of it to be written */
        run_network(b.m, NULL, x, sizeof x / sizeof *x, after);
        double snr = snr_db(before, after, sizeof x / sizeof *x);
        const struct pith_node *q = first_op(b.m, PITH_OP_QUANTIZE);
        assert_int_equal(b.m->values[q->in[1]].rank, k == BY_CHANNEL);
        assert_true(k == BY_CHANNEL ? snr > 38 : k == READ_BY_MUL || snr < 30);
        pith_model_free(b.m);
    }
}

/* The channels of MatMul's result are its last axis, those of Conv its second. */
TEST(scales_of_channels_are_not_mixed_up)
{
    for (int relu = 0; relu < 2; relu++) {
        struct built b = begin(11, 3, (const uint32_t[]){1, CHANNELS, 5});
        float x[CHANNELS * 5];
        uint32_t w = add_constant(b.m, &b.r, "w", 2, (const uint32_t[]){9, 5});
        struct pith_node *node = op(&b, PITH_OP_MATMUL, "a");
        node->in = pith_model_alloc(b.m, 2, sizeof *node->in);
        node->in[0] = b.m->inputs[0];
        node->in[1] = w;
        node->n_in = 2;
        node->attr[ATTR_MATMUL_TRANS_B] = 1;
        float *weights = b.m->values[w].constant->data;
        for (uint32_t i = 0; i < 9 * 5; i++)
            weights[i] = fabsf(weights[i]);
        if (relu)
            op(&b, PITH_OP_RELU, "relu");
        uint32_t read = b.at;
        b.at = add_layer(b.m, &b.r, PITH_OP_CONV, "b", b.at, 3, (const uint32_t[]){CHANNELS, 1, 3});
        b.m->nodes[b.m->n_nodes - 1].attr[ATTR_CONV_GROUP] = CHANNELS;
        end(&b);
        static const float most[CHANNELS] = {30, 6, 2, 1};
        struct pith_channel_stats channel[CHANNELS];
        for (uint32_t c = 0; c < CHANNELS; c++)
            channel[c] = (struct pith_channel_stats){.max = most[c]};
        struct pith_value_stats stats = {
            .n_channels = CHANNELS, .channel_axis = 1, .channel = channel};
        for (uint32_t i = 0; i < CHANNELS * 5; i++)
            x[i] = most[i / 5] / 30 * (float)sample_below(&b.r, 1001) / 1000;
        struct pith_error err = {0};
        float before[CHANNELS * 7], after[CHANNELS * 7];
        run_network(b.m, b.m, x, CHANNELS * 5, before);
        b.m->values[read].stats = &stats;
        SUCCEEDS(pith_quantize(b.m, &defaults, NULL, NULL, &err));
        run_network(b.m, NULL, x, CHANNELS * 5, after);
        assert_true(snr_db(before, after, CHANNELS * 7) > 25);
        pith_model_free(b.m);
    }
}

static const char *text(char out[40], const char *name, const char *what)
{
    snprintf(out, 40, "%s.%s", name, what);
    return out;
}

/* x [.., from] times w [to, from]. */
static uint32_t product(struct built *b, const char *name, uint32_t x, uint32_t w)
{
    char out[40];
    struct pith_node *node = add_node(b->m, PITH_OP_MATMUL, name, text(out, name, "product"), 2,
                                      (const uint32_t[]){x, w});
    node->attr[ATTR_MATMUL_TRANS_B] = 1;
    return node->out[0];
}

/* Either operand of the Add is the bias; it has one axis or three. */
static uint32_t plus_bias(struct built *b, const char *name, uint32_t x, uint32_t n, bool axes)
{
    const uint32_t dim[3] = {1, 1, n};
    char bias[40], out[40];
    const uint32_t c =
        add_constant(b->m, &b->r, text(bias, name, "bias"), axes ? 3 : 1, axes ? dim : dim + 2);
    const uint32_t in[2] = {axes ? c : x, axes ? x : c};
    return add_node(b->m, PITH_OP_ADD, bias, text(out, name, "sum"), 2, in)->out[0];
}

/* What is added behind a MatMul of three axes is its bias, which joins the sums, so that a function
 * behind it is one of bytes; unless the sums, or the weight, have another reader. */
TEST(biases_behind_products_join_their_sums)
{
    enum { ROWS = 4, IN = 12, MIDDLE = 10, OUT = 8 };
    for (int other = 0; other < 3; other++) {
        struct built b = begin(21, 3, (const uint32_t[]){1, ROWS, IN});
        float x[ROWS * IN];
        const uint32_t w = add_constant(b.m, &b.r, "w", 2, (const uint32_t[]){MIDDLE, IN});
        const uint32_t v = add_constant(b.m, &b.r, "v", 2, (const uint32_t[]){OUT, MIDDLE});
        uint32_t a = product(&b, "a", b.at, w);
        b.at = plus_bias(&b, "a", a, MIDDLE, other == 0);
        op(&b, PITH_OP_UNARY, "gelu")->attr[ATTR_KIND] = UNARY_GELU;
        b.at = plus_bias(&b, "b", product(&b, "b", b.at, v), OUT, false);
        if (other == 2)
            a = product(&b, "again", b.m->inputs[0], w);
        end(&b);
        if (other)
            b.m->outputs[b.m->n_outputs++] = a;
        fill(&b.r, x, sizeof x / sizeof *x);
        double snr = quantized_snr(&b, x, sizeof x / sizeof *x, &defaults, NULL);
        uint32_t floats = 0, integers = 0;
        for (uint32_t i = 0; i < b.m->n_nodes; i++) {
            const struct pith_node *node = &b.m->nodes[i];
            floats += node->op == PITH_OP_ADD && b.m->values[node->out[0]].type == PITH_F32;
            integers += node->op == PITH_OP_ADD && b.m->values[node->out[0]].type == PITH_I32;
        }
        assert_true(snr > 30);
        assert_int_equal(floats, other != 0);
        assert_int_equal(integers, 1 + (other == 0));
        pith_model_free(b.m);
    }
}

TEST(kept_layers_stay_float)
{
    struct built b = begin_image(6);
    float x[CHANNELS * SIDE * SIDE];
    conv(&b, "a", CHANNELS, 8, 1);
    conv(&b, "b", 8, 8, 1);
    conv(&b, "c", 8, 3, 1);
    end(&b);
    fill(&b.r, x, sizeof x / sizeof *x);
    struct pith_quantize_layer layers[8];
    static const char *const keep[] = {"b", "c*"};
    struct pith_quantize_opts o = {.size_bytes = sizeof o, .keep = keep, .n_keep = 2};
    assert_true(quantized_snr(&b, x, sizeof x / sizeof *x, &o, layers) > 35);
    assert_int_equal(count_ops(b.m, PITH_OP_CONV), 2);
    assert_null(layers[0].why);
    assert_string_equal(layers[1].why, "kept");
    pith_model_free(b.m);
}

TEST(lists_weights_of_integers_once)
{
    struct built b = begin_image(12);
    float x[CHANNELS * SIDE * SIDE];
    conv(&b, "a", CHANNELS, CHANNELS, 1);
    conv(&b, "b", CHANNELS, CHANNELS, 1);
    conv(&b, "c", CHANNELS, CHANNELS, 1);
    end(&b);
    fill(&b.r, x, sizeof x / sizeof *x);
    static const char *const keep[] = {"b"};
    struct pith_quantize_opts o = {.size_bytes = sizeof o, .keep = keep, .n_keep = 1};
    quantized_snr(&b, x, sizeof x / sizeof *x, &o, NULL);
    struct pith_weight_ref refs[16];
    assert_int_equal(pith_model_all_weights(b.m, refs), 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_string_equal(refs[i].tensor,
                            ((const char *[]){"a.weight", "b.weight", "c.weight"})[i]);
    b.m->nodes[refs[2].node].in[1] = refs[0].value;
    assert_int_equal(pith_model_all_weights(b.m, refs), 2);
    assert_string_equal(refs[1].layer, "b");
    pith_model_free(b.m);
}

TEST(fewer_bits_are_coarser)
{
    double last = HUGE_VAL;
    for (uint32_t bits = 8; bits >= 2; bits--) {
        struct built b = begin(7, 2, (const uint32_t[]){1, 64});
        float x[64];
        gemm(&b, "a", 64, 64);
        end(&b);
        fill(&b.r, x, 64);
        struct pith_quantize_opts o = {.size_bytes = sizeof o, .weight_bits = bits};
        struct pith_quantize_layer layer;
        double snr = quantized_snr(&b, x, 64, &o, &layer);
        assert_true(layer.snr_db < last - 4 && layer.snr_db > snr - 6);
        last = layer.snr_db;
        const struct pith_node *product = first_op(b.m, PITH_OP_MATMUL_INTEGER);
        const int8_t *q = b.m->values[product->in[1]].constant->data;
        for (uint32_t i = 0; i < 64 * 64; i++)
            assert_true(abs(q[i]) < 1 << (bits - 1));
        pith_model_free(b.m);
    }
}

/* ---- numbers at the edge --------------------------------------------------------------------- */

/* The bias is 10^9 times what the weights give: the scale grows until 31 bits hold it. */
TEST(a_large_bias_is_held)
{
    struct built b = begin(8, 2, (const uint32_t[]){1, 4});
    float x[4] = {1, 2, 3, 4}, y[3];
    gemm(&b, "a", 4, 3);
    float *w = b.m->values[b.m->nodes[0].in[1]].constant->data;
    float *bias = b.m->values[b.m->nodes[0].in[2]].constant->data;
    for (uint32_t i = 0; i < 4; i++)
        w[i] *= 1e-12f;
    memset(w + 4, 0, 4 * sizeof *w); /* and a channel of nothing else */
    bias[0] = 1e3f;
    bias[1] = -0.125f;
    end(&b);
    float before[3];
    struct pith_error err = {0};
    run_network(b.m, b.m, x, 4, before);
    assert_int_equal(pith_quantize(b.m, &defaults, NULL, NULL, &err), PITH_OK);
    run_network(b.m, NULL, x, 4, y);
    for (uint32_t i = 0; i < 3; i++)
        assert_true(fabsf(y[i] - before[i]) < (i == 2 ? 0.1f : 1e-5f * fabsf(before[i])));
    pith_model_free(b.m);
}

TEST(zeros_stay_zeros)
{
    struct built b = begin_image(9);
    static const float x[CHANNELS * SIDE * SIDE];
    float y[8 * SIDE * SIDE];
    conv(&b, "a", CHANNELS, 8, 1);
    memset(b.m->values[b.m->nodes[0].in[1]].constant->data, 0, 8 * CHANNELS * 9 * sizeof(float));
    memset(b.m->values[b.m->nodes[0].in[2]].constant->data, 0, 8 * sizeof(float));
    op(&b, PITH_OP_RELU, "relu");
    conv(&b, "b", 8, 8, 1);
    memset(b.m->values[b.m->nodes[2].in[2]].constant->data, 0, 8 * sizeof(float));
    end(&b);
    struct pith_error err = {0};
    run_network(b.m, b.m, x, sizeof x / sizeof *x, NULL);
    assert_int_equal(pith_quantize(b.m, &defaults, NULL, NULL, &err), PITH_OK);
    run_network(b.m, NULL, x, sizeof x / sizeof *x, y);
    for (uint32_t i = 0; i < sizeof y / sizeof *y; i++)
        assert_true(y[i] == 0);
    pith_model_free(b.m);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void refused(struct pith_model *m, struct pith_quantize_opts o, enum pith_status status,
                    const char *text)
{
    struct pith_error err = {0};
    uint32_t n_nodes = m->n_nodes;
    o.size_bytes = sizeof o;
    assert_int_equal(pith_quantize(m, &o, NULL, NULL, &err), status);
    if (!strstr(err.text, text))
        fail_msg("'%s' is not in '%s'", text, err.text);
    assert_int_equal(m->n_nodes, n_nodes);
}

TEST(says_what_is_wrong)
{
    static const char *const unknown[] = {"a", "nowhere"};
    struct built b = begin(10, 2, (const uint32_t[]){1, 4});
    float x[4] = {1, 2, 3, 4};
    gemm(&b, "a", 4, 3);
    end(&b);
    refused(b.m, defaults, PITH_ERR_ARGUMENT, "calibrate it first");
    run_network(b.m, b.m, x, 4, NULL);
    refused(b.m, (struct pith_quantize_opts){.weight_bits = 9}, PITH_ERR_ARGUMENT,
            "weights of 9 bits");
    refused(b.m, (struct pith_quantize_opts){.weight_bits = 1}, PITH_ERR_ARGUMENT,
            "weights of 1 bits");
    refused(b.m, (struct pith_quantize_opts){.bias_correct = true}, PITH_ERR_ARGUMENT, "need data");
    refused(b.m, (struct pith_quantize_opts){.rounding = PITH_ROUND_GPTQ}, PITH_ERR_ARGUMENT,
            "need data");
    refused(b.m, (struct pith_quantize_opts){.keep = unknown, .n_keep = 2}, PITH_ERR_ARGUMENT,
            "no layer matches 'nowhere'");
    refused(b.m, (struct pith_quantize_opts){.keep = unknown, .n_keep = 1}, PITH_ERR_UNSUPPORTED,
            "no layer can compute with integers; 'a': kept");
    ((float *)b.m->values[b.m->nodes[0].in[1]].constant->data)[5] = NAN;
    refused(b.m, defaults, PITH_ERR_UNSUPPORTED, "weight 5 is not a finite number");
    pith_model_free(b.m);
}

RUN_TESTS
