/* SPDX-License-Identifier: MIT */
/* What becomes one step, what shares memory, and what must not. */
#define GRAPH_DOUBLE_READER
#include "graph_double.h"
#include "plan/plan.h"
#include "op_interface/op_attr.h"

static const float ones[4096] = {1.0f};

static struct pith_plan *plan;
static struct pith_need need;

/* Plans the graph in gd; returns the number of steps. */
static uint32_t steps(void **state, uint32_t flags)
{
    struct pith_opts opts = {.size_bytes = sizeof opts, .flags = flags};
    free(*state);
    *state = gd_plan(&opts, &plan, &need);
    return pith_plan_layer_count(plan);
}

static int release(void **state)
{
    free(*state);
    return 0;
}

static uint32_t conv(uint32_t x, uint32_t w)
{
    return gd_node(PITH_OP_CONV, NULL, NULL, 1, 2, x, w);
}

static uint32_t relu(uint32_t x)
{
    return gd_node(PITH_OP_RELU, NULL, NULL, 1, 1, x);
}

static uint32_t add(uint32_t a, uint32_t b)
{
    return gd_node(PITH_OP_ADD, NULL, NULL, 1, 2, a, b);
}

static void set_axis_1(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_AXIS] = 1;
}

static uint32_t concat(uint32_t a, uint32_t b)
{
    return gd_node(PITH_OP_CONCAT, set_axis_1, NULL, 1, 2, a, b);
}

static const float *data_of(uint32_t value)
{
    return plan->value[value].data;
}

/* Conv, bias, residual, activation: one step. */
TEST(test_whole_chain)
{
    gd_clear();
    uint32_t x = gd_input(4, 1, 4, 5, 5);
    uint32_t w = gd_weight(ones, 4, 4, 4, 1, 1), b = gd_weight(ones, 3, 4, 1, 1);
    uint32_t y = relu(add(x, add(conv(x, w), b)));
    gd_output(y);
    assert_int_equal(steps(state, 0), 1);
    const struct op_args *args = &plan->step[0].args;
    assert_int_equal(args->n_in, 3);
    assert_int_equal(args->in[2]->shape.rank, 1);
    assert_int_equal(args->in[2]->shape.dim[0], 4);
    assert_ptr_equal(args->in[2]->data, data_of(b));
    assert_ptr_equal(args->fuse.residual->data, data_of(x));
    assert_int_equal(args->fuse.act, ACT_RELU);
    assert_ptr_equal(args->out[0]->data, pith_plan_output_data(plan, 0));
    assert_int_equal(steps(state, PITH_FLAG_NO_FUSION), 4);
}

/* A value that somebody else reads, or that is an output, must come into being. */
TEST(test_other_readers)
{
    gd_clear();
    uint32_t x = gd_input(4, 1, 4, 5, 5), w = gd_weight(ones, 4, 4, 4, 1, 1);
    uint32_t c = conv(x, w);
    gd_output(add(relu(c), c));
    assert_int_equal(steps(state, 0), 3);
    gd_clear();
    x = gd_input(4, 1, 4, 5, 5);
    w = gd_weight(ones, 4, 4, 4, 1, 1);
    c = conv(x, w);
    gd_output(relu(c));
    gd_output(c);
    assert_int_equal(steps(state, 0), 2);
}

/* Of two convolutions that meet in an Add the later one takes it; the other's value is there. */
TEST(test_two_branches)
{
    gd_clear();
    uint32_t x = gd_input(4, 1, 4, 5, 5), w = gd_weight(ones, 4, 4, 4, 1, 1);
    uint32_t a = conv(x, w), b = conv(x, w);
    gd_output(relu(add(a, b)));
    assert_int_equal(steps(state, 0), 2);
    assert_null(plan->step[0].args.fuse.residual);
    assert_ptr_equal(plan->step[1].args.fuse.residual, &plan->value[a]);
    assert_int_equal(plan->step[1].args.fuse.act, ACT_RELU);
}

/* x + x, broadcasts and a second residual are not fused. */
TEST(test_not_residual)
{
    gd_clear();
    uint32_t x = gd_input(4, 1, 4, 5, 5), w = gd_weight(ones, 4, 4, 4, 1, 1);
    uint32_t row = gd_weight(ones, 4, 1, 1, 1, 5);
    uint32_t c = conv(x, w);
    gd_output(add(c, c));
    gd_output(add(conv(x, w), row));
    gd_output(add(add(conv(x, w), x), x));
    assert_int_equal(steps(state, 0), 6);
}

TEST(test_matmul_bias)
{
    gd_clear();
    uint32_t x = gd_input(2, 3, 8), w = gd_weight(ones, 2, 8, 6), b = gd_weight(ones, 1, 6);
    gd_output(relu(add(gd_node(PITH_OP_MATMUL, NULL, NULL, 1, 2, x, w), b)));
    assert_int_equal(steps(state, 0), 1);
    assert_int_equal(plan->step[0].args.info->op, PITH_OP_GEMM);
    struct pith_layer layer;
    assert_int_equal(pith_plan_layer(plan, 0, &layer), PITH_OK);
    assert_int_equal(layer.op, PITH_OP_MATMUL); /* as the file says */
    assert_int_equal(layer.macs, 3 * 8 * 6);
}

static uint32_t mul(uint32_t a, uint32_t b)
{
    return gd_node(PITH_OP_MUL, NULL, NULL, 1, 2, a, b);
}

static uint32_t sigmoid(uint32_t x)
{
    return gd_node(PITH_OP_SIGMOID, NULL, NULL, 1, 1, x);
}

/* Values of either sign, for 4 planes of 5 x 5 and a convolution of 1 x 1. */
static void run_planes(float y[100])
{
    float *x = pith_plan_input_data(plan, 0);
    for (int i = 0; i < 100; i++)
        x[i] = (float)(i - 50) / 4.0f;
    assert_int_equal(pith_plan_run(plan), PITH_OK);
    memcpy(y, pith_plan_output_data(plan, 0), 100 * sizeof *y);
}

/* x * sigmoid(x), the factors in either order, is one activation of the same bits. */
TEST(test_swish)
{
    static float matrix[16];
    float fused[100], apart[100];
    for (int i = 0; i < 16; i++)
        matrix[i] = (float)(i % 7 - 3) / 4.0f;
    for (int turned = 0; turned < 2; turned++) {
        gd_clear();
        uint32_t x = gd_input(4, 1, 4, 5, 5), w = gd_weight(matrix, 4, 4, 4, 1, 1);
        uint32_t c = add(conv(x, w), x), gate = sigmoid(c);
        gd_output(turned ? mul(gate, c) : mul(c, gate));
        assert_int_equal(steps(state, PITH_FLAG_NO_FUSION), 4);
        run_planes(apart);
        assert_int_equal(steps(state, 0), 1);
        assert_int_equal(plan->step[0].args.fuse.act, ACT_SWISH);
        run_planes(fused);
        assert_memory_equal(fused, apart, sizeof fused);
    }
}

/* A gate of something else, and values that others read, too. */
TEST(test_not_swish)
{
    gd_clear();
    uint32_t x = gd_input(4, 1, 4, 5, 5), w = gd_weight(ones, 4, 4, 4, 1, 1);
    uint32_t c = conv(x, w);
    gd_output(mul(c, sigmoid(x)));
    assert_int_equal(steps(state, 0), 3);
    gd_clear();
    x = gd_input(4, 1, 4, 5, 5), w = gd_weight(ones, 4, 4, 4, 1, 1);
    c = conv(x, w);
    gd_output(mul(c, gd_node(PITH_OP_TANH, NULL, NULL, 1, 1, c)));
    gd_output(mul(conv(x, w), x));
    assert_int_equal(steps(state, 0), 5);
    gd_clear();
    x = gd_input(4, 1, 4, 5, 5), w = gd_weight(ones, 4, 4, 4, 1, 1);
    c = conv(x, w);
    gd_output(mul(c, c));
    assert_int_equal(steps(state, 0), 2);
    for (int read = 0; read < 2; read++) { /* the sum, the gate */
        gd_clear();
        x = gd_input(4, 1, 4, 5, 5), w = gd_weight(ones, 4, 4, 4, 1, 1);
        c = conv(x, w);
        uint32_t gate = sigmoid(c);
        gd_output(mul(c, gate));
        gd_output(read ? gate : c);
        assert_int_equal(steps(state, 0), 3);
    }
}

static void set_gelu(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_KIND] = UNARY_GELU;
}

static void run_on_ramp(float y[2 * 5 * 6])
{
    float *x = pith_plan_input_data(plan, 0);
    for (int i = 0; i < 2 * 5 * 8; i++)
        x[i] = (float)(i - 40) / 16.0f;
    assert_int_equal(pith_plan_run(plan), PITH_OK);
    memcpy(y, pith_plan_output_data(plan, 0), 2 * 5 * 6 * sizeof *y);
}

/* Batches of rows times one matrix take bias and Gelu, too, with the same result. */
TEST(test_matmul_bias_of_batches)
{
    static float matrix[8 * 6], bias[6];
    float fused[2 * 5 * 6], apart[2 * 5 * 6];
    for (int i = 0; i < 8 * 6; i++)
        matrix[i] = (float)(i % 7 - 3) / 4.0f;
    for (int i = 0; i < 6; i++)
        bias[i] = (float)i - 2.5f;
    gd_clear();
    uint32_t x = gd_input(3, 2, 5, 8), w = gd_weight(matrix, 2, 8, 6), b = gd_weight(bias, 1, 6);
    uint32_t y = add(b, gd_node(PITH_OP_MATMUL, NULL, NULL, 1, 2, x, w));
    gd_output(gd_node(PITH_OP_UNARY, set_gelu, NULL, 1, 1, y));
    assert_int_equal(steps(state, PITH_FLAG_NO_FUSION), 3);
    run_on_ramp(apart);
    assert_int_equal(steps(state, 0), 1);
    assert_int_equal(plan->step[0].args.fuse.act, ACT_GELU);
    run_on_ramp(fused);
    for (int i = 0; i < 2 * 5 * 6; i++)
        assert_true(fused[i] - apart[i] <= 1e-5f && apart[i] - fused[i] <= 1e-5f);
    /* a bias along another axis is not one of columns */
    gd_clear();
    x = gd_input(3, 2, 6, 8), w = gd_weight(matrix, 2, 8, 6), b = gd_weight(bias, 2, 6, 1);
    gd_output(add(gd_node(PITH_OP_MATMUL, NULL, NULL, 1, 2, x, w), b));
    assert_int_equal(steps(state, 0), 2);
}

/* Both inputs are written where they belong; nothing is copied. */
TEST(test_concat)
{
    gd_clear();
    uint32_t x = gd_input(4, 1, 4, 5, 5), w = gd_weight(ones, 4, 4, 4, 1, 1);
    uint32_t a = relu(conv(x, w)), b = relu(conv(x, w));
    uint32_t y = concat(a, b);
    gd_output(gd_node(PITH_OP_GLOBAL_AVERAGE_POOL, NULL, NULL, 1, 1, y));
    assert_int_equal(steps(state, 0), 3);
    assert_ptr_equal(data_of(a), data_of(y));
    assert_ptr_equal(data_of(b), data_of(y) + 100);
}

/* An input of two concats lies in one and is copied into the other; the caller's input is copied.
 */
TEST(test_concat_twice)
{
    gd_clear();
    uint32_t x = gd_input(4, 1, 4, 5, 5), w = gd_weight(ones, 4, 4, 4, 1, 1);
    uint32_t a = relu(conv(x, w)), b = relu(conv(x, w));
    uint32_t y = concat(a, b), z = concat(b, x), same = concat(a, a);
    gd_output(y);
    gd_output(z);
    gd_output(same);
    assert_int_equal(steps(state, 0), 4); /* 2 convolutions, a copying concat, a whole one */
    assert_ptr_equal(data_of(b), data_of(y) + 100);
    assert_ptr_not_equal(data_of(z), data_of(b));
}

/* With a batch the pieces of the output are not contiguous. */
TEST(test_concat_batch)
{
    gd_clear();
    uint32_t x = gd_input(4, 2, 4, 5, 5), w = gd_weight(ones, 4, 4, 4, 1, 1);
    gd_output(concat(relu(conv(x, w)), relu(conv(x, w))));
    assert_int_equal(steps(state, 0), 3);
}

static void set_reshape(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_RESHAPE_DIMS] = 2;
    attr[ATTR_RESHAPE_DIMS + 1] = 1;
    attr[ATTR_RESHAPE_DIMS + 2] = -1;
}

TEST(test_views)
{
    gd_clear();
    uint32_t x = gd_input(4, 1, 4, 5, 5), w = gd_weight(ones, 4, 4, 4, 1, 1);
    uint32_t c = conv(x, w);
    uint32_t split = gd_node(PITH_OP_SPLIT, set_axis_1, NULL, 2, 1, c);
    uint32_t flat = gd_node(PITH_OP_RESHAPE, set_reshape, NULL, 1, 1, split + 1);
    gd_output(gd_node(PITH_OP_SOFTMAX, set_axis_1, NULL, 1, 1, flat));
    gd_output(gd_node(PITH_OP_RESHAPE, set_reshape, NULL, 1, 1, x));
    assert_int_equal(steps(state, 0), 3); /* conv, softmax, and a copy of the input */
    assert_ptr_equal(data_of(split), data_of(c));
    assert_ptr_equal(data_of(flat), data_of(c) + 50);
    assert_ptr_not_equal(pith_plan_output_data(plan, 1), data_of(x));
}

static void set_last_two(int32_t *attr, void *arg)
{
    attr[ATTR_SLICE_AXES] = attr[ATTR_SLICE_STARTS] = attr[ATTR_SLICE_ENDS] = 1;
    attr[ATTR_SLICE_AXES + 1] = *(const int32_t *)arg;
    attr[ATTR_SLICE_STARTS + 1] = -2;
    attr[ATTR_SLICE_ENDS + 1] = INT32_MAX;
}

/* A slice of channels is a piece of its input, one of rows is not. */
TEST(test_slice)
{
    int32_t channel = 1, row = 2;
    gd_clear();
    uint32_t x = gd_input(4, 1, 4, 5, 5), w = gd_weight(ones, 4, 4, 4, 1, 1);
    uint32_t c = conv(x, w);
    uint32_t part = gd_node(PITH_OP_SLICE, set_last_two, &channel, 1, 1, c);
    uint32_t rows = gd_node(PITH_OP_SLICE, set_last_two, &row, 1, 1, part);
    gd_output(relu(rows));
    assert_int_equal(steps(state, 0), 3);
    assert_ptr_equal(data_of(part), data_of(c) + 50);
    assert_ptr_not_equal(data_of(rows), data_of(part) + 15);
}

/* Elementwise chains stay in one place, unless somebody still reads it. */
TEST(test_in_place)
{
    gd_clear();
    uint32_t x = gd_input(4, 1, 4, 5, 5);
    uint32_t a = gd_node(PITH_OP_SIGMOID, NULL, NULL, 1, 1, x);
    uint32_t b = gd_node(PITH_OP_TANH, NULL, NULL, 1, 1, a);
    uint32_t c = relu(b);
    gd_output(add(c, b));
    assert_int_equal(steps(state, 0), 4);
    assert_ptr_equal(data_of(a), data_of(x));
    assert_ptr_equal(data_of(b), data_of(a));
    assert_ptr_not_equal(data_of(c), data_of(b));
    /* The output is not the input: the next input is written while it is read. */
    gd_clear();
    x = gd_input(1, 100);
    gd_output(relu(x));
    steps(state, 0);
    assert_ptr_not_equal(pith_plan_output_data(plan, 0), data_of(x));
}

static void set_1_and_3(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_AXIS] = 1;
    attr[ATTR_SPLIT_SIZES] = 2;
    attr[ATTR_SPLIT_SIZES + 1] = 1;
    attr[ATTR_SPLIT_SIZES + 2] = 3;
}

/* Nothing reads a again, but the sum needs its first channel for all others. */
TEST(test_in_place_overlap)
{
    gd_clear();
    uint32_t x = gd_input(4, 1, 4, 5, 5);
    uint32_t a = gd_node(PITH_OP_SIGMOID, NULL, NULL, 1, 1, x);
    uint32_t first = gd_node(PITH_OP_SPLIT, set_1_and_3, NULL, 2, 1, a);
    uint32_t sum = add(a, first);
    gd_output(relu(sum));
    assert_int_equal(steps(state, 0), 3);
    assert_ptr_equal(data_of(first), data_of(a));
    assert_ptr_not_equal(data_of(sum), data_of(a));
}

/* ---- what is no bias, no residual, no epilogue of integers -------------------------------------
 */

static void set_beta_2(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_GEMM_BETA] = (int32_t)f32_bits(2.0f);
}

/* A second bias, one behind a residual, one that Gemm would scale. */
TEST(test_not_bias)
{
    gd_clear();
    uint32_t x = gd_input(4, 1, 4, 5, 5), w = gd_weight(ones, 4, 4, 4, 1, 1);
    uint32_t own = gd_weight(ones, 1, 4), b = gd_weight(ones, 3, 4, 1, 1);
    gd_output(add(gd_node(PITH_OP_CONV, NULL, NULL, 1, 3, x, w, own), b));
    gd_output(add(add(conv(x, w), x), b));
    assert_int_equal(steps(state, 0), 4);
    gd_clear();
    x = gd_input(2, 3, 6), w = gd_weight(ones, 2, 6, 6), b = gd_weight(ones, 1, 6);
    gd_output(add(gd_node(PITH_OP_GEMM, set_beta_2, NULL, 1, 2, x, w), b));
    assert_int_equal(steps(state, 0), 2);
}

/* A constant of the whole result is a residual, one that is broadcast along another axis neither.
 */
TEST(test_constant_residual)
{
    gd_clear();
    uint32_t x = gd_input(4, 1, 4, 5, 5), w = gd_weight(ones, 4, 4, 4, 1, 1);
    uint32_t whole = gd_weight(ones, 4, 1, 4, 5, 5), c = conv(x, w);
    gd_output(add(c, whole));
    assert_int_equal(steps(state, 0), 1);
    assert_int_equal(plan->step[0].args.n_in, 2);
    assert_ptr_equal(plan->step[0].args.fuse.residual, &plan->value[whole]);
    gd_clear();
    x = gd_input(4, 1, 4, 5, 5);
    uint32_t row = gd_input(4, 1, 1, 5, 5);
    w = gd_weight(ones, 4, 4, 4, 1, 1);
    gd_output(add(conv(x, w), row));
    assert_int_equal(steps(state, 0), 2);
}

/* x [1, 8, 4, 4] u8 and what is read of it. */
struct integers {
    uint32_t x, real, w, factor, zero, sum_zero;
};

static struct integers integers(void)
{
    static const int8_t bytes[8 * 8] = {1};
    static const int32_t sum_zero = 3;
    static const uint8_t zero = 7;
    struct integers i;
    gd_clear();
    i.x = gd_input(4, 1, 8, 4, 4);
    gd_input_type(PITH_U8);
    i.real = gd_input(0);
    i.w = gd_weight_of(PITH_I8, bytes, &(struct shape){4, {8, 8, 1, 1}});
    i.factor = gd_weight_of(PITH_F32, ones, &(struct shape){0});
    i.zero = gd_weight_of(PITH_U8, &zero, &(struct shape){0});
    i.sum_zero = gd_weight_of(PITH_I32, &sum_zero, &(struct shape){0});
    return i;
}

static uint32_t product(const struct integers *i)
{
    return gd_node(PITH_OP_CONV_INTEGER, NULL, NULL, 1, 2, i->x, i->w);
}

static void set_u8(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_QUANTIZE_TYPE] = PITH_U8;
}

static uint32_t requantize(uint32_t sums, uint32_t factor, uint32_t zero)
{
    return gd_node(PITH_OP_REQUANTIZE, set_u8, NULL, 1, 3, sums, factor, zero);
}

static uint32_t dequantize(uint32_t x, uint32_t scale, uint32_t zero)
{
    return gd_node(PITH_OP_DEQUANTIZE, NULL, NULL, 1, 3, x, scale, zero);
}

static uint32_t quantize(uint32_t x, uint32_t scale, uint32_t zero)
{
    return gd_node(PITH_OP_QUANTIZE, set_u8, NULL, 1, 3, x, scale, zero);
}

TEST(test_integer_epilogue)
{
    struct integers i = integers();
    gd_output(requantize(product(&i), i.factor, i.zero));
    assert_int_equal(steps(state, 0), 1);
    i = integers();
    gd_output(dequantize(product(&i), i.factor, PITH_NO_VALUE));
    assert_int_equal(steps(state, 0), 1);
    /* real numbers around something else than 0 */
    i = integers();
    gd_output(dequantize(product(&i), i.factor, i.sum_zero));
    assert_int_equal(steps(state, 0), 2);
    /* sums that two read */
    i = integers();
    uint32_t sums = product(&i);
    gd_output(requantize(sums, i.factor, i.zero));
    gd_output(requantize(sums, i.factor, i.zero));
    assert_int_equal(steps(state, 0), 3);
}

/* The product is made before there is a factor, or a zero point. */
TEST(test_late_scales)
{
    struct integers i = integers();
    uint32_t sums = product(&i);
    gd_output(requantize(sums, relu(i.real), i.zero));
    assert_int_equal(steps(state, 0), 3);
    i = integers();
    sums = product(&i);
    gd_output(requantize(sums, i.factor, quantize(i.real, i.factor, PITH_NO_VALUE)));
    assert_int_equal(steps(state, 0), 3);
    /* either is there before */
    i = integers();
    uint32_t factor = relu(i.real), zero = quantize(i.real, i.factor, PITH_NO_VALUE);
    gd_output(requantize(product(&i), factor, zero));
    assert_int_equal(steps(state, 0), 3);
}

/* Reals between bytes that the caller reads, too, come into being. */
TEST(test_chain_of_an_output)
{
    for (uint32_t read = 0; read < 2; read++) {
        struct integers i = integers();
        uint32_t real =
            gd_node(PITH_OP_SIGMOID, NULL, NULL, 1, 1, dequantize(i.x, i.factor, i.zero));
        gd_output(quantize(real, i.factor, i.zero));
        if (read)
            gd_output(real);
        assert_int_equal(steps(state, 0), read ? 3 : 1);
    }
}

/* Reals are row-major, whatever writes and reads them. */
TEST(test_reals_are_row_major)
{
    struct integers i = integers();
    uint32_t bytes = requantize(product(&i), i.factor, i.zero);
    gd_output(
        requantize(gd_node(PITH_OP_CONV_INTEGER, NULL, NULL, 1, 2, bytes, i.w), i.factor, i.zero));
    dequantize(product(&i), i.factor, PITH_NO_VALUE); /* nothing reads it */
    assert_int_equal(steps(state, 0), 3);
    assert_int_equal(plan->step[0].args.y_step, 8);
    assert_int_equal(plan->step[2].args.y_step, 0);
}

RUN_EACH_TEST_WITH(NULL, release)
