/* SPDX-License-Identifier: MIT */
/* schedule.h - the learning rate of a step. */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include "pith_train.h"

/* step: 0 .. n_steps - 1. */
double pith_schedule_rate(const struct pith_train_opts *opts, uint64_t step, uint64_t n_steps);

#endif
