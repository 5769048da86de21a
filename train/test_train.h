/* SPDX-License-Identifier: MIT */
/* test_train.h - what tests look at inside of train/, beside its interface, and why:
 *
 *     fold_norms.h: how far answers move when a network is folded
 *     schedule.h: the rate of each step
 *     teacher_memory.h: how often the teacher runs */
#ifndef TEST_TRAIN_H
#define TEST_TRAIN_H

#include "fold_norms.h"
#include "schedule.h"
#include "teacher_memory.h"

#endif
