/* SPDX-License-Identifier: MIT */
/* spec_support.h - which elements are stored, by a bitmap, by gaps, by patterns: S5. */
#ifndef SPEC_SUPPORT_H
#define SPEC_SUPPORT_H

#include "spec_tensor.h"

uint64_t ones_of_bitmap(struct span s, uint64_t count);

/* The caller frees it. */
uint8_t *read_mask(const struct tensor *t);

#endif
