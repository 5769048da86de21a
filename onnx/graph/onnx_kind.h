/* SPDX-License-Identifier: MIT */
/* onnx_kind.h - operators of ONNX that are one operator here, distinguished by its attribute
 * `kind`: one table for import and export. */
#ifndef ONNX_KIND_H
#define ONNX_KIND_H

#include <stdint.h>

/* The kind of op_type; -1: none of this operator's. */
int32_t pith_onnx_kind(uint32_t op, const char *op_type);

/* What opset 13 calls it; NULL: it has no such operator. */
const char *pith_onnx_kind_name(uint32_t op, int32_t kind);

#endif
