/* SPDX-License-Identifier: MIT */
/* Products by cuBLASLt, on the fake one (fake_blas.c): operands as they are and turned, epilogues,
 * batches; networks with and without it; and that tiles take over, with a note, where it is
 * missing, has no algorithm or cannot be opened. */
#include "fake_blas.h"
#include "fake_device.h"
#include "guard_page.h"
#include "base/half_float.h"
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
    if (pith_cuda_open(0, &cuda, &err))
        fail_msg("%s", err.text);
    return cuda;
}

/* ---- single products ------------------------------------------------------------------------ */

struct shape_case {
    uint32_t m, n, k, batches;
    bool turn_a, turn_b, bias, residual, relu;
    float alpha;
    bool half; /* a and b are of f16 */
};

/* Rounds the floats to f16, and gives the same numbers in 2 bytes each. */
static struct guarded halves_of(struct guarded *x, size_t n)
{
    struct guarded h = guard_new(2 * n, 1);
    float *f = x->data;
    for (size_t i = 0; i < n; i++) {
        ((uint16_t *)h.data)[i] = half_from_f32(f[i]);
        f[i] = half_to_f32(half_from_f32(f[i]));
    }
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
    return c->relu && sum < 0 ? 0 : sum;
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
    g.act = c->relu ? ACT_RELU : ACT_NONE;
    g.batch_rank = c->batches > 1;
    g.batch_dim[0] = c->batches;
    g.a_batch[0] = (uint32_t)a_size;
    g.b_batch[0] = (uint32_t)b_size;
    device_stream stream;
    assert_true(pith_blas_takes(&g));
    struct guarded a_half = halves_of(&a, c->half ? a_size * c->batches : 0);
    struct guarded b_half = halves_of(&b, c->half ? b_size * c->batches : 0);
    struct gemm_args there = g;
    there.a = c->half ? a_half.data : a.data;
    there.b = c->half ? b_half.data : b.data;
    struct blas_product *p = pith_blas_product_new(blas, &there, c->half, work.data);
    assert_non_null(p);
    assert_int_equal(cuda->cuStreamCreate(&stream, DRIVER_STREAM_NON_BLOCKING), 0);
    assert_int_equal(pith_blas_run(p, stream), 0);
    assert_int_equal(cuda->cuStreamSynchronize(stream), 0);
    for (uint32_t i = 0; i < y_size * c->batches; i++) {
        double bound, want = expected(c, &g, (uint32_t)(i / y_size), (uint32_t)(i % y_size) / c->n,
                                      i % c->n, &bound);
        if (!(fabs((double)g.y[i] - want) <= bound))
            fail_msg("%u x %u x %u, element %u: %g, not %g", c->m, c->n, c->k, i, (double)g.y[i],
                     want);
    }
    cuda->cuStreamDestroy_v2(stream);
    pith_blas_product_free(p);
    guard_free(&a_half);
    guard_free(&b_half);
    guard_free(&a);
    guard_free(&b);
    guard_free(&y);
    guard_free(&bias);
    guard_free(&added);
    guard_free(&work);
}

static void test_products(void **state)
{
    (void)state;
    static const struct shape_case of[] = {
        {64, 128, 130, 1, false, false, false, false, false, 1.0f, false},
        {70, 131, 129, 1, false, true, true, false, true, 1.0f, false},
        {90, 120, 100, 1, true, false, true, true, false, 0.5f, false},
        {128, 70, 128, 1, true, true, false, true, true, 2.0f, false},
        {40, 100, 300, 3, false, true, false, false, false, 1.0f, false},
        {33, 200, 170, 2, true, false, true, true, true, 1.0f, false},
        {70, 131, 129, 1, false, true, true, false, true, 1.0f, true},
        {33, 200, 170, 2, true, false, true, true, true, 0.5f, true},
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
static void test_not_taken(void **state)
{
    (void)state;
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
    assert_true(pith_blas_takes(&g));
    g.act = ACT_TANH;
    assert_false(pith_blas_takes(&g));
    g = plain;
    g.c = &c;
    g.c_row = 1;
    assert_false(pith_blas_takes(&g));
    g.c_row = 0;
    g.c_col = 1;
    assert_true(pith_blas_takes(&g));
    g.beta = 0.5f;
    assert_false(pith_blas_takes(&g));
    g = plain;
    g.a_col = 2;
    assert_false(pith_blas_takes(&g));
    g = plain;
    g.m = 8;
    assert_false(pith_blas_takes(&g));
    g = plain;
    g.k = g.n = 16;
    assert_false(pith_blas_takes(&g));
    g = plain;
    g.batch_rank = 2;
    assert_false(pith_blas_takes(&g));
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
    if (pith_engine_open_packed(packed, &o, &e, &err))
        fail_msg("%s", err.text);
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

/* Runs on the device twice, with blas so, and once on the CPU; how many products it did. */
static uint64_t run_dense(const char *blas, struct fake_blas_behaviour behaviour, const char *note)
{
    struct pith_packed packed = {0};
    if (!load_network("mnist_lenet5_caffe", &packed))
        skip();
    fake_set((struct fake_cuda_behaviour){0});
    blas_set(behaviour);
    struct pith_engine *cpu = open_dense(&packed, NULL, NULL),
                       *gpu = open_dense(&packed, "cuda:0", blas);
    uint32_t planned = pith_cuda_plan_facts(gpu->device).blas_products;
    for (int i = 0; i < 2; i++)
        run_on(gpu, 1);
    run_on(cpu, 1);
    assert_true(off(gpu, cpu) <= 2e-5);
    assert_int_equal(pith_cuda_plan_facts(gpu->device).cpu_steps, 0);
    if (!strstr(pith_cuda_blas_note(gpu->cuda), note) ||
        (!*note && *pith_cuda_blas_note(gpu->cuda)))
        fail_msg("'%s', not '%s'", pith_cuda_blas_note(gpu->cuda), note);
    uint64_t products = blas_counts().products;
    assert_int_equal(products, 2 * planned);
    pith_engine_close(gpu);
    pith_engine_close(cpu);
    pith_packed_free(&packed);
    assert_int_equal(blas_counts().objects, 0);
    assert_nothing_left();
    return products;
}

static void test_networks(void **state)
{
    (void)state;
    assert_true(run_dense("", (struct fake_blas_behaviour){0}, "") >= 2);
    assert_int_equal(run_dense(NULL, (struct fake_blas_behaviour){0}, ""), 0);
}

static void test_tiles_take_over(void **state)
{
    (void)state;
    assert_int_equal(run_dense("/nowhere/libcublasLt.so", (struct fake_blas_behaviour){0},
                               "is not here (/nowhere/libcublasLt.so)"),
                     0);
    assert_int_equal(
        run_dense("libcuda.so.1", (struct fake_blas_behaviour){0}, "lacks cublasLtCreate"), 0);
    assert_int_equal(
        run_dense("", (struct fake_blas_behaviour){.no_handle = 1}, "cannot be opened: status 1"),
        0);
    for (uint32_t i = 1; i <= 2; i++)
        assert_int_equal(run_dense("", (struct fake_blas_behaviour){.no_algorithm = i},
                                   "has nothing for a product of"),
                         0);
}

/* A call that fails while the graph is captured ends the plan: a status and a line. */
static void test_failing_product(void **state)
{
    (void)state;
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
    fake_set((struct fake_cuda_behaviour){0});
    blas_set((struct fake_blas_behaviour){.failing_product = 1});
    assert_int_equal(pith_engine_open_packed(&packed, &o, &e, &err), PITH_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "cuda: cannot run a step"));
    pith_packed_free(&packed);
    assert_int_equal(blas_counts().objects, 0);
    assert_nothing_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),        cmocka_unit_test(test_not_taken),
        cmocka_unit_test(test_networks),        cmocka_unit_test(test_tiles_take_over),
        cmocka_unit_test(test_failing_product),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
