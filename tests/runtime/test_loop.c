/* SPDX-License-Identifier: MIT */
/* Loops and branches small enough to follow by hand, each with fusion and sharing and without. */
#define GRAPH_DOUBLE_READER
#include "loop_double.h"
#include "plan/plan.h"

static const float one[1] = {1.0f}, ten[1] = {10.0f}, minus[4] = {-1.0f, -2.0f, -3.0f, -4.0f};
static const uint32_t modes[2] = {0, PITH_FLAG_NO_FUSION};

static uint32_t add(uint32_t a, uint32_t b)
{
    return gd_node(PITH_OP_ADD, NULL, NULL, 1, 2, a, b);
}

static uint32_t mul(uint32_t a, uint32_t b)
{
    return gd_node(PITH_OP_MUL, NULL, NULL, 1, 2, a, b);
}

static uint32_t relu(uint32_t a)
{
    return gd_node(PITH_OP_RELU, NULL, NULL, 1, 1, a);
}

static void set_kind(int32_t *attr, void *arg)
{
    attr[ATTR_KIND] = *(const int32_t *)arg;
}

static uint32_t neg(uint32_t a)
{
    int32_t kind = UNARY_NEG;
    return gd_node(PITH_OP_UNARY, set_kind, &kind, 1, 1, a);
}

static uint32_t less(uint32_t a, uint32_t b)
{
    int32_t kind = COMPARE_LESS;
    return gd_node(PITH_OP_COMPARE, set_kind, &kind, 1, 2, a, b);
}

/* Row `index` of x. */
static uint32_t row(uint32_t x, uint32_t index)
{
    return gd_node(PITH_OP_GATHER, NULL, NULL, 1, 2, x, index);
}

struct job {
    struct pith_plan *plan;
    struct pith_need need;
    void *mem;
};

static struct job make(uint32_t flags)
{
    struct job j;
    struct pith_opts opts = {.size_bytes = sizeof opts, .flags = flags};
    j.mem = gd_plan(&opts, &j.plan, &j.need);
    return j;
}

static void set_input(const struct job *j, uint32_t i, const void *data, size_t bytes)
{
    struct pith_tensor t;
    assert_int_equal(pith_plan_input(j->plan, i, &t), PITH_OK);
    assert_int_equal(t.bytes, bytes);
    memcpy(pith_plan_input_data(j->plan, i), data, bytes);
}

static void expect(const struct job *j, uint32_t i, const float *want, uint32_t n)
{
    struct pith_tensor t;
    assert_int_equal(pith_plan_output(j->plan, i, &t), PITH_OK);
    assert_int_equal(t.bytes, n * sizeof *want);
    assert_memory_equal(pith_plan_output_data(j->plan, i), want, n * sizeof *want);
}

static void run(const struct job *j)
{
    assert_int_equal(pith_plan_run(j->plan), PITH_OK);
}

/* a, b = b, a + b: both are read before either is written. */
TEST(test_fibonacci)
{
    for (uint32_t m = 0; m < 2; m++) {
        gd_clear();
        uint32_t x = gd_input(0), y = gd_input(0);
        struct gd_loop l = {.trips = 10, .n_states = 2};
        uint32_t a = gd_loop_begin(&l, 2, x, y) + 1, b = a + 1;
        uint32_t out = gd_loop_end(&l, 3, b, add(a, b), a);
        gd_output(out);
        gd_output(out + 1);
        gd_output(out + 2);
        struct job j = make(modes[m]);
        for (uint32_t again = 0; again < 2; again++) {
            set_input(&j, 0, &(float){0}, 4);
            set_input(&j, 1, &(float){1}, 4);
            run(&j);
            expect(&j, 0, &(float){55}, 1);
            expect(&j, 1, &(float){89}, 1);
            expect(&j, 2, (float[]){0, 1, 1, 2, 3, 5, 8, 13, 21, 34}, 10);
        }
        free(j.mem);
    }
}

/* Three states change places, one of them through a view; a fourth stays. */
TEST(test_rotation)
{
    for (uint32_t m = 0; m < 2; m++) {
        gd_clear();
        uint32_t in[4];
        for (uint32_t i = 0; i < 4; i++)
            in[i] = gd_input(1, 2);
        struct gd_loop l = {.trips = 2, .n_states = 4};
        uint32_t s = gd_loop_begin_of(&l, 4, in) + 1;
        uint32_t view = gd_node(PITH_OP_IDENTITY, NULL, NULL, 1, 1, s);
        uint32_t out = gd_loop_end(&l, 4, s + 1, s + 2, view, s + 3);
        for (uint32_t i = 0; i < 4; i++)
            gd_output(out + i);
        struct job j = make(modes[m]);
        /* States move through a copy of each, but what is a value of its own, and the last stays.
         */
        assert_int_equal(j.need.scratch_bytes, modes[m] ? 2 * 8 : 3 * 8);
        for (uint32_t i = 0; i < 4; i++)
            set_input(&j, i, (float[]){(float)i + 1, -(float)i - 1}, 8);
        run(&j);
        expect(&j, 0, (float[]){3, -3}, 2);
        expect(&j, 1, (float[]){1, -1}, 2);
        expect(&j, 2, (float[]){2, -2}, 2);
        expect(&j, 3, (float[]){4, -4}, 2);
        free(j.mem);
    }
}

/* What a scan is: a row of x in, a sum and the rows so far out. */
TEST(test_accumulate)
{
    for (uint32_t m = 0; m < 2; m++) {
        gd_clear();
        uint32_t x = gd_input(2, 3, 2), start = gd_input(1, 2);
        struct gd_loop l = {.trips = 3, .n_states = 1};
        uint32_t t = gd_loop_begin(&l, 1, start);
        uint32_t sum = add(t + 1, row(x, t));
        uint32_t out = gd_loop_end(&l, 3, sum, sum, neg(sum));
        for (uint32_t i = 0; i < 3; i++)
            gd_output(out + i);
        struct job j = make(modes[m]);
        assert_int_equal(j.need.scratch_bytes, 0); /* no state is the next value of another */
        set_input(&j, 0, (float[]){1, 2, 3, 4, 5, 6}, 24);
        set_input(&j, 1, (float[]){100, 200}, 8);
        run(&j);
        expect(&j, 0, (float[]){109, 212}, 2);
        expect(&j, 1, (float[]){101, 202, 104, 206, 109, 212}, 6);
        expect(&j, 2, (float[]){-101, -202, -104, -206, -109, -212}, 6);
        free(j.mem);
    }
}

/* As often as an input says, but no more than TRIPS; not at all: the states stay. */
TEST(test_count)
{
    static const int64_t count[] = {0, -5, 1, 3, 7, 8, INT64_MAX, INT64_MIN};
    static const float want[] = {5, 5, 6, 8, 12, 12, 12, 5};
    for (uint32_t m = 0; m < 2; m++) {
        gd_clear();
        uint32_t n = gd_input(0);
        gd_input_type(PITH_I64);
        uint32_t x = gd_input(0), step = gd_weight(one, 0);
        struct gd_loop l = {.trips = 7, .has_count = 1, .n_states = 1};
        uint32_t s = gd_loop_begin(&l, 2, n, x) + 1;
        gd_output(relu(gd_loop_end(&l, 1, add(s, step))));
        struct job j = make(modes[m]);
        for (uint32_t i = 0; i < sizeof count / sizeof *count; i++) {
            set_input(&j, 0, &count[i], 8);
            set_input(&j, 1, &(float){5}, 4);
            run(&j);
            expect(&j, 0, &want[i], 1);
        }
        free(j.mem);
    }
}

/* While the sum is below ten, at most five times; a condition that is false at first lets nothing
 * run. */
TEST(test_condition)
{
    static const float start[] = {0, 9, 9.5f, 10, 11, -100};
    static const float want[] = {5, 10, 10.5f, 10, 11, -95};
    for (uint32_t m = 0; m < 2; m++) {
        gd_clear();
        uint32_t x = gd_input(0), step = gd_weight(one, 0), limit = gd_weight(ten, 0);
        struct gd_loop l = {.trips = 5, .has_cond = 1, .n_states = 1};
        uint32_t s = gd_loop_begin(&l, 2, less(x, limit), x) + 1;
        uint32_t next = add(s, step);
        gd_output(gd_loop_end(&l, 2, less(next, limit), next));
        struct job j = make(modes[m]);
        for (uint32_t i = 0; i < sizeof start / sizeof *start; i++) {
            set_input(&j, 0, &start[i], 4);
            run(&j);
            expect(&j, 0, &want[i], 1);
        }
        free(j.mem);
    }
}

/* A loop in a loop; both read x, which an operator before it could have been written over. */
TEST(test_nested)
{
    for (uint32_t m = 0; m < 2; m++) {
        gd_clear();
        uint32_t in = gd_input(1, 4), w = gd_weight(minus, 1, 4);
        uint32_t x = neg(in); /* [-1 -2 -3 -4] * [-1 -2 -3 -4] below */
        struct gd_loop outer = {.trips = 3, .n_states = 1}, inner = {.trips = 2, .n_states = 1};
        uint32_t s = gd_loop_begin(&outer, 1, w) + 1;
        uint32_t t = gd_loop_begin(&inner, 1, s) + 1;
        uint32_t product = mul(x, w); /* x may not be overwritten */
        uint32_t end = gd_loop_end(&inner, 2, add(t, product), relu(neg(product)));
        uint32_t out = gd_loop_end(&outer, 3, end, end + 1, relu(x));
        gd_output(out);
        gd_output(out + 1);
        gd_output(out + 2);
        struct job j = make(modes[m]);
        set_input(&j, 0, (float[]){1, 2, 3, -4}, 16);
        run(&j);
        /* product: 1 4 9 -16, added six times */
        expect(&j, 0, (float[]){5, 22, 51, -100}, 4);
        expect(&j, 1, (float[]){0, 0, 0, 16, 0, 0, 0, 16, 0, 0, 0, 16,
                                0, 0, 0, 16, 0, 0, 0, 16, 0, 0, 0, 16},
               24);
        expect(&j, 2, (float[]){0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4}, 12);
        free(j.mem);
    }
}

TEST(test_branch)
{
    for (uint32_t m = 0; m < 2; m++) {
        gd_clear();
        uint32_t c = gd_input(0);
        gd_input_type(PITH_BOOL);
        uint32_t x = gd_input(1, 4);
        uint32_t y = neg(x);
        uint32_t branch = gd_branch(c);
        uint32_t a = relu(y); /* in place of y or not, the other branch still reads it */
        gd_else(branch);
        uint32_t b = add(y, y);
        gd_output(neg(gd_branch_end(branch, a, b)));
        struct job j = make(modes[m]);
        for (uint32_t i = 0; i < 4; i++) {
            set_input(&j, 0, &(uint8_t){(uint8_t)(i % 2)}, 1);
            set_input(&j, 1, (float[]){1, -2, 3, -4}, 16);
            run(&j);
            if (i % 2)
                expect(&j, 0, (float[]){-0.0f, -2, -0.0f, -4}, 4);
            else
                expect(&j, 0, (float[]){2, -4, 6, -8}, 4);
        }
        free(j.mem);
    }
}

/* Both sides write their results where they will be read. What is read on both sides is not moved
 * there by the second: the first would write over it. */
TEST(test_branch_storage)
{
    for (uint32_t m = 0; m < 2; m++) {
        gd_clear();
        uint32_t c = gd_input(0);
        gd_input_type(PITH_BOOL);
        uint32_t in = gd_input(1, 4);
        uint32_t x = neg(in), z = add(in, in);
        uint32_t branch = gd_branch(c);
        uint32_t a = relu(z), b = add(z, x); /* a, then x is read */
        gd_else(branch);
        uint32_t d = relu(x), e = neg(z);
        uint32_t k[] = {branch, a, b, d, e};
        uint32_t out = gd_node_of(PITH_OP_BRANCH_END, NULL, NULL, 2, 5, k);
        gd_output(out);
        gd_output(out + 1);
        struct job j = make(modes[m]);
        for (uint32_t i = 0; i < 2; i++) {
            set_input(&j, 0, &(uint8_t){(uint8_t)i}, 1);
            set_input(&j, 1, (float[]){1, -2, 3, -4}, 16);
            run(&j);
            if (i) {
                expect(&j, 0, (float[]){2, 0, 6, 0}, 4);
                expect(&j, 1, (float[]){1, -2, 3, -4}, 4);
            } else {
                expect(&j, 0, (float[]){0, 2, 0, 4}, 4);
                expect(&j, 1, (float[]){-2, 4, -6, 8}, 4);
            }
        }
        const struct tview *value = j.plan->value;
        bool shared = modes[m] == 0;
        assert_int_equal(value[a].data == value[out].data, shared);
        assert_int_equal(value[d].data == value[out].data, shared);
        assert_int_equal(value[b].data == value[out + 1].data, shared);
        assert_int_equal(value[e].data == value[out + 1].data, shared);
        free(j.mem);
    }
}

/* In each iteration another branch; in one of them a loop. A branch may give an outer value. */
TEST(test_branch_in_loop)
{
    for (uint32_t m = 0; m < 2; m++) {
        gd_clear();
        uint32_t x = gd_input(0), limit = gd_weight(ten, 0), step = gd_weight(one, 0);
        struct gd_loop outer = {.trips = 6, .n_states = 1}, inner = {.trips = 3, .n_states = 1};
        uint32_t s = gd_loop_begin(&outer, 1, x) + 1;
        uint32_t branch = gd_branch(less(s, limit));
        uint32_t t = gd_loop_begin(&inner, 1, s) + 1;
        uint32_t up = gd_loop_end(&inner, 1, add(t, step));
        gd_else(branch);
        uint32_t end = gd_branch_end(branch, up, x);
        uint32_t out = gd_loop_end(&outer, 2, end, end);
        gd_output(out + 1);
        gd_output(out);
        struct job j = make(modes[m]);
        set_input(&j, 0, &(float){3}, 4);
        run(&j);
        expect(&j, 0, (float[]){6, 9, 12, 3, 6, 9}, 6);
        expect(&j, 1, (float[]){9}, 1);
        free(j.mem);
    }
}

static void set_axis_0(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_AXIS] = 0;
}

static void set_tail(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_SLICE_AXES] = attr[ATTR_SLICE_STARTS] = attr[ATTR_SLICE_ENDS] = 1;
    attr[ATTR_SLICE_STARTS + 1] = 1;
    attr[ATTR_SLICE_ENDS + 1] = INT32_MAX;
}

static void set_first_axis(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_AXES] = 1;
}

/* A shift register: the state's tail and a new row side by side, which is a view of the state
 * beside a piece of a concat. */
TEST(test_shift_register)
{
    for (uint32_t m = 0; m < 2; m++) {
        gd_clear();
        uint32_t x = gd_input(2, 4, 2), start = gd_input(2, 3, 2);
        struct gd_loop l = {.trips = 4, .n_states = 1};
        uint32_t t = gd_loop_begin(&l, 1, start);
        uint32_t tail = gd_node(PITH_OP_SLICE, set_tail, NULL, 1, 1, t + 1);
        uint32_t new = gd_node(PITH_OP_UNSQUEEZE, set_first_axis, NULL, 1, 1, neg(row(x, t)));
        uint32_t next = gd_node(PITH_OP_CONCAT, set_axis_0, NULL, 1, 2, tail, new);
        uint32_t out = gd_loop_end(&l, 2, next, tail);
        gd_output(out);
        gd_output(out + 1);
        struct job j = make(modes[m]);
        set_input(&j, 0, (float[]){1, 2, 3, 4, 5, 6, 7, 8}, 32);
        set_input(&j, 1, (float[]){10, 20, 30, 40, 50, 60}, 24);
        run(&j);
        expect(&j, 0, (float[]){-3, -4, -5, -6, -7, -8}, 6);
        expect(&j, 1, (float[]){30, 40, 50, 60, 50, 60, -1, -2, -1, -2, -3, -4, -3, -4, -5, -6},
               16);
        free(j.mem);
    }
}

/* Storage of one iteration is used again in the next, and what dies in the body is reused there. */
TEST(test_arena)
{
    gd_clear();
    uint32_t x = gd_input(1, 1024);
    struct gd_loop l = {.trips = 100, .n_states = 1};
    uint32_t v = gd_loop_begin(&l, 1, x) + 1;
    for (uint32_t i = 0; i < 20; i++)
        v = add(neg(v), v);
    gd_output(gd_loop_end(&l, 1, v));
    struct job j = make(0), apart = make(PITH_FLAG_NO_FUSION);
    assert_true(j.need.arena_bytes <= 7 * 4096);
    assert_true(j.need.arena_bytes <= apart.need.arena_bytes);
    free(j.mem);
    free(apart.mem);
}

/* Nothing joins across the border of a body. */
TEST(test_no_fusion_across)
{
    gd_clear();
    uint32_t x = gd_input(2, 4, 4), start = gd_input(2, 4, 4);
    uint32_t product = gd_node(PITH_OP_MATMUL, NULL, NULL, 1, 2, start,
                               gd_node(PITH_OP_MATMUL, NULL, NULL, 1, 2, x, x));
    struct gd_loop l = {.trips = 2, .n_states = 1};
    uint32_t s = gd_loop_begin(&l, 1, x) + 1;
    gd_output(gd_loop_end(&l, 1, add(s, relu(product))));
    struct job j = make(0);
    assert_int_equal(pith_plan_layer_count(j.plan), 6);
    struct pith_layer layer;
    assert_int_equal(pith_plan_layer(j.plan, 2, &layer), PITH_OK);
    assert_int_equal(layer.op, PITH_OP_LOOP);
    free(j.mem);
}

/* ---- observing, timing, counting ------------------------------------------------------------ */

struct log {
    uint32_t n, op[64];
    float first[64];
    uint64_t time;
};

static void observe(void *user, const struct pith_layer *layer, const struct pith_tensor *out)
{
    struct log *log = user;
    assert_true(log->n < 64);
    log->op[log->n] = layer->op;
    log->first[log->n] = out->type == PITH_F32 ? *(const float *)out->data : -1.0f;
    log->n++;
}

static uint64_t tick(void *user)
{
    return ((struct log *)user)->time += 10;
}

TEST(test_observe)
{
    gd_clear();
    uint32_t n = gd_input(0);
    gd_input_type(PITH_I64);
    uint32_t x = gd_input(0), step = gd_weight(one, 0);
    struct gd_loop l = {.trips = 100, .has_count = 1, .n_states = 1};
    uint32_t s = gd_loop_begin(&l, 2, n, x) + 1;
    gd_output(gd_loop_end(&l, 1, add(s, step)));
    struct log log = {0};
    struct job j;
    struct pith_opts opts = {
        .size_bytes = sizeof opts, .observe = observe, .clock_ns = tick, .user = &log};
    j.mem = gd_plan(&opts, &j.plan, &j.need);
    set_input(&j, 0, &(int64_t){2}, 8);
    set_input(&j, 1, &(float){5}, 4);
    run(&j);
    static const uint32_t want_op[] = {PITH_OP_LOOP, PITH_OP_LOOP, PITH_OP_ADD,     PITH_OP_LOOP,
                                       PITH_OP_LOOP, PITH_OP_ADD,  PITH_OP_LOOP_END};
    static const float want[] = {-1, 5, 6, -1, 6, 7, 7}; /* iteration numbers are no floats */
    assert_int_equal(log.n, 7);
    for (uint32_t i = 0; i < 7; i++) {
        assert_int_equal(log.op[i], want_op[i]);
        assert_true(log.first[i] == want[i]);
    }
    struct pith_layer layer;
    assert_int_equal(pith_plan_layer(j.plan, 1, &layer), PITH_OK);
    assert_int_equal(layer.ns, 20);
    assert_int_equal(pith_plan_run_from(j.plan, 1), PITH_ERR_UNSUPPORTED);
    set_input(&j, 0, &(int64_t){0}, 8);
    set_input(&j, 1, &(float){5}, 4);
    log.n = 0;
    run(&j);
    assert_int_equal(log.n, 1);
    assert_int_equal(log.op[0], PITH_OP_LOOP_END);
    assert_true(log.first[0] == 5);
    assert_int_equal(pith_plan_layer(j.plan, 1, &layer), PITH_OK);
    assert_int_equal(layer.ns, 0);
    free(j.mem);
}

/* Each layer's work is that of all iterations; without a bound, of one. */
TEST(test_macs)
{
    static const struct {
        int32_t outer, inner;
        uint64_t times;
    } c[] = {{3, 5, 15}, {7, INT32_MAX, 7}, {INT32_MAX - 1, INT32_MAX - 1, 0}};
    for (uint32_t i = 0; i < 3; i++) {
        gd_clear();
        uint32_t x = gd_input(2, 4, 4), cond = gd_input(0);
        gd_input_type(PITH_BOOL);
        struct gd_loop outer = {.trips = c[i].outer, .n_states = 1};
        struct gd_loop inner = {.trips = c[i].inner, .has_cond = 1, .n_states = 1};
        uint32_t s = gd_loop_begin(&outer, 1, x) + 1;
        uint32_t t = gd_loop_begin(&inner, 2, cond, s) + 1;
        uint32_t y = gd_node(PITH_OP_MATMUL, NULL, NULL, 1, 2, t, x);
        gd_output(gd_loop_end(&outer, 1, gd_loop_end(&inner, 2, cond, y)));
        struct job j = make(0);
        struct pith_layer layer;
        assert_int_equal(pith_plan_layer(j.plan, 2, &layer), PITH_OK);
        assert_int_equal(layer.op, PITH_OP_MATMUL);
        assert_int_equal(layer.macs, c[i].times ? c[i].times * 64 : UINT64_C(1) << 47);
        free(j.mem);
    }
}

struct patience {
    uint32_t left;
};

static int out_of_patience(void *user)
{
    struct patience *p = user;
    return p->left-- == 0;
}

static uint64_t steps_of(const struct job *j, uint32_t *layer)
{
    uint64_t steps;
    pith_plan_progress(j->plan, &steps, layer);
    return steps;
}

/* 2^62 iterations end at the limit, or when the caller says so; a limit that is met is none. */
TEST(test_end_early)
{
    struct patience patience = {0};
    struct job j;
    uint32_t layer;
    gd_clear();
    uint32_t x = gd_input(0);
    struct gd_loop outer = {.trips = INT32_MAX, .n_states = 1}, inner = outer;
    uint32_t s = gd_loop_begin(&outer, 1, x) + 1;
    uint32_t t = gd_loop_begin(&inner, 1, s) + 1;
    gd_output(gd_loop_end(&outer, 1, gd_loop_end(&inner, 1, neg(t))));
    struct pith_opts opts = {.size_bytes = sizeof opts,
                             .max_steps = 1000,
                             .stop = out_of_patience,
                             .stop_user = &patience};
    j.mem = gd_plan(&opts, &j.plan, &j.need);
    patience.left = 2000;
    assert_int_equal(pith_plan_run(j.plan), PITH_ERR_LIMIT);
    assert_int_equal(steps_of(&j, &layer), 1000);
    assert_int_equal(layer, 2); /* Loop, Loop, and 499 times Neg and LoopEnd */
    patience.left = 7;
    assert_int_equal(pith_plan_run(j.plan), PITH_ERR_STOPPED);
    assert_int_equal(steps_of(&j, &layer), 7);
    assert_int_equal(layer, 3);
    free(j.mem);
    /* the outer Loop; then twice: the inner one, two iterations of two steps, the outer end */
    for (uint32_t extra = 0; extra < 2; extra++) {
        gd_clear();
        x = gd_input(0);
        outer.trips = inner.trips = 2;
        s = gd_loop_begin(&outer, 1, x) + 1;
        t = gd_loop_begin(&inner, 1, s) + 1;
        gd_output(gd_loop_end(&outer, 1, gd_loop_end(&inner, 1, neg(t))));
        opts.stop = NULL;
        opts.max_steps = 12 + extra;
        j.mem = gd_plan(&opts, &j.plan, &j.need);
        set_input(&j, 0, &(float){3}, 4);
        assert_int_equal(pith_plan_run(j.plan), extra ? PITH_OK : PITH_ERR_LIMIT);
        assert_int_equal(steps_of(&j, &layer), 12 + extra);
        assert_int_equal(layer, extra ? pith_plan_layer_count(j.plan) : 4);
        if (extra)
            expect(&j, 0, &(float){3}, 1);
        free(j.mem);
    }
}

RUN_TESTS
