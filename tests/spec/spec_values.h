/* SPDX-License-Identifier: MIT */
/* spec_values.h - the elements of a tensor, whatever its coding: indices, S4; byte planes, S9; what
 * an element is, F5, "Of all tensors". */
#ifndef SPEC_VALUES_H
#define SPEC_VALUES_H

#include "spec_tensor.h"

/* The caller frees them. */
uint8_t *read_values(const struct tensor *t);

#endif
