/* SPDX-License-Identifier: MIT */
/* A spec's combinations: which values go where, and what came of one. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "validate/container.h"
#include "pith_host.h"
#include "compress/recipe/stage_json.h"
#include "sweep_spec.h"

#define MAX_COMBINATIONS 1000000u
#define MAX_KEYS 32u
#define PERFECT_DB 200.0 /* JSON has no infinity */

/* ---- combinations ---------------------------------------------------------------------------- */

/* Which alternative of each key combination i takes: *at, counted from the last key. */
static uint64_t take_digit(uint64_t *i, const json_t *list)
{
    uint64_t n = json_array_size(list), digit = *i % n;
    *i /= n;
    return digit;
}

/* {"stages.0.sparsity": 0.9, ...}; a new reference, NULL without memory. */
static json_t *params_of(const struct pith_sweep *s, uint64_t i)
{
    const char *key[MAX_KEYS];
    uint64_t digit[MAX_KEYS];
    json_t *list, *params = json_object();
    const char *k;
    size_t n = 0;
    json_object_foreach(s->axes, k, list) key[n++] = k;
    for (size_t at = n; at-- > 0;)
        digit[at] = take_digit(&i, json_object_get(s->axes, key[at]));
    for (size_t at = 0; at < n; at++)
        pith_json_put(&params, key[at],
                      json_incref(json_array_get(json_object_get(s->axes, key[at]), digit[at])));
    return params;
}

/* A list position: digits only. */
static bool read_position(const char *text, size_t len, size_t *position)
{
    *position = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9' || len > 6)
            return false;
        *position = *position * 10 + (size_t)(text[i] - '0');
    }
    return len > 0;
}

/* The member of json that the path's first part names; NULL: there is none. */
static json_t *member(json_t *json, const char *part, size_t len)
{
    size_t position;
    char key[128];
    if (json_is_array(json))
        return read_position(part, len, &position) ? json_array_get(json, position) : NULL;
    if (len >= sizeof key)
        return NULL;
    memcpy(key, part, len);
    key[len] = '\0';
    return json_object_get(json, key);
}

/* Puts a copy of value there: a longer path may write into it, and the spec's own stays as it is.
 */
static enum pith_status set_path(json_t *root, const char *path, const json_t *value,
                                 const char *name, struct pith_error *err)
{
    json_t *in = root;
    const char *part = path;
    size_t position;
    for (const char *dot; in && (dot = strchr(part, '.')); part = dot + 1)
        in = member(in, part, (size_t)(dot - part));
    if (json_is_object(in) && *part)
        return json_object_set_new(in, part, json_deep_copy(value)) ? pith_error_no_memory(err)
                                                                    : PITH_OK;
    if (json_is_array(in) && read_position(part, strlen(part), &position) &&
        position < json_array_size(in))
        return json_array_set_new(in, position, json_deep_copy(value)) ? pith_error_no_memory(err)
                                                                       : PITH_OK;
    return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s: 'sweep' names '%.100s', which is not there",
                           name, path);
}

enum pith_status pith_sweep_recipe(const struct pith_sweep *s, uint64_t i,
                                   struct pith_recipe **recipe, struct pith_error *err)
{
    if (!s || !recipe)
        return PITH_ERR_ARGUMENT;
    json_t *params = params_of(s, i), *root = json_deep_copy(s->base), *value;
    const char *path;
    enum pith_status st = params && root ? PITH_OK : pith_error_no_memory(err);
    json_object_foreach(params, path, value)
    {
        if (!st)
            st = set_path(root, path, value, s->name, err);
    }
    json_decref(params);
    if (!st)
        return pith_recipe_from_json(root, s->name, recipe, err);
    json_decref(root);
    return st;
}

char *pith_sweep_params(const struct pith_sweep *s, uint64_t i)
{
    if (!s)
        return NULL;
    json_t *params = params_of(s, i);
    char *text = pith_json_text(params, JSON_COMPACT);
    json_decref(params);
    return text;
}

uint64_t pith_sweep_count(const struct pith_sweep *s)
{
    if (!s)
        return 0;
    return s->count;
}

/* ---- the spec -------------------------------------------------------------------------------- */

static enum pith_status count_combinations(struct pith_sweep *s, struct pith_error *err)
{
    const char *key;
    json_t *list;
    if (!json_is_object(s->axes) || json_object_size(s->axes) == 0 ||
        json_object_size(s->axes) > MAX_KEYS)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "%s: 'sweep' must be an object of 1 to %u lists of values", s->name,
                               MAX_KEYS);
    s->count = 1;
    json_object_foreach(s->axes, key, list)
    {
        if (json_array_size(list) == 0)
            return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s: '%.100s' must be a list of values",
                                   s->name, key);
        s->count *= json_array_size(list);
        if (s->count > MAX_COMBINATIONS)
            return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s: more than %u combinations", s->name,
                                   MAX_COMBINATIONS);
    }
    return PITH_OK;
}

/* Each alternative once, the others at their first: so a misspelt key or a value out of range shows
 * before hours of work. */
static enum pith_status check_alternatives(const struct pith_sweep *s, struct pith_error *err)
{
    uint64_t stride = s->count;
    const char *key;
    json_t *list;
    json_object_foreach(s->axes, key, list)
    {
        stride /= json_array_size(list);
        for (uint64_t k = 0; k < json_array_size(list); k++) {
            struct pith_recipe *recipe;
            enum pith_status st = pith_sweep_recipe(s, k * stride, &recipe, err);
            if (st)
                return st;
            pith_recipe_free(recipe);
        }
    }
    return PITH_OK;
}

static enum pith_status read_spec(struct pith_sweep *s, json_t *root, const char *name,
                                  struct pith_error *err)
{
    s->name = strdup(name);
    s->base = root;
    s->axes = json_incref(json_object_get(root, "sweep"));
    char *text = pith_json_text(root, JSON_COMPACT);
    if (!s->name || !text) {
        free(text);
        return pith_error_no_memory(err);
    }
    s->mark = s->spec_mark = pith_crc32c(0, text, strlen(text));
    free(text);
    json_object_del(root, "sweep");
    enum pith_status st = count_combinations(s, err);
    return st ? st : check_alternatives(s, err);
}

enum pith_status pith_sweep_parse(const char *text, size_t n, const char *name,
                                  struct pith_sweep **sweep, struct pith_error *err)
{
    if (!text || !name || !sweep)
        return PITH_ERR_ARGUMENT;
    struct pith_sweep *s;
    json_t *root;
    enum pith_status st = pith_json_load(text, n, name, &root, err);
    if (st)
        return st;
    s = calloc(1, sizeof *s);
    if (!s) {
        json_decref(root);
        return pith_error_no_memory(err);
    }
    st = read_spec(s, root, name, err);
    if (st)
        pith_sweep_free(s);
    else
        *sweep = s;
    return st;
}

void pith_sweep_free(struct pith_sweep *s)
{
    if (!s)
        return;
    json_decref(s->base);
    json_decref(s->axes);
    json_decref(s->about);
    free(s->name);
    free(s);
}

/* ---- one combination ------------------------------------------------------------------------- */

/* Decimal places that a measured number has a right to: so that it takes few digits to write. */
static json_t *rounded(double v, double places)
{
    return json_real(isfinite(v) ? round(v * places) / places : 0);
}

static void put_accuracy(json_t **line, const struct pith_compress_result *r)
{
    const struct pith_accuracy *b = &r->before, *a = &r->after;
    if (b->regression) {
        pith_json_put(line, "psnr", rounded(fmin(a->psnr, PERFECT_DB), 1e6));
        pith_json_put(line, "before", rounded(fmin(b->psnr, PERFECT_DB), 1e6));
    } else {
        pith_json_put(line, "top1", rounded((double)a->correct1 / (double)a->predictions, 1e9));
        pith_json_put(line, "before", rounded((double)b->correct1 / (double)b->predictions, 1e9));
    }
    pith_json_put(line, "drop", rounded(r->drop, 1e9));
    pith_json_put(line, "met", json_boolean(r->met));
}

/* What pith_sweep_bind set: every member of about (NULL: nothing), shared. */
static void put_about(json_t **line, json_t *about)
{
    const char *key;
    json_t *value;
    json_object_foreach(about, key, value) pith_json_put(line, key, json_incref(value));
}

static bool own_reason(enum pith_status st)
{
    return st == PITH_ERR_ARGUMENT || st == PITH_ERR_UNSUPPORTED || st == PITH_ERR_GOAL;
}

static enum pith_status compress_copy(const struct pith_sweep *s, uint64_t i,
                                      const struct pith_model *m,
                                      const struct pith_compress_opts *opts,
                                      struct pith_compress_result *result, struct pith_error *err)
{
    struct pith_recipe *recipe;
    struct pith_model *copy = NULL;
    enum pith_status st = pith_sweep_recipe(s, i, &recipe, err);
    if (st)
        return st;
    st = pith_model_copy(m, &copy, err);
    if (!st)
        st = pith_compress(copy, recipe, opts, result, err);
    pith_model_free(copy);
    pith_recipe_free(recipe);
    return st;
}

enum pith_status pith_sweep_run(const struct pith_sweep *s, uint64_t i, const struct pith_model *m,
                                const struct pith_compress_opts *opts,
                                struct pith_sweep_output *output, struct pith_error *err)
{
    if (!s || !m || !opts || !output || opts->size_bytes != sizeof *opts)
        return PITH_ERR_ARGUMENT;
    struct pith_compress_result result = {0};
    struct pith_error why = {0};
    char mark[16];
    uint64_t start = pith_clock_ns(NULL);
    enum pith_status st = compress_copy(s, i, m, opts, &result, &why);
    if ((st && !own_reason(st)) || (opts->stop && opts->stop(opts->user))) {
        pith_compress_result_free(&result);
        return pith_error_fill(err, st ? st : PITH_ERR_ARGUMENT, "%s", st ? why.text : "stopped");
    }
    snprintf(mark, sizeof mark, "%08" PRIx32, s->mark);
    json_t *j = json_pack("{si,ss,sI}", "pith", 1, "spec", mark, "combination", (json_int_t)i);
    put_about(&j, s->about);
    pith_json_put(&j, "params", params_of(s, i));
    if (result.file.data) {
        pith_json_put(&j, "bytes", json_integer((json_int_t)result.file.bytes));
        if (result.has_accuracy)
            put_accuracy(&j, &result);
    } else {
        pith_json_put(&j, "error", json_string(why.text));
    }
    pith_json_put(&j, "seconds", rounded(1e-9 * (double)(pith_clock_ns(NULL) - start), 1e3));
    char *line = pith_json_text(j, JSON_COMPACT);
    json_decref(j);
    if (line) {
        *output = (struct pith_sweep_output){line, result.file};
        result.file = (struct pith_buffer){0};
    }
    pith_compress_result_free(&result);
    return line ? PITH_OK : pith_error_no_memory(err);
}

void pith_sweep_output_free(struct pith_sweep_output *output)
{
    if (!output)
        return;
    free(output->line);
    pith_buffer_free(&output->file);
    output->line = NULL;
}
