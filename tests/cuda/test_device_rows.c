/* SPDX-License-Identifier: MIT */
/* Pools, softmax and sums of rows as the device runs them (device_case.h), against the CPU's
 * reference, and chains of functions of an element against themselves: the same bits. */
#include "device_case.h"

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
TEST(test_small_pools)
{
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
TEST(test_other_pools)
{
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
TEST(test_softmax)
{
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
TEST(test_row_sums)
{
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

/* ---- chains ---------------------------------------------------------------------------------- */

#define SLOTS 18u /* half of them of f32, half of 16 bits */
#define SLOT 320u
#define LINKS 24u

/* Elements of a type, some in a slot as others are, some on the edge of two; n of them lie apart
 * from those of x and b. */
static uint8_t *drawn_values(uint8_t *memory, uint32_t type, const uint8_t *x, const uint8_t *b,
                             uint32_t n)
{
    for (;;) {
        const uint32_t at = below(SLOTS / 2 - 1) * SLOT + (below(4) ? 0 : below(SLOT));
        uint8_t *y = memory + (type ? SLOTS / 2 * SLOT * 4 + 2 * at : 4 * at);
        if ((!x || y >= x + 4 * n || x >= y + 4 * n) && (!b || y >= b + 4 * n || b >= y + 4 * n))
            return y;
    }
}

/* Operands of [rows, columns]: as they are, turned, repeated along either axis, or one element. */
static void draw_steps(uint32_t step[2], uint32_t rows, uint32_t columns)
{
    const uint32_t kind = below(6);
    step[0] = kind == 1 || kind == 2 ? 0 : kind == 3 || kind == 4 ? 1 : columns;
    step[1] = kind == 2 || kind == 3 ? 0 : kind == 4 ? rows : 1;
}

static uint32_t type_at(const uint8_t *memory, const uint8_t *x)
{
    return x >= memory + SLOTS / 2 * SLOT * 4 ? values : VALUE_F32;
}

/* Reads what the launch before wrote, or something else. */
static uint8_t *draw_launch(struct lowering *l, uint8_t *memory, uint32_t n, uint8_t *last)
{
    static const uint32_t kinds[] = {ACT_SIGMOID, ACT_RELU, ACT_TANH, ACT_NONE};
    const uint32_t rows = n % 3 ? 1 : 3, b_type = below(3) ? VALUE_F32 : values;
    const uint32_t y_type = below(3) ? VALUE_F32 : values;
    uint8_t *x = below(2) && last ? last : drawn_values(memory, below(3) ? 0 : values, 0, 0, 0);
    uint8_t *b = drawn_values(memory, b_type, x, NULL, n);
    uint8_t *y = below(4) ? drawn_values(memory, y_type, x, b, n) : x;
    const struct map_args m = {.x = x,
                               .y = y,
                               .x_type = type_at(memory, x),
                               .y_type = type_at(memory, y),
                               .n = n,
                               .kind = kinds[below(4)]};
    struct zip_args z = {.type = PITH_F32,
                         .a = x,
                         .b = b,
                         .y = y,
                         .n = n,
                         .op = below(3),
                         .rank = 2,
                         .dim = {rows, n / rows},
                         .a_step = {n / rows, 1},
                         .a_type = m.x_type,
                         .b_type = b_type,
                         .y_type = m.y_type,
                         .act = ACT_TANH};
    draw_steps(z.b_step, rows, n / rows);
    if (below(2))
        pith_device_launch(l, LAUNCH_map_f32, n, &m, sizeof m);
    else
        pith_device_launch(l, LAUNCH_zip, n, &z, sizeof z);
    return y;
}

/* Launches that read and write here and there, one by one and in chains: the same bits in all of
 * the memory, in every order of threads. */
TEST(test_chains)
{
    const uint32_t bytes = SLOTS / 2 * SLOT * 6;
    const struct op_info plain = {.flags = 0}, control = {.flags = OP_CONTROL};
    struct step steps[LINKS] = {0};
    struct pith_plan own = {.step = steps, .n_steps = LINKS};
    struct guarded memory = guard_new(bytes, 1);
    uint8_t *before = malloc(bytes), *expected = malloc(bytes);
    uint32_t joined = 0;
    values = in_halves ? VALUE_BF16 : VALUE_F16;
    for (uint32_t round = 0; round < 60; round++) {
        struct lowering l = {.plan = &own};
        struct device_step d[LINKS];
        uint8_t *last = NULL;
        uint32_t n = 1 + below(300);
        for (uint32_t i = 0; i < LINKS; i++) {
            n = below(10) ? n : 1 + below(300);
            last = draw_launch(&l, memory.data, n, last);
            steps[i].args.info = below(16) ? &plain : &control;
            d[i] = (struct device_step){.first = i, .on_cpu = !below(16)};
            d[i].n = !d[i].on_cpu;
        }
        for (uint32_t i = 0; i < bytes / 6; i++) {
            ((float *)memory.data)[i] = random_f32(&seed);
            ((uint16_t *)memory.data)[bytes / 3 + i] = (uint16_t)bits_of(random_f32(&seed));
        }
        memcpy(before, memory.data, bytes);
        run_actions(&l, 0);
        memcpy(expected, memory.data, bytes);
        memcpy(memory.data, before, bytes);
        pith_device_chain(&l, d);
        assert_false(l.no_memory);
        for (uint32_t i = 0; i < LINKS; i++) {
            const struct action *a = &l.action[d[i].first];
            if (d[i].n || d[i].on_cpu)
                ptx_launch(a->kernel, a->grid, l.args + a->arg,
                           ptx_given() ? ON_PTX : orders[round % 4]);
            assert_true(steps[i].args.info == &plain || d[i].n || d[i].on_cpu);
            joined += !d[i].n && !d[i].on_cpu;
        }
        assert_memory_equal(memory.data, expected, bytes);
        pith_device_lowering_free(&l);
    }
    assert_true(joined > 60 * LINKS / 4);
    free(before);
    free(expected);
    guard_free(&memory);
}

RUN_IN_BOTH
