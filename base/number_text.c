/* SPDX-License-Identifier: MIT */
#include "number_text.h"

#include <stdio.h>
#include <string.h>

/* Digits are gathered as one whole number and scaled once by a power of ten, so that up to 15
 * digits give the nearest double: 0.3 is the 0.3 of every other program. */
bool pith_take_decimal(const char **text, double *value)
{
    const char *p = *text;
    double v = 0, scale = 1;
    int exponent = 0;
    bool digits = false;
    for (; *p >= '0' && *p <= '9'; p++, digits = true)
        v = v * 10 + (*p - '0');
    if (*p == '.')
        for (p++; *p >= '0' && *p <= '9'; p++, exponent--, digits = true)
            v = v * 10 + (*p - '0');
    if (!digits)
        return false;
    if (*p == 'e' || *p == 'E') {
        const char *q = p + 1;
        bool negative = *q == '-';
        int e = 0;
        if (*q == '-' || *q == '+')
            q++;
        if (*q < '0' || *q > '9')
            return false;
        for (; *q >= '0' && *q <= '9'; q++)
            e = e < 400 ? e * 10 + (*q - '0') : e;
        exponent += negative ? -e : e;
        p = q;
    }
    for (int i = exponent < 0 ? -exponent : exponent; i > 0 && scale < 1e300; i--)
        scale *= 10;
    *text = p;
    *value = exponent < 0 ? v / scale : v * scale;
    return true;
}

bool pith_parse_number(const char *text, double *value)
{
    bool negative = *text == '-';
    double v;
    if (negative)
        text++;
    if (!pith_take_decimal(&text, &v) || *text != '\0')
        return false;
    *value = negative ? -v : v;
    return true;
}

bool pith_parse_uint(const char *text, uint64_t *value)
{
    uint64_t v = 0;
    if (*text == '\0')
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(v, (uint64_t)10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*text - '0'), &v))
            return false;
    }
    *value = v;
    return true;
}

struct unit {
    const char *suffix;
    double factor;
};

/* units: the last one has no factor. */
static bool parse_amount(const char *text, const struct unit *units, double *amount)
{
    double number;
    if (!pith_take_decimal(&text, &number))
        return false;
    for (; units->factor > 0; units++)
        if (strcmp(text, units->suffix) == 0) {
            *amount = number * units->factor;
            return true;
        }
    return false;
}

bool pith_parse_bytes(const char *text, double *bytes)
{
    static const struct unit units[] = {
        {"", 1},    {"B", 1},    {"K", 1e3},       {"KB", 1e3}, {"kB", 1e3}, {"KiB", 1024},
        {"M", 1e6}, {"MB", 1e6}, {"MiB", 1048576}, {"G", 1e9},  {"GB", 1e9}, {"GiB", 1073741824},
        {NULL, 0}};
    return parse_amount(text, units, bytes);
}

bool pith_parse_seconds(const char *text, double *seconds)
{
    static const struct unit units[] = {{"", 1},   {"us", 1e-6}, {"ms", 1e-3}, {"s", 1},
                                        {"m", 60}, {"h", 3600},  {NULL, 0}};
    return parse_amount(text, units, seconds);
}

const char *pith_shape_text(const uint32_t *dim, uint32_t rank, char text[PITH_SHAPE_TEXT])
{
    size_t n = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < rank && n < PITH_SHAPE_TEXT; i++)
        n += (size_t)snprintf(text + n, PITH_SHAPE_TEXT - n, "%s%u", i ? "x" : "", dim[i]);
    return text;
}
