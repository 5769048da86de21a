/* SPDX-License-Identifier: MIT */
/* onnx_patterns.h - what the files that recognise patterns share. */
#ifndef ONNX_PATTERNS_H
#define ONNX_PATTERNS_H

#include "onnx/graph/onnx_step.h"

/* A node that was put in, and what it is known by: another of the same kind is not put in again. */
struct match_insert {
    uint32_t before, n_nodes; /* 0: it was folded */
    enum pith_op op;          /* PITH_OP_END: no node but a constant, in[0] its bits */
    uint32_t n_in, in[3], out;
    int32_t attr; /* slot 1 */
};

struct matcher {
    struct onnx_import *im;
    uint32_t n_values, n_nodes; /* of the file: what is put in has larger numbers */
    uint32_t *made_by;          /* node that makes a value, or ONNX_VALUE_NONE */
    uint32_t *n_uses;
    uint32_t n_inserted, cap_inserted;
    struct match_insert *inserted;
    enum pith_status status; /* a constant could not be loaded, or memory is out */
};

/* The node that makes a value, or what was quantized and dequantized into it; NULL: an input, a
 * constant, or what was put in. */
const struct onnx_node *pith_match_source(const struct matcher *m, uint32_t value);

/* The same when it is an `op`, else NULL. */
const struct onnx_node *pith_match_maker(const struct matcher *m, uint32_t value, enum pith_op op);

/* A constant f32 of one element, or a byte that is dequantized: its value. */
bool pith_match_scalar(struct matcher *m, uint32_t value, float *x);

/* The value has one reader, and so has what was quantized and dequantized into it. */
bool pith_match_alone(const struct matcher *m, uint32_t value);

/* Node n becomes another operator with the inputs given; returns its attributes, defaults yet.
 * NULL: m->status has the reason. */
int32_t *pith_match_replace(struct matcher *m, uint32_t n, enum pith_op op, const uint32_t *in,
                            uint32_t n_in);

struct new_node {
    enum pith_op op;
    uint32_t n_in;
    const uint32_t *in;
    uint32_t n_attr;
    const struct step_attr *attr;
};

/* A new node before node n: the value that it makes. Nodes and values may move. After a failure
 * (m->status) nothing more is done. */
uint32_t pith_match_insert(struct matcher *m, uint32_t n, const struct new_node *node);
uint32_t pith_match_constant(struct matcher *m, uint32_t n, float x);

/* onnx_match_attention.c: node n (a MatMul, or a Reshape) is the last of an attention, or (a
 * Transpose) swaps its axes. */
void pith_match_attention(struct matcher *m, uint32_t n);
void pith_match_attention_layout(struct matcher *m, uint32_t n);

#endif
