/* SPDX-License-Identifier: MIT */
/* spec_print.h - what is printed of tensors. No section describes it: spec_decode.c does. */
#ifndef SPEC_PRINT_H
#define SPEC_PRINT_H

#include "spec_tensor.h"

void print_shape(uint32_t type, uint32_t rank, const uint32_t *dim);

/* Decodes it for the hash. number: that of the value. */
void print_tensor(uint64_t number, const struct tensor *t);

#endif
