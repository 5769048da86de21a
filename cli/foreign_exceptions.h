/* SPDX-License-Identifier: MIT */
/* foreign_exceptions.h - what C++ libraries throw. */
#ifndef FOREIGN_EXCEPTIONS_H
#define FOREIGN_EXCEPTIONS_H

#include "cli.h"

/* As soon as oneDNN is loaded, a std::bad_alloc that nobody catches ends the process with
 * EXIT_MEMORY and one message, and json: an error object. */
void cli_end_on_bad_alloc(bool json);

#endif
