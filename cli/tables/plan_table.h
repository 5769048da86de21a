/* SPDX-License-Identifier: MIT */
/* plan_table.h - a plan, step by step: operations, kernels, layouts, bytes, placement. */
#ifndef PLAN_TABLE_H
#define PLAN_TABLE_H

#include <stdio.h>
#include "cli/common/cli.h"
#include "pith_runtime.h"

/* As a table, or as an object with common->json. */
void cli_print_plan(const struct pith_plan *plan, const struct cli_common *common, FILE *out);

#endif
