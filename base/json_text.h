/* SPDX-License-Identifier: MIT */
/* json_text.h - JSON written member by member into a run of bytes. */
#ifndef PITH_JSON_TEXT_H
#define PITH_JSON_TEXT_H

#include "byte_out.h"

/* printf; what has more than 1023 bytes sets `failed`. */
void pith_json_format(struct byte_out *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* n bytes of text in quotes, escaped; what is no UTF-8 is U+FFFD. */
void pith_json_quote(struct byte_out *out, const char *text, size_t n);

#endif
