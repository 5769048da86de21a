/* SPDX-License-Identifier: MIT */
#include <stdio.h>

void board_print(const char *text);

void board_print(const char *text)
{
    fputs(text, stdout);
}
