/* SPDX-License-Identifier: MIT */
#ifndef ONNX_QDQ_H
#define ONNX_QDQ_H

#include "onnx/graph/onnx.h"

/* l is a QuantizeLinear to `type`: where what it quantizes can be computed in integers, it is, and
 * l->done is set. */
enum pith_status pith_onnx_quantized_in_integers(struct onnx_lower *l, enum pith_type type);

/* The same for a Conv, Gemm or MatMul, or the Add behind it, that gives floats. */
enum pith_status pith_onnx_layer_in_integers(struct onnx_lower *l);

/* Input i is a scale: where it is constant, finite and not negative; a divisor is not 0 either. */
enum pith_status pith_onnx_check_scale(struct onnx_lower *l, uint32_t i, bool divisor);

/* Where *w and its zero point are constants and all their distances fit i8, *w becomes those and
 * *zero ONNX_VALUE_NONE: kernels take weights around 0. u8 that do not fit, with one zero point,
 * become i8 with one. rows: outputs are the first axis of *w, else the last. */
enum pith_status pith_onnx_center_weight(struct onnx_lower *l, bool rows, uint32_t *w,
                                         uint32_t *zero);

#endif
