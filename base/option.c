/* SPDX-License-Identifier: MIT */
/* option.c - values by their rows: defaults, from text, to text. Every enum of ours is as large as
 * an int. */
#include "pith_option.h"
#include "error_fill.h"
#include "number_text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct pith_option *pith_option_row(const struct pith_option_table *table, uint32_t i,
                                          size_t *at)
{
    if (!table)
        return NULL;
    for (uint32_t p = 0; p < PITH_OPTION_PARTS && table->part[p].set; p++) {
        const struct pith_option_set *set = table->part[p].set;
        if (i < set->n) {
            if (at)
                *at = table->part[p].at + set->rows[i].at;
            return &set->rows[i];
        }
        i -= set->n;
    }
    return NULL;
}

const struct pith_option *pith_option_find(const struct pith_option_table *table, const char *key,
                                           size_t n, size_t *at)
{
    if (!table || !key)
        return NULL;
    const struct pith_option *o;
    for (uint32_t i = 0; (o = pith_option_row(table, i, at)); i++)
        if (strlen(o->key) == n && memcmp(o->key, key, n) == 0)
            return o;
    return NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* What a member may hold. */
union value {
    bool flag;
    uint32_t uint;
    uint64_t seed;
    float real;
    double number;
    int word;
    const char *text;
};

static size_t bytes_of(const struct pith_option *o)
{
    switch (o->kind) {
    case PITH_OPTION_FLAG:
    case PITH_OPTION_CHOICE:
        return sizeof(bool);
    case PITH_OPTION_UINT:
        return sizeof(uint32_t);
    case PITH_OPTION_SEED:
        return sizeof(uint64_t);
    case PITH_OPTION_FLOAT:
        return sizeof(float);
    case PITH_OPTION_NUMBER:
    case PITH_OPTION_SHARE:
    case PITH_OPTION_PERCENT:
    case PITH_OPTION_BYTES:
    case PITH_OPTION_TIME:
        return sizeof(double);
    case PITH_OPTION_WORD:
    case PITH_OPTION_SWITCH:
        return sizeof(int);
    case PITH_OPTION_TEXT:
        return sizeof(const char *);
    case PITH_OPTION_OWN:
        break;
    }
    return 0;
}

static union value value_of(const struct pith_option *o, double number)
{
    union value v = {0};
    switch (o->kind) {
    case PITH_OPTION_FLAG:
    case PITH_OPTION_CHOICE:
        v.flag = number > 0;
        break;
    case PITH_OPTION_UINT:
        v.uint = (uint32_t)number;
        break;
    case PITH_OPTION_SEED:
        v.seed = (uint64_t)number;
        break;
    case PITH_OPTION_FLOAT:
        v.real = (float)number;
        break;
    case PITH_OPTION_NUMBER:
    case PITH_OPTION_SHARE:
    case PITH_OPTION_PERCENT:
    case PITH_OPTION_BYTES:
    case PITH_OPTION_TIME:
        v.number = number;
        break;
    case PITH_OPTION_WORD:
    case PITH_OPTION_SWITCH:
        v.word = (int)number;
        break;
    case PITH_OPTION_TEXT:
        v.text = NULL;
        break;
    case PITH_OPTION_OWN:
        break;
    }
    return v;
}

static void set(const struct pith_option *o, const union value *v, void *value)
{
    memcpy(value, v, bytes_of(o)); /* members of a union begin where it does */
}

void pith_option_defaults(const struct pith_option_set *s, void *of)
{
    if (!s || !of)
        return;
    for (uint32_t i = 0; i < s->n; i++) {
        union value v = value_of(&s->rows[i], s->rows[i].normal);
        set(&s->rows[i], &v, (char *)of + s->rows[i].at);
    }
}

bool pith_option_given(const struct pith_option *o, const void *value)
{
    if (!o || !value)
        return false;
    union value v = value_of(o, o->normal);
    return memcmp(value, &v, bytes_of(o)) != 0;
}

void pith_option_copy(const struct pith_option *o, const void *from, void *to)
{
    if (!o || !from || !to)
        return;
    memcpy(to, from, bytes_of(o));
}

const char *pith_option_word(const struct pith_option *o, const void *value)
{
    if (!o || !value)
        return NULL;
    union value v = {0};
    memcpy(&v, value, bytes_of(o));
    int given = o->kind == PITH_OPTION_CHOICE ? v.flag : v.word;
    for (const struct pith_word *w = o->words; w && w->text; w++)
        if (w->value == given)
            return w->text;
    return NULL;
}

/* ---- from text ------------------------------------------------------------------------------- */

static enum pith_status bad(struct pith_error *err, const char *text, const char *why)
{
    return pith_error_fill(err, PITH_ERR_ARGUMENT, "'%.100s': %s", text, why);
}

static bool in_range(const struct pith_option *o, double v)
{
    return (v >= o->min && v <= o->max) || (v <= o->normal && v >= o->normal);
}

static enum pith_status out_of_range(const struct pith_option *o, const char *text,
                                     struct pith_error *err)
{
    return pith_error_fill(err, PITH_ERR_ARGUMENT, "%.100s: out of range %g..%g", text, o->min,
                           o->max);
}

/* "a, b or c" */
static void list_words(const struct pith_word *w, char *list, size_t room)
{
    *list = '\0';
    for (size_t used = 0; w->text && used < room; used += strlen(list + used), w++)
        snprintf(list + used, room - used, "%s%s", !used ? "" : w[1].text ? ", " : " or ", w->text);
}

static enum pith_status read_word(const struct pith_option *o, const char *text, union value *v,
                                  struct pith_error *err)
{
    char list[160];
    for (const struct pith_word *w = o->words; w->text; w++)
        if (strcmp(w->text, text) == 0) {
            *v = value_of(o, w->value);
            return PITH_OK;
        }
    list_words(o->words, list, sizeof list);
    return pith_error_fill(err, PITH_ERR_ARGUMENT, "'%.60s': give %s", text, list);
}

/* "90%" or "0.9" as 0.9; PERCENT refuses a bare number and names both readings. */
static enum pith_status read_share(const struct pith_option *o, const char *text, double *share,
                                   struct pith_error *err)
{
    const bool only_percent = o->kind == PITH_OPTION_PERCENT;
    const char *rest = text;
    const bool number = pith_take_decimal(&rest, share), percent = strcmp(rest, "%") == 0;
    if (!number || !(percent || *rest == 0))
        return bad(err, text,
                   only_percent ? "not a percentage such as 0.5%"
                                : "not a share such as 0.9 or 90%");
    if (only_percent && !percent)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s is ambiguous: write %s%% or %g%%", text,
                               text, *share * 100);
    *share = percent ? *share / 100 : *share;
    bool good = *share >= o->min && *share <= o->max;
    return good ? PITH_OK : out_of_range(o, text, err);
}

/* "500K" as 500000, "1.5h" as 5400. */
static enum pith_status read_amount(const struct pith_option *o, const char *text, double *amount,
                                    struct pith_error *err)
{
    const bool bytes = o->kind == PITH_OPTION_BYTES;
    if (bytes ? pith_parse_bytes(text, amount) : pith_parse_seconds(text, amount))
        return in_range(o, *amount) ? PITH_OK : out_of_range(o, text, err);
    return bad(err, text,
               bytes ? "not a number of bytes such as 500K or 64KiB"
                     : "not a time such as 2ms, 90s, 30m or 1.5h");
}

static enum pith_status read_uint(const struct pith_option *o, const char *text, union value *v,
                                  struct pith_error *err)
{
    uint64_t uint;
    if (!pith_parse_uint(text, &uint))
        return bad(err, text, "not a whole number");
    if (!in_range(o, (double)uint))
        return out_of_range(o, text, err);
    if (o->kind == PITH_OPTION_UINT)
        v->uint = (uint32_t)uint;
    else
        v->seed = uint;
    return PITH_OK;
}

static enum pith_status read_number(const struct pith_option *o, const char *text, union value *v,
                                    struct pith_error *err)
{
    double number;
    if (!pith_parse_number(text, &number))
        return bad(err, text, "not a number");
    if (!in_range(o, number))
        return out_of_range(o, text, err);
    *v = value_of(o, number);
    return PITH_OK;
}

static enum pith_status read_flag(const char *text, union value *v, struct pith_error *err)
{
    v->flag = !*text || strcmp(text, "true") == 0;
    return v->flag || strcmp(text, "false") == 0 ? PITH_OK : bad(err, text, "give true or false");
}

static enum pith_status read_value(const struct pith_option *o, const char *text, union value *v,
                                   struct pith_error *err)
{
    switch (o->kind) {
    case PITH_OPTION_FLAG:
        return read_flag(text, v, err);
    case PITH_OPTION_UINT:
    case PITH_OPTION_SEED:
        return read_uint(o, text, v, err);
    case PITH_OPTION_FLOAT:
    case PITH_OPTION_NUMBER:
        return read_number(o, text, v, err);
    case PITH_OPTION_SHARE:
    case PITH_OPTION_PERCENT:
        return read_share(o, text, &v->number, err);
    case PITH_OPTION_BYTES:
    case PITH_OPTION_TIME:
        return read_amount(o, text, &v->number, err);
    case PITH_OPTION_WORD:
    case PITH_OPTION_CHOICE:
    case PITH_OPTION_SWITCH:
        return read_word(o, text, v, err);
    case PITH_OPTION_TEXT:
        v->text = text;
        break;
    case PITH_OPTION_OWN:
        assert(!"read by its own functions");
    }
    return PITH_OK;
}

enum pith_status pith_option_read(const struct pith_option *o, const char *text, void *value,
                                  struct pith_error *err)
{
    if (!o || !text || !value)
        return PITH_ERR_ARGUMENT;
    union value v = {0};
    enum pith_status st = read_value(o, text, &v, err);
    if (!st)
        set(o, &v, value);
    return st;
}

/* ---- to text --------------------------------------------------------------------------------- */

void pith_option_line(const struct pith_option *o, const void *value,
                      char line[PITH_OPTION_LINE_BYTES])
{
    if (!o || !value || !line)
        return;
    const size_t room = PITH_OPTION_LINE_BYTES;
    union value v = {0};
    memcpy(&v, value, bytes_of(o));
    switch (o->kind) {
    case PITH_OPTION_FLAG:
    case PITH_OPTION_CHOICE:
        snprintf(line, room, "%s %s", o->key, v.flag ? "yes" : "no");
        break;
    case PITH_OPTION_UINT:
        snprintf(line, room, "%s %" PRIu32, o->key, v.uint);
        break;
    case PITH_OPTION_SEED:
        snprintf(line, room, "%s %" PRIu64, o->key, v.seed);
        break;
    case PITH_OPTION_FLOAT:
        snprintf(line, room, "%s %.9g", o->key, (double)v.real);
        break;
    case PITH_OPTION_NUMBER:
    case PITH_OPTION_SHARE:
    case PITH_OPTION_PERCENT:
    case PITH_OPTION_BYTES:
    case PITH_OPTION_TIME:
        snprintf(line, room, "%s %.17g", o->key, v.number);
        break;
    case PITH_OPTION_WORD:
    case PITH_OPTION_SWITCH:
        snprintf(line, room, "%s %s", o->key, pith_option_word(o, value));
        break;
    case PITH_OPTION_TEXT:
        snprintf(line, room, "%s %.400s", o->key, v.text ? v.text : "none");
        break;
    case PITH_OPTION_OWN:
        assert(!"has no line");
    }
}
