/* SPDX-License-Identifier: MIT */
/* test_segment.c - steps that run a group of samples at a time: drawn graphs, in which samples are
 * kept apart or mixed, give the bits that they give when each node runs alone over the whole batch,
 * on any number of lanes; and what a plan reports of its segments. All numbers are small integers,
 * so that no order of adding matters. */
#define GRAPH_DOUBLE_READER
#include "graph_double.h"
#include "guard_page.h"
#include "op_interface/op_attr.h"
#include <pthread.h>
#include "plan/plan.h"
#include "test_seed.h"

#define CHANNELS 8u
#define SIDE 24u
#define NODES 14u
#define ROUNDS 150u /* or what PITH_TEST_TRIALS says */
#define MAX_BATCH 8u

static float ones_and_zeros[CHANNELS * 2 * CHANNELS * 9], signs[MAX_BATCH];
static uint64_t seed;

static uint32_t below(uint32_t n)
{
    return (uint32_t)(random_u64(&seed) % n);
}

/* ---- attributes ----------------------------------------------------------------------------- */

static void set_clip(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_CLIP_MIN] = (int32_t)f32_bits(-9.0f);
    attr[ATTR_CLIP_MAX] = (int32_t)f32_bits(7.0f);
}

static void set_pads(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_CONV_PADS] = 4;
    for (uint32_t i = 1; i <= 4; i++)
        attr[ATTR_CONV_PADS + i] = 1;
}

static void set_round(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_KIND] = UNARY_ROUND;
}

static void set_pool(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_POOL_KERNEL] = 2;
    attr[ATTR_POOL_KERNEL + 1] = attr[ATTR_POOL_KERNEL + 2] = 3;
    attr[ATTR_POOL_PADS] = 4;
    for (uint32_t i = 1; i <= 4; i++)
        attr[ATTR_POOL_PADS + i] = 1;
}

static void set_axis(int32_t *attr, void *arg)
{
    attr[ATTR_AXIS] = *(const int32_t *)arg;
}

static void set_halves(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_AXIS] = 1;
    attr[ATTR_SPLIT_SIZES] = 2;
    attr[ATTR_SPLIT_SIZES + 1] = attr[ATTR_SPLIT_SIZES + 2] = CHANNELS / 2;
}

/* axis, start, end, step */
static void set_slice(int32_t *attr, void *arg)
{
    const int32_t *cut = arg;
    static const uint32_t slot[] = {ATTR_SLICE_AXES, ATTR_SLICE_STARTS, ATTR_SLICE_ENDS,
                                    ATTR_SLICE_STEPS};
    for (uint32_t i = 0; i < 4; i++) {
        attr[slot[i]] = 1;
        attr[slot[i] + 1] = cut[i];
    }
}

static void set_turned(int32_t *attr, void *arg)
{
    static const int32_t perm[] = {4, 0, 1, 3, 2};
    (void)arg;
    memcpy(attr + ATTR_PERM, perm, sizeof perm);
}

static void set_dims(int32_t *attr, void *arg)
{
    memcpy(attr + ATTR_RESHAPE_DIMS, arg, (size_t)(1 + *(const int32_t *)arg) * sizeof *attr);
}

/* ---- drawn graphs: every value is [batch, CHANNELS, SIDE, SIDE] ------------------------------ */

static struct {
    uint32_t one, three, wide, plane, sample;
} given;

static uint32_t clipped(uint32_t v)
{
    return gd_node(PITH_OP_CLIP, set_clip, NULL, 1, 1, v);
}

static uint32_t joined(uint32_t a, uint32_t b, int32_t axis)
{
    return gd_node(PITH_OP_CONCAT, set_axis, &axis, 1, 2, a, b);
}

static uint32_t cut(uint32_t v, int32_t axis, int32_t start, int32_t end, int32_t step)
{
    int32_t how[] = {axis, start, end, step};
    return gd_node(PITH_OP_SLICE, set_slice, how, 1, 1, v);
}

/* Samples meet here, or the operator's constant is another one for each. */
static uint32_t mixed(uint32_t a, uint32_t b, uint32_t batch)
{
    int32_t half = (int32_t)batch / 2;
    switch (below(3)) {
    case 0:
        return cut(a, 0, -1, INT32_MIN, -1);
    case 1:
        return cut(joined(a, b, 0), 0, half, half + (int32_t)batch, 1);
    default:
        return gd_node(PITH_OP_MUL, NULL, NULL, 1, 2, a, given.sample);
    }
}

static uint32_t apart(uint32_t a, uint32_t b)
{
    int32_t flat[] = {2, 0, -1}, square[] = {4, 0, CHANNELS, SIDE, SIDE};
    uint32_t t;
    switch (below(11)) {
    case 0:
        return clipped(gd_node(PITH_OP_CONV, NULL, NULL, 1, 2, a, given.one));
    case 1: /* Winograd's sums are integers but for rounding */
        t = gd_node(PITH_OP_CONV, set_pads, NULL, 1, 2, a, given.three);
        return clipped(gd_node(PITH_OP_UNARY, set_round, NULL, 1, 1, t));
    case 2:
        return gd_node(PITH_OP_RELU, NULL, NULL, 1, 1, a);
    case 3:
        return gd_node(PITH_OP_ADD, NULL, NULL, 1, 2, a, b);
    case 4:
        return clipped(gd_node(PITH_OP_CONV, NULL, NULL, 1, 2, joined(a, b, 1), given.wide));
    case 5:
        t = gd_node(PITH_OP_SPLIT, set_halves, NULL, 2, 1, a);
        return joined(t + 1, t, 1);
    case 6:
        t = gd_node(PITH_OP_RESHAPE, set_dims, flat, 1, 1, a);
        return gd_node(PITH_OP_RESHAPE, set_dims, square, 1, 1, t);
    case 7:
        return gd_node(PITH_OP_TRANSPOSE, set_turned, NULL, 1, 1, a);
    case 8:
        return gd_node(PITH_OP_MAX_POOL, set_pool, NULL, 1, 1, a);
    case 9: /* the sum is fused into the product */
        t = gd_node(PITH_OP_CONV, NULL, NULL, 1, 2, a, given.one);
        return clipped(gd_node(PITH_OP_ADD, NULL, NULL, 1, 2, t, b));
    default:
        return cut(joined(a, gd_node(PITH_OP_MUL, NULL, NULL, 1, 2, b, given.plane), 1), 1, 3,
                   3 + (int32_t)CHANNELS, 1);
    }
}

static void draw_graph(uint32_t batch)
{
    uint32_t value[NODES + 1], n = 1;
    gd_clear();
    value[0] = gd_input(4, batch, CHANNELS, SIDE, SIDE);
    given.one = gd_weight(ones_and_zeros, 4, CHANNELS, CHANNELS, 1, 1);
    given.three = gd_weight(ones_and_zeros, 4, CHANNELS, CHANNELS, 3, 3);
    given.wide = gd_weight(ones_and_zeros, 4, CHANNELS, 2 * CHANNELS, 1, 1);
    given.plane = gd_weight(signs, 3, CHANNELS, 1, 1);
    given.sample = gd_weight(signs, 4, batch, 1, 1, 1);
    for (; n <= NODES; n++) {
        uint32_t back = below(3);
        uint32_t a = value[n - 1 - (back < n ? back : 0)], b = value[below(n)];
        value[n] = below(8) ? apart(a, b) : mixed(a, b, batch);
    }
    gd_output(value[NODES]);
    gd_output(value[1 + below(NODES - 1)]);
}

/* ---- runs ----------------------------------------------------------------------------------- */

struct result {
    float y[2][MAX_BATCH * CHANNELS * SIDE * SIDE];
    uint32_t n_segments, lanes;
};

/* The plan ends before an unmapped page, and is run twice. */
static void run_into(struct result *r, const struct pith_opts *opts, uint32_t batch)
{
    struct pith_plan *plan;
    struct pith_need need;
    free(gd_plan(opts, &plan, &need));
    struct guarded mem = guard_new((size_t)need.bytes, 1);
    memset(mem.data, 0xa5, (size_t)need.bytes);
    assert_int_equal(pith_plan_init(mem.data, (size_t)need.bytes, gd_image(), 0, opts, &plan),
                     PITH_OK);
    size_t n = (size_t)batch * CHANNELS * SIDE * SIDE;
    for (int twice = 0; twice < 2; twice++) {
        float *x = pith_plan_input_data(plan, 0);
        for (size_t i = 0; i < n; i++)
            x[i] = (float)(i * 7 % 11 + i / 1999) - 5.0f;
        assert_int_equal(pith_plan_run(plan), PITH_OK);
    }
    for (uint32_t i = 0; i < 2; i++)
        memcpy(r->y[i], pith_plan_output_data(plan, i), n * sizeof(float));
    r->n_segments = plan->n_segments;
    r->lanes = plan->lanes;
    guard_free(&mem);
}

struct body_call {
    void (*body)(void *arg, uint32_t i);
    void *arg;
    uint32_t i;
};

static void *call(void *arg)
{
    struct body_call *c = arg;
    c->body(c->arg, c->i);
    return NULL;
}

/* All at once, each on a thread of its own, 64 at most. */
static void together(void *user, uint32_t n, void (*body)(void *arg, uint32_t i), void *arg)
{
    pthread_t thread[64];
    struct body_call calls[64];
    (void)user;
    assert_true(n <= 64);
    for (uint32_t i = 0; i < n; i++) {
        calls[i] = (struct body_call){body, arg, i};
        assert_int_equal(pthread_create(&thread[i], NULL, call, &calls[i]), 0);
    }
    for (uint32_t i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
}

/* Nodes one by one; then in segments: on one lane, on several in an odd order, on two threads. */
TEST(test_drawn_graphs)
{
    static struct result want, got;
    static const uint32_t batches[] = {2, 3, 4, 6, 8};
    const char *wanted = getenv("PITH_TEST_TRIALS");
    uint32_t rounds = wanted ? (uint32_t)strtoul(wanted, NULL, 10) : ROUNDS;
    uint32_t with_segments = 0, with_lanes = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t batch = batches[below(5)];
        draw_graph(batch);
        struct pith_opts opts = gd_opts(batch, PITH_FLAG_NO_FUSION, 0);
        run_into(&want, &opts, batch);
        assert_int_equal(want.n_segments, 0);
        for (uint32_t threads = 0; threads <= 4; threads++) {
            opts = gd_opts(batch, 0, threads);
            if (threads == 2)
                opts.parallel_for = together;
            run_into(&got, &opts, batch);
            for (uint32_t i = 0; i < 2; i++)
                if (memcmp(got.y[i], want.y[i],
                           (size_t)batch * CHANNELS * SIDE * SIDE * sizeof(float)))
                    fail_msg("round %u, batch %u, threads %u: output %u differs", round, batch,
                             threads, i);
            with_segments += got.n_segments > 0;
            with_lanes += got.lanes > 1;
        }
    }
    assert_true(with_segments > rounds && with_lanes > rounds);
}

/* ---- one chain of three convolutions --------------------------------------------------------- */

#define PLANE_BYTES (CHANNELS * SIDE * SIDE * sizeof(float))

static void draw_chain(uint32_t batch)
{
    gd_clear();
    uint32_t v = gd_input(4, batch, CHANNELS, SIDE, SIDE);
    uint32_t w = gd_weight(ones_and_zeros, 4, CHANNELS, CHANNELS, 1, 1);
    for (uint32_t i = 0; i < 3; i++)
        v = gd_node(PITH_OP_CONV, NULL, NULL, 1, 2, v, w);
    gd_output(v);
}

/* Inputs and outputs of eight samples, and what lies between of four, for each lane. */
TEST(test_memory_of_a_group)
{
    for (uint32_t lanes = 0; lanes <= 2; lanes++) { /* 0: the reference's one, of two threads */
        struct pith_plan *plan;
        struct pith_need need;
        struct pith_layer layer;
        struct pith_operand o;
        draw_chain(8);
        struct pith_opts opts = gd_opts(8, 0, lanes ? lanes : 2);
        opts.cpu_mask = lanes ? 0 : PITH_CPU_REF;
        void *mem = gd_plan(&opts, &plan, &need);
        uint64_t lane = plan->segment[0].lane_bytes;
        assert_int_equal(plan->lanes, lanes ? lanes : 1);
        assert_int_equal(need.arena_bytes, 2 * 8 * PLANE_BYTES + plan->lanes * lane);
        assert_in_range(lane, 2 * 4 * PLANE_BYTES, 2 * 4 * PLANE_BYTES + need.scratch_bytes);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(pith_plan_layer(plan, i, &layer), PITH_OK);
            assert_int_equal(layer.segment, 1);
            assert_int_equal(layer.group, 4);
            assert_int_equal(layer.lanes, plan->lanes);
            assert_int_equal(layer.macs, 8 * CHANNELS * CHANNELS * SIDE * SIDE);
        }
        assert_int_equal(pith_plan_run(plan), PITH_OK);
        /* The output of the last step: four samples of what the plan gives, from its first on. */
        for (uint32_t i = 0; !pith_plan_operand(plan, 2, i, &o); i++)
            if (o.role == PITH_ROLE_OUTPUT)
                break;
        assert_int_equal(o.tensor.dim[0], 4);
        assert_ptr_equal(plan->arena + o.offset, pith_plan_output_data(plan, 0));
        free(mem);
    }
}

static int stop_after(void *user)
{
    uint32_t *left = user;
    return (*left)-- == 0;
}

/* A step counts once, whatever the number of groups; between two of them a run may be stopped. */
TEST(test_stops)
{
    for (uint32_t lanes = 1; lanes <= 2; lanes++) {
        struct pith_plan *plan;
        struct pith_need need;
        uint64_t steps;
        uint32_t layer, left = 1;
        draw_chain(8);
        struct pith_opts opts = gd_opts(8, 0, lanes);
        opts.max_steps = 3;
        void *mem = gd_plan(&opts, &plan, &need);
        assert_int_equal(pith_plan_run(plan), PITH_OK);
        pith_plan_progress(plan, &steps, &layer);
        assert_int_equal(steps, 3);
        assert_int_equal(layer, 3);
        plan->opts.max_steps = 2;
        assert_int_equal(pith_plan_run(plan), PITH_ERR_LIMIT);
        pith_plan_progress(plan, &steps, &layer);
        assert_int_equal(steps, 2);
        assert_int_equal(layer, 2);
        plan->opts.max_steps = 3;
        plan->opts.stop = stop_after;
        plan->opts.stop_user = &left;
        assert_int_equal(pith_plan_run(plan), PITH_ERR_STOPPED);
        pith_plan_progress(plan, &steps, &layer);
        assert_int_equal(layer, 1);
        free(mem);
    }
}

/* Steps that take long: lanes meet behind each of their groups, where a run may be stopped. No step
 * counts again. */
TEST(test_stops_between_rounds)
{
    struct pith_plan *plan;
    struct pith_need need;
    uint64_t steps;
    uint32_t layer, left = 4;
    draw_chain(32);
    struct pith_opts opts = gd_opts(32, 0, 2);
    opts.max_steps = 3;
    void *mem = gd_plan(&opts, &plan, &need);
    assert_int_equal(plan->lanes, 2);
    assert_int_equal(plan->segment[0].n_groups, 4);
    for (uint32_t i = 0; i < 3; i++)
        plan->step[i].macs = UINT64_C(1) << 40;
    assert_int_equal(pith_plan_run(plan), PITH_OK);
    pith_plan_progress(plan, &steps, &layer);
    assert_int_equal(steps, 3);
    assert_int_equal(layer, 3);
    plan->opts.stop = stop_after;
    plan->opts.stop_user = &left; /* called for three steps, then for those of the next round */
    assert_int_equal(pith_plan_run(plan), PITH_ERR_STOPPED);
    pith_plan_progress(plan, &steps, &layer);
    assert_int_equal(steps, 3);
    assert_int_equal(layer, 0);
    free(mem);
}

static uint64_t tick(void *user)
{
    return ++*(uint64_t *)user;
}

/* By a clock that goes on when it is read: a lane's two groups, or one lane's four times. */
TEST(test_times)
{
    for (uint32_t lanes = 1; lanes <= 2; lanes++) {
        struct pith_plan *plan;
        struct pith_need need;
        struct pith_layer layer;
        uint64_t clock = 0;
        draw_chain(8);
        struct pith_opts opts = gd_opts(8, 0, lanes);
        opts.clock_ns = tick;
        opts.user = &clock;
        void *mem = gd_plan(&opts, &plan, &need);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(pith_plan_run(plan), PITH_OK);
            for (uint32_t i = 0; i < 3; i++) {
                assert_int_equal(pith_plan_layer(plan, i, &layer), PITH_OK);
                assert_int_equal(layer.ns, lanes == 1 ? 2 : 1);
            }
        }
        free(mem);
    }
}

/* A file says for how many threads; a plan by it has as many lanes on any other number. */
TEST(test_plan_file)
{
    static uint8_t file[4096];
    struct pith_plan *plan;
    struct pith_need need;
    uint32_t batch, threads;
    draw_chain(8);
    struct pith_opts opts = gd_opts(8, 0, 2);
    void *mem = gd_plan(&opts, &plan, &need);
    size_t bytes = (size_t)pith_plan_file_bytes(plan);
    assert_true(bytes <= sizeof file);
    assert_int_equal(pith_plan_file_write(plan, file, bytes), PITH_OK);
    free(mem);
    assert_int_equal(pith_plan_file_options(file, bytes, &batch, &threads), PITH_OK);
    assert_int_equal(batch, 8);
    assert_int_equal(threads, 2);
    opts = gd_opts(8, 0, 1);
    assert_int_equal(pith_plan_file_open(file, bytes, "", 0, &opts, NULL), PITH_OK);
    mem = gd_plan(&opts, &plan, &need);
    assert_int_equal(pith_plan_file_check(file, bytes, plan), PITH_OK);
    assert_int_equal(plan->segment[0].lanes, 2);
    free(mem);
    opts = gd_opts(8, PITH_FLAG_WHOLE_BATCH, 1);
    mem = gd_plan(&opts, &plan, &need);
    assert_int_equal(plan->n_segments, 0);
    assert_int_equal(pith_plan_file_check(file, bytes, plan), PITH_ERR_CORRUPT);
    free(mem);
}

int main(void)
{
    seed = test_seed(1);
    for (uint32_t i = 0; i < sizeof ones_and_zeros / sizeof *ones_and_zeros; i++)
        ones_and_zeros[i] = (float)(i * 5 % 3) - 1.0f;
    for (uint32_t i = 0; i < MAX_BATCH; i++)
        signs[i] = i % 3 == 1 ? -1.0f : 1.0f;
    return run_listed_tests(NULL, NULL);
}
