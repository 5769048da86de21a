/* SPDX-License-Identifier: MIT */
/* test_compress_goal.h - what tests look at inside of compress/goal/, beside its interface, and
 * why:
 *
 *     goal_checkpoint.h: files damaged, cut short, of another search
 *     output_kind.h: what outputs are, of networks made for it
 *     sweep_encoder.h: which samples it calibrates by
 *     sample_split.h: that no sample is in two parts
 *     uncertain_loss.h: of networks that are certain of all samples but few */
#ifndef TEST_COMPRESS_GOAL_H
#define TEST_COMPRESS_GOAL_H

#include "goal_checkpoint.h"
#include "measure/class_output.h"
#include "sample_split.h"
#include "sweep_encoder.h"
#include "uncertain_loss.h"

#endif
