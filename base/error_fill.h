/* SPDX-License-Identifier: MIT */
/* error_fill.h - how the toolchain states a failure: one line, lower case, no full stop, with
 * the file or tensor quoted and the numbers given. */
#ifndef PITH_ERROR_FILL_H
#define PITH_ERROR_FILL_H

#include "pith_types.h"

/* Writes status and text (escaped: escape_text.h; cut to fit) and clears chunk and offset; err
 * may be NULL. Returns status, so that `return pith_error_fill(...)` both says and gives it. */
enum pith_status pith_error_fill(struct pith_error *err, enum pith_status status,
                                 const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same for the most frequent one. */
enum pith_status pith_error_no_memory(struct pith_error *err);

#endif
