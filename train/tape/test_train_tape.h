/* SPDX-License-Identifier: MIT */
/* test_train_tape.h - what tests look at inside of train/tape/, beside its interface, and why:
 *
 *     fake_quant.h: the definition at every instruction set, gradients against differences
 *     fake_quant_graph.h: the network with its grids in the loop, forward and back
 *     tape.h: gradients of every operator against differences
 *     tape_state.h: which steps became one */
#ifndef TEST_TRAIN_TAPE_H
#define TEST_TRAIN_TAPE_H

#include "fake_quant.h"
#include "fake_quant_graph.h"
#include "tape.h"
#include "tape_state.h"

#endif
