/* SPDX-License-Identifier: MIT */
/* gemm_model.h - small models for tests of the stages: x [1, C] -> fc1 -> relu -> fc2 -> relu ...
 * Values: 0 is the input; layer k has weight "fc<k>.w" [O, C], outputs "fc<k>.y" and "fc<k>.r". */
#ifndef GEMM_MODEL_H
#define GEMM_MODEL_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/op_number.h"
#include "op_interface/op_info.h"
#include "pith_model.h"

struct test_random {
    uint64_t state;
};

static inline uint64_t test_next(struct test_random *r)
{
    r->state ^= r->state >> 12;
    r->state ^= r->state << 25;
    r->state ^= r->state >> 27;
    return r->state * 0x2545f4914f6cdd1du;
}

/* The seed of a random test, printed so that a failure can be repeated (TEST_SEED). */
static inline struct test_random test_seed(uint64_t fallback)
{
    const char *text = getenv("TEST_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 0) : fallback;
    fprintf(stderr, "# seed %llu\n", (unsigned long long)seed);
    struct test_random r = {seed * 2 + 1};
    for (int i = 0; i < 8; i++)
        (void)test_next(&r);
    return r;
}

static inline uint32_t test_below(struct test_random *r, uint32_t n)
{
    return (uint32_t)((test_next(r) >> 32) * n >> 32);
}

/* About normal: a sum of twelve uniforms. */
static inline float test_gauss(struct test_random *r)
{
    double s = -6;
    for (int i = 0; i < 12; i++)
        s += (double)(test_next(r) >> 11) * 0x1p-53;
    return (float)s;
}

static inline uint32_t add_value(struct pith_model *m, const char *name, uint32_t rank,
                                 const uint32_t *dim)
{
    struct pith_value *v = &m->values[m->n_values];
    v->name = pith_model_strdup(m, name);
    v->type = PITH_F32;
    v->rank = rank;
    v->min = 1;
    if (rank)
        memcpy(v->dim, dim, rank * sizeof *dim);
    return m->n_values++;
}

static inline uint32_t add_weight(struct pith_model *m, const char *name, uint32_t rank,
                                  const uint32_t *dim)
{
    uint32_t v = add_value(m, name, rank, dim);
    struct pith_const *c = pith_model_alloc(m, 1, sizeof *c);
    c->count = 1;
    for (uint32_t i = 0; i < rank; i++)
        c->count *= dim[i];
    c->data = pith_model_alloc(m, c->count, sizeof(float));
    m->values[v].constant = c;
    return v;
}

static inline void add_node(struct pith_model *m, const char *name, uint32_t op, uint32_t n_in,
                            const uint32_t *in, uint32_t out)
{
    const struct op_info *info = pith_op_get(op);
    struct pith_node *node = &m->nodes[m->n_nodes++];
    node->name = pith_model_strdup(m, name);
    node->op = op;
    node->attr = pith_model_alloc(m, info->n_slots ? info->n_slots : 1, sizeof *node->attr);
    pith_op_attr_defaults(info, node->attr);
    node->n_in = n_in;
    node->in = pith_model_alloc(m, n_in, sizeof *node->in);
    memcpy(node->in, in, n_in * sizeof *in);
    node->n_out = 1;
    node->out = pith_model_alloc(m, 1, sizeof *node->out);
    node->out[0] = out;
}

/* widths: n_layers + 1 of them. Weights are zero. */
static inline struct pith_model *gemm_model(const uint32_t *widths, uint32_t n_layers)
{
    struct pith_model *m;
    if (pith_model_new(NULL, &m))
        abort();
    m->values = pith_model_alloc(m, 1 + 3 * n_layers, sizeof *m->values);
    m->nodes = pith_model_alloc(m, 2 * n_layers, sizeof *m->nodes);
    m->inputs = pith_model_alloc(m, 1, sizeof *m->inputs);
    m->outputs = pith_model_alloc(m, 1, sizeof *m->outputs);
    m->n_inputs = m->n_outputs = 1;
    uint32_t x = add_value(m, "x", 2, (uint32_t[]){1, widths[0]});
    m->inputs[0] = x;
    for (uint32_t k = 0; k < n_layers; k++) {
        char name[24], part[32];
        snprintf(name, sizeof name, "fc%u", k + 1);
        snprintf(part, sizeof part, "%s.w", name);
        uint32_t w = add_weight(m, part, 2, (uint32_t[]){widths[k + 1], widths[k]});
        snprintf(part, sizeof part, "%s.y", name);
        uint32_t y = add_value(m, part, 2, (uint32_t[]){1, widths[k + 1]});
        add_node(m, name, PITH_OP_GEMM, 2, (uint32_t[]){x, w}, y);
        snprintf(part, sizeof part, "%s.r", name);
        x = add_value(m, part, 2, (uint32_t[]){1, widths[k + 1]});
        add_node(m, part, PITH_OP_RELU, 1, &y, x);
    }
    m->outputs[0] = x;
    return m;
}

static inline struct pith_const *weight_of_layer(struct pith_model *m, uint32_t k)
{
    return m->values[1 + 3 * k].constant;
}

static inline float *data_of_layer(struct pith_model *m, uint32_t k)
{
    return weight_of_layer(m, k)->data;
}

static inline void fill_gauss(struct pith_model *m, uint32_t k, struct test_random *r)
{
    struct pith_const *c = weight_of_layer(m, k);
    for (uint64_t i = 0; i < c->count; i++)
        ((float *)c->data)[i] = test_gauss(r);
}

#endif
