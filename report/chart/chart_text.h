/* SPDX-License-Identifier: MIT */
/* chart_text.h - text that grows, for pages and drawings. After the first lack of memory nothing
 * more is added and `failed` stays set, so that callers test once, at the end. Numbers have a
 * decimal point in every locale. */
#ifndef CHART_TEXT_H
#define CHART_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chart_text {
    char *data; /* owns: [room], NUL-terminated; NULL: empty */
    size_t bytes, room;
    bool failed;
};

void pith_text_free(struct chart_text *t); /* leaves it empty */
void pith_put_bytes(struct chart_text *t, const char *data, size_t n);
/* As printf; a comma that the locale puts into a number would not be noticed: use pith_put_number.
 */
void pith_put(struct chart_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Text of any origin as content or attribute value of HTML and SVG: & < > " ' as entities, control
 * characters and bytes that are not UTF-8 visible (escape_text.h). */
void pith_put_escaped(struct chart_text *t, const char *text);
/* A number with at most `decimals` digits behind the point, without trailing zeros; "-0" is 0; what
 * is not finite is "-". */
void pith_put_number(struct chart_text *t, double x, int decimals);

#define NUMBER_BYTES 48
/* The same into a buffer of NUMBER_BYTES, which is returned. */
const char *pith_plain_number(double x, int decimals, char *to);
/* With three significant digits and a prefix: "12.3 k", "4.07 M", "0.052"; unit behind it:
 * "12.3 kJ". */
const char *pith_metric_text(double x, const char *unit, char *to);
/* "980 B", "12.3 KiB", "3.4 MiB". */
const char *pith_size_text(double bytes, char *to);

#endif
