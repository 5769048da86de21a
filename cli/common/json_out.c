/* SPDX-License-Identifier: MIT */
/* Written straight to stdout: an object may have thousands of layers and needs no tree. */
#include "json_out.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "error_location.h"
#include "base/json_text.h"

static bool first_member; /* no comma before the next one */

#define MAX_OPEN 32u
static char open_brackets[MAX_OPEN]; /* '{' or '[' inside the object */
static unsigned n_open;
static enum { NOT_BEGUN, BEGUN, COMPLETE } object;

/* Without memory: an object that reports a lack of it is whole. */
static void put_quoted(const char *text, size_t n)
{
    char to[PITH_JSON_CHARACTER_BYTES];
    size_t length;
    putchar('"');
    for (size_t i = 0; i < n;) {
        i += pith_json_character(text + i, n - i, to, &length);
        fwrite(to, 1, length, stdout);
    }
    putchar('"');
}

static void print_string(const char *text)
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
    print_string(key);
    putchar(':');
}

void cli_json_begin(void)
{
    fputs("{\"pith\":1", stdout);
    first_member = false;
    object = BEGUN;
}

void cli_json_end(void)
{
    if (cli_skips_broken())
        cli_json_uint("skipped", cli_skipped());
    puts("}");
    object = COMPLETE;
}

static const char *exit_word(enum cli_exit rc)
{
    switch (rc) {
    case EXIT_NO:
        return "no";
    case EXIT_USAGE:
        return "usage";
    case EXIT_IO:
        return "io";
    case EXIT_BROKEN:
        return "broken";
    case EXIT_UNSUPPORTED:
        return "unsupported";
    case EXIT_MEMORY:
        return "memory";
    case EXIT_INTERRUPTED:
        return "interrupted";
    case EXIT_DONE:
        break;
    }
    return "done";
}

static void json_error_place(const char *text)
{
    const char *at;
    size_t n;
    if (cli_error_file(text, &at, &n))
        cli_json_bytes("file", at, n);
    if (cli_error_layer(text, &at, &n))
        cli_json_bytes("layer", at, n);
}

void cli_json_error(enum cli_exit rc)
{
    if (object == COMPLETE)
        return;
    if (object == NOT_BEGUN)
        cli_json_begin();
    while (n_open > 0)
        cli_json_close(open_brackets[n_open - 1] == '{' ? '}' : ']');
    cli_json_open("error", '{');
    cli_json_uint("exit", (uint64_t)rc);
    cli_json_string("status", exit_word(rc));
    cli_json_string("text", rc == EXIT_INTERRUPTED ? "interrupted" : cli_last_error());
    if (rc != EXIT_INTERRUPTED)
        json_error_place(cli_last_error());
    cli_json_close('}');
    cli_json_end();
}

void cli_json_size(uint64_t bytes)
{
    cli_json_begin();
    cli_json_uint("bytes", bytes);
    cli_json_end();
}

void cli_json_open(const char *key, char bracket)
{
    start_member(key);
    putchar(bracket);
    first_member = true;
    if (n_open < MAX_OPEN)
        open_brackets[n_open++] = bracket;
}

void cli_json_close(char bracket)
{
    putchar(bracket);
    first_member = false;
    n_open -= n_open > 0;
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

void cli_json_raw(const char *key, const char *json)
{
    start_member(key);
    fputs(json, stdout);
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
