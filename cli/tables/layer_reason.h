/* SPDX-License-Identifier: MIT */
/* layer_reason.h - why a layer of one model gives other numbers than that of the other. */
#ifndef LAYER_REASON_H
#define LAYER_REASON_H

#include "cli/common/cli.h"
#include "pith_measure.h"

/* One line about `off`, one of c's layers, to stand behind its name: what its integers, its weights
 * or its inputs did. */
enum cli_exit cli_layer_reason(const struct pith_model *a, const struct pith_model *b,
                               const struct pith_comparison *c, const struct pith_difference *off,
                               char *text, size_t room);

#endif
