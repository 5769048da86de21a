/* SPDX-License-Identifier: MIT */
/* test_train_feedback.h - what tests look at inside of train/feedback/, beside its interface, and
 * why:
 *
 *     row_steps.h: the steps computed from it */
#ifndef TEST_TRAIN_FEEDBACK_H
#define TEST_TRAIN_FEEDBACK_H

#include "row_steps.h"

#endif
