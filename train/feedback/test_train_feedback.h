/* SPDX-License-Identifier: MIT */
/* test_train_feedback.h - what tests look at inside of train/feedback/, beside its interface, and
 * why:
 *
 *     least_squares.h: systems solved without a network
 *     row_feedback.h: the noise that feedback makes of roundings
 *     row_paths.h: one row against a single path and against all rows there are
 *     row_steps.h: the steps told from it */
#ifndef TEST_TRAIN_FEEDBACK_H
#define TEST_TRAIN_FEEDBACK_H

#include "least_squares.h"
#include "row_feedback.h"
#include "row_paths.h"
#include "row_steps.h"

#endif
