/* SPDX-License-Identifier: MIT */
/* integer_case.h - random integer layers, and how a graph of them is checked: every level of this
 * machine, fused and not, cut up or not, gives the bits of the plain operators, one step each, on
 * the reference. */
#ifndef INTEGER_CASE_H
#define INTEGER_CASE_H

#include <math.h>
#include "backwards.h"
#include "avxvnni_twin.h"
#include "cpu_levels.h"
#include "op_interface/op_attr.h"
#define GRAPH_DOUBLE_READER
#include "graph_double.h"
#include "guard_page.h"
#include "products/integer_conv.h"
#include "loop_double.h"
#include "plan/plan.h"

#ifndef CASES
#define CASES 400
#endif
#define MAX_BYTES (1u << 20)

static uint64_t seed = 7;

static inline uint32_t pick(uint32_t from, uint32_t to)
{
    return from + (uint32_t)(random_u64(&seed) % (to - from + 1));
}

/* Bytes at random, or all as large as they get. */
static inline uint8_t *some_bytes(size_t n, enum pith_type type)
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

static inline void *own(void *p)
{
    assert_true(n_owned < 64);
    return owned[n_owned++] = p;
}

static inline void release_case(void)
{
    while (n_owned > 0)
        free(owned[--n_owned]);
}

static inline enum pith_type byte_type(void)
{
    return pick(0, 1) ? PITH_U8 : PITH_I8;
}

static inline uint32_t bytes_weight(enum pith_type type, struct shape s)
{
    return gd_weight_of(type, own(some_bytes(shape_elems(&s), type)), &s);
}

static inline uint32_t sums_weight(uint32_t n)
{
    int32_t *p = own(malloc(n * sizeof *p));
    for (uint32_t i = 0; i < n; i++)
        p[i] = (int32_t)random_u64(&seed) >> pick(0, 31);
    return gd_weight_of(PITH_I32, p, &(struct shape){1, {n}});
}

/* Factors that leave some values inside the range, now and then odd ones. */
static inline uint32_t factor_weight(uint32_t n, uint32_t terms)
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

static inline void set_conv(int32_t *attr, void *arg)
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
static inline struct conv_case conv_over(const struct shape *x)
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

static inline void set_type(int32_t *attr, void *arg)
{
    const int32_t *params = arg;
    attr[ATTR_QUANTIZE_TYPE] = params[0];
    attr[ATTR_QUANTIZE_AXIS] = params[1];
}

static inline void set_axis(int32_t *attr, void *arg)
{
    attr[ATTR_QUANTIZE_AXIS] = *(const int32_t *)arg;
}

static inline struct shape random_input(void)
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
    uint32_t w, bias, zero_x, zero_w, factor, zero_y;
    int32_t params[2]; /* type, axis */
};

static inline uint32_t gemm_terms(const struct layer *l)
{
    return (uint32_t)shape_product(&l->c.w, 1, l->c.w.rank) * 64;
}

static inline void layer_constants(struct layer *l, enum pith_type x_type, uint32_t outputs,
                                   int32_t axis)
{
    l->w = bytes_weight(PITH_I8, l->c.w);
    l->zero_w = PITH_NO_VALUE;
    l->bias = pick(0, 1) ? sums_weight(outputs) : PITH_NO_VALUE;
    l->zero_x = pick(0, 3) ? bytes_weight(x_type, (struct shape){0}) : PITH_NO_VALUE;
    l->params[0] = (int32_t)byte_type();
    l->params[1] = axis;
    l->factor = factor_weight(pick(0, 2) ? outputs : 1, gemm_terms(l));
    l->zero_y = bytes_weight((enum pith_type)l->params[0], (struct shape){0});
}

/* The weight of every second layer has a zero point, where kernels take one. */
static inline void some_zero_w(struct layer *l)
{
    if (PACKED_BUILT && pick(0, 1))
        l->zero_w = bytes_weight(PITH_I8, (struct shape){0});
}

static inline uint32_t conv_node(struct layer *l, uint32_t x)
{
    return gd_node(PITH_OP_CONV_INTEGER, set_conv, &l->c, 1, 5, x, l->w, l->zero_x, l->zero_w,
                   l->bias);
}

static inline void set_trans_b(int32_t *attr, void *arg)
{
    attr[ATTR_MATMUL_TRANS_B] = *(const int32_t *)arg;
}

/* The product of x and l->w, [K, N] or, turned, [N, K]. */
static inline uint32_t product_node(struct layer *l, uint32_t x, bool turned)
{
    int32_t trans_b = turned;
    return gd_node(PITH_OP_MATMUL_INTEGER, set_trans_b, &trans_b, 1, 4, x, l->w, l->zero_x,
                   l->zero_w);
}

static inline struct shape product_weight(uint32_t k, uint32_t n, bool turned)
{
    return (struct shape){2, {turned ? n : k, turned ? k : n}};
}

static inline uint32_t requantize_node(struct layer *l, uint32_t acc)
{
    return gd_node(PITH_OP_REQUANTIZE, set_type, l->params, 1, 3, acc, l->factor, l->zero_y);
}

/* ---- running -------------------------------------------------------------------------------- */

static struct pith_plan *plan;

#ifdef __x86_64__
/* The table of the plans of a level, whose kernels may be the twin's. */
static bool use_twin;

void __real_pith_integer_kernels_fill(struct integer_kernels *k, uint32_t features);
void __wrap_pith_integer_kernels_fill(struct integer_kernels *k, uint32_t features);
void __wrap_pith_integer_kernels_fill(struct integer_kernels *k, uint32_t features)
{
    __real_pith_integer_kernels_fill(k, use_twin ? PITH_CPU_AVX2 | PITH_CPU_AVXVNNI : features);
    if (use_twin)
        twin_of_avxvnni(k);
}

static inline uint32_t mask_of(uint32_t level)
{
    use_twin = level == AVXVNNI_TWIN;
    return use_twin ? PITH_CPU_AVX2 : level;
}
#else
static inline uint32_t mask_of(uint32_t level)
{
    return level;
}
#endif

/* Kernels of the steps, by their numbers, where the level has those of x86; 0: any. */
static uint8_t forced[8];
static uint32_t n_forced;

static uint32_t cuts; /* runs that were cut: for other numbers of threads each */

/* The outputs' bytes, one behind the other, on the input given; *steps: of the plan. */
static inline uint8_t *run_graph(uint32_t mask, uint32_t flags, bool cut, const uint8_t *input,
                                 size_t *bytes, uint32_t *steps)
{
    struct pith_need need;
    struct pith_tensor t;
    struct pith_opts opts = {.size_bytes = sizeof opts,
                             .cpu_mask = mask,
                             .flags = flags,
                             .batch = gd.value[0].shape.rank ? gd.value[0].shape.dim[0] : 1,
                             .parallel_for = cut ? backwards : NULL};
    opts.threads = cut ? cuts++ % 6 : 0; /* 0: unknown */
    if (!flags && (mask & PITH_CPU_AVX2)) {
        opts.choices = forced;
        opts.n_choices = n_forced;
    }
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

/* expected_steps: 0: not checked */
static inline void check_levels(const char *what, uint32_t expected_steps)
{
    static const uint32_t levels[] = {PITH_CPU_REF, AVXVNNI_TWIN, CPU_LEVELS};
    size_t bytes, n;
    uint32_t steps;
    size_t elements = shape_elems(&gd.value[0].shape);
    uint8_t *input = some_bytes(elements * pith_type_bytes(gd.value[0].type), gd.value[0].type);
    bool extreme = pith_type_bytes(gd.value[0].type) == 2 && pick(0, 2) == 0;
    for (size_t i = 0; extreme && i < elements; i++)
        ((uint16_t *)(void *)input)[i] = gd.value[0].type == PITH_I16 ? 0x8000 : 0;
    uint8_t *expected =
        run_graph(mask_of(PITH_CPU_REF), PITH_FLAG_NO_FUSION, false, input, &bytes, &steps);
    for (uint32_t i = 0; i < 2 * sizeof levels / sizeof *levels; i++) {
        uint32_t level = levels[i / 2];
        if (level != PITH_CPU_REF && (features_with_twin() & level) != level)
            continue;
        uint8_t *y = run_graph(mask_of(level), 0, i % 2, input, &n, &steps);
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

static inline uint32_t scale_weight(void)
{
    static const float odd[] = {0.5f, 0.125f, -0.25f,    1e-38f, 1e30f, INFINITY,
                                NAN,  0.0f,   -INFINITY, 1e-45f, -0.0f};
    float *p = own(malloc(sizeof *p));
    *p = pick(0, 19) ? (float)pick(1, 1000) * 1e-3f : odd[pick(0, 10)];
    return gd_weight_of(PITH_F32, p, &(struct shape){0});
}

static inline uint32_t new_graph(const struct shape *x, enum pith_type type)
{
    gd_clear();
    struct graph_input *in = &gd.input[gd.g.n_inputs++];
    in->type = type;
    in->shape = *x;
    uint32_t v = gd_value(x);
    gd.value[v].type = type;
    return v;
}

#define SLOTS_CHOICE 3 /* in the list of integer_op.c */
#define WINOGRAD_CHOICE 4

/* A layer over x of `outputs` outputs, k by k. */
static inline void square_layer(struct layer *l, enum pith_type type, const struct shape *x,
                                uint32_t outputs, uint32_t k, const uint32_t pad[4])
{
    *l = (struct layer){.c = {.x = *x, .group = 1, .w = {4, {outputs, x->dim[1], k, k}}}};
    for (uint32_t i = 0; i < 4; i++) {
        l->c.list[0][i] = l->c.list[1][i] = 1;
        l->c.list[2][i] = k == 1 ? 0 : pad[i];
    }
    layer_constants(l, type, outputs, 1);
}

/* A layer of 1x1 over x, u8 to u8. */
static inline void conv_of_pixels(struct layer *l, const struct shape *x, uint32_t outputs)
{
    *l = (struct layer){.c = {.x = *x, .w = {4, {outputs, x->dim[1], 1, 1}}, .group = 1}};
    for (uint32_t k = 0; k < 2; k++)
        l->c.list[0][k] = l->c.list[1][k] = 1;
    layer_constants(l, PITH_U8, outputs, 1);
    l->params[0] = PITH_U8;
    l->zero_y = bytes_weight(PITH_U8, (struct shape){0});
}

static inline void plain_layer(struct layer *l, const struct shape *x)
{
    conv_of_pixels(l, x, 8);
}

static inline uint32_t layer_of(struct layer *l, uint32_t x)
{
    return requantize_node(l, conv_node(l, x));
}

#endif
