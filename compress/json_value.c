/* SPDX-License-Identifier: MIT */
/* Values in JSON: read with their bounds and a message that says what was wanted; written whole. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "byte_out.h"
#include "error_fill.h"
#include "json_value.h"

#define MAX_DEPTH 16 /* nesting that jansson may recurse into: it refuses 2048, we far earlier */

/* jansson recurses on nesting; brackets outside of strings are counted before it sees the text. */
static bool too_deep(const char *text, size_t n)
{
    unsigned depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < n; i++) {
        if (in_string && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            in_string = !in_string;
        else if (!in_string && (text[i] == '{' || text[i] == '[')) {
            if (++depth > MAX_DEPTH)
                return true;
        } else if (!in_string && depth > 0 && (text[i] == '}' || text[i] == ']'))
            depth--;
    }
    return false;
}

/* Where memory ran out, jansson tells a wrong character, or nothing at all; errno tells the truth.
 */
static json_t *load_once(const char *text, size_t n, json_error_t *at, bool *no_memory)
{
    errno = 0;
    json_t *json = json_loadb(text, n, JSON_REJECT_DUPLICATES, at);
    *no_memory = errno == ENOMEM || (!json && at->line < 0);
    return json;
}

/* But a number behind the failure clears errno, and a long text has lost a character by then. A
 * second reading differs where the first one did so. */
enum pith_status pith_json_load(const char *text, size_t n, const char *name, json_t **json,
                                struct pith_error *err)
{
    json_error_t at, again_at;
    bool no_memory, no_memory_again = false;
    if (too_deep(text, n))
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: nested deeper than %d", name, MAX_DEPTH);
    json_t *first = load_once(text, n, &at, &no_memory);
    json_t *again = first ? load_once(text, n, &again_at, &no_memory_again) : NULL;
    if (no_memory || no_memory_again || (first && (!again || !json_equal(first, again)))) {
        json_decref(first);
        json_decref(again);
        return pith_error_fill(err, PITH_ERR_MEMORY, "%s: out of memory", name);
    }
    json_decref(again);
    if (!first)
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: line %d column %d: %s", name, at.line,
                               at.column, at.text);
    *json = first;
    return PITH_OK;
}

const char *pith_json_word_of(const struct json_word *words, int value)
{
    while (words->text && words->value != value)
        words++;
    return words->text;
}

enum pith_status pith_json_bad(const struct json_place *p, const char *wanted)
{
    return pith_error_fill(p->err, PITH_ERR_ARGUMENT, "%s: '%s' must be %s", p->where, p->key,
                           wanted);
}

enum pith_status pith_json_no_such_key(const struct json_place *p, const char *verb)
{
    return pith_error_fill(p->err, PITH_ERR_ARGUMENT, "%s: '%s' has no key '%s'", p->where, verb,
                           p->key);
}

enum pith_status pith_json_read_word(const struct json_place *p, const json_t *v,
                                     const struct json_word *words, int *out)
{
    const char *text = json_string_value(v);
    char wanted[128] = "one of";
    size_t n = strlen(wanted);
    for (const struct json_word *w = words; w->text; w++) {
        if (text && strcmp(text, w->text) == 0) {
            *out = w->value;
            return PITH_OK;
        }
        n += (size_t)snprintf(wanted + n, sizeof wanted - n, " %s", w->text);
    }
    return pith_json_bad(p, wanted);
}

enum pith_status pith_json_read_number(const struct json_place *p, const json_t *v, double min,
                                       double max, double *out)
{
    char wanted[64];
    if (json_is_number(v) && json_number_value(v) >= min && json_number_value(v) <= max) {
        *out = json_number_value(v);
        return PITH_OK;
    }
    snprintf(wanted, sizeof wanted, "a number in %g..%g", min, max);
    return pith_json_bad(p, wanted);
}

enum pith_status pith_json_read_uint(const struct json_place *p, const json_t *v, double min,
                                     double max, uint32_t *out)
{
    double d = 0;
    enum pith_status st = pith_json_read_number(p, v, min, max, &d);
    if (!st && !json_is_integer(v))
        return pith_json_bad(p, "a whole number");
    if (!st)
        *out = (uint32_t)d;
    return st;
}

/* "0.5%" -> 0.005; the JSON library reads the number, whatever the locale. */
enum pith_status pith_json_read_percent(const struct json_place *p, const json_t *v,
                                        double *fraction)
{
    const char *text = json_string_value(v);
    size_t n = text ? strlen(text) : 0;
    json_t *number = NULL;
    errno = 0;
    if (n >= 2 && text[n - 1] == '%')
        number = json_loadb(text, n - 1, JSON_DECODE_ANY, NULL);
    if (errno == ENOMEM)
        return pith_error_no_memory(p->err);
    double percent = json_is_number(number) ? json_number_value(number) : -1;
    json_decref(number);
    if (!(percent >= 0 && percent <= 100))
        return pith_json_bad(p, "a text such as \"0.5%\"");
    *fraction = percent / 100;
    return PITH_OK;
}

enum pith_status pith_json_read_seed(const struct json_place *p, const json_t *v, uint64_t *seed)
{
    if (!json_is_integer(v) || json_integer_value(v) <= 0)
        return pith_json_bad(p, "a whole number above 0");
    *seed = (uint64_t)json_integer_value(v);
    return PITH_OK;
}

void pith_json_put(json_t **object, const char *key, json_t *value)
{
    if (json_object_set_new(*object, key, value) == 0)
        return;
    json_decref(*object);
    *object = NULL;
}

void pith_json_append(json_t **array, json_t *value)
{
    if (json_array_append_new(*array, value) == 0)
        return;
    json_decref(*array);
    *array = NULL;
}

static int take_text(const char *text, size_t n, void *out)
{
    pith_out_bytes(out, text, n);
    return 0; /* out remembers a failure */
}

static char *dump_whole(const json_t *json, size_t flags)
{
    struct byte_out out = {.data = NULL};
    bool whole = json_dump_callback(json, take_text, &out, flags) == 0;
    pith_out_u8(&out, 0);
    if (whole && !out.failed)
        return (char *)out.data;
    pith_out_clear(&out);
    return NULL;
}

char *pith_json_text(const json_t *json, size_t flags)
{
    for (size_t digits = 15;; digits++) {
        char *text = dump_whole(json, flags | JSON_REAL_PRECISION(digits));
        json_t *back = text ? json_loads(text, 0, NULL) : NULL;
        bool same = back && json_equal(json, back);
        if (same || (back && digits == 17)) {
            json_decref(back);
            return text;
        }
        free(text);
        if (!back)
            return NULL;
        json_decref(back);
    }
}
