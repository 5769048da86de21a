/* SPDX-License-Identifier: MIT */
/* Recipes: JSON in, a list of stages out, and the way back from a finished model's history. */
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include "stage_json.h"

#define RECIPE_VERSION 1
#define MAX_STAGES 32
#define MAX_DEPTH 16 /* nesting that jansson may recurse into: it refuses 2048, we far earlier */

/* "0.5%" -> 0.005; the JSON library reads the number, whatever the locale. */
static bool read_percent(const char *text, double *fraction)
{
    size_t n = text ? strlen(text) : 0;
    json_t *number = n > 1 && text[n - 1] == '%' ? json_loadb(text, n - 1, JSON_DECODE_ANY, NULL) : NULL;
    double percent = json_is_number(number) ? json_number_value(number) : -1;
    json_decref(number);
    *fraction = percent / 100;
    return percent >= 0 && percent <= 100;
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
        if (!read_percent(json_string_value(v), &r->max_drop))
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
    json_error_t at;
    struct pith_recipe *r;
    enum pith_status st;
    if (too_deep(text, n))
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: nested deeper than %d", name, MAX_DEPTH);
    r = calloc(1, sizeof *r);
    if (!r)
        return pith_error_fill(err, PITH_ERR_MEMORY, "%s: out of memory", name);
    r->max_drop = -1;
    r->json = json_loadb(text, n, JSON_REJECT_DUPLICATES, &at);
    if (!r->json)
        st = pith_error_fill(err, PITH_ERR_CORRUPT, "%s: line %d column %d: %s", name, at.line,
                                at.column, at.text);
    else
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
    char *out = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) : NULL;
    json_decref(root);
    if (!out)
        return pith_error_fill(err, PITH_ERR_MEMORY, "cannot print the recipe: out of memory");
    *text = out;
    return PITH_OK;
}

enum pith_status pith_recipe_print(const struct pith_recipe *r, char **text, struct pith_error *err)
{
    json_t *root = json_pack("{si}", "pith", RECIPE_VERSION), *stages = json_array();
    char drop[48];
    if (r->max_drop >= 0) {
        snprintf(drop, sizeof drop, "%.15g%%", r->max_drop * 100);
        json_object_set_new(root, "goal", json_pack("{ss}", "max_drop", drop));
    }
    for (uint32_t i = 0; i < r->n_stages; i++)
        json_array_append_new(stages, pith_stage_to_json(&r->stages[i]));
    json_object_set_new(root, "stages", stages);
    return dump(root, text, err);
}

enum pith_status pith_recipe_of_model(const struct pith_model *m, char **text,
                                      struct pith_error *err)
{
    json_t *root = json_pack("{si}", "pith", RECIPE_VERSION), *stages = json_array();
    for (uint32_t i = 0; i < m->n_history; i++) {
        json_t *s = json_loads(m->history[i].text, JSON_REJECT_DUPLICATES, NULL);
        if (s && json_object_get(s, "do")) {
            json_object_del(s, "result");
            json_array_append(stages, s);
        }
        json_decref(s);
    }
    if (json_array_size(stages) == 0) {
        json_decref(stages);
        json_decref(root);
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "the model has no history to show");
    }
    json_object_set_new(root, "stages", stages);
    return dump(root, text, err);
}
