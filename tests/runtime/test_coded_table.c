/* SPDX-License-Identifier: MIT */
/* test_coded_table.c - a table that Gather looks up in stays coded in the file where memory is
 * short. */
#define GRAPH_DOUBLE_READER
#include "graph_double.h"
#include "op_interface/op_attr.h"
#include <math.h>
#include <stdio.h>
#include "plan/plan.h"

enum { WIDE = 256 };

/* Every second number is 0, by a bitmap. */
static uint32_t coded_table(void)
{
    static float half[WIDE * WIDE / 2];
    static uint8_t bitmap[WIDE * WIDE / 8];
    for (uint32_t i = 0; i < WIDE * WIDE / 2; i++)
        half[i] = (float)(i % 11) - 5;
    memset(bitmap, 0x55, sizeof bitmap);
    uint32_t w = gd_weight(half, 2, WIDE, WIDE);
    struct weight *coded = &gd.weight[0];
    coded->nnz = coded->count / 2;
    coded->support = SUPPORT_BITMAP;
    coded->support_stream = (struct stream){bitmap, sizeof bitmap};
    coded->index_stream.n_bytes /= 2;
    return w;
}

static void set_gather_axis(int32_t *attr, void *arg)
{
    attr[ATTR_GATHER_AXIS] = *(int32_t *)arg;
}

enum { IDS = 5 };

/* Rows (axis 0) or columns of a coded table. also: somebody adds it to itself. Returns the kernel,
 * y. */
static const char *look_up(int32_t axis, bool also, uint32_t flags, uint64_t *bytes,
                           float y[IDS * WIDE])
{
    static const int32_t ids[IDS] = {WIDE - 1, 3, -2, 3, 0};
    struct pith_need need;
    struct pith_plan *plan;
    struct pith_layer layer;
    gd_clear();
    uint32_t x = gd_input(1, IDS), w;
    gd_input_type(PITH_I32);
    w = coded_table();
    gd_output(gd_node(PITH_OP_GATHER, set_gather_axis, &axis, 1, 2, w, x));
    if (also)
        gd_output(gd_node(PITH_OP_ADD, NULL, NULL, 1, 2, w, w));
    struct pith_opts opts = {.size_bytes = sizeof opts, .cpu_mask = PITH_CPU_REF, .flags = flags};
    void *mem = gd_plan(&opts, &plan, &need);
    *bytes = need.bytes;
    assert_int_equal(pith_plan_layer(plan, 0, &layer), PITH_OK);
    memcpy(pith_plan_input_data(plan, 0), ids, sizeof ids);
    assert_int_equal(pith_plan_run(plan), PITH_OK);
    memcpy(y, pith_plan_output_data(plan, 0), IDS * WIDE * sizeof *y);
    free(mem);
    return layer.kernel;
}

/* Where there is little memory a table stays in the file, whatever is looked up in it. */
TEST(test_coded_table)
{
    static float once[IDS * WIDE], direct[IDS * WIDE];
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t expanded, coded;
        bool also = i / 2;
        look_up((int32_t)(i % 2), also, PITH_FLAG_DECODE_ONCE, &expanded, once);
        assert_string_equal(look_up((int32_t)(i % 2), also, 0, &coded, direct), "coded");
        assert_memory_equal(direct, once, sizeof once);
        if (!also)
            assert_true(coded + WIDE * WIDE * sizeof(float) - 2048 < expanded);
        if (i == 0)
            assert_true(direct[2 * WIDE] != 0 || direct[2 * WIDE + 1] != 0);
    }
}

static void set_elements(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_GATHER_KIND] = 1;
}

/* Single elements of a table are no rows: it is decoded first. */
TEST(test_elements)
{
    static const int32_t ids[2 * WIDE] = {3, [WIDE] = -1};
    struct pith_need need;
    struct pith_plan *plan;
    gd_clear();
    uint32_t x = gd_input(2, 2, WIDE);
    gd_input_type(PITH_I32);
    uint32_t w = coded_table();
    gd_output(gd_node(PITH_OP_GATHER, set_elements, NULL, 1, 2, w, x));
    struct pith_opts opts = {.size_bytes = sizeof opts, .cpu_mask = PITH_CPU_REF};
    void *mem = gd_plan(&opts, &plan, &need);
    memcpy(pith_plan_input_data(plan, 0), ids, sizeof ids);
    assert_int_equal(pith_plan_run(plan), PITH_OK);
    const float *y = pith_plan_output_data(plan, 0);
    /* of column 0, each second number of the table in its order */
    assert_true(y[0] == (float)(3 * WIDE / 2 % 11) - 5);
    assert_true(y[WIDE] == (float)((WIDE - 1) * WIDE / 2 % 11) - 5);
    assert_true(y[1] == 0 && y[2] == (float)(1 % 11) - 5);
    free(mem);
}

RUN_TESTS
