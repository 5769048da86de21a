/* SPDX-License-Identifier: MIT */
#include "table.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void cli_table_start(struct cli_table *t, uint32_t n_columns)
{
    *t = (struct cli_table){.n_columns = n_columns};
}

void cli_table_add(struct cli_table *t, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (t->n_cells == t->room) {
        uint32_t room = t->room ? t->room * 2 : 64;
        char **cell = realloc(t->cell, room * sizeof *cell);
        if (!cell)
            return; /* a table cut short under memory pressure; the command goes on */
        t->cell = cell;
        t->room = room;
    }
    t->cell[t->n_cells++] = strdup(text);
}

/* Columns a terminal shows: bytes that do not continue a UTF-8 sequence. */
static int display_width(const char *s)
{
    int n = 0;
    for (; s && *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static void print_cell(const char *text, uint32_t column, int width, FILE *out)
{
    int pad = width - display_width(text);
    if (column > 0)
        fputs("  ", out);
    if (column > 0)
        fprintf(out, "%*s", pad > 0 ? pad : 0, "");
    fputs(text ? text : "", out);
    if (column == 0)
        fprintf(out, "%*s", pad > 0 ? pad : 0, "");
}

void cli_table_print(struct cli_table *t, FILE *out)
{
    int width[TABLE_COLUMNS] = {0};
    for (uint32_t i = 0; i < t->n_cells; i++) {
        int w = display_width(t->cell[i]);
        if (w > width[i % t->n_columns])
            width[i % t->n_columns] = w;
    }
    for (uint32_t i = 0; i < t->n_cells; i++) {
        uint32_t column = i % t->n_columns;
        print_cell(t->cell[i], column, width[column], out);
        if (column + 1 == t->n_columns)
            fputc('\n', out);
        free(t->cell[i]);
    }
    free(t->cell);
    t->cell = NULL;
}
