/* SPDX-License-Identifier: MIT */
/* loop.h - what the executor calls for a loop. loop, end: the arguments of its two nodes. */
#ifndef LOOP_H
#define LOOP_H

#include "op_interface/op_exec.h"

/* After run() of LOOP: is there a first iteration? */
bool pith_loop_enters(const struct op_args *loop);

/* At the end of the body: collects, writes the next states, counts. end->prep: one bool for each
 * state, whether its next value lies where some state does; scratch: room for all those. true: once
 * more. */
bool pith_loop_step(const struct op_args *loop, const struct op_args *end, void *scratch);

#endif
