/* SPDX-License-Identifier: MIT */
#include "csv_out.h"
#include <stdio.h>

void cli_csv_text(const char *text, size_t bytes)
{
    putchar('"');
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '"')
            putchar('"');
        putchar(text[i]);
    }
    putchar('"');
}
