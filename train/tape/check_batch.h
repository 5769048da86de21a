/* SPDX-License-Identifier: MIT */
/* check_batch.h - whether a network whose batch was opened still computes each sample by itself. */
#ifndef CHECK_BATCH_H
#define CHECK_BATCH_H

#include "tape.h"

/* m has a fixed batch of 1. Two samples at once against one after the other, random numbers, the
 * outputs compared. PITH_ERR_UNSUPPORTED: they differ. */
enum pith_status pith_check_batch(const struct pith_model *m, uint32_t threads,
                                  struct pith_error *err);

#endif
