/* SPDX-License-Identifier: MIT */
#include "json_text.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "escape_text.h"

void pith_json_format(struct byte_out *out, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof text)
        out->failed = true;
    else
        pith_out_bytes(out, text, (size_t)n);
}

size_t pith_json_character(const char *text, size_t n, char to[PITH_JSON_CHARACTER_BYTES],
                           size_t *length)
{
    const unsigned char c = (unsigned char)*text;
    const size_t taken = pith_utf8_length(text, n);
    if (taken == 0)
        *length = (size_t)snprintf(to, PITH_JSON_CHARACTER_BYTES, "\\ufffd");
    else if (c == '"' || c == '\\')
        *length = (size_t)snprintf(to, PITH_JSON_CHARACTER_BYTES, "\\%c", c);
    else if (c < 0x20 || c == 0x7f)
        *length = (size_t)snprintf(to, PITH_JSON_CHARACTER_BYTES, "\\u%04x", c);
    else
        memcpy(to, text, *length = taken);
    return taken ? taken : 1;
}

void pith_json_quote(struct byte_out *out, const char *text, size_t n)
{
    char to[PITH_JSON_CHARACTER_BYTES];
    size_t length;
    pith_out_u8(out, '"');
    for (size_t i = 0; i < n;) {
        i += pith_json_character(text + i, n - i, to, &length);
        pith_out_bytes(out, to, length);
    }
    pith_out_u8(out, '"');
}
