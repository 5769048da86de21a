/* SPDX-License-Identifier: MIT */
/* json_value.h - single values of JSON objects, in and out. Readers leave *out alone on failure:
 * PITH_ERR_ARGUMENT with a text that names the place and says what was wanted. */
#ifndef JSON_VALUE_H
#define JSON_VALUE_H

#include <jansson.h>
#include "pith_option.h"
#include "pith_types.h"

/* Text as JSON without duplicate keys; name stands in messages. The caller owns *json.
 * PITH_ERR_CORRUPT (with line and column), PITH_ERR_MEMORY. */
enum pith_status pith_json_load(const char *text, size_t n, const char *name, json_t **json,
                                struct pith_error *err);

const char *pith_json_word_of(const struct pith_word *words, int value);

/* Where a value is being read: for messages. where: "recipe.json: stage 2". */
struct json_place {
    const char *where, *key;
    struct pith_error *err;
};

enum pith_status pith_json_bad(const struct json_place *p, const char *wanted);
enum pith_status pith_json_no_such_key(const struct json_place *p, const char *verb);
enum pith_status pith_json_read_word(const struct json_place *p, const json_t *v,
                                     const struct pith_word *words, int *out);
enum pith_status pith_json_read_number(const struct json_place *p, const json_t *v, double min,
                                       double max, double *out);
enum pith_status pith_json_read_uint(const struct json_place *p, const json_t *v, double min,
                                     double max, uint32_t *out);

/* "0.5%" as 0.005. Also PITH_ERR_MEMORY. */
enum pith_status pith_json_read_percent(const struct json_place *p, const json_t *v,
                                        double *fraction);
/* A whole number above 0. */
enum pith_status pith_json_read_seed(const struct json_place *p, const json_t *v, uint64_t *seed);

/* Sets a key to a new reference. Without memory the whole object goes, and *object is NULL: so what
 * is left at the end is whole, or nothing. */
void pith_json_put(json_t **object, const char *key, json_t *value);
/* The same for lists. */
void pith_json_append(json_t **array, json_t *value);
/* The text of json (NULL: none), malloc'ed; flags as json_dumps takes them. NULL without memory,
 * where json_dumps may leave out what it could not write. Numbers get the fewest digits (15 to 17)
 * that read back as the same: 0.9 stays 0.9, and a recipe repeats its thresholds exactly. */
char *pith_json_text(const json_t *json, size_t flags);

#endif
