/* SPDX-License-Identifier: MIT */
/* Written straight to stdout: an object may have thousands of layers and needs no tree. */
#include "json_out.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool first_member; /* no comma before the next one */

static void put_quoted(const char *text, size_t n)
{
    putchar('"');
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

void cli_json_text(const char *text)
{
    put_quoted(text, strlen(text));
}

static void start_member(const char *key)
{
    if (!first_member)
        putchar(',');
    first_member = false;
    if (!key)
        return;
    cli_json_text(key);
    putchar(':');
}

void cli_json_begin(void)
{
    fputs("{\"pith\":1", stdout);
    first_member = false;
}

void cli_json_end(void)
{
    puts("}");
}

void cli_json_open(const char *key, char bracket)
{
    start_member(key);
    putchar(bracket);
    first_member = true;
}

void cli_json_close(char bracket)
{
    putchar(bracket);
    first_member = false;
}

void cli_json_string(const char *key, const char *text)
{
    cli_json_bytes(key, text, strlen(text));
}

void cli_json_bytes(const char *key, const char *text, size_t n)
{
    start_member(key);
    put_quoted(text, n);
}

void cli_json_uint(const char *key, uint64_t value)
{
    start_member(key);
    printf("%" PRIu64, value);
}

void cli_json_number(const char *key, double value)
{
    start_member(key);
    if (isfinite(value))
        printf("%.12g", value);
    else
        fputs("null", stdout);
}

void cli_json_bool(const char *key, bool value)
{
    start_member(key);
    fputs(value ? "true" : "false", stdout);
}
