/* SPDX-License-Identifier: MIT */
/* coder_table.h - how each weight of a file is coded, and what it would take otherwise. */
#ifndef CODER_TABLE_H
#define CODER_TABLE_H

#include <stdio.h>
#include "cli/common/cli.h"
#include "pith_pack.h"

/* One row a weight of m, as read from the file that `account` is of: its code, its bytes (support,
 * codebook, indices or values, tables it brings), and those with each coder instead. The model's
 * constants are left as they were. */
enum cli_exit cli_print_coders(struct pith_model *m, const struct pith_byte_account *account,
                               FILE *out);

#endif
