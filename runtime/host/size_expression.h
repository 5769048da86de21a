/* SPDX-License-Identifier: MIT */
/* size_expression.h - a dimension as a formula of open sizes, written as text:
 *
 *     S    P + S    4*S    H*W    (S + 1)/2    8*((H + 7)/8) - H    (H/16)*(W/16)
 *
 * '/' rounds down. It stands at the end, or in brackets behind one size, times a number and plus
 * another: such a quotient is a factor. A name is a letter or '_' and letters, digits, '_', '.'
 * behind it. */
#ifndef SIZE_EXPRESSION_H
#define SIZE_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIZE_NAMES = 16, SIZE_NAME_BYTES = 64, SIZE_TERMS = 8, SIZE_FACTORS = 3 };
enum { SIZE_QUOTIENTS = 4 };
enum { SIZE_TEXT_BYTES = 2600 }; /* room for the longest formula that is printed */

struct size_names {
    uint32_t n;
    char name[SIZE_NAMES][SIZE_NAME_BYTES];
};

struct size_term {
    int32_t times;
    uint32_t n_factors;
    uint8_t factor[SIZE_FACTORS]; /* numbers of names; from SIZE_NAMES on, of quotients */
};

/* (times * name + plus) / divisor, rounded down. */
struct size_quotient {
    uint8_t name;
    int32_t times, plus;
    uint32_t divisor; /* at least 1 */
};

struct size_expression {
    uint32_t divisor; /* at least 1 */
    uint32_t n_terms;
    struct size_term term[SIZE_TERMS];
    uint32_t n_quotients;
    struct size_quotient quotient[SIZE_QUOTIENTS];
};

/* The number of the name text[n]; UINT32_MAX: there is none. */
uint32_t pith_size_name(const struct size_names *names, const char *text, size_t n);
/* The same, added where it is not there. UINT32_MAX: it is no name, or there are SIZE_NAMES. */
uint32_t pith_size_add_name(struct size_names *names, const char *text, size_t n);
/* text[n], all of it. adds: unknown names are added. false: it is no expression of these. */
bool pith_size_parse(const char *text, size_t n, struct size_names *names, bool adds,
                     struct size_expression *e);
/* false: the result is not within -2^31+1..2^31-1. value: one a name. */
bool pith_size_value(const struct size_expression *e, const uint32_t *value, int32_t *result);
/* In the form that is parsed; cut to n bytes with its NUL. */
void pith_size_print(const struct size_expression *e, const struct size_names *names, char *text,
                     size_t n);
/* e = times * (one name) + plus: its name, and *value, which makes e be `wanted`. UINT32_MAX: it
 * has another form, or no value does. */
uint32_t pith_size_solve(const struct size_expression *e, uint32_t wanted, uint32_t *value);

/* A line of the text that keeps open sizes (sizes.c has its form). */
enum size_line_kind { SIZE_LINE_SIZE, SIZE_LINE_MOST, SIZE_LINE_DIM, SIZE_LINE_ATTR };
struct size_line {
    enum size_line_kind kind;
    uint32_t a, b; /* SIZE: value and maximum; MOST: a is the number; DIM, ATTR: which number */
    uint32_t name; /* of SIZE: its number in names */
    const char *formula; /* of the others: the rest of the line */
    struct size_expression e;
};

/* line[n] without its end; a SIZE is added to names. false: it is none of these. */
bool pith_size_line(const char *line, size_t n, struct size_names *names, struct size_line *l);

#endif
