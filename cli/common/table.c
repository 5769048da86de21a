/* SPDX-License-Identifier: MIT */
#include "table.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/escape_text.h"

void cli_table_start(struct cli_table *t, uint32_t n_columns)
{
    *t = (struct cli_table){.n_columns = n_columns, .left = 1};
}

void cli_table_left(struct cli_table *t, uint32_t column)
{
    t->left |= 1u << column;
}

void cli_table_add(struct cli_table *t, const char *format, ...)
{
    char text[512], escaped[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pith_escape_text(text, escaped, sizeof escaped);
    if (t->n_cells == t->room) {
        uint32_t room = t->room ? t->room * 2 : 64;
        char **cell = realloc(t->cell, room * sizeof *cell);
        if (!cell)
            return; /* a table cut short under memory pressure; the command goes on */
        t->cell = cell;
        t->room = room;
    }
    t->cell[t->n_cells++] = strdup(escaped);
}

/* Columns a terminal shows: bytes that do not continue a UTF-8 sequence. */
static int display_width(const char *s)
{
    int n = 0;
    for (; s && *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

/* No blanks at the end of a line. */
static void print_cell(const struct cli_table *t, uint32_t cell, const int *width, FILE *out)
{
    uint32_t column = cell % t->n_columns;
    const char *text = t->cell[cell] ? t->cell[cell] : "";
    bool left = t->left >> column & 1, last = column + 1 == t->n_columns;
    int pad = width[column] - display_width(text);
    if (*text || !last)
        fprintf(out, "%s%*s%s", column ? "  " : "", left ? 0 : pad, "", text);
    if (left && !last)
        fprintf(out, "%*s", pad, "");
    if (last)
        fputc('\n', out);
}

void cli_table_print(struct cli_table *t, FILE *out)
{
    int width[TABLE_COLUMNS] = {0};
    for (uint32_t i = 0; i < t->n_cells; i++) {
        int w = display_width(t->cell[i]);
        if (w > width[i % t->n_columns])
            width[i % t->n_columns] = w;
    }
    for (uint32_t i = 0; i < t->n_cells; i++)
        print_cell(t, i, width, out);
    for (uint32_t i = 0; i < t->n_cells; i++)
        free(t->cell[i]);
    free(t->cell);
    t->cell = NULL;
}
