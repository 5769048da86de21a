/* SPDX-License-Identifier: MIT */
/* onnx_loop_count.h - how often a Loop runs whose condition counts. Internal. */
#ifndef ONNX_LOOP_COUNT_H
#define ONNX_LOOP_COUNT_H

#include "onnx/graph/onnx.h"

/* l: the begin of a Loop, which runs at least once. wanted: the iteration as its body sees it.
 * *counted: its next condition reads nothing but numbers that are known, the iteration and states
 * that do; *trips is then how often it runs, at most what it was. */
enum pith_status pith_onnx_count_trips(struct onnx_lower *l, uint32_t wanted, int64_t *trips,
                                       bool *counted);

#endif
