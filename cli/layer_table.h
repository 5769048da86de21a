/* SPDX-License-Identifier: MIT */
#ifndef LAYER_TABLE_H
#define LAYER_TABLE_H

#include <stdio.h>
#include "cli.h"

/* One row a weight: shape, share kept, bits an index, bytes in the file, bytes as f32; and a total.
 * file: m as packed. */
void cli_print_layers(const struct pith_model *m, const struct pith_buffer *file, FILE *out);

#endif
