/* SPDX-License-Identifier: MIT */
/* sweep_options.h - the options of a sweep, checked before it begins. */
#ifndef SWEEP_OPTIONS_H
#define SWEEP_OPTIONS_H

#include "weight_sweep.h"

/* Whether weights are to keep a pattern. */
bool pith_sweep_has_pattern(const struct pith_weight_sweep_opts *o);
/* PITH_ERR_ARGUMENT: a value out of its range, or a pattern that does not fit m; PITH_ERR_MEMORY.
 */
enum pith_status pith_sweep_check(const struct pith_model *m,
                                  const struct pith_weight_sweep_opts *o, struct pith_error *err);

#endif
