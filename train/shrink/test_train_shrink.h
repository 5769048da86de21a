/* SPDX-License-Identifier: MIT */
/* test_train_shrink.h - what tests look at inside of train/shrink/, beside its interface, and why:
 *
 *     parametrization.h: numbers of one tensor under support and grid, step by step
 *     grid.h: the learned step of a grid
 *     row_scale.h: rows and columns that are scaled, without training between
 *     gradual_pruning.h: which weights go, by count and by rate
 *     channel_dependency.h: which units feed which
 *     channel_permutation.h: the network answers as before, without training between
 *     weight_noise.h: exact derivatives, and draws of the right law */
#ifndef TEST_TRAIN_SHRINK_H
#define TEST_TRAIN_SHRINK_H

#include "parametrization.h"
#include "grid.h"
#include "row_scale.h"
#include "gradual_pruning.h"
#include "channel_dependency.h"
#include "channel_permutation.h"

#endif
