/* SPDX-License-Identifier: MIT */
#include "csv_fields.h"

static void put_char(char *out, size_t room, size_t *n, char c)
{
    if (*n + 1 < room)
        out[(*n)++] = c;
}

static void quoted_field(struct csv_reader *r, char *out, size_t room, size_t *n)
{
    for (r->p++; r->p < r->end; r->p++) {
        if (*r->p == '\n')
            r->line++;
        if (*r->p != '"') {
            put_char(out, room, n, *r->p);
        } else if (r->p + 1 < r->end && r->p[1] == '"') {
            put_char(out, room, n, *r->p++);
        } else {
            r->p++;
            return;
        }
    }
    r->bad = true;
}

bool pith_csv_field(struct csv_reader *r, char *out, size_t room)
{
    const char separator = r->separator;
    size_t n = 0;
    if (r->p < r->end && *r->p == '"') {
        quoted_field(r, out, room, &n);
    } else {
        while (r->p < r->end && !(separator && *r->p == separator) && *r->p != '\n' &&
               *r->p != '\r')
            put_char(out, room, &n, *r->p++);
    }
    out[n] = '\0';
    if (r->p < r->end && separator && *r->p == separator) {
        r->p++;
        return true;
    }
    if (r->p < r->end && *r->p == '\r')
        r->p++;
    if (r->p < r->end && *r->p++ != '\n')
        r->bad = true;
    r->line++;
    return false;
}
