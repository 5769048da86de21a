/* SPDX-License-Identifier: MIT */
#include "chart_text.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/escape_text.h"

void pith_text_free(struct chart_text *t)
{
    free(t->data);
    *t = (struct chart_text){0};
}

/* Room for n more bytes and the NUL. */
static bool grow(struct chart_text *t, size_t n)
{
    if (t->failed || n > SIZE_MAX / 4 || t->bytes > SIZE_MAX / 4) {
        t->failed = true;
        return false;
    }
    if (t->bytes + n + 1 <= t->room)
        return true;
    size_t room = 2 * (t->bytes + n) + 64;
    char *data = realloc(t->data, room);
    if (!data) {
        t->failed = true;
        return false;
    }
    t->data = data;
    t->room = room;
    return true;
}

void pith_put_bytes(struct chart_text *t, const char *data, size_t n)
{
    if (!grow(t, n))
        return;
    memcpy(t->data + t->bytes, data, n);
    t->bytes += n;
    t->data[t->bytes] = '\0';
}

void pith_put(struct chart_text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0 || !grow(t, (size_t)n))
        return;
    va_start(args, format);
    vsnprintf(t->data + t->bytes, (size_t)n + 1, format, args);
    va_end(args);
    t->bytes += (size_t)n;
}

static const char *entity_of(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void pith_put_escaped(struct chart_text *t, const char *text)
{
    const size_t room = 4 * strlen(text) + 1;
    char *visible = malloc(room);
    if (!visible) {
        t->failed = true;
        return;
    }
    pith_escape_text(text, visible, room);
    for (const char *c = visible; *c; c++) {
        const char *entity = entity_of(*c);
        pith_put_bytes(t, entity ? entity : c, entity ? strlen(entity) : 1);
    }
    free(visible);
}

const char *pith_plain_number(double x, int decimals, char *to)
{
    if (!isfinite(x) || fabs(x) > 1e18)
        return strcpy(to, "-");
    int n = snprintf(to, NUMBER_BYTES, "%.*f", decimals, x);
    char *point = NULL;
    for (char *c = to; *c; c++)
        if ((*c < '0' || *c > '9') && *c != '-') {
            *c = '.';
            point = c;
        }
    while (point && n > 0 && (to[n - 1] == '0' || to + n - 1 == point)) {
        const bool is_point = to + n - 1 == point;
        to[--n] = '\0';
        if (is_point)
            break;
    }
    return strcmp(to, "-0") == 0 ? strcpy(to, "0") : to;
}

void pith_put_number(struct chart_text *t, double x, int decimals)
{
    char number[NUMBER_BYTES];
    pith_plain_number(x, decimals, number);
    pith_put_bytes(t, number, strlen(number));
}

/* Digits behind the point so that three are significant. */
static int three_digits(double x)
{
    const double a = fabs(x);
    int n = 2;
    for (double below = 1; n < 9 && a > 0 && a < below; below /= 10)
        n++;
    return a >= 99.95 ? 0 : a >= 9.995 ? 1 : n;
}

const char *pith_metric_text(double x, const char *unit, char *to)
{
    static const char *const prefix[] = {"p", "n", "µ", "m", "", "k", "M", "G", "T"};
    int at = 4;
    if (x == 0 || !isfinite(x))
        at = 4;
    else
        for (; at < 8 && fabs(x) >= 999.5; at++)
            x /= 1000;
    for (; at > 0 && x != 0 && isfinite(x) && fabs(x) < 0.9995; at--)
        x *= 1000;
    char number[NUMBER_BYTES];
    pith_plain_number(x, three_digits(x), number);
    snprintf(to, NUMBER_BYTES, "%.24s %s%.8s", number, prefix[at], unit);
    if (!*prefix[at] && !*unit)
        to[strlen(to) - 1] = '\0';
    return to;
}

const char *pith_size_text(double bytes, char *to)
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int at = 0;
    for (; at < 4 && fabs(bytes) >= 1024; at++)
        bytes /= 1024;
    char number[NUMBER_BYTES];
    pith_plain_number(bytes, at ? three_digits(bytes) : 0, number);
    snprintf(to, NUMBER_BYTES, "%.24s %s", number, unit[at]);
    return to;
}
