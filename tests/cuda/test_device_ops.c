/* SPDX-License-Identifier: MIT */
/* Operators as the device runs them (device_case.h), against the CPU's reference. */
#include "device_case.h"

/* Operators whose cases all run on the device; others may, where they have a kernel. */
static const enum pith_op whole[] = {
    PITH_OP_ADD,        PITH_OP_SUB,          PITH_OP_MUL,        PITH_OP_DIV,     PITH_OP_PRELU,
    PITH_OP_RELU,       PITH_OP_LEAKY_RELU,   PITH_OP_CLIP,       PITH_OP_SIGMOID, PITH_OP_TANH,
    PITH_OP_PAD,        PITH_OP_SLICE,        PITH_OP_TRANSPOSE,  PITH_OP_CONCAT,  PITH_OP_SPLIT,
    PITH_OP_SQUEEZE,    PITH_OP_UNSQUEEZE,    PITH_OP_RESHAPE,    PITH_OP_FLATTEN, PITH_OP_IDENTITY,
    PITH_OP_BATCH_NORM, PITH_OP_HARD_SIGMOID, PITH_OP_HARD_SWISH, PITH_OP_COMPARE, PITH_OP_WHERE,
    PITH_OP_ARG,        PITH_OP_TILE,
};

static bool is_whole(enum pith_op op)
{
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (whole[i] == op)
            return true;
    return false;
}

static bool run_case(const struct op_case *c)
{
    struct one_op t;
    struct guarded in[ONE_OP_MAX];
    load_case(&t, c);
    assert_int_equal(one_op_shape(&t), PITH_OK);
    guard_inputs(&t, in);
    one_op_run(&t, false);
    struct step s = {.args = t.args};
    bool known = try_device(c->name, &s, NULL);
    if (!known && is_whole(c->op))
        fail_msg("%s: no kernel on the device", c->name);
    one_op_close(&t);
    for (uint32_t i = 0; i < c->n_in; i++)
        guard_free(&in[i]);
    return known;
}

TEST(test_all_cases)
{
    uint32_t known = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        known += !cases[i].given && run_case(&cases[i]);
    assert_true(known > 200);
}

/* ---- products, of random shapes -------------------------------------------------------------- */

static uint64_t seed = 1;

static uint32_t below(uint32_t n)
{
    return (uint32_t)(random_u64(&seed) >> 33) % n;
}

static void random_input(struct one_op *t, uint32_t i, enum pith_type type, uint32_t rank,
                         const uint32_t *dims, bool positive)
{
    one_op_in(t, i, type, rank, dims, NULL);
    size_t n = shape_elems(&t->in[i].shape);
    uint8_t *data = malloc(n * pith_type_bytes(type));
    assert_non_null(data);
    for (size_t k = 0; k < n; k++) {
        float f = random_f32(&seed);
        if (type == PITH_F32)
            ((float *)(void *)data)[k] = positive ? fabsf(f) : f;
        else if (type == PITH_I32)
            ((int32_t *)(void *)data)[k] = (int32_t)random_u64(&seed);
        else
            data[k] = (uint8_t)random_u64(&seed);
    }
    t->in[i].data = data;
}

/* What sums of K products may be off: 2 K 2^-24 of the sum of |w x|, which the operator itself
 * gives of the absolute values. */
static double *bound_of(struct one_op *t, uint32_t terms)
{
    float *kept[2];
    size_t n = shape_elems(&t->out[0].shape);
    double *bound = malloc(n * sizeof *bound);
    for (uint32_t i = 0; i < 2; i++) {
        size_t m = shape_elems(&t->in[i].shape);
        kept[i] = t->in[i].data;
        t->in[i].data = malloc(m * sizeof(float));
        for (size_t k = 0; k < m; k++)
            ((float *)t->in[i].data)[k] = fabsf(kept[i][k]);
    }
    one_op_run(t, false);
    for (size_t i = 0; i < n; i++)
        bound[i] = 2.0 * (terms + 2) * (fabs(value_at(&t->out[0], i)) + 4) / 16777216;
    for (uint32_t i = 0; i < 2; i++) {
        free(t->in[i].data);
        t->in[i].data = kept[i];
    }
    return bound;
}

/* Half of the products of bytes have a weight of the plan. */
static bool takes_weight(const struct one_op *t)
{
    static uint32_t n;
    const enum pith_op op = t->args.info->op;
    return (op == PITH_OP_CONV_INTEGER || op == PITH_OP_MATMUL_INTEGER) && n++ % 2 == 0;
}

/* terms: of a sum of floats; 0: the same bits. */
static void check_product(struct one_op *t, const char *name, uint32_t terms)
{
    struct guarded in[ONE_OP_MAX];
    double *bound = NULL;
    assert_int_equal(one_op_shape(t), PITH_OK);
    guard_inputs(t, in);
    if (terms)
        bound = bound_of(t, terms);
    one_op_run(t, false);
    struct step s = {.args = t->args};
    struct weight w;
    if (takes_weight(t)) {
        w = byte_weight(&t->in[1]);
        s.args.weight = &w;
    }
    if (!try_device(name, &s, bound))
        fail_msg("%s: no kernel on the device", name);
    one_op_close(t);
    free(bound);
    for (uint32_t i = 0; i < t->args.n_in; i++)
        guard_free(&in[i]);
}

TEST(test_gemm)
{
    for (int round = 0; round < 30; round++) {
        struct one_op t;
        uint32_t m = 1 + below(round % 3 ? 90 : 8), n = 1 + below(90), k = 1 + below(70);
        bool ta = below(2), tb = below(2);
        one_op_open(&t, PITH_OP_GEMM, 3, 1);
        t.kernels = &reference;
        t.attr[ATTR_GEMM_TRANS_A] = ta;
        t.attr[ATTR_GEMM_TRANS_B] = tb;
        random_input(&t, 0, PITH_F32, DIMS(ta ? k : m, ta ? m : k), false);
        random_input(&t, 1, PITH_F32, DIMS(tb ? n : k, tb ? k : n), false);
        random_input(&t, 2, PITH_F32, DIMS(below(2) ? 1 : m, n), false);
        t.args.fuse.act = ACT_RELU;
        check_product(&t, "gemm", k);
    }
}

TEST(test_matmul)
{
    for (int round = 0; round < 12; round++) {
        struct one_op t;
        uint32_t b = 1 + below(4), m = 1 + below(70), n = 1 + below(70), k = 1 + below(40);
        one_op_open(&t, PITH_OP_MATMUL, 2, 1);
        t.kernels = &reference;
        random_input(&t, 0, PITH_F32, DIMS(b, m, k), false);
        if (round % 2)
            random_input(&t, 1, PITH_F32, DIMS(k, n), false);
        else
            random_input(&t, 1, PITH_F32, DIMS(3, 1, k, n), false);
        check_product(&t, "matmul", k);
    }
}

static void random_conv(struct one_op *t, bool integers, uint32_t *terms)
{
    uint32_t groups = below(3) ? 1 : 1 + below(4), c = 1 + below(5),
             o = 1 + below(groups > 1 ? 3 : 80);
    uint32_t kh = 1 + below(3), kw = 1 + below(3), h = kh + below(9), w = kw + below(20);
    bool line = below(4) == 0;
    int32_t n = line ? 1 : 2;
    one_op_open(t, integers ? PITH_OP_CONV_INTEGER : PITH_OP_CONV, integers ? 5 : 3, 1);
    t->kernels = &reference;
    t->attr[ATTR_CONV_GROUP] = (int32_t)groups;
    one_op_list(t, ATTR_CONV_STRIDES, (uint32_t)n,
                (int32_t[]){1 + (int32_t)below(2), 1 + (int32_t)below(3)});
    one_op_list(
        t, ATTR_CONV_PADS, 2 * (uint32_t)n,
        (int32_t[]){(int32_t)below(3), (int32_t)below(3), (int32_t)below(2), (int32_t)below(2)});
    enum pith_type x = integers ? (below(2) ? PITH_U8 : PITH_I8) : PITH_F32;
    enum pith_type y = integers ? (below(2) ? PITH_I8 : PITH_U8) : PITH_F32;
    if (line) {
        random_input(t, 0, x, DIMS(2, c * groups, w), false);
        random_input(t, 1, y, DIMS(o * groups, c, kw), false);
    } else {
        random_input(t, 0, x, DIMS(2, c * groups, h, w), false);
        random_input(t, 1, y, DIMS(o * groups, c, kh, kw), false);
    }
    *terms = c * (line ? 1 : kh) * kw;
    if (!integers) {
        random_input(t, 2, PITH_F32, DIMS(o * groups), false);
        return;
    }
    random_input(t, 2, x, DIMS(1), false);
    random_input(t, 3, y, DIMS(below(2) ? 1 : o * groups), false);
    random_input(t, 4, PITH_I32, DIMS(o * groups), false);
}

TEST(test_conv)
{
    for (int round = 0; round < 40; round++) {
        struct one_op t;
        uint32_t terms;
        random_conv(&t, false, &terms);
        t.args.fuse.act = round % 4 == 3 ? ACT_SWISH : round % 2 ? ACT_CLIP : ACT_NONE;
        t.args.fuse.a = -0.5f;
        t.args.fuse.b = 2.0f;
        check_product(&t, "conv", terms);
    }
}

/* Depthwise and narrow groups: an output a thread, and, of many, two or four. */
TEST(test_direct_conv)
{
    static const struct {
        uint32_t images, groups, channels, outputs, h, w, kh, kw;
        int32_t stride, dilation, act;
    } of[] = {
        {2, 5, 1, 1, 9, 11, 3, 3, 1, 1, ACT_RELU},  {1, 3, 2, 3, 8, 7, 3, 3, 2, 1, ACT_TANH},
        {1, 9, 1, 1, 5, 6, 5, 5, 1, 1, ACT_CLIP},   {1, 4, 1, 2, 10, 10, 3, 3, 1, 2, ACT_NONE},
        {1, 7, 1, 1, 20, 23, 3, 3, 1, 1, ACT_TANH}, {2, 9, 1, 1, 28, 27, 3, 3, 2, 1, ACT_RELU},
        {1, 2, 3, 2, 30, 31, 2, 5, 1, 1, ACT_NONE}, {1, 8, 1, 1, 23, 21, 3, 3, 1, 2, ACT_NONE},
        {3, 2, 2, 3, 17, 19, 3, 3, 1, 1, ACT_CLIP}, {1, 9, 1, 1, 40, 44, 5, 5, 2, 1, ACT_RELU}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const uint32_t all = of[i].groups * of[i].outputs;
        struct one_op t;
        processors = of[i].h < 15 ? 0 : 1;
        one_op_open(&t, PITH_OP_CONV, 3, 1);
        t.kernels = &reference;
        t.attr[ATTR_CONV_GROUP] = (int32_t)of[i].groups;
        one_op_list(&t, ATTR_CONV_STRIDES, 2, (int32_t[]){of[i].stride, of[i].stride});
        one_op_list(&t, ATTR_CONV_DILATIONS, 2, (int32_t[]){of[i].dilation, of[i].dilation});
        one_op_list(&t, ATTR_CONV_PADS, 4, (int32_t[]){1, 1, 0, 2});
        random_input(&t, 0, PITH_F32,
                     DIMS(of[i].images, of[i].groups * of[i].channels, of[i].h, of[i].w), false);
        random_input(&t, 1, PITH_F32, DIMS(all, of[i].channels, of[i].kh, of[i].kw), false);
        random_input(&t, 2, PITH_F32, DIMS(all), false);
        t.args.fuse.act = (uint32_t)of[i].act;
        t.args.fuse.a = -0.5f;
        t.args.fuse.b = 2.0f;
        check_product(&t, "direct conv", of[i].channels * of[i].kh * of[i].kw);
    }
    processors = 0;
}

/* Long sums of few tiles, which several blocks share: an activation that is long behind some, a
 * residual before others. */
static void check_shared(struct one_op *t, enum launch_kernel parts, uint32_t terms, uint32_t round)
{
    struct lowering l = {.plan = &plan};
    struct tview residual;
    assert_int_equal(one_op_shape(t), PITH_OK);
    residual = t->out[0];
    struct guarded added = guard_random(shape_elems(&residual.shape), 1, &seed);
    if (round % 2) {
        residual.data = added.data;
        t->args.fuse.residual = &residual;
    }
    t->args.fuse.act = round % 3 ? ACT_RELU : ACT_TANH;
    struct step s = {.args = t->args};
    assert_true(pith_device_step(&l, &s));
    assert_int_equal(l.n_actions, 2);
    assert_int_equal(l.action[1].kernel, parts);
    assert_true(l.action[0].grid[2] > 1);
    pith_device_lowering_free(&l);
    check_product(t, "shared sums", terms);
    guard_free(&added);
}

TEST(test_shared_products)
{
    static const uint32_t of[][3] = {{20, 70, 300}, {65, 9, 129}, {9, 33, 1030}, {130, 70, 161}};
    for (uint32_t round = 0; round < 16; round++) {
        struct one_op t;
        const uint32_t *d = of[round / 4], m = d[0], n = d[1], k = d[2];
        const bool ta = round & 1, tb = round & 2;
        one_op_open(&t, PITH_OP_GEMM, 3, 1);
        t.kernels = &reference;
        t.attr[ATTR_GEMM_TRANS_A] = ta;
        t.attr[ATTR_GEMM_TRANS_B] = tb;
        random_input(&t, 0, PITH_F32, DIMS(ta ? k : m, ta ? m : k), false);
        random_input(&t, 1, PITH_F32, DIMS(tb ? n : k, tb ? k : n), false);
        random_input(&t, 2, PITH_F32, DIMS(round % 3 ? 1 : m, n), false);
        check_shared(&t, LAUNCH_gemm_parts, k, round / 2);
    }
    for (uint32_t round = 0; round < 4; round++) { /* batches of either side */
        struct one_op t;
        one_op_open(&t, PITH_OP_MATMUL, 2, 1);
        t.kernels = &reference;
        random_input(&t, 0, PITH_F32, DIMS(2, 17, 200), false);
        random_input(&t, 1, PITH_F32, DIMS(3, 1, 200, 66), false);
        check_shared(&t, LAUNCH_gemm_parts, 200, round);
    }
}

TEST(test_shared_conv)
{
    for (uint32_t i = 0; i < 2 * sizeof shared_convs / sizeof *shared_convs; i++) {
        const struct conv_case *c = &shared_convs[i / 2];
        const uint32_t all = c->groups * c->outputs;
        struct one_op t;
        open_conv(&t, c, &reference);
        random_input(&t, 0, PITH_F32, DIMS(c->images, c->groups * c->channels, c->h, c->w), false);
        random_input(&t, 1, PITH_F32, DIMS(all, c->channels, c->kh, c->kw), false);
        random_input(&t, 2, PITH_F32, DIMS(all), false);
        check_shared(&t, LAUNCH_conv_parts, c->channels * c->kh * c->kw, i);
    }
}

/* An operator that reads what `from` has written. */
static void open_behind(struct one_op *t, enum pith_op op, uint32_t n_in, const struct tview *from)
{
    one_op_open(t, op, n_in, 1);
    t->kernels = &reference;
    one_op_in(t, 0, from->type, from->shape.rank, from->shape.dim, NULL);
    t->in[0].data = malloc(bytes_of(from));
    memcpy(t->in[0].data, from->data, bytes_of(from));
}

/* A scale and zero point of its own. */
static void run_scaled(struct one_op *t, enum pith_type type, float largest)
{
    t->attr[ATTR_QUANTIZE_TYPE] = (int32_t)type;
    random_input(t, 1, PITH_F32, DIMS(1), true);
    *(float *)t->in[1].data = largest * (*(float *)t->in[1].data + 0.1f);
    random_input(t, 2, type, DIMS(1), false);
    assert_int_equal(one_op_shape(t), PITH_OK);
    one_op_run(t, false);
}

/* Behind the Requantize: its bytes and others as floats, their sum, and bytes of that. */
enum { N_RESIDUAL = 5 };
struct residual {
    struct one_op own, other, add, act, quantize;
    struct step own_step, other_step, act_step, quantize_step;
    struct guarded in[N_RESIDUAL][ONE_OP_MAX]; /* of each operator */
};

static void residual_ops(struct residual *r, struct one_op *of[N_RESIDUAL])
{
    struct one_op *const all[] = {&r->own, &r->other, &r->add, &r->act, &r->quantize};
    memcpy(of, all, sizeof all);
}

static void residual_open(struct residual *r, const struct tview *v, uint32_t round)
{
    static const enum pith_op acts[] = {PITH_OP_RELU, PITH_OP_LEAKY_RELU};
    const enum pith_type type = round % 3 ? PITH_I8 : PITH_U8;
    open_behind(&r->own, PITH_OP_DEQUANTIZE, 3, v);
    run_scaled(&r->own, v->type, 0.02f);
    struct tview x = *v;
    x.type = type;
    open_behind(&r->other, PITH_OP_DEQUANTIZE, round % 4 ? 3 : 2, &x);
    for (size_t i = 0; i < bytes_of(&x); i++)
        ((uint8_t *)r->other.in[0].data)[i] = (uint8_t)random_u64(&seed);
    run_scaled(&r->other, type, 0.03f);
    open_behind(&r->add, PITH_OP_ADD, 2, &r->own.out[0]);
    r->add.in[1] = r->other.out[0];
    r->add.in[1].data = malloc(bytes_of(&r->other.out[0]));
    memcpy(r->add.in[1].data, r->other.out[0].data, bytes_of(&r->other.out[0]));
    assert_int_equal(one_op_shape(&r->add), PITH_OK);
    one_op_run(&r->add, false);
    open_behind(&r->act, acts[round % 2], 1, &r->add.out[0]);
    assert_int_equal(one_op_shape(&r->act), PITH_OK);
    one_op_run(&r->act, false);
    const bool has_act = round % 5 != 0;
    open_behind(&r->quantize, PITH_OP_QUANTIZE, 3, has_act ? &r->act.out[0] : &r->add.out[0]);
    run_scaled(&r->quantize, round % 2 ? PITH_U8 : PITH_I8, 0.05f);
    struct one_op *of[N_RESIDUAL];
    residual_ops(r, of);
    if (r->other.args.n_in == 2) { /* it has no zero point */
        free(r->other.in[2].data);
        r->other.in[2].data = NULL;
    }
    for (size_t i = 0; i < N_RESIDUAL; i++)
        guard_inputs(of[i], r->in[i]);
    r->own_step.args = r->own.args;
    r->other_step.args = r->other.args;
    r->act_step.args = r->act.args;
    r->quantize_step.args = r->quantize.args;
}

static void residual_close(struct residual *r)
{
    struct one_op *of[N_RESIDUAL];
    residual_ops(r, of);
    for (size_t i = 0; i < N_RESIDUAL; i++) {
        const uint32_t n_in = of[i]->args.n_in;
        one_op_close(of[i]);
        for (uint32_t k = 0; k < n_in; k++)
            guard_free(&r->in[i][k]);
    }
}

/* With a Requantize behind it, and for some a residual, as one kernel, whose sums are not
 * observable: they are where nothing may be written, or, where the product reads what is to be
 * overwritten, where its bytes go first. */
static void check_joined(struct one_op *product, uint32_t channels, uint32_t axis, uint32_t round)
{
    static uint32_t rounds;
    const bool through = round % 3 == 0;
    struct residual r;
    struct guarded in[ONE_OP_MAX], behind_in[ONE_OP_MAX];
    struct one_op t;
    const enum pith_type type = below(2) ? PITH_U8 : PITH_I8;
    const uint32_t factors = below(2) ? 1 : channels;
    assert_int_equal(one_op_shape(product), PITH_OK);
    for (uint32_t k = 0; product->args.n_in > 4 && k < channels; k++) /* a bias of their size */
        ((int32_t *)product->in[4].data)[k] /= 65536;
    guard_inputs(product, in);
    one_op_run(product, false);
    const struct tview *sums = &product->out[0];
    one_op_open(&t, PITH_OP_REQUANTIZE, 3, 1);
    t.kernels = &reference;
    t.attr[ATTR_QUANTIZE_TYPE] = type;
    t.attr[ATTR_QUANTIZE_AXIS] = (int32_t)axis;
    one_op_in(&t, 0, PITH_I32, sums->shape.rank, sums->shape.dim, NULL);
    t.in[0].data = malloc(bytes_of(sums));
    memcpy(t.in[0].data, sums->data, bytes_of(sums));
    random_input(&t, 1, PITH_F32, DIMS(factors), true);
    for (uint32_t k = 0; k < factors; k++) /* so that some saturate */
        ((float *)t.in[1].data)[k] *= 0.004f;
    random_input(&t, 2, type, DIMS(1), false);
    assert_int_equal(one_op_shape(&t), PITH_OK);
    guard_inputs(&t, behind_in);
    one_op_run(&t, false);
    struct step s = {.args = product->args}, requantize = {.args = t.args};
    struct weight w = byte_weight(&product->in[1]);
    if (takes_weight(product))
        s.args.weight = &w;
    struct device_join behind = {.requantize = &requantize, .last = &requantize, .n = 1};
    const bool adds = rounds++ % 2;
    if (adds) {
        residual_open(&r, &t.out[0], round);
        behind.own = &r.own_step;
        behind.other = &r.other_step;
        behind.act = round % 5 ? &r.act_step : NULL;
        behind.last = behind.quantize = &r.quantize_step;
        behind.n = 6;
    }
    void *kept = product->out[0].data;
    struct guarded sums_at = guard_new(through ? bytes_of(&t.out[0]) : 0, 1);
    product->out[0].data = sums_at.data;
    if (through) { /* one more input, which nothing looks into: the result itself */
        product->in_ptr[s.args.n_in++] = behind.last->args.out[0];
    }
    assert_true(try_device_joined("joined", &s, &behind, NULL));
    product->out[0].data = kept;
    guard_free(&sums_at);
    if (adds)
        residual_close(&r);
    one_op_close(&t);
    for (uint32_t i = 0; i < t.args.n_in; i++)
        guard_free(&behind_in[i]);
    one_op_close(product);
    for (uint32_t i = 0; i < product->args.n_in; i++)
        guard_free(&in[i]);
}

TEST(test_joined)
{
    if (in_halves) /* beside integers values stay f32 */
        return;
    for (int round = 0; round < 40; round++) {
        struct one_op t;
        uint32_t terms;
        if (round < 30) {
            random_conv(&t, true, &terms);
            check_joined(&t, t.in[1].shape.dim[0], 1, (uint32_t)round);
            continue;
        }
        uint32_t m = 1 + below(70), n = 1 + below(70), k = 1 + below(150);
        one_op_open(&t, PITH_OP_MATMUL_INTEGER, 4, 1);
        t.kernels = &reference;
        random_input(&t, 0, PITH_U8, DIMS(2, m, k), false);
        random_input(&t, 1, PITH_I8, DIMS(k, n), false);
        random_input(&t, 2, PITH_U8, DIMS(1), false);
        random_input(&t, 3, PITH_I8, DIMS(1), false);
        check_joined(&t, n, 2, 3 * (uint32_t)round + 1);
    }
}

TEST(test_conv_integer)
{
    for (int round = 0; round < 40; round++) {
        struct one_op t;
        uint32_t terms;
        random_conv(&t, true, &terms);
        check_product(&t, "conv of integers", 0);
    }
}

TEST(test_matmul_integer)
{
    for (int round = 0; round < 20; round++) {
        struct one_op t;
        uint32_t m = 1 + below(70), n = 1 + below(70), k = 1 + below(150);
        enum pith_type a = below(2) ? PITH_U8 : PITH_I8, b = below(2) ? PITH_U8 : PITH_I8;
        one_op_open(&t, PITH_OP_MATMUL_INTEGER, 4, 1);
        t.kernels = &reference;
        random_input(&t, 0, a, DIMS(2, m, k), false);
        t.attr[ATTR_MATMUL_TRANS_B] = round % 4 == 3;
        const uint32_t dims[3] = {n, k, n};
        random_input(&t, 1, b, 2, round % 4 == 3 ? dims : dims + 1, false);
        random_input(&t, 2, a, DIMS(below(2) ? 1 : m), false);
        random_input(&t, 3, b, DIMS(below(2) ? 1 : n), false);
        check_product(&t, "product of integers", 0);
    }
}

TEST(test_quantize)
{
    static const enum pith_type types[] = {PITH_I8, PITH_U8, PITH_I16, PITH_U16};
    for (uint32_t round = 0; round < 16; round++) {
        struct one_op t;
        enum pith_type type = types[round % 4];
        uint32_t c = round < 8 ? 5 : 1;
        one_op_open(&t, round % 8 < 4 ? PITH_OP_QUANTIZE : PITH_OP_REQUANTIZE, 3, 1);
        t.kernels = &reference;
        t.attr[ATTR_QUANTIZE_TYPE] = type;
        random_input(&t, 0, round % 8 < 4 ? PITH_F32 : PITH_I32, DIMS(3, 5, 41), false);
        random_input(&t, 1, PITH_F32, DIMS(c), true);
        for (uint32_t k = 0; k < c; k++) /* so that some saturate */
            ((float *)t.in[1].data)[k] *= round % 8 < 4 ? 0.01f : 1e-7f;
        uint32_t zeros = round % 8 < 4 ? c : 1;
        random_input(&t, 2, PITH_I32, DIMS(zeros), false); /* more than enough random bytes */
        t.in[2].type = type;
        check_product(&t, "quantize", 0);
    }
}

/* Integers of all types, with a zero point and without, by one scale, one a channel, one a block.
 */
TEST(test_dequantize)
{
    static const enum pith_type types[] = {PITH_I8,  PITH_U8,  PITH_I16,
                                           PITH_U16, PITH_I32, PITH_I64};
    static const uint32_t scales[3][3] = {{1}, {5}, {3, 5, 6}};
    for (uint32_t round = 0; round < 36; round++) {
        struct one_op t;
        const uint32_t form = round / 12, n = 3 * 5 * 41;
        const enum pith_type type = types[round % 6];
        one_op_open(&t, PITH_OP_DEQUANTIZE, round % 12 < 6 ? 3 : 2, 1);
        t.kernels = &reference;
        random_input(&t, 0, PITH_I32, DIMS(2, n), false); /* bytes enough for any type */
        t.in[0].type = type;
        t.in[0].shape = (struct shape){.rank = 3, .dim = {3, 5, 41}};
        t.attr[ATTR_QUANTIZE_AXIS] = form == 2 ? 2 : 1;
        t.attr[ATTR_QUANTIZE_BLOCK] = form == 2 ? 8 : 0;
        const uint32_t rank = form == 2 ? 3 : 1;
        random_input(&t, 1, PITH_F32, rank, scales[form], true);
        if (round % 12 < 6) {
            random_input(&t, 2, PITH_I32, rank, scales[form], false);
            t.in[2].data = realloc(t.in[2].data, 90 * sizeof(int64_t));
            for (uint32_t i = 0; i < 90; i++)
                ((int64_t *)t.in[2].data)[i] = (int64_t)random_u64(&seed);
            t.in[2].type = type;
        }
        check_product(&t, "dequantize", 0);
    }
}

/* Along each axis, elements of all sizes, indices of both, some behind either end. */
TEST(test_gather)
{
    static const enum pith_type types[] = {PITH_F32, PITH_U8, PITH_I16, PITH_I64};
    for (uint32_t round = 0; round < 24; round++) {
        struct one_op t;
        const bool wide = round % 2;
        one_op_open(&t, PITH_OP_GATHER, 2, 1);
        t.attr[ATTR_GATHER_AXIS] = (int32_t)(round / 2 % 3);
        random_input(&t, 0, PITH_I32, DIMS(2, 7 * 11 * 13), false);
        t.in[0].type = types[round / 6];
        t.in[0].shape = (struct shape){.rank = 3, .dim = {7, 11, 13}};
        random_input(&t, 1, PITH_I32, DIMS(2, 9), false);
        for (uint32_t i = 0; i < 9; i++) {
            const int32_t at = (int32_t)below(35) - 17;
            if (wide)
                ((int64_t *)t.in[1].data)[i] = at;
            else
                ((int32_t *)t.in[1].data)[i] = at;
        }
        t.in[1].type = wide ? PITH_I64 : PITH_I32;
        t.in[1].shape = (struct shape){.rank = 2, .dim = {3, 3}};
        check_product(&t, "gather", 0);
    }
}

TEST(test_dynamic_quantize)
{
    static const uint32_t sizes[] = {1, 255, 256, 257, 1999};
    for (uint32_t round = 0; round < 10; round++) {
        struct one_op t;
        one_op_open(&t, PITH_OP_DYNAMIC_QUANTIZE, 1, 3);
        t.kernels = &reference;
        random_input(&t, 0, PITH_F32, DIMS(sizes[round % 5]), round > 7);
        check_product(&t, "dynamic quantize", 0);
    }
}

/* The layer's values pass through sigmoids and tanhs of slope 1 at most, step after step. */
TEST(test_recurrent)
{
    for (uint32_t round = 0; round < 18; round++) {
        static const uint32_t gates[] = {1, 3, 4};
        struct one_op t;
        uint32_t kind = round % 3, steps = 1 + below(5), batch = 1 + below(3), h = 1 + below(20);
        uint32_t rows = gates[kind] * h;
        one_op_open(&t, PITH_OP_RECURRENT, kind == 2 ? 7 : 5, kind == 2 ? 3 : 2);
        t.kernels = &reference;
        t.attr[ATTR_RECURRENT_KIND] = (int32_t)kind;
        t.attr[ATTR_RECURRENT_REVERSE] = (int32_t)below(2);
        t.attr[ATTR_RECURRENT_LINEAR_BEFORE_RESET] = kind == 1 && below(2);
        random_input(&t, 0, PITH_F32, DIMS(steps, batch, rows), false);
        random_input(&t, 1, PITH_F32, DIMS(rows, h), false);
        random_input(&t, 2, PITH_F32, DIMS(rows), false);
        random_input(&t, 3, PITH_I32, DIMS(batch), false);
        for (uint32_t k = 0; k < batch; k++)
            ((int32_t *)t.in[3].data)[k] = (int32_t)below(steps + 2);
        random_input(&t, 4, PITH_F32, DIMS(batch, h), false);
        if (kind == 2) {
            random_input(&t, 5, PITH_F32, DIMS(batch, h), false);
            random_input(&t, 6, PITH_F32, DIMS(3 * h), false);
        }
        size_t n = (size_t)steps * batch * h;
        double *bound = malloc(n * sizeof *bound);
        for (size_t i = 0; i < n; i++)
            bound[i] = 2e-5;
        struct guarded in[ONE_OP_MAX];
        assert_int_equal(one_op_shape(&t), PITH_OK);
        guard_inputs(&t, in);
        one_op_run(&t, false);
        struct step s = {.args = t.args};
        assert_true(try_device("recurrent", &s, bound));
        one_op_close(&t);
        free(bound);
        for (uint32_t i = 0; i < t.args.n_in; i++)
            guard_free(&in[i]);
    }
}

/* What no type can hold, and what one alone does; and all types into all. */
TEST(test_cast)
{
    static const enum pith_type types[] = {PITH_F32, PITH_I8,  PITH_U8,  PITH_I16,
                                           PITH_U16, PITH_I32, PITH_I64, PITH_BOOL};
    static const float hard[] = {NAN,      INFINITY, -INFINITY, 3e9f,      -3e9f, 0x1p63f,
                                 -0x1p63f, 0x1p62f,  -1e18f,    300.7f,    -0.5f, -0.0f,
                                 65536.f,  1e-40f,   -129.99f,  16777217.f};
    for (uint32_t round = 0; round < 64; round++) {
        const enum pith_type from = types[round % 8];
        struct one_op t;
        one_op_open(&t, PITH_OP_CAST, 1, 1);
        t.attr[ATTR_CAST_TO] = (int32_t)types[round / 8];
        random_input(&t, 0, PITH_I32, DIMS(2, 8), false);
        free(t.in[0].data);
        t.in[0].type = from;
        t.in[0].data = malloc(16 * 8);
        for (uint32_t i = 0; i < 16; i++) {
            const uint64_t bits = random_u64(&seed);
            memcpy((uint8_t *)t.in[0].data + i * pith_type_bytes(from), &bits,
                   pith_type_bytes(from));
        }
        if (from == PITH_F32)
            memcpy(t.in[0].data, hard, sizeof hard);
        check_product(&t, "cast", 0);
    }
}

/* Few values, so that the largest is there several times. */
TEST(test_arg)
{
    for (uint32_t round = 0; round < 16; round++) {
        struct one_op t;
        one_op_open(&t, PITH_OP_ARG, 1, 1);
        t.attr[ATTR_KIND] = round % 2 ? ARG_MIN : ARG_MAX;
        t.attr[ATTR_ARG_AXIS] = (int32_t)(round / 2 % 2);
        t.attr[ATTR_ARG_LAST] = (int32_t)(round / 4 % 2);
        random_input(&t, 0, round < 8 ? PITH_F32 : PITH_I32, DIMS(7, 19), false);
        for (uint32_t i = 0; i < 7 * 19; i++) {
            if (round < 8)
                ((float *)t.in[0].data)[i] = i % 23 == 9 ? NAN : (float)below(3);
            else
                ((int32_t *)t.in[0].data)[i] = (int32_t)below(3) - 1;
        }
        check_product(&t, "arg", 0);
    }
}

RUN_IN_BOTH
