/* SPDX-License-Identifier: MIT */
/* escape_text.c - what a terminal would act on, made visible. */
#include "escape_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "validate/format.h"

size_t pith_utf8_length(const char *p, size_t n)
{
    for (size_t length = 1; length <= 4 && length <= n; length++)
        if (pith_utf8_ok((const uint8_t *)p, length))
            return length;
    return 0;
}

/* C0 and C1 controls, DEL, U+2028..U+202E (line ends, directions), U+2066..U+2069 (directions). */
static bool acts(const uint8_t *p, size_t n)
{
    if (n == 1)
        return p[0] < 0x20 || p[0] == 0x7f;
    if (n == 2)
        return p[0] == 0xc2 && p[1] < 0xa0;
    return n == 3 && p[0] == 0xe2 &&
           ((p[1] == 0x80 && p[2] >= 0xa8 && p[2] <= 0xae) ||
            (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9));
}

static size_t escape_byte(uint8_t byte, char escaped[5])
{
    const char *at = byte ? strchr("\nn\tt\rr", byte) : NULL;
    return (size_t)(at && byte < 0x20 ? snprintf(escaped, 5, "\\%c", at[1])
                                      : snprintf(escaped, 5, "\\x%02x", byte));
}

void pith_escape_text(const char *text, char *to, size_t size)
{
    size_t at = 0;
    while (*text) {
        char shown[4 * 4 + 1];
        size_t length = pith_utf8_length(text, strnlen(text, 4)), taken = length ? length : 1,
               n = 0;
        if (length && !acts((const uint8_t *)text, length))
            memcpy(shown, text, n = length);
        else
            for (size_t i = 0; i < taken; i++)
                n += escape_byte((uint8_t)text[i], shown + n);
        if (n >= size - at)
            break;
        memcpy(to + at, shown, n);
        at += n;
        text += taken;
    }
    to[at] = '\0';
}
