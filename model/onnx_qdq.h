/* SPDX-License-Identifier: MIT */
#ifndef ONNX_QDQ_H
#define ONNX_QDQ_H

#include "onnx.h"

/* l is a QuantizeLinear to `type`: where what it quantizes can be computed in integers, it is, and
 * l->done is set. */
enum pith_status pith_onnx_quantized_in_integers(struct onnx_lower *l, enum pith_type type);

#endif
