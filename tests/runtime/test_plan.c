/* SPDX-License-Identifier: MIT */
/* Plans as a whole: on random graphs fusion, sharing and placement change nothing; sizes agree;
 * every refusal happens. */
#define GRAPH_DOUBLE_READER
#include "backwards.h"
#include "graph_double.h"
#include "op_interface/op_attr.h"
#include <math.h>
#include <stdio.h>
#include "plan/plan.h"
#include "test_seed.h"

#define SIDE 4u
#define MAX_VALUES_OF_GRAPH 64u
#define N_DATA 4096u

static uint64_t seed, first_seed;
static float data[N_DATA]; /* all weights read from here */

static uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static float random_value(void)
{
    return (float)random_below(2001) / 1000.0f - 1.0f;
}

/* ---- random graphs -------------------------------------------------------------------------- */

/* Values [batch, C, SIDE, SIDE] with C = 2, 4, 6 or 8, and weights for all of them. */
struct pool {
    uint32_t batch;
    uint32_t value[MAX_VALUES_OF_GRAPH], n_values;
    uint32_t conv[4][4]; /* [C in / 2 - 1][C out / 2 - 1] */
    uint32_t channel[4]; /* [C, 1, 1] */
    uint32_t whole[4];   /* [batch, C, SIDE, SIDE] */
};

static uint32_t channels(uint32_t v)
{
    return gd.value[v].shape.dim[1];
}

static const float *some_data(uint32_t n)
{
    return data + random_below(N_DATA - n);
}

static uint32_t pick(const struct pool *p)
{
    /* mostly recent ones, so that graphs get deep */
    uint32_t back = random_below(3) ? random_below(4) : random_below(p->n_values);
    return p->value[p->n_values - 1 - (back < p->n_values ? back : p->n_values - 1)];
}

/* Another value of v's shape, or a constant of it. */
static uint32_t pick_like(const struct pool *p, uint32_t v)
{
    for (int i = 0; i < 10; i++) {
        uint32_t other = pick(p);
        if (channels(other) == channels(v))
            return other;
    }
    return random_below(2) ? v : p->whole[channels(v) / 2 - 1];
}

static void set_axis_1(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_AXIS] = 1;
}

static void set_halves(int32_t *attr, void *arg)
{
    int32_t half = (int32_t) * (const uint32_t *)arg / 2;
    attr[ATTR_AXIS] = 1;
    attr[ATTR_SPLIT_SIZES] = 2;
    attr[ATTR_SPLIT_SIZES + 1] = attr[ATTR_SPLIT_SIZES + 2] = half;
}

/* Two channels from somewhere on, counted from either end; sometimes backwards, sometimes the whole
 * height named too. */
static void set_slice(int32_t *attr, void *arg)
{
    int32_t c = (int32_t) * (const uint32_t *)arg;
    int32_t start = (int32_t)random_below((uint32_t)c - 1);
    int32_t n = 1 + (int32_t)random_below(2), way = (int32_t)random_below(3);
    attr[ATTR_SLICE_AXES] = attr[ATTR_SLICE_STARTS] = attr[ATTR_SLICE_ENDS] = n;
    attr[ATTR_SLICE_AXES + 1] = 1;
    attr[ATTR_SLICE_STARTS + 1] = way == 1 ? start - c : way == 2 ? start + 1 : start;
    attr[ATTR_SLICE_ENDS + 1] = way == 2 ? (start > 0 ? start - 1 : INT32_MIN) : start + 2;
    attr[ATTR_SLICE_AXES + 2] = n > 1 ? 2 : 0;
    attr[ATTR_SLICE_ENDS + 2] = n > 1 ? INT32_MAX : 0;
    if (way == 2) {
        attr[ATTR_SLICE_STEPS] = n;
        attr[ATTR_SLICE_STEPS + 1] = -1;
        attr[ATTR_SLICE_STEPS + 2] = n > 1;
    }
}

static void set_clip(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_CLIP_MIN] = (int32_t)f32_bits(-0.5f);
    attr[ATTR_CLIP_MAX] = (int32_t)f32_bits(0.5f);
}

static void set_same_shape(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_RESHAPE_DIMS] = 4; /* 0: as the input */
}

static uint32_t unary(enum pith_op op, uint32_t v)
{
    return gd_node(op, NULL, NULL, 1, 1, v);
}

static void add_concat(struct pool *p, uint32_t v)
{
    uint32_t other = pick(p);
    if (channels(v) + channels(other) <= 8)
        p->value[p->n_values++] = gd_node(PITH_OP_CONCAT, set_axis_1, NULL, 1, 2, v, other);
}

static void add_split(struct pool *p, uint32_t v)
{
    uint32_t c = channels(v);
    if (c % 4 != 0)
        return;
    uint32_t first = gd_node(PITH_OP_SPLIT, set_halves, &c, 2, 1, v);
    p->value[p->n_values++] = first;
    p->value[p->n_values++] = first + 1;
}

static void add_random_node(struct pool *p)
{
    static const enum pith_op act[] = {PITH_OP_RELU, PITH_OP_LEAKY_RELU,   PITH_OP_SIGMOID,
                                       PITH_OP_TANH, PITH_OP_HARD_SIGMOID, PITH_OP_HARD_SWISH};
    uint32_t v = pick(p), n_channels = channels(v), c = n_channels / 2 - 1, made;
    switch (random_below(11)) {
    case 0:
        add_concat(p, v);
        return;
    case 1:
        add_split(p, v);
        return;
    case 2:
        made = gd_node(PITH_OP_RESHAPE, set_same_shape, NULL, 1, 1, v);
        break;
    case 3:
        made = gd_node(PITH_OP_CLIP, set_clip, NULL, 1, 1, v);
        break;
    case 4:
        made = unary(act[random_below(6)], v);
        break;
    case 5:
        made = gd_node(PITH_OP_ADD, NULL, NULL, 1, 2, v, pick_like(p, v));
        break;
    case 6:
        made = gd_node(PITH_OP_ADD, NULL, NULL, 1, 2, p->channel[c], v);
        break;
    case 7:
        made = gd_node(PITH_OP_SUB, NULL, NULL, 1, 2, pick_like(p, v), v);
        break;
    case 8:
        made = gd_node(PITH_OP_SLICE, set_slice, &n_channels, 1, 1, v);
        break;
    default:
        made = gd_node(PITH_OP_CONV, NULL, NULL, 1, 2, v, p->conv[c][random_below(4)]);
        break;
    }
    p->value[p->n_values++] = made;
}

static void random_graph(void)
{
    struct pool p = {.batch = 1 + (random_below(4) == 0)};
    gd_clear();
    for (uint32_t i = 0; i < 2; i++)
        p.value[p.n_values++] = gd_input(4, p.batch, 2 + 2 * i, SIDE, SIDE);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t c = 2 * i + 2;
        for (uint32_t o = 0; o < 4; o++)
            p.conv[i][o] = gd_weight(some_data(64), 4, 2 * o + 2, c, 1, 1);
        p.channel[i] = gd_weight(some_data(8), 3, c, 1, 1);
        p.whole[i] = gd_weight(some_data(256), 4, p.batch, c, SIDE, SIDE);
    }
    uint32_t n = 1 + random_below(30);
    for (uint32_t i = 0; i < n && p.n_values + 2 < MAX_VALUES_OF_GRAPH; i++)
        add_random_node(&p);
    gd_output(p.value[p.n_values - 1]);
    for (uint32_t i = random_below(3); i > 0 && p.n_values > 2; i--)
        gd_output(p.value[2 + random_below(p.n_values - 2)]);
}

/* ---- running -------------------------------------------------------------------------------- */

struct case_plan {
    void *mem;
    struct pith_plan *plan;
    struct pith_need need;
};

static struct case_plan make(uint32_t flags, uint32_t cpu_mask)
{
    struct case_plan c;
    struct pith_opts opts = {.size_bytes = sizeof opts, .flags = flags, .cpu_mask = cpu_mask};
    c.mem = gd_plan(&opts, &c.plan, &c.need);
    return c;
}

static void run(struct pith_plan *plan, uint64_t input_seed)
{
    uint64_t keep = seed;
    seed = input_seed;
    for (uint32_t i = 0; i < pith_plan_input_count(plan); i++) {
        struct pith_tensor t;
        float *x = pith_plan_input_data(plan, i);
        assert_int_equal(pith_plan_input(plan, i, &t), PITH_OK);
        for (uint64_t k = 0; k < t.bytes / sizeof *x; k++)
            x[k] = random_value();
    }
    seed = keep;
    assert_int_equal(pith_plan_run(plan), PITH_OK);
}

/* Values grow along Adds and Subs; what counts is the error relative to the largest. */
static void same_outputs(const struct pith_plan *a, const struct pith_plan *b, float tolerance)
{
    for (uint32_t i = 0; i < pith_plan_output_count(a); i++) {
        struct pith_tensor s, t;
        float most = 1.0f, worst = 0.0f;
        assert_int_equal(pith_plan_output(a, i, &s), PITH_OK);
        assert_int_equal(pith_plan_output(b, i, &t), PITH_OK);
        assert_int_equal(s.bytes, t.bytes);
        const float *x = pith_plan_output_data(a, i), *y = pith_plan_output_data(b, i);
        assert_ptr_equal(x, s.data);
        for (uint64_t k = 0; k < s.bytes / sizeof *x; k++) {
            most = fmaxf(most, fabsf(x[k]));
            worst = fmaxf(worst, fabsf(x[k] - y[k]));
        }
        if (!(worst <= tolerance * most))
            fail_msg("seed %llu: output %u differs by %g of %g", (unsigned long long)first_seed, i,
                     (double)worst, (double)most);
    }
}

/* Nothing of an earlier run may show in a later one: the arena is reused. */
TEST(test_random_graphs)
{
    uint64_t start = test_seed(20261124) << 20;
    for (uint32_t round = 0; round < 1500; round++) {
        first_seed = seed = start + round;
        for (uint32_t i = 0; i < N_DATA; i++)
            data[i] = random_value() / 2.0f;
        random_graph();
        struct case_plan apart = make(PITH_FLAG_NO_FUSION, PITH_CPU_REF);
        struct case_plan fused = make(0, PITH_CPU_REF), fast = make(0, 0);
        run(apart.plan, 1);
        run(fused.plan, 2);
        run(fused.plan, 1);
        run(fast.plan, 1);
        /* The reference adds in one order whether fused or not; other levels may not. Up to 30
         * layers of K <= 8 terms: errors of 30 * 8 * 2^-24 of the largest value, and what grows of
         * them; wrong memory shows as errors of 0.1 and more. */
        same_outputs(apart.plan, fused.plan, 1e-6f);
        same_outputs(apart.plan, fast.plan, 1e-3f);
        assert_true(fused.need.arena_bytes <= apart.need.arena_bytes * 2);
        free(apart.mem);
        free(fused.mem);
        free(fast.mem);
    }
}

/* ---- refusals ------------------------------------------------------------------------------- */

static void small_graph(void)
{
    gd_clear();
    uint32_t x = gd_input(4, 1, 4, SIDE, SIDE), w = gd_weight(data, 4, 4, 4, 1, 1);
    uint32_t c = gd_node(PITH_OP_CONV, NULL, NULL, 1, 2, x, w);
    uint32_t r = unary(PITH_OP_RELU, c);
    gd_output(gd_node(PITH_OP_ADD, NULL, NULL, 1, 2, r, c));
}

/* What is kept of many weights is longer than what reading the graph takes. */
static void many_weights(void)
{
    gd_clear();
    uint32_t x = gd_input(2, 1, 4), w[40];
    for (uint32_t i = 0; i < 40; i++)
        w[i] = gd_weight(data, 2, 1, 4);
    for (uint32_t i = 0; i < 40; i++)
        x = gd_node(PITH_OP_ADD, NULL, NULL, 1, 2, x, w[i]);
    gd_output(x);
}

/* Every smaller block is refused, none is written beyond. */
static void no_smaller_block_does(void (*graph)(void))
{
    graph();
    struct pith_plan *plan = NULL;
    struct pith_opts opts = {.size_bytes = sizeof opts};
    struct case_plan c = make(0, 0);
    uint8_t *mem = aligned_alloc(64, (size_t)c.need.bytes + 64);
    assert_non_null(mem);
    for (size_t n = 0; n < c.need.bytes; n += 8) {
        memset(mem, 0xa5, (size_t)c.need.bytes + 64);
        assert_int_equal(pith_plan_init(mem, n, gd_image(), 0, &opts, &plan), PITH_ERR_SPACE);
        for (size_t k = n; k < n + 64; k++)
            assert_int_equal(mem[k], 0xa5);
    }
    assert_null(plan);
    free(mem);
    free(c.mem);
}

TEST(test_sizes)
{
    no_smaller_block_does(many_weights);
    no_smaller_block_does(small_graph);
    struct pith_plan *plan = NULL;
    struct pith_opts opts = {.size_bytes = sizeof opts};
    struct case_plan c = make(0, 0);
    assert_true(c.need.bytes % 64 == 0 && c.need.align == 64);
    assert_true(c.need.weights_bytes + c.need.arena_bytes <= c.need.bytes);
    uint8_t *mem = aligned_alloc(64, (size_t)c.need.bytes);
    assert_non_null(mem);
    struct pith_need need = {.bytes = 7};
    assert_int_equal(pith_plan_need(gd_image(), 0, &opts, mem, 64, &need), PITH_ERR_SPACE);
    assert_int_equal(need.bytes, 7);
    assert_int_equal(pith_plan_need(gd_image(), 0, &opts, mem + 8, 4096, &need), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_plan_init(mem + 8, 4096, gd_image(), 0, &opts, &plan), PITH_ERR_ARGUMENT);
    /* What the graph alone is too large for is a limit, however small the block. */
    opts.max_bytes = 1;
    opts.batch = UINT32_C(0x80000000);
    assert_int_equal(pith_plan_need(gd_image(), 0, &opts, mem, 64, &need), PITH_ERR_ARGUMENT);
    opts.batch--;
    assert_int_equal(pith_plan_need(gd_image(), 0, &opts, mem, 64, &need), PITH_ERR_LIMIT);
    opts.batch = 0;
    opts.max_bytes = c.need.bytes - 1;
    assert_int_equal(pith_plan_init(mem, (size_t)c.need.bytes, gd_image(), 0, &opts, &plan),
                     PITH_ERR_LIMIT);
    opts.max_bytes = c.need.bytes;
    assert_int_equal(pith_plan_init(mem, (size_t)c.need.bytes, gd_image(), 0, &opts, &plan),
                     PITH_OK);
    free(mem);
    free(c.mem);
}

static void in_turn(void *user, uint32_t n, void (*body)(void *arg, uint32_t i), void *arg)
{
    (void)user;
    for (uint32_t i = 0; i < n; i++)
        body(arg, i);
}

static struct pith_need need_of_integers(uint32_t mask, bool parallel)
{
    struct pith_need need;
    struct pith_plan *plan;
    struct pith_opts opts = {.size_bytes = sizeof opts,
                             .cpu_mask = mask,
                             .flags = PITH_FLAG_DECODE_ONCE,
                             .parallel_for = parallel ? in_turn : NULL};
    free(gd_plan(&opts, &plan, &need));
    return need;
}

/* Integers stored plain are packed from where they lie: init needs no memory. Chunks, and the
 * scratch of each, are for those who run them at the same time; but on tiles a band is larger for
 * who runs alone. */
TEST(test_plain_integers)
{
    static const int8_t weights[64 * 64 * 9];
    struct shape s = {.rank = 4, .dim = {64, 64, 3, 3}};
    gd_clear();
    uint32_t x = gd_input(4, 1, 64, 32, 32);
    gd_input_type(PITH_U8);
    uint32_t w = gd_weight_of(PITH_I8, weights, &s);
    gd_output(gd_node(PITH_OP_CONV_INTEGER, NULL, NULL, 1, 2, x, w));
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t mask = k ? PITH_CPU_REF : pith_cpu_features() & ~(uint32_t)PITH_CPU_AMX;
        struct pith_need alone = need_of_integers(mask, false), many = need_of_integers(mask, true);
        assert_int_equal(alone.init_bytes, 0);
        assert_int_equal(many.init_bytes, 0);
        /* the reference without threads reads them where they lie */
        assert_int_equal(alone.weights_bytes, k ? 0 : many.weights_bytes);
        assert_true(k || many.scratch_bytes >= 4 * alone.scratch_bytes);
    }
}

/* 2^48 products of 2^25 by 2^24 bytes: cut, so that sums over layers cannot wrap. Nothing is run,
 * so that hardly any of the memory is touched. */
TEST(test_macs_are_bounded)
{
    struct pith_plan *plan;
    struct pith_need need;
    struct pith_layer layer;
    gd_clear();
    uint32_t x = gd_input(3, 1, 1, 1 << 25);
    gd_input_type(PITH_I8);
    uint32_t w = gd_input(3, 1, 1, 1 << 24);
    gd_input_type(PITH_I8);
    gd_output(gd_node(PITH_OP_CONV_INTEGER, NULL, NULL, 1, 2, x, w));
    struct pith_opts opts = {.size_bytes = sizeof opts};
    void *work = aligned_alloc(64, 1 << 20);
    assert_non_null(work);
    assert_int_equal(pith_plan_need(gd_image(), 0, &opts, work, 1 << 20, &need), PITH_OK);
    free(work);
    void *mem = aligned_alloc(need.align, (size_t)need.bytes);
    assert_non_null(mem);
    assert_int_equal(pith_plan_init(mem, (size_t)need.bytes, gd_image(), 0, &opts, &plan), PITH_OK);
    assert_int_equal(pith_plan_layer(plan, 0, &layer), PITH_OK);
    assert_true(layer.macs == UINT64_C(1) << 47);
    free(mem);
}

TEST(test_questions)
{
    small_graph();
    struct case_plan c = make(0, 0);
    struct pith_tensor t;
    struct pith_layer layer;
    assert_int_equal(pith_plan_input_count(c.plan), 1);
    assert_int_equal(pith_plan_output_count(c.plan), 1);
    assert_int_equal(pith_plan_input(c.plan, 1, &t), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_plan_output(c.plan, 1, &t), PITH_ERR_ARGUMENT);
    assert_null(pith_plan_input_data(c.plan, 1));
    assert_null(pith_plan_output_data(c.plan, 1));
    assert_int_equal(pith_plan_layer(c.plan, pith_plan_layer_count(c.plan), &layer),
                     PITH_ERR_ARGUMENT);
    assert_int_equal(pith_plan_layer(c.plan, 0, &layer), PITH_OK);
    assert_int_equal(layer.op, PITH_OP_CONV);
    assert_int_equal(layer.macs, 4 * 4 * SIDE * SIDE);
    assert_int_equal(layer.file_bytes, 4 * 4 * 4);
    assert_true(layer.weight_bytes >= 4 * 4 * 4);
    assert_int_equal(pith_plan_input(c.plan, 0, &t), PITH_OK);
    assert_int_equal(t.bytes, 4 * SIDE * SIDE * 4);
    assert_int_equal(t.rank, 4);
    assert_string_equal(t.name, "");
    free(c.mem);
}

/* A constant that cannot be read where it lies is written once, however many read it. */
TEST(test_constant_of_two_readers)
{
    static float at[17];
    uint64_t bytes[2];
    for (uint32_t more = 0; more < 2; more++) {
        gd_clear();
        uint32_t x = gd_input(1, 16);
        uint32_t w = gd_weight_of(PITH_F32, (const uint8_t *)at + 1, &(struct shape){1, {16}});
        gd_output(gd_node(PITH_OP_SUB, NULL, NULL, 1, 2, x, w));
        if (more)
            gd_output(gd_node(PITH_OP_MUL, NULL, NULL, 1, 2, x, w));
        struct case_plan c = make(0, 0);
        bytes[more] = c.need.weights_bytes;
        free(c.mem);
    }
    assert_int_equal(bytes[0], 64);
    assert_int_equal(bytes[1], 64);
}

/* ---- observing and timing -------------------------------------------------------------------- */

struct log {
    uint32_t n, op[8];
    float sum[8];
    uint64_t time;
};

static void observe(void *user, const struct pith_layer *layer, const struct pith_tensor *out)
{
    struct log *log = user;
    const float *x = out->data;
    assert_true(log->n < 8);
    log->op[log->n] = layer->op;
    for (uint64_t i = 0; i < out->bytes / sizeof *x; i++)
        log->sum[log->n] += x[i];
    log->n++;
}

static uint64_t tick(void *user)
{
    return ((struct log *)user)->time += 10;
}

TEST(test_observe)
{
    for (uint32_t i = 0; i < N_DATA; i++)
        data[i] = -1.0f; /* the convolution's results are negative, ReLU's are 0 */
    small_graph();
    struct log log = {0};
    struct pith_plan *plan;
    struct pith_need need;
    struct pith_opts opts = {
        .size_bytes = sizeof opts, .observe = observe, .clock_ns = tick, .user = &log};
    void *mem = gd_plan(&opts, &plan, &need);
    for (uint32_t i = 0; i < 4 * SIDE * SIDE; i++)
        ((float *)pith_plan_input_data(plan, 0))[i] = 1.0f;
    assert_int_equal(pith_plan_run(plan), PITH_OK);
    assert_int_equal(log.n, 3);
    assert_int_equal(log.op[0], PITH_OP_CONV);
    assert_int_equal(log.op[1], PITH_OP_RELU);
    assert_int_equal(log.op[2], PITH_OP_ADD);
    assert_true(log.sum[0] == -4.0f * 4 * SIDE * SIDE && log.sum[1] == 0.0f &&
                log.sum[2] == log.sum[0]);
    struct pith_layer layer;
    assert_int_equal(pith_plan_layer(plan, 2, &layer), PITH_OK);
    assert_int_equal(layer.ns, 10);
    assert_int_equal(pith_plan_run_from(plan, 3), PITH_OK); /* nothing is left to do */
    assert_int_equal(pith_plan_run_from(plan, 4), PITH_ERR_ARGUMENT);
    assert_int_equal(log.n, 3);
    free(mem);
    opts.observe = NULL;
    mem = gd_plan(&opts, &plan, &need);
    assert_int_equal(pith_plan_run_from(plan, 0), PITH_ERR_ARGUMENT);
    free(mem);
}

struct changed {
    uint32_t n;
    float first[8]; /* of each output, as it was observed */
};

/* What the second step and the Concat give becomes larger. */
static void change(void *user, const struct pith_layer *layer, const struct pith_tensor *out)
{
    struct changed *c = user;
    float *x = (float *)(uintptr_t)out->data;
    assert_true(c->n < 8);
    c->first[c->n] = x[0];
    for (uint64_t i = 0; i < out->bytes / sizeof *x; i++)
        x[i] += c->n == 1 ? 10.0f : layer->op == PITH_OP_CONCAT ? 100.0f : 0.0f;
    c->n++;
}

/* A Concat's parts lie in it where nothing else reads them: what is changed in one changes the
 * whole, and what is changed in the whole changes no part that is read once more. */
TEST(test_observed_concat)
{
    gd_clear();
    uint32_t x = gd_input(2, 1, 4);
    uint32_t a = unary(PITH_OP_RELU, x), b = unary(PITH_OP_RELU, a);
    uint32_t whole = gd_node(PITH_OP_CONCAT, set_axis_1, NULL, 1, 2, b, a);
    gd_output(unary(PITH_OP_RELU, whole));
    gd_output(unary(PITH_OP_RELU, a));
    struct changed c = {0};
    struct pith_plan *plan;
    struct pith_need need;
    struct pith_opts opts = {.size_bytes = sizeof opts, .observe = change, .user = &c};
    void *mem = gd_plan(&opts, &plan, &need);
    for (int run = 0; run < 2; run++) {
        c.n = 0;
        for (uint32_t i = 0; i < 4; i++)
            ((float *)pith_plan_input_data(plan, 0))[i] = 1.0f;
        assert_int_equal(pith_plan_run(plan), PITH_OK);
        assert_int_equal(c.n, 5);
        static const float want[] = {1, 1, 11, 111, 1};
        for (uint32_t i = 0; i < 5; i++)
            assert_true(c.first[i] == want[i]);
        struct pith_tensor out;
        assert_int_equal(pith_plan_output(plan, 0, &out), PITH_OK);
        for (uint32_t i = 0; i < 8; i++)
            assert_true(((const float *)out.data)[i] == (i < 4 ? 111.0f : 101.0f));
    }
    free(mem);
}

TEST(test_parallel)
{
    for (uint32_t i = 0; i < N_DATA; i++)
        data[i] = random_value();
    gd_clear();
    uint32_t x = gd_input(4, 1, 16, 32, 32), w = gd_weight(data, 4, 64, 16, 1, 1);
    gd_output(unary(PITH_OP_RELU, gd_node(PITH_OP_CONV, NULL, NULL, 1, 2, x, w)));
    uint32_t calls = 0;
    struct case_plan alone = make(0, 0), split;
    struct pith_opts opts = {
        .size_bytes = sizeof opts, .parallel_for = backwards, .parallel_user = &calls};
    split.mem = gd_plan(&opts, &split.plan, &split.need);
    run(alone.plan, 5);
    run(split.plan, 5);
    assert_true(calls > 0);
    assert_memory_equal(pith_plan_output_data(alone.plan, 0), pith_plan_output_data(split.plan, 0),
                        64 * 32 * 32 * sizeof(float));
    free(alone.mem);
    free(split.mem);
}

RUN_TESTS
