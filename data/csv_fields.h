/* SPDX-License-Identifier: MIT */
/* csv_fields.h - the fields of a table in text: separated by one character, quoted where they hold
 * it ("" is a quote), lines in LF or CRLF. */
#ifndef CSV_FIELDS_H
#define CSV_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct csv_reader {
    const char *p, *end;
    uint64_t line;  /* where p is, from 1 on */
    bool bad;       /* a quote never closes, or text follows one */
    char separator; /* '\0': a line is one field */
};

/* One field into out, cut to room - 1 characters; true: more fields follow in this line. */
bool pith_csv_field(struct csv_reader *r, char *out, size_t room);

#endif
