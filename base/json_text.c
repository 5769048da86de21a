/* SPDX-License-Identifier: MIT */
#include "json_text.h"
#include <stdarg.h>
#include <stdio.h>
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

void pith_json_quote(struct byte_out *out, const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t length;
    pith_out_u8(out, '"');
    for (size_t i = 0; i < n; i += length ? length : 1) {
        length = pith_utf8_length(text + i, n - i);
        if (length == 0)
            pith_json_format(out, "\\ufffd");
        else if (p[i] == '"' || p[i] == '\\')
            pith_json_format(out, "\\%c", p[i]);
        else if (p[i] < 0x20 || p[i] == 0x7f)
            pith_json_format(out, "\\u%04x", p[i]);
        else
            pith_out_bytes(out, text + i, length);
    }
    pith_out_u8(out, '"');
}
