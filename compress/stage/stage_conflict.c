/* SPDX-License-Identifier: MIT */
/* stage_conflict.c - options that do nothing for want of others, or that cannot go with them, by
 * the columns `needs` and `without` of their rows.
 *
 *     rule  = [ WORD { "|" WORD } ": " ] other { "|" other }     before the colon: of the row's
 * words other = KEY [ "=" WORD ] */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "pith_stage_options.h"

struct checked {
    const struct pith_stage *stage;
    const struct pith_option_table *table;
    bool as_options;
};

void pith_option_spell(const struct pith_option *o, bool as_option, char *text, size_t room)
{
    if (!o || !text)
        return;
    if (!as_option) {
        snprintf(text, room, "'%s'", o->key);
        return;
    }
    if (o->level == PITH_OPTION_ADVANCED) {
        snprintf(text, room, "--set %s", o->key);
        return;
    }
    snprintf(text, room, "--%s", o->option ? o->option : o->key);
    for (char *p = text; *p; p++)
        *p = *p == '_' ? '-' : *p;
}

/* The length of the part before the next | of n characters. */
static size_t part(const char *text, size_t n)
{
    const char *bar = memchr(text, '|', n);
    return bar ? (size_t)(bar - text) : n;
}

static bool is(const char *word, const char *text, size_t n)
{
    return word && strlen(word) == n && memcmp(word, text, n) == 0;
}

/* One of those that a rule names: KEY or KEY=WORD. */
struct other {
    const struct pith_option *row;
    size_t at;
    const char *word; /* NULL: any value but the default */
    size_t word_bytes;
};

static struct other read_other(const struct checked *c, const char *text, size_t n)
{
    const char *equals = memchr(text, '=', n);
    size_t key = equals ? (size_t)(equals - text) : n;
    struct other o = {.word = equals ? equals + 1 : NULL, .word_bytes = equals ? n - key - 1 : 0};
    o.row = pith_option_find(c->table, text, key, &o.at);
    assert(o.row);
    return o;
}

static bool holds(const struct checked *c, const struct other *o)
{
    if (o->word)
        return is(pith_option_word(o->row, (const char *)c->stage + o->at), o->word, o->word_bytes);
    return pith_stage_given(c->stage, o->row, o->at);
}

/* Whether the rule speaks of this value of the row; *others: behind the colon. */
static bool speaks(const struct checked *c, const struct pith_option *row, size_t at,
                   const char *rule, const char **others, const char **word)
{
    const char *colon = strstr(rule, ": ");
    *others = colon ? colon + 2 : rule;
    *word = NULL;
    if (!colon)
        return pith_stage_given(c->stage, row, at);
    *word = pith_option_word(row, (const char *)c->stage + at);
    for (const char *p = rule; p < colon; p += part(p, (size_t)(colon - p)) + 1)
        if (is(*word, p, part(p, (size_t)(colon - p))))
            return true;
    return false;
}

/* ---- in words -------------------------------------------------------------------------------- */

struct line {
    char *text;
    size_t n;
};

static void add(struct line *l, const char *text, size_t n)
{
    size_t room = PITH_CONFLICT_BYTES - 1 - l->n;
    n = n < room ? n : room;
    memcpy(l->text + l->n, text, n);
    l->n += n;
    l->text[l->n] = '\0';
}

/* "--optimizer sgd", "--set norms=fold", "'levels'"; named: the row named last, whose name is not
 * said again. */
static void add_other(struct line *l, const struct checked *c, const struct other *o,
                      const struct pith_option *named)
{
    char name[64];
    pith_option_spell(o->row, c->as_options, name, sizeof name);
    if (o->row != named)
        add(l, name, strlen(name));
    if (o->word && o->row != named)
        add(l, c->as_options && o->row->level == PITH_OPTION_ADVANCED ? "=" : " ", 1);
    if (o->word)
        add(l, o->word, o->word_bytes);
}

static void add_row(struct line *l, const struct checked *c, const struct pith_option *row,
                    const char *word)
{
    const struct other o = {row, 0, word, word ? strlen(word) : 0};
    add_other(l, c, &o, NULL);
}

/* ---- rules ----------------------------------------------------------------------------------- */

static bool any_holds(const struct checked *c, const char *others)
{
    const char *end = others + strlen(others);
    for (const char *p = others; p < end; p += part(p, (size_t)(end - p)) + 1) {
        struct other o = read_other(c, p, part(p, (size_t)(end - p)));
        if (holds(c, &o))
            return true;
    }
    return false;
}

bool pith_stage_needs_option(const struct pith_stage *s, const struct pith_option_table *table,
                             const struct pith_option *o)
{
    if (!s || !table || !o)
        return false;
    const struct checked c = {s, table, false};
    return o->needs && !strstr(o->needs, ": ") && !any_holds(&c, o->needs);
}

static bool lacks(const struct checked *c, const struct pith_option *row, size_t at, struct line *l)
{
    const char *others, *word;
    const struct pith_option *named = NULL;
    if (!row->needs || !speaks(c, row, at, row->needs, &others, &word) || any_holds(c, others))
        return false;
    const char *end = others + strlen(others);
    add_row(l, c, row, word);
    add(l, " needs ", strlen(" needs "));
    for (const char *p = others; p < end; p += part(p, (size_t)(end - p)) + 1) {
        struct other o = read_other(c, p, part(p, (size_t)(end - p)));
        add(l, " or ", p == others ? 0 : strlen(" or "));
        add_other(l, c, &o, named);
        named = o.row;
    }
    return true;
}

static bool clashes(const struct checked *c, const struct pith_option *row, size_t at,
                    struct line *l)
{
    const char *others, *word;
    if (!row->without || !speaks(c, row, at, row->without, &others, &word))
        return false;
    const char *end = others + strlen(others);
    for (const char *p = others; p < end; p += part(p, (size_t)(end - p)) + 1) {
        struct other o = read_other(c, p, part(p, (size_t)(end - p)));
        if (!holds(c, &o))
            continue;
        add_row(l, c, row, word);
        add(l, " cannot go with ", strlen(" cannot go with "));
        add_other(l, c, &o, NULL);
        return true;
    }
    return false;
}

static bool misfit(const struct checked *c, struct line *l)
{
    const struct pith_option *row;
    size_t at;
    for (uint32_t i = 0; (row = pith_option_row(c->table, i, &at)); i++)
        if (lacks(c, row, at, l) || clashes(c, row, at, l))
            return true;
    return false;
}

/* Options of the training of a prune that does not train; compared with the defaults of
 * prune, which has one epoch. */
static bool untrained(const struct pith_stage *s, const struct pith_option_table *training,
                      struct line *l)
{
    struct pith_stage fresh;
    const struct pith_option *row;
    size_t at;
    pith_stage_init(&fresh, s->kind);
    for (uint32_t i = 0; (row = pith_option_row(training, i, &at)); i++) {
        char given[PITH_OPTION_LINE_BYTES], normal[PITH_OPTION_LINE_BYTES];
        bool own = row->kind == PITH_OPTION_OWN;
        if (row->flags & PITH_OPTION_RECIPE || (own && !row->own->given(s)))
            continue;
        if (!own) {
            pith_option_line(row, (const char *)s + at, given);
            pith_option_line(row, (const char *)&fresh + at, normal);
        }
        if (!own && strcmp(given, normal) == 0)
            continue;
        snprintf(given, sizeof given, "'%s' needs --train", row->key);
        add(l, given, strlen(given));
        return true;
    }
    return false;
}

bool pith_stage_conflict(const struct pith_stage *s, bool as_options, char why[PITH_CONFLICT_BYTES])
{
    if (!s || !why)
        return false;
    struct checked c = {s, pith_stage_options(s->kind), as_options};
    struct line l = {why, 0};
    if (c.table && misfit(&c, &l))
        return true;
    if (s->kind != PITH_STAGE_PRUNE)
        return false;
    c = (struct checked){s, pith_stage_options(PITH_STAGE_TRAIN), false};
    return s->trains ? misfit(&c, &l) : untrained(s, c.table, &l);
}
