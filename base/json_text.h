/* SPDX-License-Identifier: MIT */
/* json_text.h - JSON written member by member into a run of bytes. */
#ifndef PITH_JSON_TEXT_H
#define PITH_JSON_TEXT_H

#include "byte_out.h"

/* printf; what has more than 1023 bytes sets `failed`. */
void pith_json_format(struct byte_out *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The next character of n >= 1 bytes of text as JSON has it between quotes; *length: of it in `to`,
 * which has no NUL. What is no UTF-8 is U+FFFD. Returns the bytes of text that it takes. */
#define PITH_JSON_CHARACTER_BYTES 8
size_t pith_json_character(const char *text, size_t n, char to[PITH_JSON_CHARACTER_BYTES],
                           size_t *length);
/* n bytes of text in quotes, escaped. */
void pith_json_quote(struct byte_out *out, const char *text, size_t n);

#endif
