/* SPDX-License-Identifier: MIT */
/* size_expression.c - parsed by hand: sums of products, quotients among their factors, and one
 * division at the end. */
#include "host/size_expression.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pith_types.h"

struct cursor {
    const char *p, *end;
    struct size_names *names;
    bool adds;
    bool inside; /* a quotient, which has none in it */
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char peek(struct cursor *c)
{
    while (c->p < c->end && *c->p == ' ')
        c->p++;
    return c->p < c->end ? *c->p : 0;
}

static bool take(struct cursor *c, char wanted)
{
    bool is = peek(c) == wanted;
    c->p += is;
    return is;
}

uint32_t pith_size_name(const struct size_names *names, const char *text, size_t n)
{
    for (uint32_t i = 0; i < names->n; i++)
        if (strlen(names->name[i]) == n && memcmp(names->name[i], text, n) == 0)
            return i;
    return UINT32_MAX;
}

uint32_t pith_size_add_name(struct size_names *names, const char *text, size_t n)
{
    uint32_t known = pith_size_name(names, text, n);
    if (known != UINT32_MAX)
        return known;
    if (names->n == SIZE_NAMES || n == 0 || n >= SIZE_NAME_BYTES || !is_letter(text[0]))
        return UINT32_MAX;
    for (size_t i = 1; i < n; i++)
        if (!is_letter(text[i]) && !is_digit(text[i]) && text[i] != '.')
            return UINT32_MAX;
    memcpy(names->name[names->n], text, n);
    names->name[names->n][n] = 0;
    return names->n++;
}

static bool parse_number(struct cursor *c, int64_t *v)
{
    *v = 0;
    if (!is_digit(peek(c)))
        return false;
    for (; c->p < c->end && is_digit(*c->p); c->p++) {
        *v = *v * 10 + (*c->p - '0');
        if (*v > INT32_MAX)
            return false;
    }
    return true;
}

static bool parse_sum(struct cursor *c, struct size_expression *e);

/* The factor that a quotient is; SIZE_NAMES + SIZE_QUOTIENTS: there is no room for one more. */
static uint8_t add_quotient(struct size_expression *e, const struct size_quotient *q)
{
    for (uint32_t i = 0; i < e->n_quotients; i++) {
        const struct size_quotient *k = &e->quotient[i];
        if (k->name == q->name && k->times == q->times && k->plus == q->plus &&
            k->divisor == q->divisor)
            return (uint8_t)(SIZE_NAMES + i);
    }
    if (e->n_quotients == SIZE_QUOTIENTS)
        return SIZE_NAMES + SIZE_QUOTIENTS;
    e->quotient[e->n_quotients] = *q;
    return (uint8_t)(SIZE_NAMES + e->n_quotients++);
}

/* "(S/8)", "((3*S + 7)/8)" */
static bool parse_quotient(struct cursor *c, struct size_expression *e, struct size_term *t)
{
    struct size_expression in = {.divisor = 1};
    struct size_quotient q = {0};
    int64_t divisor;
    uint32_t n_names = 0;
    if (c->inside || !take(c, '('))
        return false;
    c->inside = true;
    const bool bracket = take(c, '('), sum = parse_sum(c, &in);
    c->inside = false;
    if (!sum || (bracket && !take(c, ')')) || (!bracket && in.n_terms > 1) || !take(c, '/') ||
        !parse_number(c, &divisor) || divisor == 0 || !take(c, ')') || in.n_terms > 2)
        return false;
    for (uint32_t i = 0; i < in.n_terms; i++) {
        n_names += in.term[i].n_factors;
        if (in.term[i].n_factors) {
            q.name = in.term[i].factor[0];
            q.times = in.term[i].times;
        } else {
            q.plus = in.term[i].times;
        }
    }
    q.divisor = (uint32_t)divisor;
    const uint8_t factor = n_names == 1 ? add_quotient(e, &q) : SIZE_NAMES + SIZE_QUOTIENTS;
    if (factor == SIZE_NAMES + SIZE_QUOTIENTS || t->n_factors == SIZE_FACTORS)
        return false;
    t->factor[t->n_factors++] = factor;
    return true;
}

static bool parse_factor(struct cursor *c, struct size_expression *e, struct size_term *t)
{
    int64_t v;
    const char *first;
    if (peek(c) == '(')
        return parse_quotient(c, e, t);
    if (is_digit(peek(c))) {
        if (!parse_number(c, &v) || v * t->times > INT32_MAX || v * t->times < -INT32_MAX)
            return false;
        t->times *= (int32_t)v;
        return true;
    }
    first = c->p;
    while (c->p < c->end && (is_letter(*c->p) || is_digit(*c->p) || *c->p == '.'))
        c->p++;
    size_t n = (size_t)(c->p - first);
    uint32_t name =
        c->adds ? pith_size_add_name(c->names, first, n) : pith_size_name(c->names, first, n);
    if (name == UINT32_MAX || t->n_factors == SIZE_FACTORS)
        return false;
    t->factor[t->n_factors++] = (uint8_t)name;
    return true;
}

static bool parse_sum(struct cursor *c, struct size_expression *e)
{
    bool minus = take(c, '-');
    do {
        if (e->n_terms == SIZE_TERMS)
            return false;
        struct size_term *t = &e->term[e->n_terms++];
        *t = (struct size_term){.times = minus ? -1 : 1};
        do
            if (!parse_factor(c, e, t))
                return false;
        while (take(c, '*'));
        minus = peek(c) == '-';
    } while (take(c, '+') || take(c, '-'));
    return true;
}

/* Brackets around the whole sum, or none. */
static bool parse_whole(struct cursor *c, bool bracket, struct size_expression *e)
{
    int64_t divisor = 1;
    *e = (struct size_expression){.divisor = 1};
    if ((bracket && !take(c, '(')) || !parse_sum(c, e) || (bracket && !take(c, ')')))
        return false;
    if (take(c, '/') && ((!bracket && e->n_terms > 1) || !parse_number(c, &divisor) || !divisor))
        return false;
    e->divisor = (uint32_t)divisor;
    return peek(c) == 0 && c->p == c->end;
}

bool pith_size_parse(const char *text, size_t n, struct size_names *names, bool adds,
                     struct size_expression *e)
{
    struct cursor whole = {text, text + n, names, adds, false}, sum = whole;
    return parse_whole(&whole, true, e) || parse_whole(&sum, false, e);
}

static int64_t rounded_down(int64_t v, uint32_t divisor)
{
    return v / divisor - (v % divisor < 0);
}

static int64_t factor_value(const struct size_expression *e, uint32_t factor, const uint32_t *value)
{
    if (factor < SIZE_NAMES)
        return value[factor];
    const struct size_quotient *q = &e->quotient[factor - SIZE_NAMES]; /* below 2^64: no overflow */
    return rounded_down((int64_t)q->times * value[q->name] + q->plus, q->divisor);
}

bool pith_size_value(const struct size_expression *e, const uint32_t *value, int32_t *result)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < e->n_terms; i++) {
        int64_t product = e->term[i].times;
        for (uint32_t k = 0; k < e->term[i].n_factors; k++)
            if (__builtin_mul_overflow(product, factor_value(e, e->term[i].factor[k], value),
                                       &product))
                return false;
        if (__builtin_add_overflow(sum, product, &sum))
            return false;
    }
    const int64_t whole = rounded_down(sum, e->divisor);
    if (whole > INT32_MAX || whole < -INT32_MAX)
        return false;
    *result = (int32_t)whole;
    return true;
}

/* snprintf behind *at, which stops before the end. */
__attribute__((format(printf, 4, 5))) static void put(char *text, size_t n, size_t *at,
                                                      const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    const int w = vsnprintf(text + *at, n - *at, format, ap);
    va_end(ap);
    *at = w >= 0 && *at + (size_t)w < n ? *at + (size_t)w : n - 1;
}

static void print_factor(const struct size_expression *e, uint32_t factor,
                         const struct size_names *names, char *text, size_t n, size_t *at)
{
    if (factor < SIZE_NAMES) {
        put(text, n, at, "%s", names->name[factor]);
        return;
    }
    const struct size_quotient *q = &e->quotient[factor - SIZE_NAMES];
    const int64_t plus = q->plus < 0 ? -(int64_t)q->plus : q->plus;
    put(text, n, at, plus ? "((" : "(");
    if (q->times != 1)
        put(text, n, at, "%" PRId32 "*", q->times);
    put(text, n, at, "%s", names->name[q->name]);
    if (plus)
        put(text, n, at, " %c %" PRId64 ")", q->plus < 0 ? '-' : '+', plus);
    put(text, n, at, "/%" PRIu32 ")", q->divisor);
}

void pith_size_print(const struct size_expression *e, const struct size_names *names, char *text,
                     size_t n)
{
    size_t at = 0;
    const bool bracket = e->divisor > 1 && e->n_terms > 1;
    if (bracket)
        put(text, n, &at, "(");
    for (uint32_t i = 0; i < e->n_terms; i++) {
        const struct size_term *t = &e->term[i];
        const int64_t times = t->times < 0 ? -(int64_t)t->times : t->times;
        put(text, n, &at, "%s", t->times < 0 ? i ? " - " : "-" : i ? " + " : "");
        if (times != 1 || t->n_factors == 0)
            put(text, n, &at, "%" PRId64 "%s", times, t->n_factors ? "*" : "");
        for (uint32_t k = 0; k < t->n_factors; k++) {
            put(text, n, &at, "%s", k ? "*" : "");
            print_factor(e, t->factor[k], names, text, n, &at);
        }
    }
    if (e->divisor > 1)
        put(text, n, &at, "%s/%" PRIu32, bracket ? ")" : "", e->divisor);
}

uint32_t pith_size_solve(const struct size_expression *e, uint32_t wanted, uint32_t *value)
{
    uint32_t name = UINT32_MAX;
    int64_t times = 0, rest = wanted;
    for (uint32_t i = 0; i < e->n_terms; i++) {
        const struct size_term *t = &e->term[i];
        if (e->n_quotients || t->n_factors > 1 ||
            (t->n_factors == 1 && name != UINT32_MAX && name != t->factor[0]))
            return UINT32_MAX;
        if (t->n_factors == 1) {
            name = t->factor[0];
            times += t->times;
        } else {
            rest -= t->times;
        }
    }
    if (name == UINT32_MAX || e->divisor != 1 || times <= 0 || rest < 0 || rest % times != 0)
        return UINT32_MAX;
    *value = (uint32_t)(rest / times);
    return name;
}

static bool read_size(const char *head, size_t n, struct size_names *names, struct size_line *l)
{
    char name[SIZE_NAME_BYTES];
    int used = 0;
    if (sscanf(head, "size %63s %" SCNu32 " %" SCNu32 "%n", name, &l->a, &l->b, &used) != 3 ||
        (size_t)used != n || l->a > l->b || l->b > INT32_MAX ||
        pith_size_name(names, name, strlen(name)) != UINT32_MAX)
        return false;
    l->name = pith_size_add_name(names, name, strlen(name));
    return l->name != UINT32_MAX;
}

bool pith_size_line(const char *line, size_t n, struct size_names *names, struct size_line *l)
{
    char head[128];
    int used = 0;
    size_t k = n < sizeof head - 1 ? n : sizeof head - 1;
    memcpy(head, line, k);
    head[k] = 0;
    *l = (struct size_line){.kind = SIZE_LINE_SIZE};
    if (strncmp(head, "size ", 5) == 0)
        return read_size(head, n, names, l);
    if (sscanf(head, "most %" SCNu32 " %n", &l->a, &used) == 1)
        l->kind = SIZE_LINE_MOST;
    else if (sscanf(head, "dim %" SCNu32 " %" SCNu32 " %n", &l->a, &l->b, &used) == 2)
        l->kind = SIZE_LINE_DIM;
    else if (sscanf(head, "attr %" SCNu32 " %" SCNu32 " %n", &l->a, &l->b, &used) == 2)
        l->kind = SIZE_LINE_ATTR;
    if (used <= 0 || (size_t)used >= n || l->a > INT32_MAX || l->b > INT32_MAX ||
        (l->kind == SIZE_LINE_DIM && l->b >= PITH_MAX_RANK) ||
        (l->kind != SIZE_LINE_MOST && l->a > INT32_MAX / PITH_MAX_RANK))
        return false;
    l->formula = line + used;
    return pith_size_parse(l->formula, n - (size_t)used, names, false, &l->e);
}
