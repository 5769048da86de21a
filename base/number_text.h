/* SPDX-License-Identifier: MIT */
/* number_text.h - numbers as people write them, whatever decimal comma the locale has. */
#ifndef PITH_NUMBER_TEXT_H
#define PITH_NUMBER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
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
/* "500", "64KiB", "1.5M" (K: 1,000, KiB: 1,024, also with a B behind it) in bytes; "2ms", "90s",
 * "30m", "1.5h" and a bare number in seconds. */
bool pith_parse_bytes(const char *text, double *bytes);
bool pith_parse_seconds(const char *text, double *seconds);

#define PITH_SHAPE_TEXT 96u /* bytes, enough for 8 dimensions */
/* {1,3,224,224} as "1x3x224x224"; without dimensions "". Dimensions that there is no room for are
 * left out. Returns text. */
const char *pith_shape_text(const uint32_t *dim, uint32_t rank, char text[PITH_SHAPE_TEXT]);

#ifdef __cplusplus
}
#endif
#endif
