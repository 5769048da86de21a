/* SPDX-License-Identifier: MIT */
/* conv_chain.h - a small network of each kind of layer that rd/ looks at, and samples for it:
 *
 *     x [1, 4, 6, 6] -> conv 3x3, 8 of 2 groups -> relu -> depthwise 3x3 -> add its input
 *       -> conv 1x1, 6 -> average over places -> flatten -> gemm, 5
 *
 * One test program includes it. */
#ifndef CONV_CHAIN_H
#define CONV_CHAIN_H

#include "gemm_model.h"
#include "pith_data.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

enum { SAMPLES = 40, ELEMS = 4 * 6 * 6 };

static inline uint32_t chain_weight(struct pith_model *m, struct test_random *r, const char *name,
                                    uint32_t rank, const uint32_t *dim, float size)
{
    uint32_t v = add_weight(m, name, rank, dim);
    float *w = m->values[v].constant->data;
    for (uint64_t i = 0; i < m->values[v].constant->count; i++)
        w[i] = size * test_gauss(r);
    return v;
}

static inline void set_list(int32_t *slot, int32_t a, uint32_t n)
{
    slot[0] = (int32_t)n;
    for (uint32_t i = 0; i < n; i++)
        slot[1 + i] = a;
}

static inline uint32_t chain_conv(struct pith_model *m, struct test_random *r, const char *name,
                                  uint32_t x, const uint32_t *dim, int32_t groups)
{
    char text[32];
    snprintf(text, sizeof text, "%s.w", name);
    uint32_t w = chain_weight(m, r, text, 4, dim, 0.4f);
    snprintf(text, sizeof text, "%s.b", name);
    uint32_t b = chain_weight(m, r, text, 1, dim, 0.1f);
    uint32_t out = add_value(m, name, 4, (uint32_t[]){1, dim[0], 6, 6});
    add_node(m, name, PITH_OP_CONV, 3, (uint32_t[]){x, w, b}, out);
    int32_t *attr = m->nodes[m->n_nodes - 1].attr;
    attr[ATTR_CONV_GROUP] = groups;
    set_list(attr + ATTR_CONV_PADS, dim[2] == 3, 4);
    return out;
}

static inline struct pith_model *chain_new(uint64_t seed)
{
    struct test_random r = {seed * 2 + 1};
    struct pith_model *m = NULL;
    if (pith_model_new(NULL, &m))
        abort();
    m->values = pith_model_alloc(m, 32, sizeof *m->values);
    m->nodes = pith_model_alloc(m, 16, sizeof *m->nodes);
    m->inputs = pith_model_alloc(m, 1, sizeof *m->inputs);
    m->outputs = pith_model_alloc(m, 1, sizeof *m->outputs);
    m->n_inputs = m->n_outputs = 1;
    m->inputs[0] = add_value(m, "x", 4, (uint32_t[]){1, 4, 6, 6});
    uint32_t a = chain_conv(m, &r, "grouped", m->inputs[0], (uint32_t[]){8, 2, 3, 3}, 2);
    uint32_t relu = add_value(m, "relu", 4, (uint32_t[]){1, 8, 6, 6});
    add_node(m, "relu", PITH_OP_RELU, 1, &a, relu);
    uint32_t d = chain_conv(m, &r, "depthwise", relu, (uint32_t[]){8, 1, 3, 3}, 8);
    uint32_t sum = add_value(m, "sum", 4, (uint32_t[]){1, 8, 6, 6});
    add_node(m, "sum", PITH_OP_ADD, 2, (uint32_t[]){relu, d}, sum);
    uint32_t p = chain_conv(m, &r, "point", sum, (uint32_t[]){6, 8, 1, 1}, 1);
    uint32_t mean = add_value(m, "mean", 4, (uint32_t[]){1, 6, 1, 1});
    add_node(m, "mean", PITH_OP_GLOBAL_AVERAGE_POOL, 1, &p, mean);
    uint32_t flat = add_value(m, "flat", 2, (uint32_t[]){1, 6});
    add_node(m, "flat", PITH_OP_FLATTEN, 1, &mean, flat);
    uint32_t w = chain_weight(m, &r, "fc.w", 2, (uint32_t[]){5, 6}, 1);
    uint32_t b = chain_weight(m, &r, "fc.b", 1, (uint32_t[]){5}, 0.1f);
    m->outputs[0] = add_value(m, "y", 2, (uint32_t[]){1, 5});
    add_node(m, "fc", PITH_OP_GEMM, 3, (uint32_t[]){flat, w, b}, m->outputs[0]);
    int32_t *attr = m->nodes[m->n_nodes - 1].attr;
    attr[ATTR_GEMM_TRANS_B] = 1;
    return m;
}

/* Neighbours are alike, as in pictures. */
static inline struct pith_data *chain_data(uint64_t seed)
{
    struct test_random r = {seed * 2 + 1};
    struct pith_data *data;
    float *x = malloc(SAMPLES * ELEMS * sizeof *x);
    for (int i = 0; i < SAMPLES * ELEMS && x; i++)
        x[i] = test_gauss(&r) + (i % 6 ? 0.8f * x[i - 1] : 0);
    if (!x || pith_data_of_numbers(
                  &(struct pith_numbers){
                      .rank = 4, .dim = (uint32_t[]){1, 4, 6, 6}, .n = SAMPLES, .x = x},
                  &data, NULL))
        abort();
    return data;
}

#endif
