/* SPDX-License-Identifier: MIT */
/* Recipes: JSON in, a list of stages out, and the way back from a finished model's history. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include "stage_json.h"

#define RECIPE_VERSION 1
#define MAX_STAGES 32
#define MAX_DEPTH 16 /* nesting that jansson may recurse into: it refuses 2048, we far earlier */

/* Where memory ran out, jansson tells a wrong character, or nothing at all; errno tells the truth. */
static enum pith_status load(const char *text, size_t n, size_t flags, const char *name,
                             json_t **json, struct pith_error *err)
{
    json_error_t at;
    errno = 0;
    *json = json_loadb(text, n, flags, &at);
    if (errno == ENOMEM || (!*json && at.line < 0)) {
        json_decref(*json);
        *json = NULL;
        return pith_error_fill(err, PITH_ERR_MEMORY, "%s: out of memory", name);
    }
    return *json ? PITH_OK
                 : pith_error_fill(err, PITH_ERR_CORRUPT, "%s: line %d column %d: %s", name, at.line,
                                   at.column, at.text);
}

/* "0.5%" -> 0.005; the JSON library reads the number, whatever the locale. PITH_ERR_MEMORY, or
 * PITH_ERR_ARGUMENT when the text is no such thing. */
static enum pith_status read_percent(const char *text, double *fraction)
{
    size_t n = text ? strlen(text) : 0;
    json_t *number;
    if (n < 2 || text[n - 1] != '%')
        return PITH_ERR_ARGUMENT;
    if (load(text, n - 1, JSON_DECODE_ANY, "", &number, NULL) == PITH_ERR_MEMORY)
        return PITH_ERR_MEMORY;
    double percent = json_is_number(number) ? json_number_value(number) : -1;
    json_decref(number);
    *fraction = percent / 100;
    return percent >= 0 && percent <= 100 ? PITH_OK : PITH_ERR_ARGUMENT;
}

static enum pith_status read_goal(json_t *goal, const char *name, struct pith_recipe *r,
                                  struct pith_error *err)
{
    const char *key;
    json_t *v;
    if (!goal)
        return PITH_OK;
    if (!json_is_object(goal))
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s: 'goal' must be an object", name);
    json_object_foreach(goal, key, v)
    {
        if (strcmp(key, "max_drop") != 0)
            return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                                      "%s: no goal '%s' in this version (max_drop)", name, key);
        enum pith_status st = read_percent(json_string_value(v), &r->max_drop);
        if (st == PITH_ERR_MEMORY)
            return pith_error_no_memory(err);
        if (st)
            return pith_error_fill(err, PITH_ERR_ARGUMENT,
                                      "%s: 'max_drop' must be a text such as \"0.5%%\"", name);
    }
    return PITH_OK;
}

static enum pith_status read_stages(json_t *stages, const char *name, struct pith_recipe *r,
                                    struct pith_error *err)
{
    size_t n = json_array_size(stages);
    if (n == 0 || n > MAX_STAGES)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                                  "%s: 'stages' must be a list of 1 to %d stages", name, MAX_STAGES);
    r->stages = calloc(n, sizeof *r->stages);
    if (!r->stages)
        return pith_error_fill(err, PITH_ERR_MEMORY, "%s: out of memory", name);
    for (r->n_stages = 0; r->n_stages < n; r->n_stages++) {
        char where[300];
        json_t *s = json_array_get(stages, r->n_stages);
        enum pith_status st;
        snprintf(where, sizeof where, "%s: stage %u", name, r->n_stages + 1);
        if (r->n_stages > 0 && r->stages[r->n_stages - 1].kind == PITH_STAGE_ENCODE)
            return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s: 'encode' must be the last", where);
        st = pith_stage_from_json(s, where, &r->stages[r->n_stages], err);
        if (st)
            return st;
    }
    return PITH_OK;
}

static enum pith_status read_recipe(json_t *root, const char *name, struct pith_recipe *r,
                                    struct pith_error *err)
{
    const char *key;
    json_t *v;
    enum pith_status st;
    if (json_integer_value(json_object_get(root, "pith")) != RECIPE_VERSION)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                                  "%s: not a recipe: 'pith' must be %d", name, RECIPE_VERSION);
    json_object_foreach(root, key, v)
    {
        if (strcmp(key, "pith") != 0 && strcmp(key, "goal") != 0 && strcmp(key, "stages") != 0)
            return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s: unknown key '%s'", name, key);
    }
    st = read_goal(json_object_get(root, "goal"), name, r, err);
    return st ? st : read_stages(json_object_get(root, "stages"), name, r, err);
}

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

enum pith_status pith_recipe_parse(const char *text, size_t n, const char *name,
                                   struct pith_recipe **recipe, struct pith_error *err)
{
    struct pith_recipe *r;
    json_t *json;
    enum pith_status st;
    if (too_deep(text, n))
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: nested deeper than %d", name, MAX_DEPTH);
    r = calloc(1, sizeof *r);
    if (!r)
        return pith_error_fill(err, PITH_ERR_MEMORY, "%s: out of memory", name);
    r->max_drop = -1;
    st = load(text, n, JSON_REJECT_DUPLICATES, name, &json, err);
    r->json = json;
    if (!st)
        st = read_recipe(r->json, name, r, err);
    if (st) {
        pith_recipe_free(r);
        return st;
    }
    *recipe = r;
    return PITH_OK;
}

void pith_recipe_free(struct pith_recipe *r)
{
    if (!r)
        return;
    free(r->stages);
    json_decref(r->json);
    free(r);
}

enum pith_status pith_recipe_classic(double sparsity, uint32_t bits, bool compact,
                                     struct pith_recipe **recipe, struct pith_error *err)
{
    struct pith_recipe *r = calloc(1, sizeof *r);
    struct pith_stage *s = calloc(3, sizeof *s);
    if (!r || !s) {
        free(r);
        free(s);
        return pith_error_fill(err, PITH_ERR_MEMORY, "out of memory");
    }
    *r = (struct pith_recipe){.max_drop = -1, .stages = s};
    if (sparsity > 0) {
        pith_stage_init(&s[r->n_stages], PITH_STAGE_PRUNE);
        s[r->n_stages++].prune.sparsity = sparsity;
    }
    if (bits > 0) {
        pith_stage_init(&s[r->n_stages], PITH_STAGE_CLUSTER);
        s[r->n_stages++].cluster.n_centroids = 1u << bits;
    }
    pith_stage_init(&s[r->n_stages], PITH_STAGE_ENCODE);
    s[r->n_stages++].encode.compact = compact;
    *recipe = r;
    return PITH_OK;
}

static enum pith_status dump(json_t *root, char **text, struct pith_error *err)
{
    char *out = pith_json_text(root, JSON_INDENT(2));
    json_decref(root);
    if (!out)
        return pith_error_fill(err, PITH_ERR_MEMORY, "cannot print the recipe: out of memory");
    *text = out;
    return PITH_OK;
}

/* As pith_json_put, for lists. */
static void append(json_t **array, json_t *value)
{
    if (json_array_append_new(*array, value) == 0)
        return;
    json_decref(*array);
    *array = NULL;
}

enum pith_status pith_recipe_print(const struct pith_recipe *r, char **text, struct pith_error *err)
{
    json_t *root = json_pack("{si}", "pith", RECIPE_VERSION), *stages = json_array();
    char drop[48];
    if (r->max_drop >= 0) {
        snprintf(drop, sizeof drop, "%.15g%%", r->max_drop * 100);
        pith_json_put(&root, "goal", json_pack("{ss}", "max_drop", drop));
    }
    for (uint32_t i = 0; i < r->n_stages; i++)
        append(&stages, pith_stage_to_json(&r->stages[i]));
    pith_json_put(&root, "stages", stages);
    return dump(root, text, err);
}

/* Appends an entry of the history, if it is a stage of a recipe. */
static enum pith_status add_past_stage(json_t **stages, const char *text, struct pith_error *err)
{
    json_t *stage;
    enum pith_status st = load(text, strlen(text), JSON_REJECT_DUPLICATES, "history", &stage, err);
    if (st) /* also when it is no JSON: a recipe without it would not make the model again */
        return st;
    if (json_object_get(stage, "do")) {
        json_object_del(stage, "result");
        append(stages, json_incref(stage));
    }
    json_decref(stage);
    return *stages ? PITH_OK : pith_error_no_memory(err);
}

enum pith_status pith_recipe_of_model(const struct pith_model *m, char **text,
                                      struct pith_error *err)
{
    json_t *root = json_pack("{si}", "pith", RECIPE_VERSION), *stages = json_array();
    enum pith_status st = root && stages ? PITH_OK : pith_error_no_memory(err);
    for (uint32_t i = 0; i < m->n_history && !st; i++)
        st = add_past_stage(&stages, m->history[i].text, err);
    if (!st && json_array_size(stages) == 0)
        st = pith_error_fill(err, PITH_ERR_ARGUMENT, "the model has no history to show");
    if (st) {
        json_decref(stages);
        json_decref(root);
        return st;
    }
    pith_json_put(&root, "stages", stages);
    return dump(root, text, err);
}
