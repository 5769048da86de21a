/* SPDX-License-Identifier: MIT */
/* generator.h - which inputs of a decoder are its cache, by their names, and the numbers of others.
 */
#ifndef GENERATOR_H
#define GENERATOR_H

#include <stdbool.h>
#include "pith_runtime.h"

/* Whether output `out` is the next value of input `in`: past_key_values.0.key and present.0.key,
 * past_k and present_k are equal behind the first words. Names alone are read. */
bool pith_is_next_state(const struct pith_tensor *in, const struct pith_tensor *out);

/* to[n] of type (I64, I32, F32, else bytes): the numbers of from, or where that is NULL first,
 * first + each, ... */
void pith_fill_integers(void *to, enum pith_type type, uint64_t n, const int64_t *from,
                        int64_t first, int64_t each);

#endif
