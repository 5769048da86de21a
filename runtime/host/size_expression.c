/* SPDX-License-Identifier: MIT */
/* size_expression.c - parsed by hand: sums of products, and one division at the end. */
#include "host/size_expression.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pith_types.h"

struct cursor {
    const char *p, *end;
    struct size_names *names;
    bool adds;
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

static bool parse_factor(struct cursor *c, struct size_term *t)
{
    int64_t v;
    const char *first;
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
            if (!parse_factor(c, t))
                return false;
        while (take(c, '*'));
        minus = peek(c) == '-';
    } while (take(c, '+') || take(c, '-'));
    return true;
}

bool pith_size_parse(const char *text, size_t n, struct size_names *names, bool adds,
                     struct size_expression *e)
{
    struct cursor c = {text, text + n, names, adds};
    int64_t divisor = 1;
    *e = (struct size_expression){.divisor = 1};
    bool bracket = take(&c, '(');
    if (!parse_sum(&c, e) || (bracket && !take(&c, ')')))
        return false;
    if (take(&c, '/') && ((!bracket && e->n_terms > 1) || !parse_number(&c, &divisor) || !divisor))
        return false;
    e->divisor = (uint32_t)divisor;
    return peek(&c) == 0 && c.p == c.end;
}

bool pith_size_value(const struct size_expression *e, const uint32_t *value, int32_t *result)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < e->n_terms; i++) {
        int64_t product = e->term[i].times;
        for (uint32_t k = 0; k < e->term[i].n_factors; k++)
            if (__builtin_mul_overflow(product, (int64_t)value[e->term[i].factor[k]], &product))
                return false;
        if (__builtin_add_overflow(sum, product, &sum))
            return false;
    }
    int64_t rest = sum % e->divisor, whole = sum / e->divisor - (rest < 0);
    if (whole > INT32_MAX || whole < -INT32_MAX)
        return false;
    *result = (int32_t)whole;
    return true;
}

void pith_size_print(const struct size_expression *e, const struct size_names *names, char *text,
                     size_t n)
{
    size_t at = 0;
    const bool bracket = e->divisor > 1 && e->n_terms > 1;
#define PUT(...)                                                                                   \
    do {                                                                                           \
        int w_ = snprintf(text + at, n - at, __VA_ARGS__);                                         \
        at = w_ >= 0 && at + (size_t)w_ < n ? at + (size_t)w_ : n - 1;                             \
    } while (0)
    if (bracket)
        PUT("(");
    for (uint32_t i = 0; i < e->n_terms; i++) {
        const struct size_term *t = &e->term[i];
        const int64_t times = t->times < 0 ? -(int64_t)t->times : t->times;
        PUT("%s", t->times < 0 ? i ? " - " : "-" : i ? " + " : "");
        if (times != 1 || t->n_factors == 0)
            PUT("%lld%s", (long long)times, t->n_factors ? "*" : "");
        for (uint32_t k = 0; k < t->n_factors; k++)
            PUT("%s%s", k ? "*" : "", names->name[t->factor[k]]);
    }
    if (e->divisor > 1)
        PUT("%s/%u", bracket ? ")" : "", e->divisor);
#undef PUT
}

uint32_t pith_size_solve(const struct size_expression *e, uint32_t wanted, uint32_t *value)
{
    uint32_t name = UINT32_MAX;
    int64_t times = 0, rest = wanted;
    for (uint32_t i = 0; i < e->n_terms; i++) {
        const struct size_term *t = &e->term[i];
        if (t->n_factors > 1 || (t->n_factors == 1 && name != UINT32_MAX && name != t->factor[0]))
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
