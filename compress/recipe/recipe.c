/* SPDX-License-Identifier: MIT */
/* Recipes: JSON in, a list of stages out, and the way back from a finished model's history. */
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include "stage_json.h"

#define RECIPE_VERSION 1
#define MAX_STAGES 32

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
        const struct json_place p = {name, key, err};
        enum pith_status st = pith_json_read_percent(&p, v, &r->max_drop);
        if (st)
            return st;
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
        if (r->stages[r->n_stages].start > r->n_stages)
            return pith_error_fill(err, PITH_ERR_ARGUMENT,
                                   "%s: only %u stages stand before 'start'", where, r->n_stages);
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
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s: not a recipe: 'pith' must be %d", name,
                               RECIPE_VERSION);
    json_object_foreach(root, key, v)
    {
        if (strcmp(key, "pith") != 0 && strcmp(key, "goal") != 0 && strcmp(key, "stages") != 0)
            return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s: unknown key '%s'", name, key);
    }
    st = read_goal(json_object_get(root, "goal"), name, r, err);
    return st ? st : read_stages(json_object_get(root, "stages"), name, r, err);
}

enum pith_status pith_recipe_from_json(json_t *root, const char *name, struct pith_recipe **recipe,
                                       struct pith_error *err)
{
    struct pith_recipe *r = calloc(1, sizeof *r);
    if (!r) {
        json_decref(root);
        return pith_error_fill(err, PITH_ERR_MEMORY, "%s: out of memory", name);
    }
    r->max_drop = -1;
    r->json = root;
    enum pith_status st = read_recipe(root, name, r, err);
    if (st)
        pith_recipe_free(r);
    else
        *recipe = r;
    return st;
}

enum pith_status pith_recipe_parse(const char *text, size_t n, const char *name,
                                   struct pith_recipe **recipe, struct pith_error *err)
{
    json_t *json;
    enum pith_status st = pith_json_load(text, n, name, &json, err);
    return st ? st : pith_recipe_from_json(json, name, recipe, err);
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

enum pith_status pith_recipe_lossless(bool compact, struct pith_recipe **recipe,
                                      struct pith_error *err)
{
    enum pith_status st = pith_recipe_classic(0, 0, compact, recipe, err);
    if (!st)
        (*recipe)->stages[0].encode.lossless = true;
    return st;
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

enum pith_status pith_recipe_print(const struct pith_recipe *r, char **text, struct pith_error *err)
{
    json_t *root = json_pack("{si}", "pith", RECIPE_VERSION), *stages = json_array();
    char drop[48];
    if (r->max_drop >= 0) {
        snprintf(drop, sizeof drop, "%.15g%%", r->max_drop * 100);
        pith_json_put(&root, "goal", json_pack("{ss}", "max_drop", drop));
    }
    for (uint32_t i = 0; i < r->n_stages; i++)
        pith_json_append(&stages, pith_stage_to_json(&r->stages[i]));
    pith_json_put(&root, "stages", stages);
    return dump(root, text, err);
}

/* Appends an entry of the history, if it is a stage of a recipe. */
static enum pith_status add_past_stage(json_t **stages, const char *text, struct pith_error *err)
{
    json_t *stage;
    enum pith_status st = pith_json_load(text, strlen(text), "history", &stage, err);
    if (st) /* also when it is no JSON: a recipe without it would not make the model again */
        return st;
    if (json_object_get(stage, "do")) {
        json_object_del(stage, "result");
        pith_json_append(stages, json_incref(stage));
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
