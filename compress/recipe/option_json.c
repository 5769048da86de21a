/* SPDX-License-Identifier: MIT */
#include "option_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "own_json.h"
#include "base/error_fill.h"

/* ---- in -------------------------------------------------------------------------------------- */

static enum pith_status read_flag(const struct json_place *p, const json_t *v, bool *flag)
{
    *flag = json_is_true(v);
    return json_is_boolean(v) ? PITH_OK : pith_json_bad(p, "true or false");
}

/* auto, which is not said, true or false. */
static enum pith_status read_switch(const struct json_place *p, const json_t *v,
                                    const struct pith_option *o, int *word)
{
    bool on = false;
    enum pith_status st = read_flag(p, v, &on);
    if (!st)
        *word = o->words[on ? 1 : 2].value;
    return st;
}

static enum pith_status read_text(const struct json_place *p, const json_t *v,
                                  const struct pith_option *o, const char **text)
{
    char wanted[128];
    snprintf(wanted, sizeof wanted, "a text: %s", o->help);
    if (!json_is_string(v))
        return pith_json_bad(p, wanted);
    *text = json_string_value(v);
    return PITH_OK;
}

/* What is refused is refused in the words of the command line. */
static enum pith_status read_own(const struct json_place *p, json_t *v, const struct pith_option *o,
                                 struct pith_stage *s)
{
    const struct own_json *own = pith_own_json(o->own);
    struct pith_error why = {0};
    const char *text = NULL;
    char digits[32];
    enum pith_status st = PITH_OK;
    if (own)
        return own->read(p, v, s);
    if (o->own->is_number && !json_is_integer(v))
        return pith_json_bad(p, "a whole number");
    snprintf(digits, sizeof digits, "%lld", (long long)json_integer_value(v));
    if (o->own->is_number)
        text = digits;
    else
        st = read_text(p, v, o, &text);
    if (st)
        return st;
    st = o->own->read(s, text, NULL, &why);
    return st ? pith_error_fill(p->err, st, "%s: '%s' %s", p->where, p->key, why.text) : PITH_OK;
}

static enum pith_status read_word(const struct json_place *p, const json_t *v,
                                  const struct pith_option *o, void *at)
{
    int word = 0;
    enum pith_status st = pith_json_read_word(p, v, o->words, &word);
    if (!st && o->kind == PITH_OPTION_CHOICE)
        *(bool *)at = word != 0;
    else if (!st)
        memcpy(at, &word, sizeof word); /* every enum of ours is as large as an int */
    return st;
}

/* As pith_option_read, the default is good where it is outside of the range. */
static enum pith_status read_number(const struct json_place *p, const json_t *v,
                                    const struct pith_option *o, double *number)
{
    if (json_is_number(v) && !islessgreater(json_number_value(v), o->normal)) {
        *number = o->normal;
        return PITH_OK;
    }
    return pith_json_read_number(p, v, o->min, o->max, number);
}

/* A number, or a text with a unit behind it. */
static enum pith_status read_amount(const struct json_place *p, json_t *v,
                                    const struct pith_option *o, void *at)
{
    struct pith_error why = {0};
    if (!json_is_string(v))
        return read_number(p, v, o, at);
    return pith_option_read(o, json_string_value(v), at, &why) ? pith_json_bad(p, why.text)
                                                               : PITH_OK;
}

static enum pith_status read_value(const struct json_place *p, json_t *v,
                                   const struct pith_option *o, void *at)
{
    double number = 0;
    enum pith_status st;
    switch (o->kind) {
    case PITH_OPTION_FLAG:
        return read_flag(p, v, at);
    case PITH_OPTION_UINT:
        if (!json_is_integer(v))
            return pith_json_bad(p, "a whole number");
        st = read_number(p, v, o, &number);
        if (!st)
            *(uint32_t *)at = (uint32_t)number;
        return st;
    case PITH_OPTION_SEED:
        return pith_json_read_seed(p, v, at);
    case PITH_OPTION_FLOAT:
        st = read_number(p, v, o, &number);
        if (!st)
            *(float *)at = (float)number;
        return st;
    case PITH_OPTION_NUMBER:
    case PITH_OPTION_SHARE:
        return read_number(p, v, o, at);
    case PITH_OPTION_PERCENT:
        return pith_json_read_percent(p, v, at);
    case PITH_OPTION_BYTES:
    case PITH_OPTION_TIME:
        return read_amount(p, v, o, at);
    case PITH_OPTION_WORD:
    case PITH_OPTION_CHOICE:
        return read_word(p, v, o, at);
    case PITH_OPTION_SWITCH:
        return read_switch(p, v, o, at);
    case PITH_OPTION_TEXT:
        return read_text(p, v, o, at);
    case PITH_OPTION_OWN:
        break;
    }
    return pith_json_bad(p, "what its stage takes");
}

enum pith_status pith_option_from_json(const struct json_place *p, json_t *v,
                                       enum pith_stage_kind kind, struct pith_stage *s)
{
    const struct pith_option_table *table = pith_stage_options(kind);
    size_t at = 0;
    const struct pith_option *o = pith_option_find(table, p->key, strlen(p->key), &at);
    const struct pith_option *now;
    if (!o && pith_option_former(table, p->key, strlen(p->key), &now))
        return now ? pith_error_fill(p->err, PITH_ERR_ARGUMENT, "%s: '%s' is now '%s'", p->where,
                                     p->key, now->key)
                   : pith_error_fill(p->err, PITH_ERR_ARGUMENT, "%s: '%s' " PITH_OPTION_REMOVED,
                                     p->where, p->key);
    if (!o || o->flags & PITH_OPTION_COMMAND)
        return pith_json_no_such_key(p, table->stage);
    return o->kind == PITH_OPTION_OWN ? read_own(p, v, o, s) : read_value(p, v, o, (char *)s + at);
}

/* ---- out ------------------------------------------------------------------------------------- */

/* The number with the fewest digits that is f in float: 0.001, not 0.0010000000474974513. */
static json_t *float_to_json(float f)
{
    char text[32];
    double d = (double)f;
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)f);
        d = strtod(text, NULL);
        if ((float)d == f)
            break;
    }
    return json_real(d);
}

static json_t *percent_to_json(double fraction)
{
    char percent[48];
    snprintf(percent, sizeof percent, "%.15g%%", fraction * 100);
    return json_string(percent);
}

static json_t *own_to_json(const struct pith_option *o, const struct pith_stage *s)
{
    char text[PITH_STAGE_TEXT_BYTES];
    const struct own_json *own = pith_own_json(o->own);
    if (own)
        return own->write(s);
    o->own->print(s, text, sizeof text);
    return o->own->is_number ? json_integer(strtoll(text, NULL, 10)) : json_string(text);
}

static json_t *value_to_json(const struct pith_option *o, const void *at)
{
    switch (o->kind) {
    case PITH_OPTION_FLAG:
        return json_boolean(*(const bool *)at);
    case PITH_OPTION_UINT:
        return json_integer(*(const uint32_t *)at);
    case PITH_OPTION_SEED:
        return json_integer((json_int_t) * (const uint64_t *)at);
    case PITH_OPTION_FLOAT:
        return float_to_json(*(const float *)at);
    case PITH_OPTION_NUMBER:
    case PITH_OPTION_SHARE:
    case PITH_OPTION_BYTES:
    case PITH_OPTION_TIME:
        return json_real(*(const double *)at);
    case PITH_OPTION_PERCENT:
        return percent_to_json(*(const double *)at);
    case PITH_OPTION_WORD:
    case PITH_OPTION_CHOICE:
        return json_string(pith_option_word(o, at));
    case PITH_OPTION_SWITCH:
        return json_boolean(strcmp(pith_option_word(o, at), o->words[1].text) == 0);
    case PITH_OPTION_TEXT:
        return json_string(*(const char *const *)at);
    case PITH_OPTION_OWN:
        break;
    }
    return NULL;
}

void pith_options_to_json(const struct pith_stage *s, enum pith_stage_kind kind, json_t **object)
{
    const struct pith_option_table *table = pith_stage_options(kind);
    const struct pith_option *o;
    size_t at;
    for (uint32_t i = 0; (o = pith_option_row(table, i, &at)); i++) {
        bool wanted = o->flags & PITH_OPTION_ALWAYS ? !pith_stage_needs_option(s, table, o)
                                                    : pith_stage_given(s, o, at);
        if (!wanted || o->flags & PITH_OPTION_COMMAND)
            continue;
        pith_json_put(object, o->key,
                      o->kind == PITH_OPTION_OWN ? own_to_json(o, s)
                                                 : value_to_json(o, (const char *)s + at));
    }
}
