/* SPDX-License-Identifier: MIT */
/* test_onnx_graph.h - what tests look at inside of onnx/graph/, beside its interface, and why:
 *
 *     onnx.h: limits of the walk over a file, without what is built from it */
#ifndef TEST_ONNX_GRAPH_H
#define TEST_ONNX_GRAPH_H

#include "onnx.h"

#endif
