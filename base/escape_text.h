/* SPDX-License-Identifier: MIT */
/* escape_text.h - names from files that others made, as a line of text may show them. */
#ifndef PITH_ESCAPE_TEXT_H
#define PITH_ESCAPE_TEXT_H

#include <stddef.h>

/* Bytes of the UTF-8 character at p, where n bytes are left; 0: there is none. */
size_t pith_utf8_length(const char *p, size_t n);

/* Copies text, cut to fit size >= 1 bytes with the NUL. Control characters, line ends of Unicode,
 * marks that change the direction of writing and bytes that are not UTF-8 become \n, \t, \r, or
 * \xNN for each byte. Escaped text stays as it is. */
void pith_escape_text(const char *text, char *to, size_t size);

#endif
