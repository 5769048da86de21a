/* SPDX-License-Identifier: MIT */
/* generator.h - which inputs of a decoder are its cache, by their names. */
#ifndef GENERATOR_H
#define GENERATOR_H

#include <stdbool.h>
#include "pith_runtime.h"

/* Whether output `out` is the next value of input `in`: past_key_values.0.key and present.0.key,
 * past_k and present_k are equal behind the first words. Names alone are read. */
bool pith_is_next_state(const struct pith_tensor *in, const struct pith_tensor *out);

#endif
