/* SPDX-License-Identifier: MIT */
#ifndef SAMPLE_FEED_H
#define SAMPLE_FEED_H

#include "pith_data.h"
#include "pith_runtime.h"

/* Reads sample i into the plan's first input. *label may be NULL. */
enum pith_status pith_feed_sample(struct pith_plan *plan, struct pith_data *data, uint64_t i,
                                  int64_t *label, struct pith_error *err);

/* PITH_ERR_ARGUMENT unless the plan has one f32 input of the data's sample size. */
enum pith_status pith_feed_check(const struct pith_plan *plan, const struct pith_data *data,
                                 struct pith_error *err);

#endif
