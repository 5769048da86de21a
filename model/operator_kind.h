/* SPDX-License-Identifier: MIT */
/* operator_kind.h - operators of ONNX that are one operator here, distinguished by its attribute
 * `kind`: one table for import, export and messages. */
#ifndef OPERATOR_KIND_H
#define OPERATOR_KIND_H

#include "pith_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kind of op_type; -1: none of this operator's. */
int32_t pith_onnx_kind(uint32_t op, const char *op_type);

/* What opset 13 calls it; NULL: it has no such operator. */
const char *pith_onnx_kind_name(uint32_t op, int32_t kind);

/* For messages: "Elu", where pith_op_text says "Unary". */
const char *pith_node_text(const struct pith_node *node);

#ifdef __cplusplus
}
#endif
#endif
