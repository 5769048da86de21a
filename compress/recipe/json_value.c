/* SPDX-License-Identifier: MIT */
/* Values in JSON: read with their bounds and a message that says what was wanted; written whole. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/byte_out.h"
#include "base/error_fill.h"
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

/* jansson keeps each token in a buffer that grows while it reads. Where that fails it loses
 * characters, and of a number then asserts that it has not. A first token as long as any in the
 * text makes the buffer large enough: ["xxx", text]. Buffers hold 2^k - 1; the token is of a length
 * at which its closing quote is not what makes them grow, for a string without one has no end. */
static char *with_first_token(const char *text, size_t n, size_t *n_wrapped)
{
    size_t pad = n + 64;
    while (((pad + 2) & (pad + 1)) == 0 || ((pad + 1) & pad) == 0)
        pad++;
    char *wrapped = n < SIZE_MAX / 4 ? malloc(pad + n + 8) : NULL, *to = wrapped;
    if (!wrapped)
        return NULL;
    *to++ = '[', *to++ = '"';
    memset(to, 'x', pad);
    to += pad;
    *to++ = '"', *to++ = ',', *to++ = '\n';
    memcpy(to, text, n);
    to += n;
    *to++ = '\n', *to++ = ']';
    *n_wrapped = (size_t)(to - wrapped);
    return wrapped;
}

/* NULL: it is none, or (*no_memory) there was no memory. */
static json_t *load_whole(const char *text, size_t n, size_t flags, bool *no_memory)
{
    json_error_t at = {.line = 0};
    size_t n_wrapped = 0;
    char *wrapped = with_first_token(text, n, &n_wrapped);
    errno = 0;
    json_t *pair = wrapped ? json_loadb(wrapped, n_wrapped, flags, &at) : NULL;
    json_t *value = json_array_size(pair) == 2 ? json_incref(json_array_get(pair, 1)) : NULL;
    *no_memory = !wrapped || (!pair && (errno == ENOMEM || at.line < 0));
    json_decref(pair);
    free(wrapped);
    return value;
}

/* Messages give line and column of the text as it was given. */
enum pith_status pith_json_load(const char *text, size_t n, const char *name, json_t **json,
                                struct pith_error *err)
{
    json_error_t at;
    bool no_memory;
    if (too_deep(text, n))
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: nested deeper than %d", name, MAX_DEPTH);
    json_t *value = load_whole(text, n, JSON_REJECT_DUPLICATES, &no_memory);
    if (no_memory)
        return pith_error_fill(err, PITH_ERR_MEMORY, "%s: out of memory", name);
    if (!json_is_object(value) && !json_is_array(value)) {
        json_decref(value);
        errno = 0;
        value = json_loadb(text, n, JSON_REJECT_DUPLICATES, &at);
        if (!value && (errno == ENOMEM || at.line < 0))
            return pith_error_fill(err, PITH_ERR_MEMORY, "%s: out of memory", name);
    }
    if (!value)
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: line %d column %d: %s", name, at.line,
                               at.column, at.text);
    *json = value;
    return PITH_OK;
}

const char *pith_json_word_of(const struct pith_word *words, int value)
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
                                     const struct pith_word *words, int *out)
{
    const char *text = json_string_value(v);
    char wanted[128] = "one of";
    size_t n = strlen(wanted);
    for (const struct pith_word *w = words; w->text; w++) {
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
    bool no_memory = false;
    if (n >= 2 && text[n - 1] == '%')
        number = load_whole(text, n - 1, 0, &no_memory);
    if (no_memory)
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
        bool no_memory;
        json_t *back = text ? load_whole(text, strlen(text), 0, &no_memory) : NULL;
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
