/* SPDX-License-Identifier: MIT */
/* spec_adaptive.h - the elements of adaptive tensors, one by one: S8 from "State at an element" on,
 * the trellis included. */
#ifndef SPEC_ADAPTIVE_H
#define SPEC_ADAPTIVE_H

#include "spec_tensor.h"

/* value: room for the elements */
void read_adaptive_values(const struct tensor *t, uint8_t *value);

#endif
