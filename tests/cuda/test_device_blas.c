/* SPDX-License-Identifier: MIT */
/* Products by cuBLASLt, on the fake one (fake_blas.c): operands as they are and turned, epilogues,
 * batches; networks with and without it, in f32 and in 16 bits; and that tiles take over where they
 * are faster, and, with a note, where it is missing, has no algorithm or cannot be opened. */
#include "fake_blas.h"
#include "fake_device.h"
#include "guard_page.h"
#include "cuda/kernels/half_bits.h"
#include "half_values.h"
#include "gemm_model.h"
#include "pith_load.h"
#include "pith_pack.h"
#include "cuda/device_plan.h"
#include "op_interface/op_attr.h"
#include "cuda/device_product.h"

static uint64_t seed = 11;

static void *blas_symbol(const char *name)
{
    static void *library;
    fake_symbol("fake_cuda_set");
    if (!library)
        library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    void *p = dlsym(library, name);
    assert_non_null(p);
    return p;
}

static void blas_set(struct fake_blas_behaviour behaviour)
{
    void (*set)(const struct fake_blas_behaviour *);
    void *p = blas_symbol("fake_blas_set");
    memcpy(&set, &p, sizeof set);
    set(&behaviour);
}

static struct fake_blas_counts blas_counts(void)
{
    struct fake_blas_counts (*counts)(void);
    void *p = blas_symbol("fake_blas_counts");
    memcpy(&counts, &p, sizeof counts);
    return counts();
}

static struct pith_cuda *open_fake(void)
{
    struct pith_cuda *cuda;
    struct pith_error err = {0};
    fake_set((struct fake_cuda_behaviour){0});
    blas_set((struct fake_blas_behaviour){0});
    SUCCEEDS(pith_cuda_open(0, &cuda, &err));
    return cuda;
}

/* ---- single products ------------------------------------------------------------------------ */

struct shape_case {
    uint32_t m, n, k, batches;
    bool turn_a, turn_b, bias, residual;
    uint32_t act;
    float alpha;
    enum value_type factors, y; /* of a and b; of all else */
};

static float float_of(uint16_t bits, enum value_type type)
{
    return half_values(type == VALUE_BF16)[bits];
}

/* Rounds the floats to a type, and gives the same numbers in 2 bytes each; of f32 the same. */
static struct guarded as_type(struct guarded *x, size_t n, enum value_type type)
{
    struct guarded h = guard_new(type ? 2 * n : 4 * n, 1);
    float *f = x->data;
    for (size_t i = 0; i < n && type; i++) {
        const uint32_t bits = type == VALUE_F16 ? f16_of_f32(f[i]) : bf16_of_f32(f[i]);
        ((uint16_t *)h.data)[i] = (uint16_t)bits;
        f[i] = float_of((uint16_t)bits, type);
    }
    if (!type)
        memcpy(h.data, x->data, 4 * n);
    return h;
}

static double expected(const struct shape_case *c, const struct gemm_args *g, uint32_t batch,
                       uint32_t row, uint32_t column, double *bound)
{
    const float *a = g->a + (size_t)batch * g->a_batch[0];
    const float *b = g->b + (size_t)batch * g->b_batch[0];
    size_t at = ((size_t)batch * c->m + row) * c->n + column;
    double sum = 0, size = 0;
    for (uint32_t k = 0; k < c->k; k++) {
        double v =
            (double)a[row * g->a_row + k * g->a_col] * (double)b[k * g->b_row + column * g->b_col];
        sum += v;
        size += fabs(v);
    }
    sum = (double)c->alpha * sum + (c->bias ? (double)g->c[column] : 0) +
          (c->residual ? (double)g->residual[at] : 0);
    *bound = 2.0 * c->k * size / 16777216 + 1e-6;
    sum = c->act == ACT_RELU && sum < 0 ? 0 : sum;
    if (c->act == ACT_GELU_TANH)
        sum *= 0.5 * (1 + tanh(0.7978845608028654 * (sum + 0.044715 * sum * sum * sum)));
    *bound += c->y == VALUE_F32 ? 0 : fabs(sum) * (c->y == VALUE_F16 ? 0x1p-11 : 0x1p-8);
    return sum;
}

static void check_case(struct pith_cuda *cuda, struct pith_blas *blas, const struct shape_case *c)
{
    size_t a_size = (size_t)c->m * c->k, b_size = (size_t)c->k * c->n, y_size = (size_t)c->m * c->n;
    struct guarded a = guard_random(a_size * c->batches, 1, &seed);
    struct guarded b = guard_random(b_size * c->batches, 1, &seed);
    struct guarded y = guard_random(y_size * c->batches, 1, &seed);
    struct guarded bias = guard_random(c->n, 1, &seed),
                   added = guard_random(y_size * c->batches, 1, &seed);
    struct guarded work = guard_new(BLAS_WORK, 1);
    struct gemm_args g = {.a = a.data, .b = b.data, .y = y.data, .m = c->m, .n = c->n, .k = c->k};
    g.a_row = c->turn_a ? 1 : c->k;
    g.a_col = c->turn_a ? c->m : 1;
    g.b_row = c->turn_b ? 1 : c->n;
    g.b_col = c->turn_b ? c->k : 1;
    g.alpha = c->alpha;
    g.beta = 1.0f;
    g.c = c->bias ? bias.data : NULL;
    g.c_col = 1;
    g.residual = c->residual ? added.data : NULL;
    g.act = c->act;
    g.a_type = c->factors;
    g.y_type = g.residual_type = c->y;
    g.batch_rank = c->batches > 1;
    g.batch_dim[0] = c->batches;
    g.a_batch[0] = (uint32_t)a_size;
    g.b_batch[0] = (uint32_t)b_size;
    device_stream stream;
    struct guarded own[] = {as_type(&a, a_size * c->batches, c->factors),
                            as_type(&b, b_size * c->batches, c->factors),
                            as_type(&bias, c->n, c->y), as_type(&added, y_size * c->batches, c->y),
                            as_type(&y, y_size * c->batches, c->y)};
    struct gemm_args there = g;
    there.a = own[0].data;
    there.b = own[1].data;
    there.c = c->bias ? own[2].data : NULL;
    there.residual = c->residual ? own[3].data : NULL;
    there.y = own[4].data;
    assert_true(pith_blas_takes(&there, c->factors) && pith_blas_has_tail(&there));
    struct blas_product *p = pith_blas_product_new(blas, &there, c->factors, work.data);
    assert_non_null(p);
    assert_int_equal(cuda->cuStreamCreate(&stream, DRIVER_STREAM_NON_BLOCKING), 0);
    assert_int_equal(pith_blas_run(p, stream), 0);
    assert_int_equal(cuda->cuStreamSynchronize(stream), 0);
    for (uint32_t i = 0; i < y_size * c->batches; i++) {
        double bound, want = expected(c, &g, (uint32_t)(i / y_size), (uint32_t)(i % y_size) / c->n,
                                      i % c->n, &bound);
        const double got =
            c->y ? (double)float_of(((const uint16_t *)own[4].data)[i], c->y) : (double)there.y[i];
        if (!(fabs(got - want) <= bound))
            fail_msg("%u x %u x %u, element %u: %g, not %g", c->m, c->n, c->k, i, got, want);
    }
    cuda->cuStreamDestroy_v2(stream);
    pith_blas_product_free(p);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        guard_free(&own[i]);
    guard_free(&a);
    guard_free(&b);
    guard_free(&y);
    guard_free(&bias);
    guard_free(&added);
    guard_free(&work);
}

TEST(test_products)
{
    static const struct shape_case of[] = {
        {64, 128, 130, 1, false, false, false, false, ACT_NONE, 1.0f, VALUE_F32, VALUE_F32},
        {70, 131, 129, 1, false, true, true, false, ACT_RELU, 1.0f, VALUE_F32, VALUE_F32},
        {90, 120, 100, 1, true, false, true, true, ACT_NONE, 0.5f, VALUE_F32, VALUE_F32},
        {128, 70, 128, 1, true, true, false, true, ACT_RELU, 2.0f, VALUE_F32, VALUE_F32},
        {40, 100, 300, 3, false, true, false, false, ACT_NONE, 1.0f, VALUE_F32, VALUE_F32},
        {33, 200, 170, 2, true, false, true, true, ACT_RELU, 1.0f, VALUE_F32, VALUE_F32},
        {72, 136, 128, 1, false, true, true, false, ACT_RELU, 1.0f, VALUE_F16, VALUE_F32},
        {40, 200, 168, 2, true, false, true, true, ACT_RELU, 0.5f, VALUE_F16, VALUE_F16},
        {72, 136, 128, 1, false, true, true, true, ACT_GELU_TANH, 1.0f, VALUE_F16, VALUE_F16},
        {16, 264, 256, 1, false, false, true, true, ACT_GELU_TANH, 1.0f, VALUE_BF16, VALUE_BF16},
    };
    struct pith_cuda *cuda = open_fake();
    void *context;
    char why[128] = "";
    assert_int_equal(cuda->cuCtxPushCurrent_v2(cuda->context), 0);
    struct pith_blas *blas = pith_blas_open("", why, sizeof why);
    if (!blas)
        fail_msg("%s", why);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        check_case(cuda, blas, &of[i]);
    pith_blas_close(blas);
    cuda->cuCtxPopCurrent_v2(&context);
    pith_cuda_close(cuda);
    assert_int_equal(blas_counts().objects, 0);
    assert_nothing_left();
}

/* What its epilogues and layouts do not know stays with tiles. */
TEST(test_not_taken)
{
    const struct gemm_args plain = {.m = 64,
                                    .n = 256,
                                    .k = 256,
                                    .a_row = 256,
                                    .a_col = 1,
                                    .b_row = 256,
                                    .b_col = 1,
                                    .beta = 1.0f,
                                    .act = ACT_NONE};
    float c = 0;
    struct gemm_args g = plain;
    assert_true(pith_blas_takes(&g, VALUE_F32) && pith_blas_has_tail(&g));
    g.act = ACT_TANH;
    assert_false(pith_blas_has_tail(&g));
    g.act = ACT_GELU_TANH;
    assert_false(pith_blas_has_tail(&g));
    g.y_type = VALUE_F16;
    assert_true(pith_blas_has_tail(&g));
    g.residual = &c;
    assert_false(pith_blas_has_tail(&g));
    g = plain;
    g.c = &c;
    g.c_row = 1;
    assert_false(pith_blas_has_tail(&g));
    g.c_row = 0;
    g.c_col = 1;
    assert_true(pith_blas_has_tail(&g));
    g.beta = 0.5f;
    assert_false(pith_blas_has_tail(&g));
    g = plain;
    g.a_col = 2;
    assert_false(pith_blas_takes(&g, VALUE_F32));
    g = plain;
    g.m = 8;
    assert_false(pith_blas_takes(&g, VALUE_F32));
    g = plain;
    g.k = g.n = 16;
    assert_false(pith_blas_takes(&g, VALUE_F32));
    g = plain;
    g.batch_rank = 2;
    assert_false(pith_blas_takes(&g, VALUE_F32));
    g = plain;
    assert_true(pith_blas_takes(&g, VALUE_F16));
    g.a = (const float *)8;
    assert_false(pith_blas_takes(&g, VALUE_F16));
    g = plain;
    g.a_row = 260;
    assert_true(pith_blas_takes(&g, VALUE_F32));
    assert_false(pith_blas_takes(&g, VALUE_F16));
    g.a_row = 264;
    assert_true(pith_blas_takes(&g, VALUE_F16));
    assert_false(pith_blas_takes(&g, BLAS_BYTES));
    g.a_row = 272;
    assert_true(pith_blas_takes(&g, BLAS_BYTES));
    g.n = 254;
    assert_false(pith_blas_takes(&g, BLAS_BYTES));
}

/* ---- networks ------------------------------------------------------------------------------- */

/* LeNet-5 with 64 samples at once: its first dense layer is large enough. blas NULL: not allowed.
 */
static struct pith_engine *open_dense(struct pith_packed *packed, const char *device,
                                      const char *blas)
{
    struct pith_engine *e;
    struct pith_error err = {0};
    struct pith_engine_opts o = {.size_bytes = sizeof o,
                                 .device = device,
                                 .device_or_fail = true,
                                 .batch = 64,
                                 .blas = blas};
    SUCCEEDS(pith_engine_open_packed(packed, &o, &e, &err));
    return e;
}

static double off(struct pith_engine *a, struct pith_engine *b)
{
    struct pith_tensor t;
    pith_plan_output(pith_engine_plan(a), 0, &t);
    const float *x = pith_plan_output_data(pith_engine_plan(a), 0);
    const float *y = pith_plan_output_data(pith_engine_plan(b), 0);
    double largest = 0, most = 0;
    for (uint64_t i = 0; i < t.bytes / sizeof *x; i++) {
        largest = fmax(largest, fabs((double)y[i]));
        most = x[i] - y[i] == x[i] - y[i] ? fmax(most, fabs((double)x[i] - (double)y[i])) : 1e30;
    }
    return most / largest;
}

#define BLAS_IS_FASTER                                                                             \
    (struct fake_cuda_behaviour)                                                                   \
    {                                                                                              \
        .launch_ns = 1000, .call_ns = 1                                                            \
    }

/* Runs on the device twice, with blas so, and once on the CPU; how many products it did. */
static uint64_t run_dense(const char *blas, struct fake_blas_behaviour behaviour,
                          struct fake_cuda_behaviour driver, const char *note)
{
    struct pith_packed packed = {0};
    if (!load_network("mnist_lenet5_caffe", &packed))
        skip();
    fake_set(driver);
    blas_set(behaviour);
    struct pith_engine *cpu = open_dense(&packed, NULL, NULL),
                       *gpu = open_dense(&packed, "cuda:0", blas);
    uint32_t planned = pith_cuda_plan_facts(gpu->device).blas_products;
    uint64_t products = blas_counts().products; /* that were timed */
    for (int i = 0; i < 2; i++)
        run_on(gpu, 1);
    run_on(cpu, 1);
    assert_true(off(gpu, cpu) <= 2e-5);
    assert_int_equal(pith_cuda_plan_facts(gpu->device).cpu_steps, 0);
    if (!strstr(pith_cuda_blas_note(gpu->cuda), note) ||
        (!*note && *pith_cuda_blas_note(gpu->cuda)))
        fail_msg("'%s', not '%s'", pith_cuda_blas_note(gpu->cuda), note);
    products = blas_counts().products - products;
    assert_int_equal(products, 2 * planned);
    pith_engine_close(gpu);
    pith_engine_close(cpu);
    pith_packed_free(&packed);
    assert_int_equal(blas_counts().objects, 0);
    assert_nothing_left();
    return products;
}

TEST(test_tiles_take_over)
{
    assert_int_equal(run_dense("/nowhere/libcublasLt.so", (struct fake_blas_behaviour){0},
                               BLAS_IS_FASTER, "is not here (/nowhere/libcublasLt.so)"),
                     0);
    assert_int_equal(run_dense("libcuda.so.1", (struct fake_blas_behaviour){0}, BLAS_IS_FASTER,
                               "lacks cublasLtCreate"),
                     0);
    assert_int_equal(run_dense("", (struct fake_blas_behaviour){.no_handle = 1}, BLAS_IS_FASTER,
                               "cannot be opened: status 1"),
                     0);
    for (uint32_t i = 1; i <= 2; i++)
        assert_int_equal(run_dense("", (struct fake_blas_behaviour){.no_algorithm = i},
                                   BLAS_IS_FASTER, "has nothing for a product of"),
                         0);
}

#define TIMED_RUNS 13u /* of a product, before the graph is captured */

/* A call that fails while the graph is captured ends the plan: a status and a line. */
TEST(test_failing_product)
{
    struct pith_packed packed = {0};
    struct pith_engine *e;
    struct pith_error err = {0};
    struct pith_engine_opts o = {.size_bytes = sizeof o,
                                 .device = "cuda:0",
                                 .device_or_fail = true,
                                 .batch = 64,
                                 .blas = ""};
    if (!load_network("mnist_lenet5_caffe", &packed))
        skip();
    fake_set(BLAS_IS_FASTER);
    blas_set((struct fake_blas_behaviour){.failing_product = TIMED_RUNS + 1});
    assert_int_equal(pith_engine_open_packed(&packed, &o, &e, &err), PITH_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "cuda: cannot run a step"));
    pith_packed_free(&packed);
    assert_int_equal(blas_counts().objects, 0);
    assert_nothing_left();
}

/* ---- models -----------------------------------------------------------------------------------
 */

static struct pith_model *new_model(void)
{
    struct pith_model *m;
    if (pith_model_new(NULL, &m))
        abort();
    m->values = pith_model_alloc(m, 32, sizeof *m->values);
    m->nodes = pith_model_alloc(m, 16, sizeof *m->nodes);
    m->inputs = pith_model_alloc(m, 2, sizeof *m->inputs);
    m->outputs = pith_model_alloc(m, 2, sizeof *m->outputs);
    return m;
}

static struct test_random draws = {7};

static uint32_t drawn(struct pith_model *m, const char *name, uint32_t rank, const uint32_t *dim,
                      bool bf16)
{
    uint32_t w = add_weight(m, name, rank, dim);
    struct pith_const *c = m->values[w].constant;
    for (uint64_t i = 0; i < c->count; i++)
        ((float *)c->data)[i] = 0.1f * test_gauss(&draws);
    for (uint64_t i = 0; i < c->count && bf16; i++)
        ((float *)c->data)[i] = f32_from_bits(bf16_of_f32(((float *)c->data)[i]) << 16);
    c->stored = bf16 ? PITH_BF16 : c->stored;
    return w;
}

static uint32_t node(struct pith_model *m, const char *name, enum pith_op op, uint32_t n,
                     const uint32_t *in, uint32_t rank, const uint32_t *dim)
{
    uint32_t y = add_value(m, name, rank, dim);
    add_node(m, name, op, n, in, y);
    return y;
}

/* Convolutions of one tap with a bias, a long activation, and a residual; the last one's windows
 * are larger. */
static void pointwise(struct pith_model *m, bool bf16)
{
    const uint32_t wide[] = {2, 72, 16, 16}, narrow[] = {2, 64, 16, 16};
    uint32_t x = add_value(m, "x", 4, narrow), in[3];
    m->inputs[m->n_inputs++] = x;
    in[0] = node(m, "r", PITH_OP_RELU, 1, &x, 4, narrow);
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t *own = i ? narrow : wide, *from = i ? wide : narrow;
        const uint32_t taps[] = {own[1], from[1], 1, 1};
        in[1] = drawn(m, i ? "w1" : "w0", 4, taps, bf16);
        in[2] = drawn(m, i ? "b1" : "b0", 1, own + 1, false);
        in[0] = node(m, i ? "c1" : "c0", PITH_OP_CONV, 3, in, 4, own);
        m->nodes[m->n_nodes - 1].attr[ATTR_CONV_GROUP] = 1;
        if (!i)
            in[0] = node(m, "s", PITH_OP_SIGMOID, 1, in, 4, own);
    }
    in[1] = x;
    in[0] = node(m, "sum", PITH_OP_ADD, 2, in, 4, narrow);
    m->outputs[m->n_outputs++] = node(m, "y", PITH_OP_RELU, 1, in, 4, narrow);
}

/* A block of a transformer: GELU and a residual behind products, and one of two activations. */
static void block(struct pith_model *m, bool bf16)
{
    const uint32_t wide[] = {96, 136}, narrow[] = {96, 128}, turned[] = {128, 96},
                   square[] = {96, 96};
    uint32_t x = add_value(m, "x", 2, narrow), in[2], both[2];
    m->inputs[m->n_inputs++] = x;
    in[0] = x;
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t *own = i ? narrow : wide, *from = i ? wide : narrow;
        in[1] = drawn(m, i ? "w1" : "w0", 2, (uint32_t[]){from[1], own[1]}, bf16);
        in[0] = node(m, i ? "p1" : "p0", PITH_OP_MATMUL, 2, in, 2, own);
        in[1] = drawn(m, i ? "b1" : "b0", 1, own + 1, false);
        in[0] = node(m, i ? "a1" : "a0", PITH_OP_ADD, 2, in, 2, own);
        if (i)
            break;
        in[0] = node(m, "g", PITH_OP_UNARY, 1, in, 2, own);
        m->nodes[m->n_nodes - 1].attr[ATTR_KIND] = UNARY_GELU_TANH;
    }
    in[1] = x;
    both[0] = node(m, "sum", PITH_OP_ADD, 2, in, 2, narrow);
    both[1] = node(m, "t", PITH_OP_TRANSPOSE, 1, both, 2, turned);
    in[0] = node(m, "scores", PITH_OP_MATMUL, 2, both, 2, square);
    m->outputs[m->n_outputs++] = node(m, "y", PITH_OP_SOFTMAX, 1, in, 2, square);
    m->nodes[m->n_nodes - 1].attr[ATTR_SOFTMAX_AXIS] = 1;
}

/* Products with a bias and a residual, and an activation that cuBLASLt does not have. */
static void gated(struct pith_model *m, bool bf16)
{
    const uint32_t all[] = {96, 128}, square[] = {128, 128};
    uint32_t x = add_value(m, "x", 2, all), in[3] = {x};
    m->inputs[m->n_inputs++] = x;
    for (uint32_t i = 0; i < 2; i++) {
        in[1] = drawn(m, i ? "w1" : "w0", 2, square, bf16);
        in[2] = drawn(m, i ? "b1" : "b0", 1, square, false);
        in[0] = node(m, i ? "p1" : "p0", PITH_OP_GEMM, 3, in, 2, all);
        m->nodes[m->n_nodes - 1].attr[ATTR_GEMM_ALPHA] = (int32_t)f32_bits(1.0f);
        m->nodes[m->n_nodes - 1].attr[ATTR_GEMM_BETA] = (int32_t)f32_bits(1.0f);
        in[1] = x;
        in[0] = i ? node(m, "sum", PITH_OP_ADD, 2, in, 2, all) : in[0];
        in[0] = node(m, i ? "y" : "t0", PITH_OP_TANH, 1, in, 2, all);
    }
    m->outputs[m->n_outputs++] = in[0];
}

/* Bytes of the whole range, or (rank 0) one of 3. */
static uint32_t drawn_bytes(struct pith_model *m, const char *name, enum pith_type type,
                            uint32_t rank, const uint32_t *dim)
{
    uint32_t w = add_weight(m, name, rank, dim);
    struct pith_const *c = m->values[w].constant;
    m->values[w].type = type;
    for (uint64_t i = 0; i < c->count; i++)
        ((uint8_t *)c->data)[i] = rank ? (uint8_t)test_next(&draws) : 3;
    return w;
}

static uint32_t as_type_of(struct pith_model *m, uint32_t value, enum pith_type type)
{
    m->values[value].type = type;
    return value;
}

static uint32_t number(struct pith_model *m, const char *name, float v)
{
    uint32_t w = add_weight(m, name, 0, NULL);
    *(float *)m->values[w].constant->data = v;
    return w;
}

/* Two products of bytes by weights [from, own], or convolutions of one tap: of unsigned bytes,
 * whose sums become signed ones, of which the other's sums are the output. */
static void two_of_bytes(struct pith_model *m, enum pith_op op, uint32_t rank, const uint32_t *at,
                         const uint32_t width[3], bool many_zeros)
{
    uint32_t dim[4], in[4],
        zero[2] = {drawn_bytes(m, "zu", PITH_U8, 0, NULL), drawn_bytes(m, "zs", PITH_I8, 0, NULL)};
    memcpy(dim, at, sizeof dim);
    dim[1] = width[0];
    in[0] = m->inputs[m->n_inputs++] = add_value(m, "x", rank, dim);
    in[1] = number(m, "scale", 0.02f);
    in[2] = zero[0];
    in[0] = as_type_of(m, node(m, "q", PITH_OP_QUANTIZE, 3, in, rank, dim), PITH_U8);
    m->nodes[m->n_nodes - 1].attr[ATTR_QUANTIZE_TYPE] = PITH_U8;
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t matrix[] = {width[i], width[i + 1]}, taps[] = {width[i + 1], width[i], 1, 1};
        in[1] = drawn_bytes(m, i ? "w1" : "w0", PITH_I8, rank, rank == 2 ? matrix : taps);
        in[2] = many_zeros && !i ? drawn_bytes(m, "zr", PITH_U8, 1, at) : zero[i];
        in[3] = zero[1];
        dim[1] = width[i + 1];
        in[0] = as_type_of(m, node(m, i ? "y" : "p", op, many_zeros && i ? 4 : 3, in, rank, dim),
                           PITH_I32);
        if (op == PITH_OP_CONV_INTEGER)
            m->nodes[m->n_nodes - 1].attr[ATTR_CONV_GROUP] = 1;
        if (i)
            break;
        in[1] = drawn(m, "factor", 1, &width[1], false);
        for (uint32_t k = 0; k < width[1]; k++)
            ((float *)m->values[in[1]].constant->data)[k] = 0.0004f + 0.000001f * (float)k;
        in[2] = zero[1];
        in[0] = as_type_of(m, node(m, "r", PITH_OP_REQUANTIZE, 3, in, rank, dim), PITH_I8);
        m->nodes[m->n_nodes - 1].attr[ATTR_QUANTIZE_TYPE] = PITH_I8;
        m->nodes[m->n_nodes - 1].attr[ATTR_QUANTIZE_AXIS] = 1;
    }
    m->outputs[m->n_outputs++] = in[0];
}

/* Sums of 130 terms, which are copied with zeros behind them, and of 144 as they lie. */
static void bytes_block(struct pith_model *m, bool bf16)
{
    (void)bf16;
    two_of_bytes(m, PITH_OP_MATMUL_INTEGER, 2, (uint32_t[4]){70}, (uint32_t[]){130, 144, 124},
                 false);
}

static void bytes_pointwise(struct pith_model *m, bool bf16)
{
    (void)bf16;
    two_of_bytes(m, PITH_OP_CONV_INTEGER, 4, (uint32_t[]){2, 0, 18, 14}, (uint32_t[]){72, 66, 70},
                 false);
}

/* What it does not take: a zero point for each row, or of the weight. */
static void bytes_of_zeros(struct pith_model *m, bool bf16)
{
    (void)bf16;
    two_of_bytes(m, PITH_OP_MATMUL_INTEGER, 2, (uint32_t[4]){90}, (uint32_t[]){128, 124, 128},
                 true);
}

static struct pith_buffer packed(void (*build)(struct pith_model *m, bool bf16), bool bf16)
{
    struct pith_model *m = new_model();
    struct pith_buffer file;
    struct pith_error err = {0};
    build(m, bf16);
    SUCCEEDS(pith_model_pack(m, NULL, &file, &err));
    pith_model_free(m);
    return file;
}

/* The model on the device beside the CPU, with so many products by cuBLASLt. */
static void check_model(void (*build)(struct pith_model *m, bool bf16), enum value_type type,
                        uint32_t flags, uint32_t products, uint32_t order)
{
    const struct pith_opts opts = {.size_bytes = sizeof opts, .flags = flags};
    static const float bounds[] = {2e-5f, 1e-2f, 5e-2f};
    struct pith_buffer file = packed(build, type == VALUE_BF16);
    struct pith_cuda *cuda = open_fake();
    struct pith_cuda_plan *gpu;
    struct pith_session *s;
    struct pith_error err = {0};
    struct pith_tensor t;
    struct fake_cuda_behaviour driver = BLAS_IS_FASTER;
    driver.order = order;
    fake_set(driver);
    SUCCEEDS(pith_open_memory(file.data, file.bytes, &opts, &s, &err));
    struct pith_plan *plan = pith_plan_of(s);
    pith_cuda_allow_blas(cuda, "");
    pith_cuda_set_precision(cuda, type ? PITH_CUDA_F16 : PITH_CUDA_F32);
    SUCCEEDS(pith_cuda_plan_new(cuda, plan, &gpu, &err));
    assert_string_equal(pith_cuda_blas_note(cuda), "");
    assert_int_equal(gpu->lowering.values, type);
    assert_int_equal(pith_cuda_plan_facts(gpu).cpu_steps, 0);
    assert_int_equal(pith_cuda_plan_facts(gpu).blas_products, products);
    pith_plan_output(plan, 0, &t);
    const float *y = pith_plan_output_data(plan, 0);
    float *kept = malloc((size_t)t.bytes), largest = 0;
    pith_fill_normal(plan, 7);
    assert_int_equal(pith_plan_run(plan), PITH_OK);
    memcpy(kept, y, (size_t)t.bytes);
    pith_fill_normal(plan, 7);
    assert_int_equal(pith_cuda_plan_run(gpu, &err), PITH_OK);
    if (t.type == PITH_I32)
        assert_memory_equal(y, kept, (size_t)t.bytes);
    for (uint64_t i = 0; i < t.bytes / sizeof *y && t.type == PITH_F32; i++)
        largest = fmaxf(largest, fabsf(kept[i]));
    for (uint64_t i = 0; i < t.bytes / sizeof *y && t.type == PITH_F32; i++)
        if (!(fabsf(y[i] - kept[i]) <= bounds[type] * largest))
            fail_msg("type %d, element %u: %g, not %g", (int)type, (unsigned)i, (double)y[i],
                     (double)kept[i]);
    free(kept);
    pith_cuda_plan_free(gpu);
    pith_cuda_close(cuda);
    pith_close(s);
    pith_buffer_free(&file);
    assert_int_equal(blas_counts().objects, 0);
    assert_nothing_left();
}

/* Integers are exact. */
TEST(test_models_of_bytes)
{
    for (uint32_t order = 0; order < 3; order++) {
        check_model(bytes_block, VALUE_F32, PITH_FLAG_NO_FUSION, 2, order);
        check_model(bytes_pointwise, VALUE_F32, PITH_FLAG_NO_FUSION, 2, order);
        check_model(bytes_of_zeros, VALUE_F32, PITH_FLAG_NO_FUSION, 0, order);
    }
}

TEST(test_models)
{
    for (enum value_type type = VALUE_F32; type <= VALUE_BF16; type++) {
        check_model(pointwise, type, 0, 2, type);
        check_model(block, type, 0, 3, 2 - type);
        check_model(gated, type, 0, 2, type);
    }
}

/* The longest: defects.py ends at a failure. */
TEST(test_networks)
{
    const struct fake_blas_behaviour sound = {0};
    assert_true(run_dense("", sound, BLAS_IS_FASTER, "") >= 2);
    assert_int_equal(run_dense(NULL, sound, BLAS_IS_FASTER, ""), 0);
    struct fake_cuda_behaviour tiles_are_faster = {.launch_ns = 1, .call_ns = 1000};
    assert_int_equal(run_dense("", sound, tiles_are_faster, ""), 0);
}

RUN_TESTS
