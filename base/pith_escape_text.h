/* SPDX-License-Identifier: MIT */
/* pith_escape_text.h - names from files that others made, as a line of text may show them. */
#ifndef PITH_ESCAPE_TEXT_H
#define PITH_ESCAPE_TEXT_H

#include <stddef.h>

/* Copies text, cut to fit size >= 1 bytes with the NUL. Control characters, line ends of Unicode,
 * marks that change the direction of writing and bytes that are not UTF-8 become \n, \t, \r, or
 * \xNN for each byte. Escaped text stays as it is. */
void pith_escape_text(const char *text, char *to, size_t size);

#endif
