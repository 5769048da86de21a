/* SPDX-License-Identifier: MIT */
/* A weight that several nodes read is packed once for each form it is wanted in: the plan is as
 * large as with one reader, and the bits are those of nodes with a weight each. */
#define GRAPH_DOUBLE_READER
#include "graph_double.h"
#include "plan/plan.h"
#include "op_interface/op_attr.h"

enum { N = 48, READERS = 8 };

static float data[N * N];
static int8_t bytes[N * N];

static void fill(void)
{
    for (uint32_t i = 0; i < N * N; i++) {
        data[i] = (float)((int32_t)(i * 2654435761u >> 16 & 255) - 128) / 1024.0f;
        bytes[i] = (int8_t)(i * 40503u >> 3);
    }
}

static void set_trans_b(int32_t *attr, void *arg)
{
    attr[ATTR_MATMUL_TRANS_B] = *(const int32_t *)arg;
}

enum kind { MATMUL, MATMUL_BOTH_WAYS, CONV_OF_SIZES, CONV_TRANSPOSE_OF_SIZES, INTEGERS };

static bool is_conv(enum kind kind)
{
    return kind == CONV_OF_SIZES || kind == CONV_TRANSPOSE_OF_SIZES;
}

/* own: each reader has a weight of its own, with the same elements. */
static void build(enum kind kind, uint32_t readers, bool own)
{
    const struct shape square = {.rank = 2, .dim = {N, N}};
    int32_t one = 1, none = 0;
    uint32_t w = 0, x = 0;
    gd_clear();
    if (is_conv(kind))
        for (uint32_t i = 0; i < READERS; i++)
            x = gd_input(4, 1, 16, 3 + i % 3, 4 + i % 2); /* too small for Winograd */
    else
        x = gd_input(2, 8, N);
    if (kind == INTEGERS)
        gd_input_type(PITH_U8);
    uint32_t first = is_conv(kind) ? x - READERS + 1 : x;
    uint32_t weight[READERS];
    for (uint32_t i = 0; i < readers; i++) {
        if (i == 0 || own)
            w = is_conv(kind)      ? gd_weight(data, 4, 16, 16, 3, 3)
                : kind == INTEGERS ? gd_weight_of(PITH_I8, bytes, &square)
                                   : gd_weight(data, 2, N, N);
        weight[i] = w;
    }
    for (uint32_t i = 0; i < readers; i++) {
        if (kind == CONV_OF_SIZES)
            gd_output(gd_node(PITH_OP_CONV, NULL, NULL, 1, 2, first + i, weight[i]));
        else if (kind == CONV_TRANSPOSE_OF_SIZES)
            gd_output(gd_node(PITH_OP_CONV_TRANSPOSE, NULL, NULL, 1, 2, first + i, weight[i]));
        else if (kind == INTEGERS)
            gd_output(gd_node(PITH_OP_MATMUL_INTEGER, NULL, NULL, 1, 2, x, weight[i]));
        else
            x = gd_node(PITH_OP_MATMUL, set_trans_b,
                        kind == MATMUL_BOTH_WAYS && i % 2 ? &none : &one, 1, 2, x, weight[i]);
    }
    if (kind < CONV_OF_SIZES)
        gd_output(x);
}

/* What a run gave: all outputs, one behind the other. */
struct result {
    uint64_t weights_bytes, n;
    uint32_t prepared; /* forms written */
    uint8_t y[1 << 16];
};

static void set_inputs(struct pith_plan *plan, enum kind kind)
{
    for (uint32_t i = 0; i < pith_plan_input_count(plan); i++) {
        struct pith_tensor t;
        assert_int_equal(pith_plan_input(plan, i, &t), PITH_OK);
        uint8_t *x = pith_plan_input_data(plan, i);
        for (uint64_t k = 0; kind == INTEGERS && k < t.bytes; k++)
            x[k] = (uint8_t)(k * 37);
        for (uint64_t k = 0; kind != INTEGERS && k < t.bytes / 4; k++)
            memcpy(x + 4 * k, &data[k * 7 % (N * N)], 4);
    }
}

static void run(enum kind kind, uint32_t readers, bool own, struct result *r)
{
    struct pith_plan *plan;
    struct pith_need need;
    struct pith_opts opts = {.size_bytes = sizeof opts};
    build(kind, readers, own);
    void *mem = gd_plan(&opts, &plan, &need);
    /* Who shares does not prepare again. */
    *r = (struct result){.weights_bytes = need.weights_bytes};
    for (uint32_t i = 0; i < pith_plan_layer_count(plan); i++)
        r->prepared += plan->step[i].args.prep && !plan->step[i].shares_prep;
    set_inputs(plan, kind);
    assert_int_equal(pith_plan_run(plan), PITH_OK);
    for (uint32_t i = 0; i < pith_plan_output_count(plan); i++) {
        struct pith_tensor t;
        assert_int_equal(pith_plan_output(plan, i, &t), PITH_OK);
        assert_true(r->n + t.bytes <= sizeof r->y);
        memcpy(r->y + r->n, pith_plan_output_data(plan, i), t.bytes);
        r->n += t.bytes;
    }
    free(mem);
}

/* A second plan reads what the first has made, a third what the second borrowed. */
static void borrowed(enum kind kind)
{
    struct pith_plan *plan[3];
    struct pith_need need;
    struct pith_tensor first, t;
    void *mem[3];
    struct pith_opts opts = {.size_bytes = sizeof opts};
    build(kind, READERS, false);
    for (int i = 0; i < 3; i++) {
        mem[i] = gd_plan(&opts, &plan[i], &need);
        assert_true((need.weights_bytes != 0) == (i == 0));
        opts.weights_of = plan[i];
        set_inputs(plan[i], kind);
        assert_int_equal(pith_plan_run(plan[i]), PITH_OK);
        for (uint32_t k = 0; k < pith_plan_output_count(plan[i]); k++) {
            assert_int_equal(pith_plan_output(plan[0], k, &first), PITH_OK);
            assert_int_equal(pith_plan_output(plan[i], k, &t), PITH_OK);
            assert_memory_equal(pith_plan_output_data(plan[0], k),
                                pith_plan_output_data(plan[i], k), t.bytes);
        }
    }
    for (int i = 0; i < 3; i++)
        free(mem[i]);
}

TEST(test_borrowed)
{
    borrowed(MATMUL);
    borrowed(MATMUL_BOTH_WAYS);
    borrowed(INTEGERS);
    borrowed(CONV_OF_SIZES);
    borrowed(CONV_TRANSPOSE_OF_SIZES);
}

TEST(test_lender_must_match)
{
    struct pith_plan *plan;
    struct pith_need need;
    uint64_t work_bytes;
    struct pith_opts opts = {.size_bytes = sizeof opts};
    build(MATMUL, 2, false);
    void *mem = gd_plan(&opts, &plan, &need);
    opts.weights_of = plan;
    opts.flags = PITH_FLAG_DENSE_ONLY;
    assert_int_equal(pith_plan_work_bytes(gd_image(), 0, &opts, &work_bytes), PITH_OK);
    void *work = aligned_alloc(64, (size_t)work_bytes);
    assert_int_equal(pith_plan_need(gd_image(), 0, &opts, work, (size_t)work_bytes, &need),
                     PITH_ERR_ARGUMENT);
    opts.flags = 0;
    opts.cpu_mask = PITH_CPU_REF;
    enum pith_status st = pith_plan_need(gd_image(), 0, &opts, work, (size_t)work_bytes, &need);
    assert_int_equal(st, pith_cpu_features() & PITH_BUILD_CPU ? PITH_ERR_ARGUMENT : PITH_OK);
    free(work);
    free(mem);
}

static void packed_once(enum kind kind, uint32_t forms)
{
    static struct result shared, own, few;
    run(kind, READERS, false, &shared);
    run(kind, READERS, true, &own);
    run(kind, forms, false, &few);
    assert_true(few.weights_bytes >= sizeof bytes);
    assert_int_equal(shared.weights_bytes, few.weights_bytes);
    assert_int_equal(shared.prepared, forms);
    assert_int_equal(own.prepared, READERS);
    assert_true(own.weights_bytes >= READERS / forms * few.weights_bytes);
    assert_int_equal(shared.n, own.n);
    assert_memory_equal(shared.y, own.y, own.n);
}

TEST(test_packed_once)
{
    packed_once(MATMUL, 1);
    packed_once(MATMUL_BOTH_WAYS, 2);
    packed_once(INTEGERS, 1);
}

/* Other sizes of pictures need the same panels. */
TEST(test_convolutions)
{
    packed_once(CONV_OF_SIZES, 1);
    packed_once(CONV_TRANSPOSE_OF_SIZES, 1);
}

int main(void)
{
    fill();
    return run_listed_tests(NULL, NULL);
}
