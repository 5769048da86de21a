/* SPDX-License-Identifier: MIT */
/* csv_out.h - texts in a line of comma-separated values on stdout (RFC 4180). */
#ifndef CSV_OUT_H
#define CSV_OUT_H

#include <stddef.h>

/* In quotes, its own ones doubled. */
void cli_csv_text(const char *text, size_t bytes);

#endif
