/* SPDX-License-Identifier: MIT */
/* Attention as the device runs it (device_case.h), for all layouts and kinds of mask, beside the
 * CPU's reference. */
#include "device_case.h"

static uint64_t seed = 17;

enum mask_kind { MASK_NONE, MASK_ADDED, MASK_KEEP, MASK_FILL };

struct attention_case {
    uint32_t batch, heads, m, n, d, e, layout;
    enum mask_kind mask;
    bool masks_rows;        /* else one for all queries and heads */
    uint32_t shared, again; /* heads that read the same keys; samples / masks of samples */
};

static void input(struct one_op *t, uint32_t i, const uint32_t dim[4], bool rows_first)
{
    const uint32_t swapped[4] = {dim[0], dim[2], dim[1], dim[3]};
    one_op_in(t, i, PITH_F32, 4, rows_first ? swapped : dim, NULL);
    size_t n = shape_elems(&t->in[i].shape);
    float *data = malloc(n * sizeof *data);
    for (size_t k = 0; k < n; k++)
        data[k] = random_f32(&seed);
    t->in[i].data = data;
}

/* Bool masks hide some keys, of one query all; added ones have an infinity. */
static void mask_input(struct one_op *t, const struct attention_case *c)
{
    const uint32_t rows[4] = {c->batch / c->again, 1, c->m, c->n}, one[2] = {1, c->n};
    bool is_f32 = c->mask == MASK_ADDED;
    one_op_in(t, 3, is_f32 ? PITH_F32 : PITH_BOOL, c->masks_rows ? 4 : 2,
              c->masks_rows ? rows : one, NULL);
    size_t n = shape_elems(&t->in[3].shape);
    uint8_t *data = malloc(n * (is_f32 ? sizeof(float) : 1));
    for (size_t k = 0; k < n; k++) {
        uint32_t r = (uint32_t)(random_u64(&seed) >> 40) % 4;
        if (is_f32)
            ((float *)(void *)data)[k] = r ? random_f32(&seed) : -INFINITY;
        else
            data[k] = (r == 0) != (c->mask == MASK_KEEP);
    }
    if (c->mask == MASK_KEEP && c->masks_rows)
        memset(data, 0, c->n);
    t->in[3].data = data;
}

static void check_case(const struct attention_case *c)
{
    struct one_op t;
    struct guarded in[ONE_OP_MAX];
    one_op_open(&t, PITH_OP_ATTENTION, c->mask == MASK_NONE ? 3 : 4, 1);
    t.kernels = &reference;
    t.attr[ATTR_ATTENTION_SCALE] = (int32_t)f32_bits(0.3f);
    if (c->mask == MASK_FILL || c->mask == MASK_KEEP)
        t.attr[ATTR_ATTENTION_FILL] = (int32_t)f32_bits(-1e4f);
    t.attr[ATTR_ATTENTION_KEEP] = c->mask == MASK_KEEP;
    t.attr[ATTR_ATTENTION_LAYOUT] = (int32_t)c->layout;
    input(&t, 0, (uint32_t[]){c->batch, c->heads, c->m, c->d}, c->layout & 1u);
    input(&t, 1, (uint32_t[]){c->batch, c->heads / c->shared, c->n, c->d}, c->layout & 2u);
    input(&t, 2, (uint32_t[]){c->batch, c->heads / c->shared, c->n, c->e}, c->layout & 4u);
    if (c->mask != MASK_NONE)
        mask_input(&t, c);
    assert_int_equal(one_op_shape(&t), PITH_OK);
    guard_inputs(&t, in);
    one_op_run(&t, false);
    size_t n = shape_elems(&t.out[0].shape);
    double *bound = malloc(n * sizeof *bound);
    for (size_t i = 0; i < n; i++)
        bound[i] = 2.0 * (c->d + c->n) * 8 / 16777216; /* values and scores are below some 8 */
    struct step s = {.args = t.args};
    assert_true(try_device("attention", &s, bound));
    one_op_close(&t);
    free(bound);
    for (uint32_t i = 0; i < t.args.n_in; i++)
        guard_free(&in[i]);
}

TEST(test_attention)
{
    static const struct attention_case of[] = {
        {1, 2, 9, 33, 16, 16, 0, MASK_NONE, false, 1, 1},
        {2, 3, 8, 31, 20, 40, 15, MASK_ADDED, true, 3, 1},
        {1, 1, 1, 1, 1, 1, 0, MASK_NONE, false, 1, 1},
        {4, 2, 17, 70, 33, 7, 6, MASK_KEEP, true, 1, 2},
        {1, 4, 5, 64, 64, 64, 9, MASK_FILL, false, 2, 1},
        {1, 2, 12, 100, 3, 256, 1, MASK_ADDED, false, 1, 1},
        {2, 1, 3, 40, 256, 65, 8, MASK_FILL, true, 1, 1},
        {1, 2, 30, 5, 12, 33, 4, MASK_KEEP, false, 2, 1},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        check_case(&of[i]);
}

/* A query that sees no key at all gets 0. */
TEST(test_no_key)
{
    struct attention_case c = {1, 1, 2, 40, 8, 8, 0, MASK_ADDED, true, 1, 1};
    struct one_op t;
    one_op_open(&t, PITH_OP_ATTENTION, 4, 1);
    t.kernels = &reference;
    input(&t, 0, (uint32_t[]){1, 1, c.m, c.d}, false);
    input(&t, 1, (uint32_t[]){1, 1, c.n, c.d}, false);
    input(&t, 2, (uint32_t[]){1, 1, c.n, c.e}, false);
    mask_input(&t, &c);
    float *mask = t.in[3].data;
    for (uint32_t i = 0; i < c.n; i++)
        mask[i] = -INFINITY;
    for (uint32_t i = c.n; i < c.n + 32; i++) /* the other's first visible keys come late */
        mask[i] = -INFINITY;
    struct guarded in[ONE_OP_MAX];
    assert_int_equal(one_op_shape(&t), PITH_OK);
    guard_inputs(&t, in);
    one_op_run(&t, false);
    double bound[16];
    for (size_t i = 0; i < 16; i++)
        bound[i] = 1e-5;
    assert_true(((float *)t.out[0].data)[0] == 0.0f);
    struct step s = {.args = t.args};
    assert_true(try_device("no key", &s, bound));
    one_op_close(&t);
    for (uint32_t i = 0; i < 4; i++)
        guard_free(&in[i]);
}

RUN_IN_BOTH
