/* SPDX-License-Identifier: MIT */
/* Coded weights and estimates of exported networks, by hand: bytes of two codes and their tables,
 * layers in the order of what they save, instructions and stack of each kind of core. */
#include <stdio.h>
#include <string.h>
#include "test_run.h"

#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_info.h"
#include "export/export.h"

#define N 64u

static uint32_t value(struct pith_model *m, enum pith_type type, uint32_t rank, uint32_t a,
                      uint32_t b, const void *data, size_t bytes)
{
    struct pith_value *v = &m->values[m->n_values];
    *v = (struct pith_value){
        .name = pith_model_strdup(m, ""), .type = type, .rank = rank, .dim = {a, b}};
    v->min = 1;
    if (data) {
        v->constant = pith_model_alloc(m, 1, sizeof *v->constant);
        v->constant->count = rank ? (uint64_t)a * b : 1;
        v->constant->data = pith_model_alloc(m, bytes, 1);
        memcpy(v->constant->data, data, bytes);
    }
    return m->n_values++;
}

static int32_t *node(struct pith_model *m, enum pith_op op, uint32_t y, uint32_t n_in,
                     const uint32_t *in)
{
    struct pith_node *n = &m->nodes[m->n_nodes++];
    const struct op_info *info = pith_op_get(op);
    *n = (struct pith_node){.name = pith_model_strdup(m, ""), .op = op, .n_in = n_in, .n_out = 1};
    n->attr = pith_model_alloc(m, info->n_slots + 1u, sizeof *n->attr);
    n->in = pith_model_alloc(m, n_in, sizeof *n->in);
    n->out = pith_model_alloc(m, 1, sizeof *n->out);
    pith_op_attr_defaults(info, n->attr);
    memcpy(n->in, in, n_in * sizeof *in);
    n->out[0] = y;
    return n->attr;
}

/* n_layers products of N bytes by w [N, N] each, one behind the other. */
static struct pith_model *products(uint32_t n_layers, const int8_t *const *w)
{
    const float scale = 0.5f, factor = 0.25f;
    const uint8_t zero = 128;
    struct pith_model *m;
    assert_int_equal(pith_model_new(NULL, &m), PITH_OK);
    m->values = pith_model_alloc(m, 32, sizeof *m->values);
    m->nodes = pith_model_alloc(m, 8, sizeof *m->nodes);
    m->inputs = pith_model_alloc(m, 1, sizeof *m->inputs);
    m->outputs = pith_model_alloc(m, 1, sizeof *m->outputs);
    uint32_t x = m->inputs[m->n_inputs++] = value(m, PITH_F32, 2, 1, N, NULL, 0);
    const uint32_t s = value(m, PITH_F32, 0, 1, 1, &scale, sizeof scale),
                   z = value(m, PITH_U8, 0, 1, 1, &zero, sizeof zero),
                   f = value(m, PITH_F32, 0, 1, 1, &factor, sizeof factor);
    for (uint32_t i = 0; i < n_layers; i++) {
        const uint32_t weight = value(m, PITH_I8, 2, N, N, w[i], N * N),
                       q = value(m, PITH_U8, 2, 1, N, NULL, 0),
                       sums = value(m, PITH_I32, 2, 1, N, NULL, 0),
                       y = value(m, PITH_F32, 2, 1, N, NULL, 0);
        node(m, PITH_OP_QUANTIZE, q, 3, (uint32_t[]){x, s, z})[ATTR_QUANTIZE_TYPE] = PITH_U8;
        node(m, PITH_OP_MATMUL_INTEGER, sums, 3, (uint32_t[]){q, weight, z})[ATTR_MATMUL_TRANS_B] =
            1;
        node(m, PITH_OP_DEQUANTIZE, y, 2, (uint32_t[]){sums, f});
        x = y;
    }
    m->outputs[m->n_outputs++] = x;
    return m;
}

static struct pith_export *exported(const struct pith_model *m, enum pith_export_target target,
                                    uint64_t flash_limit)
{
    struct pith_export_opts o;
    struct pith_export *e = NULL;
    struct pith_error err = {0};
    pith_export_opts_init(&o, sizeof o);
    o.target = target;
    o.no_files = true;
    o.flash_limit = flash_limit;
    if (pith_export_c(m, &o, &e, &err))
        print_message("%s\n", err.text);
    return e;
}

/* Half of all weights are 3, a quarter 7 and a quarter -100: codes of 1, 2 and 2 bits. */
static int8_t three_values(uint32_t i)
{
    return (int8_t)(i % 2 ? 3 : i % 4 ? 7 : -100);
}

static int8_t nine_bits(uint32_t i)
{
    return (int8_t)(i * 37 % 251 - 125);
}

#define AROUND (2 * 4 * N) /* bias and factor of each output of a layer */
#define TABLE 512u         /* of a code of at most 8 bits */

TEST(test_values)
{
    static int8_t w[N * N];
    const int8_t *const layer[] = {w};
    for (uint32_t i = 0; i < N * N; i++)
        w[i] = three_values(i);
    struct pith_model *m = products(1, layer);
    struct pith_export *e = exported(m, PITH_TARGET_GENERIC, 0);
    assert_non_null(e);
    assert_int_equal(e->model_bytes, N * N / 2 + TABLE + AROUND); /* pairs of codes of four bits */
    const uint64_t plain = e->model_bytes + e->code_bytes, arena = e->arena_bytes;
    const uint64_t instructions = e->instructions;
    pith_export_free(e);
    e = exported(m, PITH_TARGET_GENERIC, plain); /* nothing to do */
    assert_int_equal(e->model_bytes + e->code_bytes, plain);
    pith_export_free(e);
    e = exported(m, PITH_TARGET_GENERIC, plain - 1);
    assert_non_null(e);
    /* 12 bits for 8 weights, and two bytes read ahead */
    assert_int_equal(e->model_bytes, N * N * 12 / 64 + 2 + TABLE + AROUND);
    assert_int_equal(e->arena_bytes, arena + 2 * N); /* two filters */
    assert_int_equal(e->instructions, instructions + 16 * N * N);
    const uint64_t least = e->model_bytes + e->code_bytes;
    pith_export_free(e);
    assert_null(exported(m, PITH_TARGET_GENERIC, least - 1));
    pith_model_free(m);
}

/* 8 of the N weights of a row, 1 and -1, 8 apart: a sparse row has 8 distances of 8 or, the first,
 * 0, and a count of 8 and 0. */
TEST(test_nonzeros)
{
    static int8_t w[N * N];
    const int8_t *const layer[] = {w};
    for (uint32_t i = 0; i < N * N; i++)
        w[i] = (int8_t)(i % 8 ? 0 : i % 16 ? 1 : -1);
    struct pith_model *m = products(1, layer);
    struct pith_export *e = exported(m, PITH_TARGET_GENERIC, 0);
    assert_non_null(e);
    assert_int_equal(e->model_bytes, N * (2 + 2 * 8) + AROUND);
    const uint64_t plain = e->model_bytes, code = e->code_bytes, arena = e->arena_bytes;
    pith_export_free(e);
    /* so few bytes are not worth two tables */
    assert_null(exported(m, PITH_TARGET_GENERIC, plain + code - 1));
    pith_model_free(m);
    /* 16 of N weights, of 4 values: on a Cortex-M0 alone they are sparse */
    for (uint32_t i = 0; i < N * N; i++)
        w[i] = (int8_t)(i % 4 ? 0 : (int32_t)(i / 4 % 4) * 40 - 70);
    m = products(1, layer);
    e = exported(m, PITH_TARGET_GENERIC, 0);
    const uint64_t dense = e->model_bytes;
    pith_export_free(e);
    e = exported(m, PITH_TARGET_CORTEX_M0, 0);
    assert_int_equal(e->model_bytes, N * (2 + 2 * 16) + AROUND);
    const uint64_t limit = e->model_bytes + e->code_bytes - 1, before = e->instructions;
    pith_export_free(e);
    assert_int_equal(dense, N * (2 + 2 * 16) + AROUND);
    e = exported(m, PITH_TARGET_CORTEX_M0, limit);
    assert_non_null(e);
    /* Distances: 15 of 4, one of 0, counts 16 and 0 of each row: 1, 2 and 2 bits. Values: 2 bits.
     */
    assert_int_equal(e->model_bytes, N * (15 + 2 + 4 + 16 * 2) / 8 + 2 + 2 * TABLE + AROUND);
    assert_int_equal(e->arena_bytes, arena + 2 * (2 + 2 * 16));
    assert_int_equal(e->instructions, before + 16 * N * (2 + 2 * 16) * 250 / 100);
    pith_export_free(e);
    pith_model_free(m);
    /* none: counts of 0 alone, in a code of no bits */
    memset(w, 0, sizeof w);
    m = products(1, layer);
    e = exported(m, PITH_TARGET_GENERIC, 0);
    assert_int_equal(e->model_bytes, 2 * N + AROUND);
    pith_export_free(e);
    pith_model_free(m);
}

/* The layer that saves more is coded first, the other one where that is not enough. */
TEST(test_order)
{
    static int8_t w[2][N * N];
    const int8_t *const layer[] = {w[0], w[1]};
    for (uint32_t i = 0; i < N * N; i++)
        w[0][i] = w[1][i] = three_values(i);
    for (uint32_t i = 0; i < 20; i++) /* more values than codes of four bits have */
        w[0][i] = (int8_t)(i + 10);
    /* one that no code makes smaller is left alone, however large */
    static int8_t all[N * N];
    for (uint32_t i = 0; i < N * N; i++)
        all[i] = nine_bits(i);
    struct pith_model *m = products(2, (const int8_t *const[]){all, w[1]});
    struct pith_export *e = exported(m, PITH_TARGET_GENERIC, 0);
    assert_non_null(e);
    const uint64_t both = e->model_bytes + e->code_bytes;
    pith_export_free(e);
    e = exported(m, PITH_TARGET_GENERIC, both - 1);
    assert_non_null(e);
    assert_int_equal(e->layer[1].model_bytes, N * N + AROUND);
    pith_export_free(e);
    pith_model_free(m);
    m = products(2, layer);
    e = exported(m, PITH_TARGET_GENERIC, 0);
    assert_non_null(e);
    const uint64_t plain = e->model_bytes + e->code_bytes;
    const uint64_t first = e->layer[1].model_bytes, second = e->layer[3].model_bytes;
    assert_int_equal(first, N * N + AROUND);
    assert_int_equal(second, N * N / 2 + TABLE + AROUND);
    pith_export_free(e);
    e = exported(m, PITH_TARGET_GENERIC, plain - 1);
    assert_non_null(e);
    assert_true(e->layer[1].model_bytes < first / 2);
    assert_int_equal(e->layer[3].model_bytes, second);
    const uint64_t one = e->model_bytes + e->code_bytes;
    pith_export_free(e);
    e = exported(m, PITH_TARGET_GENERIC, one - 1);
    assert_non_null(e);
    assert_true(e->layer[1].model_bytes < first / 2);
    assert_true(e->layer[3].model_bytes < second - TABLE);
    assert_true(e->model_bytes + e->code_bytes < one);
    pith_export_free(e);
    pith_model_free(m);
}

/* Instructions of weights.c and target.c for a product of N by N to floats, behind a quantization.
 */
TEST(test_targets)
{
    static const struct {
        enum pith_export_target target;
        uint64_t instructions;
    } expected[] = {
        {PITH_TARGET_GENERIC, N * N * 2 + N * 15 + N * 25},
        {PITH_TARGET_CORTEX_M33, N * N * 2 + N * 15 + N * 25},
        {PITH_TARGET_CORTEX_M4, N * N * 2 + N * 80 + N * 260},
        {PITH_TARGET_CORTEX_M3, N * N * 380 / 100 + N * 80 + N * 260},
        {PITH_TARGET_RV32, N * N * 380 / 100 + N * 80 + N * 260},
        {PITH_TARGET_CORTEX_M0, N * N * 530 / 100 + N * 80 * 5 / 2 + N * 260 * 5 / 2},
    };
    static int8_t w[N * N];
    const int8_t *const layer[] = {w};
    for (uint32_t i = 0; i < N * N; i++)
        w[i] = nine_bits(i);
    struct pith_model *m = products(1, layer);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct pith_export *e = exported(m, expected[i].target, 0);
        assert_non_null(e);
        assert_int_equal(e->instructions, expected[i].instructions);
        assert_int_equal(e->stack_bytes, 240);
        assert_int_equal(e->macs, N * N);
        pith_export_free(e);
    }
    pith_model_free(m);
}

RUN_TESTS
