/* SPDX-License-Identifier: MIT */
/* table.h - columns that line up: first column left, the others right. */
#ifndef TABLE_H
#define TABLE_H

#include <stdint.h>
#include <stdio.h>

#define TABLE_COLUMNS 10

struct cli_table {
    uint32_t n_columns, n_cells, room;
    char **cell; /* owns, as every text in it */
};

void cli_table_start(struct cli_table *t, uint32_t n_columns);
/* The next cell, row by row; printf-like. */
void cli_table_add(struct cli_table *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints and releases. */
void cli_table_print(struct cli_table *t, FILE *out);

#endif
