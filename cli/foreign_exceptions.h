/* SPDX-License-Identifier: MIT */
/* foreign_exceptions.h - what C++ libraries throw. */
#ifndef FOREIGN_EXCEPTIONS_H
#define FOREIGN_EXCEPTIONS_H

#include "cli.h"

/* From here on a std::bad_alloc that nobody catches ends the process with EXIT_MEMORY and one
 * message, and json: an error object. Only for commands that may train. */
void cli_end_on_bad_alloc(const char *command, bool json);

#endif
