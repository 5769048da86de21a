/* SPDX-License-Identifier: MIT */
/* activate.h - the scalar definition of every activation, for the activation operators and for
 * the epilogues of Conv, Gemm and MatMul (op_exec.h: struct epilogue).
 *
 * NaN: passes through all of them. RELU and CLIP keep -0 where it lies within the bounds: they are
 * `x < lo ? lo : x`, what SSE's max(lo, x) with x as second operand computes. CLIP with min > max
 * gives max, as ONNX says. */
#ifndef ACTIVATE_H
#define ACTIVATE_H

#include <stddef.h>
#include "kernels/act_kind.h"

float pith_activate(enum act_kind act, float a, float b, float x);

/* y[i] = act(x[i]) for i < n; y may be x. */
void pith_activate_row(enum act_kind act, float a, float b, const float *x, float *y, size_t n);

#endif
