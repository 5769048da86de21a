/* SPDX-License-Identifier: MIT */
/* test_train_state.h - what tests look at inside of train/state/, beside its interface, and why:
 *
 *     checkpoint.h: what is no checkpoint of the run
 *     model_state.h: two runs end with the same bytes
 *     ranks.h: processes that here are threads
 *     snapshot.h: the model as it was, which the changed one is held against */
#ifndef TEST_TRAIN_STATE_H
#define TEST_TRAIN_STATE_H

#include "checkpoint.h"
#include "model_state.h"
#include "ranks.h"
#include "snapshot.h"

#endif
