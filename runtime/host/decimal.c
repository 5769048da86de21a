/* SPDX-License-Identifier: MIT */
/* Decimal to f32 and back without strtod and printf, whose decimal point depends on the locale.
 *
 * Reading: up to 19 digits make an integer m, the value is m * 10^e. Both m (rounded once to
 * double) and 10^|e| (exact up to 10^22, else a product of few exact powers) are within a few ulps
 * of a double, so the result is the nearest f32 unless the text lies within 2^-50 of the middle
 * between two f32. Texts of 9 digits that stand for an f32 never do: they are within 5e-9 of the
 * f32, the middle is at least 2.9e-8 away.
 *
 * Writing: digits of increasing count until reading gives the value back; 9 always suffice. */
#include <stdint.h>
#include <string.h>
#include "host/decimal.h"

/* 19 digits are below 2^64; more would not change the nearest f32. */
#define MAX_DIGITS 19
#define MAX_EXPONENT 400       /* beyond any f32, with 19 digits before the point */
#define F32_END 0x1.ffffffp127 /* the middle above the largest f32: rounds to infinity */

/* 10^22 is the last power of ten that a double holds exactly. */
static double power_of_ten(int e)
{
    static const double small[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    double p = 1.0;
    for (; e > 22; e -= 22)
        p *= 1e22;
    return p * small[e];
}

static double scale_by_ten(double m, int e)
{
    /* The division by 10^-e, in two halves: 10^400 is no double. */
    if (e >= 0)
        /* Two factors, because 10^200 times a 19-digit m is still a double and 10^400 is not. */
        return e > 100 ? m * power_of_ten(100) * power_of_ten(e - 100 > 200 ? 200 : e - 100)
                       : m * power_of_ten(e);
    int half = -e / 2;
    return m / power_of_ten(half) / power_of_ten(-e - half);
}

/* No NUL is needed at the end: texts lie inside of files. */
struct cursor {
    const char *p, *end;
};

static bool skip(struct cursor *c, char wanted)
{
    if (c->p == c->end || *c->p != wanted)
        return false;
    c->p++;
    return true;
}

static bool is_digit(const struct cursor *c)
{
    return c->p < c->end && *c->p >= '0' && *c->p <= '9';
}

/* Digits into *m, as many as fit; the others count in *dropped. Returns how many there were.
 * Counters stop far above any exponent that matters, so a text of a million digits cannot make
 * them wrap. */
static int read_digits(struct cursor *c, uint64_t *m, int *significant, int *dropped)
{
    int n = 0;
    for (; is_digit(c); c->p++) {
        if (n < 10 * MAX_EXPONENT)
            n++;
        if (*significant == MAX_DIGITS) {
            *dropped += *dropped < 10 * MAX_EXPONENT;
            continue;
        }
        *m = *m * 10 + (uint64_t)(*c->p - '0');
        *significant += *m != 0;
    }
    return n;
}

/* As above: an exponent of many digits stays a large number. */
static bool read_exponent(struct cursor *c, int *exponent)
{
    int e = 0;
    bool negative = skip(c, '-');
    if (!negative)
        skip(c, '+');
    if (!is_digit(c))
        return false;
    for (; is_digit(c); c->p++)
        if (e <= 10 * MAX_EXPONENT)
            e = e * 10 + (*c->p - '0');
    *exponent = negative ? -e : e;
    return true;
}

bool pith_decimal_parse(const char *text, size_t n, float *value)
{
    struct cursor c = {text, text + n};
    uint64_t m = 0;
    int significant = 0, dropped = 0, exponent = 0, fraction = 0;
    bool negative = skip(&c, '-');
    if (!negative)
        skip(&c, '+');
    int digits = read_digits(&c, &m, &significant, &dropped);
    if (skip(&c, '.')) {
        fraction = read_digits(&c, &m, &significant, &dropped);
        digits += fraction;
    }
    /* All of the text must be used: "1x" is no number. */
    if (digits == 0 || ((skip(&c, 'e') || skip(&c, 'E')) && !read_exponent(&c, &exponent)) ||
        c.p != c.end)
        return false;
    exponent += dropped - fraction;
    double v = 0.0;
    /* Zero has any exponent. */
    if (m != 0 && exponent > MAX_EXPONENT)
        return false;
    if (m != 0 && exponent >= -MAX_EXPONENT)
        v = scale_by_ten((double)m, exponent);
    if (!(v < F32_END))
        return false;
    *value = (float)(negative ? -v : v);
    return true;
}

/* ---- writing -------------------------------------------------------------------------------- */

/* v > 0 as m * 10^e with exactly n digits in m, rounded to nearest. The loops find the power by
 * trying, from 0: at most 45 + 39 steps, for a number that is printed once. */
static uint64_t digits_of(double v, int n, int *e)
{
    double high = power_of_ten(n);
    int ten = 0;
    while (scale_by_ten(v, ten) >= high)
        ten--;
    while (scale_by_ten(v, ten + 1) < high)
        ten++;
    uint64_t m = (uint64_t)(scale_by_ten(v, ten) + 0.5);
    /* Rounding up may have made one digit more. */
    if ((double)m >= high) {
        m /= 10;
        ten--;
    }
    *e = -ten;
    return m;
}

static size_t put(char *text, size_t at, const char *from, size_t n)
{
    memcpy(text + at, from, n);
    return at + n;
}

static size_t put_number(char *text, size_t at, unsigned v)
{
    char digits[8];
    size_t n = sizeof digits;
    do {
        digits[--n] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    return put(text, at, digits + n, sizeof digits - n);
}

/* Digits d[0..n), the point behind digit `point` (1: behind the first). Plain notation for what
 * people read (0.0001 to 10^9), exponents for the rest. */
static size_t lay_out(char *text, const char *d, int n, int point)
{
    size_t at = 0;
    if (point > 0 && point <= 9) {
        int whole = n < point ? n : point;
        at = put(text, at, d, (size_t)whole);
        at = put(text, at, "000000000", (size_t)(point - whole));
        if (n > point) {
            at = put(text, at, ".", 1);
            at = put(text, at, d + point, (size_t)(n - point));
        }
    } else if (point <= 0 && point > -5) {
        at = put(text, at, "0.", 2);
        at = put(text, at, "00000", (size_t)-point);
        at = put(text, at, d, (size_t)n);
    } else {
        at = put(text, at, d, 1);
        if (n > 1) {
            at = put(text, at, ".", 1);
            at = put(text, at, d + 1, (size_t)(n - 1));
        }
        at = put(text, at, point > 0 ? "e" : "e-", point > 0 ? 1 : 2);
        at = put_number(text, at, (unsigned)(point > 0 ? point - 1 : 1 - point));
    }
    return at;
}

/* Nine digits always read back (see the head), so the loop ends. */
size_t pith_decimal_format(float value, char text[DECIMAL_TEXT_BYTES])
{
    size_t sign = value < 0;
    double v = value < 0 ? -(double)value : (double)value;
    text[0] = '-';
    for (int n = 1; v > 0; n++) {
        char d[10];
        int e;
        float back;
        uint64_t m = digits_of(v, n, &e);
        for (int i = n; i-- > 0; m /= 10)
            d[i] = (char)('0' + m % 10);
        size_t length = sign + lay_out(text + sign, d, n, n + e);
        text[length] = '\0';
        if (n == 9 || (pith_decimal_parse(text, length, &back) && back == value))
            return length;
    }
    return put(text, 0, "0", 2) - 1;
}
