/* SPDX-License-Identifier: MIT */
/* range_table.h - what calibrate saw and chose, one row a value. */
#ifndef RANGE_TABLE_H
#define RANGE_TABLE_H

#include <stdio.h>
#include "pith_value_stats.h"

/* Values without anything are left out; an empty table is not printed. */
void cli_print_ranges(const struct pith_model *m, FILE *out);
/* "ranges": [...] of the object that is open. */
void cli_json_ranges(const struct pith_model *m);

#endif
