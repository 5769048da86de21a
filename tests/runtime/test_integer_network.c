/* SPDX-License-Identifier: MIT */
/* Integer products and networks as plans run them, fused and channels-last: every level of this
 * machine, cut up or not, gives the bits of the plain operators, one step each, on the reference.
 */
#include <math.h>
#define GRAPH_DOUBLE_READER
#include "graph_double.h"
#include "guard_page.h"
#include "integer_conv.h"
#include "loop_double.h"
#include "plan.h"

#define CASES 400
#define MAX_BYTES (1u << 20)

static uint64_t seed = 7;

static uint32_t pick(uint32_t from, uint32_t to)
{
    return from + (uint32_t)(random_u64(&seed) % (to - from + 1));
}

/* Bytes at random, or all as large as they get. */
static uint8_t *some_bytes(size_t n, enum pith_type type)
{
    uint8_t *p = malloc(n + 1);
    assert_non_null(p);
    uint32_t extreme = pick(0, 5);
    for (size_t i = 0; i < n; i++) {
        p[i] = (uint8_t)random_u64(&seed);
        if (extreme == 0)
            p[i] = type == PITH_U8 ? 255 : 0x80;
        if (extreme == 1)
            p[i] = type == PITH_U8 ? 255 : 127;
    }
    return p;
}

/* What a case owns. */
static void *owned[64];
static uint32_t n_owned;

static void *own(void *p)
{
    assert_true(n_owned < 64);
    return owned[n_owned++] = p;
}

static void release_case(void)
{
    while (n_owned > 0)
        free(owned[--n_owned]);
}

static enum pith_type byte_type(void)
{
    return pick(0, 1) ? PITH_U8 : PITH_I8;
}

static uint32_t bytes_weight(enum pith_type type, struct shape s)
{
    return gd_weight_of(type, own(some_bytes(shape_elems(&s), type)), &s);
}

static uint32_t sums_weight(uint32_t n)
{
    int32_t *p = own(malloc(n * sizeof *p));
    for (uint32_t i = 0; i < n; i++)
        p[i] = (int32_t)random_u64(&seed) >> pick(0, 31);
    return gd_weight_of(PITH_I32, p, &(struct shape){1, {n}});
}

/* Factors that leave some values inside the range, now and then odd ones. */
static uint32_t factor_weight(uint32_t n, uint32_t terms)
{
    static const float odd[] = {0.0f, -1e-3f, 1e30f,     1e-30f, INFINITY,
                                NAN,  0.5f,   -INFINITY, 1e-45f};
    float *p = own(malloc(n * sizeof *p));
    for (uint32_t i = 0; i < n; i++) {
        p[i] = 1.0f / (float)(terms * pick(1, 200) + 1);
        if (pick(0, 15) == 0)
            p[i] = odd[pick(0, 8)];
    }
    return gd_weight_of(PITH_F32, p, &(struct shape){n > 1, {n > 1 ? n : 0}});
}

/* ---- a convolution -------------------------------------------------------------------------- */

struct conv_case {
    struct shape x, w;
    uint32_t group, list[3][8]; /* strides, dilations, pads */
};

static void set_conv(int32_t *attr, void *arg)
{
    static const uint32_t slot[3] = {ATTR_CONV_STRIDES, ATTR_CONV_DILATIONS, ATTR_CONV_PADS};
    const struct conv_case *c = arg;
    uint32_t axes = c->x.rank - 2;
    attr[ATTR_CONV_GROUP] = (int32_t)c->group;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t n = i == 2 ? 2 * axes : axes;
        attr[slot[i]] = (int32_t)n;
        for (uint32_t k = 0; k < n; k++)
            attr[slot[i] + 1 + k] = (int32_t)c->list[i][k];
    }
}

/* A window over x [n, channels, ...] that fits. */
static struct conv_case conv_over(const struct shape *x)
{
    struct conv_case c = {.x = *x, .group = 1};
    uint32_t channels = x->dim[1], axes = x->rank - 2, outputs = pick(1, 80), kind = pick(0, 3);
    if (kind == 0)
        c.group = outputs = channels;
    if (kind == 1 && channels % 2 == 0) {
        c.group = 2;
        outputs *= 2;
    }
    c.w = (struct shape){x->rank, {outputs, channels / c.group}};
    for (uint32_t i = 0; i < axes; i++) {
        uint32_t kernel = pick(0, 2) ? pick(1, 5) : 1;
        c.list[0][i] = pick(0, 2) ? 1 : pick(1, 3);
        c.list[1][i] = pick(0, 3) ? 1 : pick(1, 3);
        c.list[2][i] = pick(0, 1) * pick(0, kernel);
        c.list[2][axes + i] = pick(0, 1) * pick(0, kernel);
        while ((kernel - 1) * c.list[1][i] + 1 > x->dim[2 + i] + c.list[2][i] + c.list[2][axes + i])
            kernel--;
        c.w.dim[2 + i] = kernel;
    }
    return c;
}

static void set_type(int32_t *attr, void *arg)
{
    const int32_t *told = arg;
    attr[ATTR_QUANTIZE_TYPE] = told[0];
    attr[ATTR_QUANTIZE_AXIS] = told[1];
}

static void set_axis(int32_t *attr, void *arg)
{
    attr[ATTR_QUANTIZE_AXIS] = *(const int32_t *)arg;
}

static struct shape random_input(void)
{
    struct shape x = {.rank = pick(3, 4), .dim = {pick(1, 2), pick(1, 70)}};
    if (pick(0, 9) == 0)
        x.dim[1] = pick(1, 3);
    for (uint32_t i = 2; i < x.rank; i++)
        x.dim[i] = x.rank == 3 ? pick(1, 300) : pick(1, 20);
    return x;
}

/* Constants of a layer, made before its nodes. */
struct layer {
    struct conv_case c;
    uint32_t w, bias, zero_x, factor, zero_y;
    int32_t told[2]; /* type, axis */
};

static uint32_t gemm_terms(const struct layer *l)
{
    return (uint32_t)shape_product(&l->c.w, 1, l->c.w.rank) * 64;
}

static void layer_constants(struct layer *l, enum pith_type x_type, uint32_t outputs, int32_t axis)
{
    l->w = bytes_weight(PITH_I8, l->c.w);
    l->bias = pick(0, 1) ? sums_weight(outputs) : PITH_NO_VALUE;
    l->zero_x = pick(0, 3) ? bytes_weight(x_type, (struct shape){0}) : PITH_NO_VALUE;
    l->told[0] = (int32_t)byte_type();
    l->told[1] = axis;
    l->factor = factor_weight(pick(0, 2) ? outputs : 1, gemm_terms(l));
    l->zero_y = bytes_weight((enum pith_type)l->told[0], (struct shape){0});
}

static uint32_t conv_node(struct layer *l, uint32_t x)
{
    return gd_node(PITH_OP_CONV_INTEGER, set_conv, &l->c, 1, 5, x, l->w, l->zero_x, PITH_NO_VALUE,
                   l->bias);
}

static uint32_t requantize_node(struct layer *l, uint32_t acc)
{
    return gd_node(PITH_OP_REQUANTIZE, set_type, l->told, 1, 3, acc, l->factor, l->zero_y);
}

/* ---- running -------------------------------------------------------------------------------- */

static void backwards(void *user, uint32_t n, void (*body)(void *arg, uint32_t i), void *arg)
{
    (void)user;
    while (n-- > 0)
        body(arg, n);
}

static struct pith_plan *plan;

/* The outputs' bytes, one behind the other, on the input given; *steps: of the plan. */
static uint8_t *run_graph(uint32_t mask, uint32_t flags, bool cut, const uint8_t *input,
                          size_t *bytes, uint32_t *steps)
{
    struct pith_opts opts;
    struct pith_need need;
    struct pith_tensor t;
    pith_opts_init(&opts, sizeof opts);
    opts.cpu_mask = mask;
    opts.flags = flags;
    opts.parallel_for = cut ? backwards : NULL;
    void *mem = gd_plan(&opts, &plan, &need);
    assert_int_equal(pith_plan_input(plan, 0, &t), PITH_OK);
    memcpy(pith_plan_input_data(plan, 0), input, t.bytes);
    assert_int_equal(pith_plan_run(plan), PITH_OK);
    uint8_t *y = malloc(MAX_BYTES);
    assert_non_null(y);
    *bytes = 0;
    for (uint32_t i = 0; i < pith_plan_output_count(plan); i++, *bytes += t.bytes) {
        assert_int_equal(pith_plan_output(plan, i, &t), PITH_OK);
        assert_true(*bytes + t.bytes <= MAX_BYTES);
        memcpy(y + *bytes, pith_plan_output_data(plan, i), t.bytes);
    }
    *steps = pith_plan_layer_count(plan);
    free(mem);
    return y;
}

/* expected_steps: 0: not told */
static void check_levels(const char *what, uint32_t expected_steps)
{
    static const uint32_t levels[] = {PITH_CPU_REF, PITH_CPU_AVX2,
                                      PITH_CPU_AVX2 | PITH_CPU_AVX512 | PITH_CPU_VNNI,
                                      PITH_CPU_NEON};
    size_t bytes, n;
    uint32_t steps;
    uint8_t *input = some_bytes(shape_elems(&gd.value[0].shape), gd.value[0].type);
    uint8_t *expected = run_graph(PITH_CPU_REF, PITH_FLAG_NO_FUSION, false, input, &bytes, &steps);
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t level = levels[i / 2];
        if (level != PITH_CPU_REF && (pith_cpu_features() & level) != level)
            continue;
        uint8_t *y = run_graph(level, 0, i % 2, input, &n, &steps);
        assert_int_equal(n, bytes);
        if (expected_steps)
            assert_int_equal(steps, expected_steps);
        for (size_t k = 0; k < n; k++)
            if (y[k] != expected[k])
                fail_msg("%s, level %x, cut %u: byte %zu of %zu is %u, not %u (next seed %llu)",
                         what, level, i % 2, k, n, y[k], expected[k], (unsigned long long)seed);
        free(y);
    }
    free(expected);
    free(input);
}

static uint32_t new_graph(const struct shape *x, enum pith_type type)
{
    gd_clear();
    struct graph_input *in = &gd.input[gd.g.n_inputs++];
    in->type = type;
    in->shape = *x;
    uint32_t v = gd_value(x);
    gd.value[v].type = type;
    return v;
}

static void test_convolutions(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        struct shape x = random_input();
        enum pith_type type = byte_type();
        uint32_t v = new_graph(&x, type);
        struct layer l = {.c = conv_over(&x)};
        layer_constants(&l, type, l.c.w.dim[0], 1);
        gd_output(requantize_node(&l, conv_node(&l, v)));
        check_levels("convolution", 1);
        release_case();
    }
}

static uint32_t real_node(struct layer *l, uint32_t acc)
{
    return gd_node(PITH_OP_DEQUANTIZE, set_axis, &l->told[1], 1, 2, acc, l->factor);
}

/* Sums that are read as they are, or as real numbers. */
static void test_sums(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < CASES / 4; i++) {
        struct shape x = random_input();
        enum pith_type type = byte_type();
        uint32_t v = new_graph(&x, type);
        struct layer l = {.c = conv_over(&x)};
        layer_constants(&l, type, l.c.w.dim[0], 1);
        uint32_t acc = conv_node(&l, v);
        gd_output(i % 2 ? real_node(&l, acc) : acc);
        check_levels("sums", i % 2 && l.c.group > 1 ? 2 : 1);
        release_case();
    }
}

static void test_products(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        uint32_t k = pick(1, 90), n = pick(1, 150);
        struct shape x = {.rank = pick(1, 3), .dim = {pick(1, 3), pick(1, 40), k}};
        x.dim[x.rank - 1] = k;
        for (uint32_t d = x.rank; d < 3; d++)
            x.dim[d] = 0;
        enum pith_type type = byte_type();
        uint32_t v = new_graph(&x, type);
        struct layer l = {.c.w = {2, {k, n}}};
        layer_constants(&l, type, n, (int32_t)x.rank - 1);
        uint32_t acc = gd_node(PITH_OP_MATMUL_INTEGER, NULL, NULL, 1, 3, v, l.w, l.zero_x);
        uint32_t kind = pick(0, 4);
        gd_output(kind == 0 ? acc : kind == 1 ? real_node(&l, acc) : requantize_node(&l, acc));
        check_levels("product", 1);
        release_case();
    }
}

/* Weights as a file holds those of few bits: numbers of the centroids -7 .. 7. */
static uint32_t few_weights(struct shape s)
{
    static const uint8_t minus_7_to_7[] = {0xfe, 0x00};
    size_t n = shape_elems(&s);
    uint8_t *index = own(malloc(n / 2 + 1));
    uint32_t v = gd_weight_of(PITH_I8, index, &s);
    struct weight *w = &gd.weight[gd.g.n_weights - 1];
    for (size_t i = 0; i < n; i++) {
        uint32_t q = pick(0, 14);
        index[i / 2] = (uint8_t)(i % 2 ? index[i / 2] | q << 4 : q);
    }
    w->grid = GRID_CODEBOOK;
    w->n_centroids = 15;
    w->index_bits = 4;
    w->codebook = (struct stream){minus_7_to_7, sizeof minus_7_to_7};
    w->index_stream.n_bytes = (n + 1) / 2;
    return v;
}

/* Of one row they stay packed where a kernel takes them so. */
static void test_products_of_few_weights(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 24; i++) {
        uint32_t k = pick(250, 330), n = pick(i % 4 ? 300 : 100, 330), rows = pick(1, 3);
        struct shape x = {2, {rows, k}};
        enum pith_type type = byte_type();
        uint32_t v = new_graph(&x, type);
        struct layer l = {.c.w = {2, {k, n}}};
        layer_constants(&l, type, n, 1);
        l.w = few_weights(l.c.w);
        uint32_t acc = gd_node(PITH_OP_MATMUL_INTEGER, NULL, NULL, 1, 3, v, l.w, l.zero_x);
        gd_output(i % 3 == 0 ? real_node(&l, acc) : requantize_node(&l, acc));
        check_levels("few weights", 1);
        bool halved = rows < 3 && k * n >= 65536 && (pith_cpu_features() & PITH_CPU_VNNI);
        struct pith_opts opts;
        struct pith_need need;
        pith_opts_init(&opts, sizeof opts);
        void *mem = gd_plan(&opts, &plan, &need);
        if (halved)
            assert_true(plan->step[0].weight_bytes < (uint64_t)k * n * 3 / 4);
        else
            assert_true(plan->step[0].weight_bytes >= (uint64_t)k * n);
        free(mem);
        release_case();
    }
}

/* Weights around a zero point of their own, three axes, a second reader: the plain operator. */
static void test_what_is_not_packed(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 20; i++) {
        struct shape x = random_input();
        if (i % 2 == 0)
            x = (struct shape){5, {1, 3, 4, 5, 6}};
        uint32_t v = new_graph(&x, PITH_U8);
        struct layer l = {.c = {.x = x, .group = 1, .w = {x.rank, {4, x.dim[1]}}}};
        for (uint32_t d = 2; d < x.rank; d++)
            l.c.w.dim[d] = l.c.list[0][d - 2] = 1;
        l.c.list[1][0] = l.c.list[1][1] = l.c.list[1][2] = 1;
        layer_constants(&l, PITH_U8, 4, 1);
        uint32_t zero = i % 2 ? bytes_weight(PITH_I8, (struct shape){0}) : PITH_NO_VALUE;
        uint32_t acc =
            gd_node(PITH_OP_CONV_INTEGER, set_conv, &l.c, 1, 5, v, l.w, l.zero_x, zero, l.bias);
        gd_output(requantize_node(&l, acc));
        check_levels("not packed", 2);
        release_case();
    }
}

/* ---- networks ---------------------------------------------------------------------------------
 */

enum kind { CONV, ADD, MUL, MAX_POOL, CONCAT, CONCAT_WHOLE, ELEMENT, MEAN, SLICE, PAD, REAL, KINDS };

struct bytes_value {
    struct shape s;
    enum pith_type type;
    uint32_t value, scale, zero;
    enum kind kind;
    uint32_t from[2]; /* numbers of values */
    struct layer layer;
    uint32_t pool[3]; /* kernel, stride, pad */
    bool relu;        /* behind ADD and MUL */
    bool whole;       /* SLICE and PAD of bytes as they are */
    bool plane;       /* MEAN as an AveragePool whose kernel is list[0] */
    int32_t list[3][8]; /* of an axis: start, end, step, or begin, end of its pads */
    int32_t mode;       /* PAD */
    float border;
    enum pith_op op;
};

static struct bytes_value net[16];
static uint32_t n_net;

static uint32_t scale_weight(void)
{
    static const float odd[] = {0.5f, 0.125f, -0.25f,    1e-38f, 1e30f, INFINITY,
                                NAN,  0.0f,   -INFINITY, 1e-45f, -0.0f};
    float *p = own(malloc(sizeof *p));
    *p = pick(0, 19) ? (float)pick(1, 1000) * 1e-3f : odd[pick(0, 10)];
    return gd_weight_of(PITH_F32, p, &(struct shape){0});
}

static uint32_t windows(uint32_t in, uint32_t kernel, uint32_t stride, uint32_t dilation,
                        uint32_t pads)
{
    return (in + pads - (kernel - 1) * dilation - 1) / stride + 1;
}

static void plan_conv(struct bytes_value *v, const struct bytes_value *x)
{
    struct conv_case *c = &v->layer.c;
    *c = conv_over(&x->s);
    v->s.dim[1] = c->w.dim[0];
    for (uint32_t i = 0; i < x->s.rank - 2; i++)
        v->s.dim[2 + i] = windows(x->s.dim[2 + i], c->w.dim[2 + i], c->list[0][i], c->list[1][i],
                                  c->list[2][i] + c->list[2][x->s.rank - 2 + i]);
    layer_constants(&v->layer, x->type, c->w.dim[0], 1);
    v->type = (enum pith_type)v->layer.told[0];
    v->zero = v->layer.zero_y;
}

static void plan_pool(struct bytes_value *v, const struct bytes_value *x)
{
    v->pool[0] = pick(1, 3);
    v->pool[1] = pick(1, 3);
    v->pool[2] = pick(0, v->pool[0] - 1);
    for (uint32_t i = 2; i < x->s.rank; i++) {
        if (x->s.dim[i] + 2 * v->pool[2] < v->pool[0])
            v->pool[0] = v->pool[1] = 1, v->pool[2] = 0;
        v->s.dim[i] = windows(x->s.dim[i], v->pool[0], v->pool[1], 1, 2 * v->pool[2]);
    }
}

static void plan_slice(struct bytes_value *v)
{
    for (uint32_t i = 0; i < v->s.rank; i++) {
        int32_t dim = (int32_t)v->s.dim[i], step = (int32_t)pick(1, 3);
        int32_t start = pick(0, 2) && dim > 1 ? (int32_t)pick(0, v->s.dim[i] - 1) : 0;
        bool forth = pick(0, 3) || start == 0;
        v->list[0][i] = start;
        v->list[1][i] = forth ? INT32_MAX : INT32_MIN;
        v->list[2][i] = forth ? step : -step;
        v->s.dim[i] = (uint32_t)(forth ? (dim - start + step - 1) / step : start / step + 1);
    }
}

static void plan_pad(struct bytes_value *v)
{
    static const float border[] = {0.0f, 0.25f, -3.0f, INFINITY};
    v->mode = (int32_t)pick(0, 4) - 2;
    v->mode = v->mode < 0 ? 0 : v->mode;
    v->border = v->mode == 0 && !v->whole ? border[pick(0, 3)] : 0;
    for (uint32_t i = 0; i < v->s.rank; i++) {
        int32_t dim = (int32_t)v->s.dim[i], most = v->mode == 1 && dim <= 4 ? dim - 1 : 4;
        for (uint32_t k = 0; k < 2; k++)
            v->list[k][i] = pick(0, 1) ? (int32_t)pick(0, (uint32_t)most) : 0;
        if (dim > 3 && v->mode == 0 && pick(0, 3) == 0)
            v->list[0][i] = -(int32_t)pick(1, 2);
        v->s.dim[i] = (uint32_t)(dim + v->list[0][i] + v->list[1][i]);
    }
}

static void set_move(int32_t *attr, void *arg)
{
    const struct bytes_value *v = arg;
    bool pads = v->kind == PAD;
    uint32_t first = pads ? ATTR_PAD_BEGIN : ATTR_SLICE_STARTS;
    for (uint32_t k = 0; k < (pads ? 2 : 3); k++) {
        int32_t *list = attr + first + k * PITH_LIST_SLOTS;
        list[0] = (int32_t)v->s.rank;
        memcpy(list + 1, v->list[k], v->s.rank * sizeof *list);
    }
    if (pads) {
        attr[ATTR_PAD_MODE] = v->mode;
        attr[ATTR_PAD_VALUE] = (int32_t)f32_bits(v->border);
        return;
    }
    attr[ATTR_SLICE_AXES] = (int32_t)v->s.rank;
    for (uint32_t i = 0; i < v->s.rank; i++)
        attr[ATTR_SLICE_AXES + 1 + i] = (int32_t)i;
}

/* Chooses what value n_net is; false: its sources do not fit. */
static bool plan_value(struct bytes_value *v)
{
    static const enum pith_op ops[] = {PITH_OP_SIGMOID, PITH_OP_RELU, PITH_OP_HARD_SWISH,
                                       PITH_OP_TANH, PITH_OP_LEAKY_RELU};
    *v = (struct bytes_value){.kind = (enum kind)pick(0, REAL - 1), .op = ops[pick(0, 4)]};
    v->from[0] = pick(0, 1) ? n_net - 1 : pick(0, n_net - 1);
    v->from[1] = pick(0, n_net - 1);
    const struct bytes_value *x = &net[v->from[0]], *b = &net[v->from[1]];
    v->s = x->s;
    v->type = byte_type();
    bool two = v->kind == ADD || v->kind == MUL;
    v->relu = two && pick(0, 1);
    if (two && !pith_shape_equal(&x->s, &b->s))
        v->from[1] = v->from[0];
    if (v->kind == CONCAT || v->kind == CONCAT_WHOLE) {
        struct shape s = b->s;
        s.dim[1] = x->s.dim[1];
        if (!pith_shape_equal(&s, &x->s) || (v->kind == CONCAT_WHOLE && b->type != x->type))
            return false;
        v->s.dim[1] += b->s.dim[1];
        v->type = v->kind == CONCAT_WHOLE ? x->type : v->type;
    }
    if (v->kind == CONV)
        plan_conv(v, x);
    if (v->kind == MAX_POOL)
        plan_pool(v, x);
    for (uint32_t i = 2; v->kind == MEAN && i < v->s.rank; i++) {
        v->list[0][i - 2] = (int32_t)v->s.dim[i];
        v->s.dim[i] = 1;
    }
    v->plane = pick(0, 1);
    if (v->kind != CONV)
        v->zero = bytes_weight(v->type, (struct shape){0});
    v->scale = scale_weight();
    v->whole = pick(0, 1);
    if (v->kind == SLICE)
        plan_slice(v);
    if (v->kind == PAD)
        plan_pad(v);
    if ((v->kind == SLICE || v->kind == PAD) && v->whole) {
        v->type = x->type;
        v->zero = x->zero;
        v->scale = x->scale;
    }
    return shape_elems(&v->s) <= 20000;
}

static uint32_t real_of(const struct bytes_value *v)
{
    return gd_node(PITH_OP_DEQUANTIZE, NULL, NULL, 1, 3, v->value, v->scale, v->zero);
}

static void set_pool(int32_t *attr, void *arg)
{
    const struct bytes_value *v = arg;
    int32_t axes = (int32_t)v->s.rank - 2;
    attr[ATTR_POOL_KERNEL] = attr[ATTR_POOL_STRIDES] = axes;
    attr[ATTR_POOL_PADS] = 2 * axes;
    for (int32_t i = 1; i <= axes; i++) {
        attr[ATTR_POOL_KERNEL + i] = (int32_t)v->pool[0];
        attr[ATTR_POOL_STRIDES + i] = (int32_t)v->pool[1];
        attr[ATTR_POOL_PADS + i] = attr[ATTR_POOL_PADS + axes + i] = (int32_t)v->pool[2];
    }
}

static void set_plane(int32_t *attr, void *arg)
{
    const struct bytes_value *v = arg;
    attr[ATTR_POOL_KERNEL] = (int32_t)v->s.rank - 2;
    for (uint32_t i = 0; i + 2 < v->s.rank; i++)
        attr[ATTR_POOL_KERNEL + 1 + i] = v->list[0][i];
}

static void make_value(struct bytes_value *v)
{
    static const enum pith_op op[KINDS] = {[ADD] = PITH_OP_ADD,
                                           [MUL] = PITH_OP_MUL,
                                           [MAX_POOL] = PITH_OP_MAX_POOL,
                                           [CONCAT] = PITH_OP_CONCAT,
                                           [MEAN] = PITH_OP_GLOBAL_AVERAGE_POOL,
                                           [SLICE] = PITH_OP_SLICE,
                                           [PAD] = PITH_OP_PAD};
    const struct bytes_value *x = &net[v->from[0]], *b = &net[v->from[1]];
    if (v->kind == CONV) {
        v->value = requantize_node(&v->layer, conv_node(&v->layer, x->value));
        return;
    }
    if (v->kind == CONCAT_WHOLE) {
        v->value = gd_node(PITH_OP_CONCAT, NULL, NULL, 1, 2, x->value, b->value);
        return;
    }
    if (v->whole && (v->kind == SLICE || v->kind == PAD)) {
        v->value = gd_node(op[v->kind], set_move, v, 1, 1, x->value);
        return;
    }
    bool two = v->kind == ADD || v->kind == MUL || v->kind == CONCAT;
    uint32_t real[2] = {real_of(x), 0}, y;
    if (two)
        real[1] = v->from[0] == v->from[1] ? real[0] : real_of(b);
    bool plane = v->kind == MEAN && v->plane;
    y = gd_node_of(v->kind == ELEMENT ? v->op : plane ? PITH_OP_AVERAGE_POOL : op[v->kind],
                   plane                                ? set_plane
                   : v->kind == MAX_POOL                ? set_pool
                   : v->kind == SLICE || v->kind == PAD ? set_move
                                                        : NULL,
                   v, 1, two ? 2 : 1, real);
    if (v->relu)
        y = gd_node(PITH_OP_RELU, NULL, NULL, 1, 1, y);
    int32_t told[2] = {(int32_t)v->type, 1};
    v->value = gd_node(PITH_OP_QUANTIZE, set_type, told, 1, 3, y, v->scale, v->zero);
}

/* Values from `first` on, in a loop whose state is what value 0 was; the outputs are its last state
 * and the last value of each round. */
static void make_in_loop(uint32_t first)
{
    struct gd_loop l = {.trips = 3, .n_states = 1};
    uint32_t outside = net[0].value, next, y;
    net[0].value = next = gd_loop_begin(&l, 1, outside) + 1;
    for (uint32_t k = first; k < n_net; k++) {
        make_value(&net[k]);
        if (net[k].type == net[0].type && pith_shape_equal(&net[k].s, &net[0].s))
            next = net[k].value;
    }
    y = gd_loop_end(&l, 2, next, net[n_net - 1].value);
    net[0].value = outside;
    gd_output(y);
    gd_output(y + 1);
}

static void test_networks(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        struct shape x = random_input();
        net[0] = (struct bytes_value){.s = x, .type = byte_type(), .value = 0};
        new_graph(&x, net[0].type);
        net[0].scale = scale_weight();
        net[0].zero = bytes_weight(net[0].type, (struct shape){0});
        uint32_t n = pick(2, 8);
        for (n_net = 1; n_net < n && n_owned < 50;)
            n_net += plan_value(&net[n_net]);
        uint32_t inside = n_net == 1 || pick(0, 2) ? n_net : pick(1, n_net - 1);
        for (uint32_t k = 1; k < inside; k++)
            make_value(&net[k]);
        if (inside < n_net)
            make_in_loop(inside);
        uint32_t other = pick(0, inside - 1);
        if (pick(0, 1))
            gd_output(real_of(&net[other]));
        if (pick(0, 3) == 0 && other > 0 && other < n_net - 1)
            gd_output(net[other].value);
        if (inside == n_net)
            gd_output(net[n_net - 1].value);
        check_levels("network", 0);
        release_case();
    }
}

/* Scales that a damaged file may have, on both sides of a chain. */
static void test_odd_scales(void **state)
{
    (void)state;
    static const float scale[] = {0.5f,   -0.25f, 0.0f,     -0.0f,     1e-38f,
                                  1e-45f, 3e38f,  INFINITY, -INFINITY, NAN};
    const uint32_t n = sizeof scale / sizeof *scale;
    for (uint32_t i = 0; i < n * n * REAL; i++) {
        enum kind kind = (enum kind)(i % REAL);
        struct shape x = {4, {1, 3, 5, 4}};
        if (kind == CONV || kind == CONCAT_WHOLE)
            continue;
        n_net = 2;
        net[0] = (struct bytes_value){.s = x, .type = byte_type()};
        int32_t end = kind == SLICE ? INT32_MAX : 1;
        net[1] = (struct bytes_value){.s = x,
                                      .type = byte_type(),
                                      .kind = kind,
                                      .op = PITH_OP_RELU,
                                      .pool = {2, 1, 1},
                                      .list = {{0}, {end, end, end, end}, {1, 1, 1, 1}},
                                      .relu = kind == ADD || kind == MUL};
        new_graph(&x, net[0].type);
        for (uint32_t k = 0; k < 2; k++) {
            const float *s = &scale[k ? i / REAL / n : i / REAL % n];
            net[k].scale = gd_weight_of(PITH_F32, s, &(struct shape){0});
            net[k].zero = bytes_weight(net[k].type, (struct shape){0});
        }
        make_value(&net[1]);
        gd_output(net[1].value);
        check_levels("odd scales", 1);
        release_case();
    }
}

/* A convolution writes its channels into the pixels of the concat that alone reads them; one that
 * somebody else reads is copied. */
static void test_concat_of_pixels(void **state)
{
    (void)state;
    for (uint32_t shared = 0; shared < 2; shared++) {
        struct shape x = {4, {2, 8, 4, 5}};
        struct pith_opts opts;
        struct pith_need need;
        struct layer l[4];
        uint32_t v = new_graph(&x, PITH_U8), y[2];
        for (uint32_t i = 0; i < 4; i++) {
            l[i] = (struct layer){.c = {.x = x, .w = {4, {i == 0 ? 5 : 7, 8, 1, 1}}, .group = 1}};
            l[i].c.w.dim[1] = i == 2 ? 12 : i == 3 ? 5 : 8;
            for (uint32_t k = 0; k < 2; k++)
                l[i].c.list[0][k] = l[i].c.list[1][k] = 1;
            layer_constants(&l[i], PITH_U8, l[i].c.w.dim[0], 1);
            l[i].told[0] = PITH_U8;
            l[i].zero_y = bytes_weight(PITH_U8, (struct shape){0});
        }
        for (uint32_t i = 0; i < 2; i++)
            y[i] = requantize_node(&l[i], conv_node(&l[i], v));
        uint32_t joined = gd_node(PITH_OP_CONCAT, NULL, NULL, 1, 2, y[0], y[1]);
        gd_output(requantize_node(&l[2], conv_node(&l[2], joined)));
        if (shared)
            gd_output(requantize_node(&l[3], conv_node(&l[3], y[0])));
        pith_opts_init(&opts, sizeof opts);
        void *mem = gd_plan(&opts, &plan, &need);
        const uint8_t *at = plan->value[joined].data;
        assert_int_equal(plan->value[y[0]].data == at, !shared);
        assert_ptr_equal(plan->value[y[1]].data, at + 5);
        assert_int_equal(plan->step[1].args.y_step, 12);
        free(mem);
        check_levels("concat", 4 + shared);
        release_case();
    }
}

/* A Slice or Pad of bytes between convolutions moves pixels to storage of its own. */
static void test_moves_of_pixels(void **state)
{
    (void)state;
    for (uint32_t pads = 0; pads < 2; pads++) {
        struct shape x = {4, {1, 8, 6, 5}};
        struct bytes_value v = {.s = x, .kind = pads ? PAD : SLICE, .whole = true};
        struct layer l[2];
        uint32_t in = new_graph(&x, PITH_U8);
        for (uint32_t i = 0; i < 4; i++) {
            v.list[0][i] = i == 2;
            v.list[1][i] = pads ? i == 3 : INT32_MAX;
            v.list[2][i] = 1;
        }
        for (uint32_t i = 0; i < 2; i++) {
            l[i] = (struct layer){.c = {.x = x, .w = {4, {8, 8, 1, 1}}, .group = 1}};
            for (uint32_t k = 0; k < 2; k++)
                l[i].c.list[0][k] = l[i].c.list[1][k] = 1;
            layer_constants(&l[i], PITH_U8, 8, 1);
            l[i].told[0] = PITH_U8;
            l[i].zero_y = bytes_weight(PITH_U8, (struct shape){0});
        }
        n_net = 1;
        net[0] = (struct bytes_value){.s = x, .type = PITH_U8};
        net[0].value = requantize_node(&l[0], conv_node(&l[0], in));
        make_value(&v);
        gd_output(requantize_node(&l[1], conv_node(&l[1], v.value)));
        check_levels("move", 3);
        release_case();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convolutions),     cmocka_unit_test(test_sums),
        cmocka_unit_test(test_products),         cmocka_unit_test(test_products_of_few_weights),
        cmocka_unit_test(test_what_is_not_packed),
        cmocka_unit_test(test_networks),         cmocka_unit_test(test_odd_scales),
        cmocka_unit_test(test_concat_of_pixels), cmocka_unit_test(test_moves_of_pixels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
