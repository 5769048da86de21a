/* SPDX-License-Identifier: MIT */
/* pith_number_text.h - numbers as people write them, whatever decimal comma the locale has. */
#ifndef PITH_NUMBER_TEXT_H
#define PITH_NUMBER_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "-1.5e-3", ".07". At *text stands a number without sign; *text moves behind it. Up to 15 digits
 * give the nearest double: 0.3 is the 0.3 of every other program. */
bool pith_take_decimal(const char **text, double *value);
/* The whole text must be one; else false, and *value is untouched. */
bool pith_parse_number(const char *text, double *value);
bool pith_parse_uint(const char *text, uint64_t *value);

#ifdef __cplusplus
}
#endif
#endif
