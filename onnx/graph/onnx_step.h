/* SPDX-License-Identifier: MIT */
/* onnx_step.h - for lowerings that make several nodes of one: each call appends a node (or folds
 * it) and gives the value it makes, to be passed on.
 *
 *     struct onnx_steps s = {l, PITH_OK};
 *     uint32_t y = pith_step_two(&s, PITH_OP_MUL, x, pith_step_scalar(&s, 2.0f));
 *     return pith_step_result(&s, 0, y);
 *
 * After a failure calls do nothing and give ONNX_VALUE_NONE; pith_step_result returns the first
 * status. */
#ifndef ONNX_STEP_H
#define ONNX_STEP_H

#include "onnx.h"

struct onnx_steps {
    struct onnx_lower *l;
    enum pith_status status;
};

struct step_attr {
    uint32_t slot;
    int32_t value;
};

/* Operator `op` with default attributes but for the n_attr given. */
uint32_t pith_step(struct onnx_steps *s, enum pith_op op, uint32_t n_in, const uint32_t *in,
                   uint32_t n_attr, const struct step_attr *attr);
/* The last one: what it makes is output 0 of the node being lowered, under its name. */
enum pith_status pith_step_last(struct onnx_steps *s, enum pith_op op, uint32_t n_in,
                                const uint32_t *in, uint32_t n_attr, const struct step_attr *attr);
uint32_t pith_step_two(struct onnx_steps *s, enum pith_op op, uint32_t a, uint32_t b);
/* UNARY of enum unary_kind. */
uint32_t pith_step_unary(struct onnx_steps *s, int32_t kind, uint32_t x);
/* Lists of rank entries; dims: 0 copies, -1 is what is left. */
uint32_t pith_step_reshape(struct onnx_steps *s, uint32_t x, uint32_t rank, const int32_t *dims);
uint32_t pith_step_transpose(struct onnx_steps *s, uint32_t x, uint32_t rank, const int32_t *perm);
uint32_t pith_step_concat(struct onnx_steps *s, int32_t axis, uint32_t a, uint32_t b);
/* x[start:end:step] of one axis. */
uint32_t pith_step_slice(struct onnx_steps *s, uint32_t x, int32_t axis, int32_t start, int32_t end,
                         int32_t step);
/* Constants. *data: zeroed elements to fill. */
uint32_t pith_step_constant(struct onnx_steps *s, enum pith_type type, uint32_t rank,
                            const uint32_t *dims, void **data);
uint32_t pith_step_scalar(struct onnx_steps *s, float v);
/* Output i of the node is `value`; nothing more will be emitted for the node. */
enum pith_status pith_step_result(struct onnx_steps *s, uint32_t i, uint32_t value);

#endif
