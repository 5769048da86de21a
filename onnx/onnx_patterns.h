/* SPDX-License-Identifier: MIT */
/* onnx_patterns.h - what the files that recognise patterns share. */
#ifndef ONNX_PATTERNS_H
#define ONNX_PATTERNS_H

#include "onnx/graph/onnx.h"

struct matcher {
    struct onnx_import *im;
    uint32_t *made_by; /* node that makes a value, or ONNX_VALUE_NONE */
    uint32_t *n_uses;
    enum pith_status status; /* a constant could not be loaded, or memory is out */
};

/* The node that makes a value, or what was quantized and dequantized into it, when it is an `op`;
 * else NULL. */
const struct onnx_node *pith_match_maker(const struct matcher *m, uint32_t value, enum pith_op op);

/* A constant f32 of one element, or a byte that is dequantized: its value. */
bool pith_match_scalar(struct matcher *m, uint32_t value, float *x);

/* The value has one reader, and so has what was quantized and dequantized into it. */
bool pith_match_alone(const struct matcher *m, uint32_t value);

/* Node n becomes another operator with the inputs given; returns its attributes, defaults yet.
 * NULL: m->status has the reason. */
int32_t *pith_match_replace(struct matcher *m, uint32_t n, enum pith_op op, const uint32_t *in,
                            uint32_t n_in);

/* onnx_match_attention.c: node n is the last of an attention, or swaps its axes. */
void pith_match_attention(struct matcher *m, uint32_t n);
void pith_match_attention_layout(struct matcher *m, uint32_t n);

#endif
