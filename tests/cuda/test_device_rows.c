/* SPDX-License-Identifier: MIT */
/* Pools, softmax and sums of rows as the device runs them (device_case.h), against the CPU's
 * reference: the same bits. */
#include "device_case.h"

static struct pith_kernels reference;
static uint64_t seed = 1;

static uint32_t below(uint32_t n)
{
    return (uint32_t)(random_u64(&seed) >> 33) % n;
}

static void random_row_input(struct one_op *t, uint32_t i, uint32_t rank, const uint32_t *dims)
{
    one_op_in(t, i, PITH_F32, rank, dims, NULL);
    const size_t n = shape_elems(&t->in[i].shape);
    float *data = malloc(n * sizeof *data);
    assert_non_null(data);
    for (size_t k = 0; k < n; k++)
        data[k] = random_f32(&seed);
    t->in[i].data = data;
}

static void check_bits(struct one_op *t, const char *name)
{
    struct guarded in[ONE_OP_MAX];
    guard_inputs(t, in);
    one_op_run(t, false);
    struct step s = {.args = t->args};
    if (!try_device(name, &s, NULL))
        fail_msg("%s: no kernel on the device", name);
    one_op_close(t);
    for (uint32_t i = 0; i < t->args.n_in; i++)
        guard_free(&in[i]);
}

/* NaN, infinities and both zeros among the others; of few values many are equal. */
static void put_hard(struct tview *t, uint32_t every)
{
    static const float hard[] = {NAN, -0.0f, 0.0f, INFINITY, -INFINITY, 0.0f, -0.0f, NAN};
    const size_t n = shape_elems(&t->shape);
    for (size_t i = below(every); i < n; i += 1 + below(2 * every))
        ((float *)t->data)[i] = hard[below(8)];
}

/* What the step is done by, alone; each: outputs of a thread of pool_small. */
static void check_kernel(struct one_op *t, enum launch_kernel kernel, uint32_t each)
{
    struct lowering l = {.plan = &plan};
    assert_int_equal(one_op_shape(t), PITH_OK);
    struct step s = {.args = t->args};
    assert_true(pith_device_step(&l, &s));
    assert_int_equal(l.n_actions, 1);
    assert_int_equal(l.action[0].kernel, kernel);
    if (kernel == LAUNCH_pool_small)
        assert_int_equal(((const struct pool_args *)(const void *)l.args)->each, each);
    pith_device_lowering_free(&l);
}

/* Rows in numbers that are multiples of four and not, windows that hang over each edge and all of
 * them at once, steps wider than the window; few outputs, and so many that a thread has four. */
static void test_small_pools(void **state)
{
    (void)state;
    static const struct {
        uint32_t planes, h, w;
        int32_t side, stride_h, stride_w, pads[4], ceil;
        uint32_t each;
    } of[] = {
        {3, 9, 11, 3, 1, 1, {0, 0, 0, 0}, 0, 1},    {2, 8, 13, 3, 2, 2, {1, 1, 1, 1}, 0, 1},
        {4, 7, 6, 3, 2, 2, {0, 0, 0, 0}, 1, 1},     {3, 9, 5, 2, 2, 2, {0, 0, 0, 0}, 0, 1},
        {2, 6, 7, 2, 1, 1, {1, 0, 0, 1}, 0, 1},     {2, 3, 3, 3, 1, 1, {2, 2, 2, 2}, 0, 1},
        {1, 1, 9, 3, 1, 2, {1, 1, 1, 0}, 0, 1},     {2, 17, 16, 3, 5, 4, {1, 0, 2, 2}, 0, 1},
        {2, 9, 1, 2, 2, 1, {0, 1, 1, 1}, 1, 1},     {5, 227, 251, 3, 1, 1, {1, 1, 1, 1}, 0, 4},
        {9, 352, 354, 3, 2, 2, {0, 1, 2, 0}, 1, 4}, {4, 264, 261, 2, 1, 1, {0, 0, 0, 0}, 0, 4},
        {6, 431, 433, 2, 2, 2, {1, 0, 0, 1}, 1, 4}, {9, 598, 199, 2, 3, 1, {0, 0, 0, 0}, 0, 1},
    };
    for (uint32_t round = 0; round < 3 * sizeof of / sizeof *of; round++) {
        const uint32_t i = round / 3, mean = round % 3;
        struct one_op t;
        if (mean == 2 && of[i].h > 200)
            continue;
        one_op_open(&t, mean ? PITH_OP_AVERAGE_POOL : PITH_OP_MAX_POOL, 1, 1);
        t.kernels = &reference;
        one_op_list(&t, ATTR_POOL_KERNEL, 2, (int32_t[]){of[i].side, of[i].side});
        one_op_list(&t, ATTR_POOL_STRIDES, 2, (int32_t[]){of[i].stride_h, of[i].stride_w});
        one_op_list(&t, ATTR_POOL_PADS, 4, of[i].pads);
        t.attr[ATTR_POOL_CEIL] = of[i].ceil;
        t.attr[ATTR_POOL_INCLUDE_PAD] = mean == 2;
        random_row_input(&t, 0, DIMS(1, of[i].planes, of[i].h, of[i].w));
        put_hard(&t.in[0], 20);
        check_kernel(&t, LAUNCH_pool_small, of[i].each);
        check_bits(&t, "small pool");
    }
}

/* Windows of which the kernel for small ones has none. */
static void test_other_pools(void **state)
{
    (void)state;
    static const int32_t of[][4] = {/* kernel, dilations */
                                    {5, 5, 1, 1}, {3, 2, 1, 1}, {2, 3, 1, 1},
                                    {3, 3, 2, 1}, {2, 2, 1, 3}, {1, 4, 1, 1}};
    for (uint32_t round = 0; round < 2 * sizeof of / sizeof *of; round++) {
        const int32_t *v = of[round / 2];
        struct one_op t;
        one_op_open(&t, round % 2 ? PITH_OP_AVERAGE_POOL : PITH_OP_MAX_POOL, 1, 1);
        t.kernels = &reference;
        one_op_list(&t, ATTR_POOL_KERNEL, 2, v);
        one_op_list(&t, ATTR_POOL_DILATIONS, 2, v + 2);
        one_op_list(&t, ATTR_POOL_STRIDES, 2, (int32_t[]){1, 2});
        one_op_list(&t, ATTR_POOL_PADS, 4, (int32_t[]){0, 1, 0, 1});
        random_row_input(&t, 0, DIMS(1, 3, 13, 17));
        put_hard(&t.in[0], 20);
        check_kernel(&t, LAUNCH_pool, 0);
        check_bits(&t, "pool");
    }
}

/* By blocks and by teams: rows of a multiple of what is loaded at once, one more and one less, of
 * several parts, and more rows than blocks run at once. */
static void test_softmax(void **state)
{
    (void)state;
    static const uint32_t of[][2] = {{1, 1000}, {3, 256},  {2, 257},  {2, 1023},   {1, 1024},
                                     {2, 1025}, {1, 5000}, {3, 2049}, {5, 333},    {7, 255},
                                     {17, 128}, {16, 129}, {3, 127},  {18, 113},   {1, 112},
                                     {33, 20},  {2, 1},    {4, 16},   {1056, 256}, {1057, 256}};
    const size_t all = sizeof of / sizeof *of;
    for (uint32_t round = 0; round < 4 * all; round++) {
        const uint32_t rows = of[round / 4][0], n = of[round / 4][1];
        struct one_op t;
        if (round % 4 && rows > 1000)
            continue;
        one_op_open(&t, round % 2 ? PITH_OP_LOG_SOFTMAX : PITH_OP_SOFTMAX, 1, 1);
        t.kernels = &reference;
        t.attr[ATTR_SOFTMAX_AXIS] = 1;
        random_row_input(&t, 0, DIMS(rows, n));
        float *x = t.in[0].data;
        for (size_t i = 0; i < (size_t)rows * n; i++)
            x[i] *= 30.0f;
        x[n - 1] = 30.5f; /* the largest of the first row is its last */
        if (round / 2 % 2)
            put_hard(&t.in[0], 2 * n);
        check_kernel(&t, n >= 256 && rows <= 1056 ? LAUNCH_softmax_long : LAUNCH_softmax_rows, 0);
        check_bits(&t, "softmax");
    }
}

/* Sums of rows as teams have them, whole and in pieces. */
static void test_row_sums(void **state)
{
    (void)state;
    static const uint32_t of[] = {2,   15,  16,  17,  112, 113, 127, 128, 129,
                                  144, 169, 255, 256, 257, 300, 384, 513, 1000};
    static const int32_t kinds[] = {REDUCE_SUM, REDUCE_L1, REDUCE_L2, REDUCE_SUM_SQUARE};
    for (uint32_t round = 0; round < 7 * sizeof of / sizeof *of; round++) {
        const uint32_t n = of[round / 7], what = round % 7;
        struct one_op t;
        one_op_open(&t,
                    what == 0   ? PITH_OP_GLOBAL_AVERAGE_POOL
                    : what == 1 ? PITH_OP_REDUCE_MEAN
                    : what == 2 ? PITH_OP_LAYER_NORM
                                : PITH_OP_REDUCE,
                    what == 2 ? 2 : 1, 1);
        t.kernels = &reference;
        random_row_input(&t, 0, DIMS(3, 7, n));
        if (what == 1)
            one_op_list(&t, ATTR_AXES, 1, (int32_t[]){2});
        if (what == 2) {
            random_row_input(&t, 1, DIMS(n));
            t.attr[ATTR_LAYER_NORM_AXIS] = 2;
            t.attr[ATTR_LAYER_NORM_ABOUT_ZERO] = n % 3 == 0;
        }
        if (what > 2) {
            t.attr[ATTR_KIND] = kinds[what - 3];
            one_op_list(&t, ATTR_REDUCE_KIND_AXES, 1, (int32_t[]){2});
        }
        if (n % 2)
            put_hard(&t.in[0], 4 * n);
        check_kernel(&t, what == 2 ? LAUNCH_norm_rows : LAUNCH_reduce_rows, 0);
        check_bits(&t, "sums of rows");
    }
}

int main(void)
{
    pith_kernels_fill(&reference, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_pools),
        cmocka_unit_test(test_other_pools),
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_row_sums),
    };
    return RUN_IN_BOTH(tests);
}
