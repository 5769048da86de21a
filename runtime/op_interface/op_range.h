/* SPDX-License-Identifier: MIT */
/* op_range.h - an operator's independent items (rows, planes, elements) cut into ranges for
 * threads. Every item is computed alike wherever its range ends, so results never depend on the
 * number of threads. */
#ifndef OP_RANGE_H
#define OP_RANGE_H

#include "op_interface/op_exec.h"

typedef void pith_range_body(void *arg, size_t begin, size_t end);

/* Calls body on ranges that cover 0..n-1 once. item_work: elements touched per item; small jobs
 * stay on the calling thread, because waking another one costs more than they take. */
void pith_op_range(const struct op_env *env, size_t n, size_t item_work, pith_range_body *body,
                   void *arg);

#endif
