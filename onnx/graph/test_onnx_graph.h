/* SPDX-License-Identifier: MIT */
/* test_onnx_graph.h - what tests look at inside of onnx/graph/, beside its interface, and why:
 *
 *     onnx.h: limits of the walk over a file, and the walk itself, without what is built from it;
 *             names of operators: the mutator of fuzz_onnx.c changes files that may be unpacked */
#ifndef TEST_ONNX_GRAPH_H
#define TEST_ONNX_GRAPH_H

#include "onnx.h"

#endif
