/* SPDX-License-Identifier: MIT */
/* error_location.h - which file and which layer an error's text is about, for programs that read
 * it.
 */
#ifndef ERROR_LOCATION_H
#define ERROR_LOCATION_H

#include <stdbool.h>
#include <stddef.h>

/* The n words of the command line, borrowed: only what was named there is taken for a file. */
void cli_set_words(const char **words, int n);

/* The command line once more, for a shell, with the option `more` if it is not there. */
void cli_command_again(const char *verb, const char *more, char *text, size_t room);

/* A part of text: *at, *n bytes. The file: what the text begins with or cannot be opened, read or
 * written, where it is a word of the command line, what stands behind its '=' or last ':', or lies
 * in such a folder. The layer: the quoted name behind "layer" or "node". false: the text names
 * none. */
bool cli_error_file(const char *text, const char **at, size_t *n);
bool cli_error_layer(const char *text, const char **at, size_t *n);

#endif
