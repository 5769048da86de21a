/* SPDX-License-Identifier: MIT */
/* A text as a JSON string: quotes, backslashes and control characters escaped; UTF-8 as it is. */
#include <stdio.h>
#include "cli.h"

void cli_json_text(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}
