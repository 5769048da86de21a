/* SPDX-License-Identifier: MIT */
/* test_train_batch.h - what tests look at inside of train/batch/, beside its interface, and why:
 *
 *     augment.h: what each amount does to a picture whose answer is known
 *     augment_batch.h: samples of a slice, each by its place in the run
 *     loss.h: value and gradient against differences
 *     validation.h: evaluated by several processes, which here are threads */
#ifndef TEST_TRAIN_FEED_H
#define TEST_TRAIN_FEED_H

#include "augment.h"
#include "augment_batch.h"
#include "loss.h"
#include "validation.h"

#endif
