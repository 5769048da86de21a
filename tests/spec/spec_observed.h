/* SPDX-License-Identifier: MIT */
/* spec_observed.h - what was observed of values, the chunk stat: F10. Prints it. */
#ifndef SPEC_OBSERVED_H
#define SPEC_OBSERVED_H

#include "spec_bytes.h"

void read_observed(struct span s, uint64_t n_values);

#endif
