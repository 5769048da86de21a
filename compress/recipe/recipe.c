/* SPDX-License-Identifier: MIT */
/* Recipes: JSON in, a list of stages out, and the way back from a finished model's history. */
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include "option_json.h"
#include "recipe_make.h"
#include "stage_json.h"

#define RECIPE_VERSION 1
#define MAX_STAGES 32

static enum pith_status no_such_goal(const struct json_place *p)
{
    char known[128] = "";
    const struct pith_option *o;
    for (uint32_t i = 0; (o = pith_option_row(pith_stage_options(PITH_STAGE_COMPRESS), i, NULL));
         i++)
        if (o->flags & PITH_OPTION_GOAL) {
            size_t n = strlen(known);
            snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", o->key);
        }
    return pith_error_fill(p->err, PITH_ERR_UNSUPPORTED, "%s: no goal '%s' in this version (%s)",
                           p->where, p->key, known);
}

static enum pith_status read_goal(json_t *goal, const char *name, struct pith_recipe *r,
                                  struct pith_error *err)
{
    struct pith_stage all;
    const char *key;
    json_t *v;
    if (!goal)
        return PITH_OK;
    if (!json_is_object(goal))
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s: 'goal' must be an object", name);
    pith_stage_init(&all, PITH_STAGE_COMPRESS);
    json_object_foreach(goal, key, v)
    {
        const struct json_place p = {name, key, err};
        const struct pith_option *o =
            pith_stage_option(PITH_STAGE_COMPRESS, key, strlen(key), NULL);
        if (!o || !(o->flags & PITH_OPTION_GOAL))
            return no_such_goal(&p);
        enum pith_status st = pith_option_from_json(&p, v, PITH_STAGE_COMPRESS, &all);
        if (st)
            return st;
    }
    r->goal = all.goal;
    return pith_stage_check(name, &all, err);
}

/* ---- a preset, and what "stages" says of it ------------------------------------------------- */

static enum pith_status say(struct pith_requested_options *said, enum pith_stage_kind kind,
                            const char *prefix, const char *key, const struct json_place *p)
{
    if (said->n == PITH_MAX_REQUESTED)
        return pith_json_bad(p, "at most 64 options beside those of the preset");
    said->option[said->n].kind = kind;
    snprintf(said->option[said->n++].key, PITH_REQUESTED_KEY_BYTES, "%s%s", prefix, key);
    return PITH_OK;
}

static enum pith_status say_object(struct pith_requested_options *said, enum pith_stage_kind kind,
                                   const char *prefix, json_t *object, const struct json_place *p)
{
    const char *key;
    json_t *v;
    enum pith_status st = PITH_OK;
    json_object_foreach(object, key, v)
    {
        bool nested = kind == PITH_STAGE_PRUNE && strcmp(key, "train") == 0 && *prefix == '\0';
        if (st || strcmp(key, "do") == 0)
            continue;
        st = nested ? say_object(said, kind, "train.", v, p) : say(said, kind, prefix, key, p);
    }
    return st;
}

/* What the stages say that is not left to the preset. */
static enum pith_status read_said(json_t *stages, const char *name,
                                  struct pith_requested_options *said, struct pith_error *err)
{
    const struct json_place p = {name, "stages", err};
    size_t i;
    json_t *s;
    enum pith_status st = PITH_OK;
    if (stages && !json_is_array(stages))
        return pith_json_bad(&p, "a list of stages");
    json_array_foreach(stages, i, s)
    {
        const char *verb = json_string_value(json_object_get(s, "do"));
        enum pith_stage_kind kind =
            verb ? pith_stage_named(verb, strlen(verb)) : (enum pith_stage_kind)0;
        if (!kind)
            return pith_json_bad(&p, "stages with \"do\": prune, cluster, train, quantize, encode");
        /* "do" alone changes nothing, but there must be such a stage */
        st = json_object_size(s) > 1 ? say_object(said, kind, "", s, &p)
                                     : say(said, kind, "", "do", &p);
        if (st)
            return st;
    }
    return st;
}

static enum pith_status read_preset(json_t *root, const char *name, struct pith_recipe *r,
                                    struct pith_error *err)
{
    struct pith_stage all;
    struct pith_requested_options said = {0};
    json_t *stages = json_object_get(root, "stages"), *s;
    size_t i;
    const struct json_place p = {name, "preset", err};
    pith_stage_init(&all, PITH_STAGE_COMPRESS);
    enum pith_status st =
        pith_option_from_json(&p, json_object_get(root, "preset"), PITH_STAGE_COMPRESS, &all);
    if (!st)
        st = read_said(stages, name, &said, err);
    if (!st)
        st = pith_preset_stages(all.preset, &said, r, err);
    for (uint32_t k = 0; k < r->n_stages && !st; k++) {
        char where[300];
        snprintf(where, sizeof where, "%s: preset %s", name, all.preset);
        json_array_foreach(stages, i, s) if (!st && pith_stage_json_kind(s) == r->stages[k].kind)
            st = pith_stage_change(s, where, &r->stages[k], err);
        if (!st)
            st = pith_stage_check(where, &r->stages[k], err);
    }
    return st;
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
        if (strcmp(key, "pith") != 0 && strcmp(key, "goal") != 0 && strcmp(key, "stages") != 0 &&
            strcmp(key, "preset") != 0)
            return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s: unknown key '%s'", name, key);
    }
    st = read_goal(json_object_get(root, "goal"), name, r, err);
    if (!st && json_object_get(root, "preset"))
        return read_preset(root, name, r, err);
    if (!st && json_object_get(root, "goal") && !json_object_get(root, "stages"))
        return PITH_OK; /* of a search */
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
    r->goal.max_drop = -1;
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
    if (!text || !name || !recipe)
        return PITH_ERR_ARGUMENT;
    json_t *json;
    enum pith_status st = pith_json_load(text, n, name, &json, err);
    return st ? st : pith_recipe_from_json(json, name, recipe, err);
}

void pith_recipe_free(struct pith_recipe *r)
{
    if (!r)
        return;
    free(r->stages);
    free(r->texts);
    json_decref(r->json);
    free(r);
}

enum pith_status pith_recipe_classic(double sparsity, uint32_t bits, enum pith_encode_goal goal,
                                     struct pith_recipe **recipe, struct pith_error *err)
{
    if (!recipe)
        return PITH_ERR_ARGUMENT;
    struct pith_recipe *r = calloc(1, sizeof *r);
    struct pith_stage *s = calloc(3, sizeof *s);
    if (!r || !s) {
        free(r);
        free(s);
        return pith_error_fill(err, PITH_ERR_MEMORY, "out of memory");
    }
    *r = (struct pith_recipe){.goal = {.max_drop = -1}, .stages = s};
    if (sparsity > 0) {
        pith_stage_init(&s[r->n_stages], PITH_STAGE_PRUNE);
        s[r->n_stages++].prune.sparsity = sparsity;
    }
    if (bits > 0) {
        pith_stage_init(&s[r->n_stages], PITH_STAGE_CLUSTER);
        s[r->n_stages++].cluster.n_centroids = 1u << bits;
    }
    pith_stage_init(&s[r->n_stages], PITH_STAGE_ENCODE);
    s[r->n_stages++].encode.goal = goal;
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

enum pith_status pith_recipe_print(const struct pith_recipe *r, char **text, struct pith_error *err)
{
    if (!r || !text)
        return PITH_ERR_ARGUMENT;
    json_t *root = json_pack("{si}", "pith", RECIPE_VERSION), *stages = json_array();
    struct pith_stage all;
    json_t *goal = json_object();
    pith_stage_init(&all, PITH_STAGE_COMPRESS);
    all.goal = r->goal;
    pith_options_to_json(&all, PITH_STAGE_COMPRESS, &goal);
    if (goal && json_object_size(goal) == 0)
        json_decref(goal);
    else
        pith_json_put(&root, "goal", goal);
    for (uint32_t i = 0; i < r->n_stages; i++)
        pith_json_append(&stages, pith_stage_to_json(&r->stages[i]));
    if (stages && r->n_stages == 0)
        json_decref(stages);
    else
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
    if (!m || !text)
        return PITH_ERR_ARGUMENT;
    json_t *root = json_pack("{si}", "pith", RECIPE_VERSION), *stages = json_array();
    enum pith_status st = root && stages ? PITH_OK : pith_error_no_memory(err);
    for (uint32_t i = 0; i < m->n_history && !st; i++)
        st = add_past_stage(&stages, m->history[i].text, err);
    if (!st && json_array_size(stages) == 0)
        st = pith_error_fill(err, PITH_ERR_ARGUMENT,
                             "the model has no history (a compact file keeps it in FILE.json)");
    if (st) {
        json_decref(stages);
        json_decref(root);
        return st;
    }
    pith_json_put(&root, "stages", stages);
    return dump(root, text, err);
}
