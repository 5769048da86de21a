/* SPDX-License-Identifier: MIT */
/* decimal.h - numbers as text, the same in every locale. */
#ifndef DECIMAL_H
#define DECIMAL_H

#include <stdbool.h>
#include <stddef.h>

#define DECIMAL_TEXT_BYTES 24u

/* Reads [+-]digits[.digits][e[+-]digits] from text[0..n); all of it. *value: the nearest f32, which
 * is finite. false: not such a number, or too large. */
bool pith_decimal_parse(const char *text, size_t n, float *value);

/* The shortest decimal that pith_decimal_parse reads back as value (finite). Returns its length. */
size_t pith_decimal_format(float value, char text[DECIMAL_TEXT_BYTES]);

#endif
