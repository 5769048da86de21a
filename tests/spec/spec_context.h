/* SPDX-License-Identifier: MIT */
/* spec_context.h - context-coded tensors: S11, names as there. */
#ifndef SPEC_CONTEXT_H
#define SPEC_CONTEXT_H

#include "spec_tensor.h"

/* value: zeros, room for the elements */
void read_context_values(const struct tensor *t, uint8_t *value);

#endif
