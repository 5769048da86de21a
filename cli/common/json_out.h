/* SPDX-License-Identifier: MIT */
/* json_out.h - what --json prints: one object on stdout, member after member. Commas, escapes and
 * the schema number in front are taken care of; numbers that JSON cannot say are null.
 *
 *     cli_json_begin();
 *     cli_json_uint("samples", n);
 *     cli_json_open("layers", '[');
 *     cli_json_open(NULL, '{');        // in a list: no key
 *     cli_json_string("name", name);
 *     cli_json_close('}');
 *     cli_json_close(']');
 *     cli_json_end();
 */
#ifndef JSON_OUT_H
#define JSON_OUT_H

#include "cli.h"

void cli_json_begin(void);
void cli_json_end(void);
/* The object of a command that failed, {"pith":1,"error":{"exit":2,"status":"usage","text":...}},
 * with file and layer where the text names them (error_location.h): on its own, or, where one was
 * begun, as its last member, all that is open being closed. Nothing where the command's own object
 * is complete and so says what there is to say. */
void cli_json_error(enum cli_exit rc);
/* The whole object of commands that only print the size of what they wrote. */
void cli_json_size(uint64_t bytes);
void cli_json_open(const char *key, char bracket);
void cli_json_close(char bracket);
void cli_json_string(const char *key, const char *text);
/* n bytes, not terminated. */
void cli_json_bytes(const char *key, const char *text, size_t n);
void cli_json_raw(const char *key, const char *json); /* text that is JSON already */
void cli_json_uint(const char *key, uint64_t value);
void cli_json_number(const char *key, double value); /* null when not finite */
void cli_json_bool(const char *key, bool value);

#endif
