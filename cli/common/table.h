/* SPDX-License-Identifier: MIT */
/* table.h - columns that line up: the first and the requested ones left, the others right. */
#ifndef TABLE_H
#define TABLE_H

#include <stdint.h>
#include <stdio.h>

#define TABLE_COLUMNS 11

struct cli_table {
    uint32_t n_columns, n_cells, room;
    uint32_t left; /* bit c: column c is aligned left */
    char **cell;   /* owns, as every text in it */
};

void cli_table_start(struct cli_table *t, uint32_t n_columns);
/* Column c holds words, not numbers. */
void cli_table_left(struct cli_table *t, uint32_t column);
/* The next cell, row by row; printf-like; control characters are escaped. */
void cli_table_add(struct cli_table *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints and releases. */
void cli_table_print(struct cli_table *t, FILE *out);

#endif
