/* SPDX-License-Identifier: MIT */
/* A stage as a JSON object and back. Unknown keys are refused: a misspelt option that silently did
 * nothing would be worse than an error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "option_json.h"
#include "stage_json.h"

static const struct pith_word stage_words[] = {
    {"prune", PITH_STAGE_PRUNE},       {"cluster", PITH_STAGE_CLUSTER}, {"train", PITH_STAGE_TRAIN},
    {"quantize", PITH_STAGE_QUANTIZE}, {"encode", PITH_STAGE_ENCODE},   {NULL, 0}};
static const struct pith_word scope_words[] = {
    {"layer", PITH_PRUNE_LAYER}, {"global", PITH_PRUNE_GLOBAL}, {NULL, 0}};
static const struct pith_word schedule_words[] = {
    {"cubic", PITH_PRUNE_CUBIC}, {"linear", PITH_PRUNE_LINEAR}, {NULL, 0}};

static enum pith_status read_layers(const struct json_place *p, json_t *v, struct pith_stage *s)
{
    const char *pattern;
    json_t *amount;
    uint32_t n = 0;
    if (!json_is_object(v) || json_object_size(v) > PITH_STAGE_LAYERS)
        return pith_json_bad(p, "an object of at most 64 layer patterns");
    json_object_foreach(v, pattern, amount)
    {
        struct json_place at = {p->where, pattern, p->err};
        s->prune_layers[n].pattern = pattern;
        enum pith_status st = pith_json_read_number(&at, amount, 0, 1e6, &s->prune_layers[n].value);
        if (st)
            return st;
        n++;
    }
    s->prune.layers = s->prune_layers;
    s->prune.n_layers = n;
    return PITH_OK;
}

/* What is trained after each step of a gradual prune. */
static enum pith_status read_training(const struct json_place *p, json_t *v, struct pith_stage *s)
{
    const char *key;
    json_t *member;
    if (!json_is_object(v))
        return pith_json_bad(p, "an object with the keys of 'train'");
    json_object_foreach(v, key, member)
    {
        const struct json_place at = {p->where, key, p->err};
        enum pith_status st = strcmp(key, "seed") == 0
                                  ? pith_json_no_such_key(&at, "train")
                                  : pith_option_from_json(&at, member, PITH_STAGE_TRAIN, s);
        if (st)
            return st;
    }
    return PITH_OK;
}

static enum pith_status prune_key(const struct json_place *p, json_t *v, struct pith_stage *s)
{
    int word = 0;
    enum pith_status st;
    if (strcmp(p->key, "sparsity") == 0)
        return pith_json_read_number(p, v, 0, 1, &s->prune.sparsity);
    if (strcmp(p->key, "sigma") == 0) {
        s->prune.by = PITH_PRUNE_BY_SIGMA;
        return pith_json_read_number(p, v, 0, 100, &s->prune.sigma);
    }
    if (strcmp(p->key, "zeros") == 0) {
        s->prune.by = PITH_PRUNE_BY_ZERO;
        return json_is_true(v) ? PITH_OK : pith_json_bad(p, "true");
    }
    if (strcmp(p->key, "layers") == 0)
        return read_layers(p, v, s);
    if (strcmp(p->key, "scope") == 0) {
        st = pith_json_read_word(p, v, scope_words, &word);
        s->prune.scope = (enum pith_prune_scope)word;
        return st;
    }
    if (strcmp(p->key, "steps") == 0)
        return pith_json_read_uint(p, v, 1, PITH_STAGE_STEPS, &s->steps);
    if (strcmp(p->key, "schedule") == 0) {
        st = pith_json_read_word(p, v, schedule_words, &word);
        s->schedule = (enum pith_prune_schedule)word;
        return st;
    }
    if (strcmp(p->key, "train") == 0)
        return read_training(p, v, s);
    if (strcmp(p->key, "seed") == 0)
        return pith_json_read_seed(p, v, &s->seed);
    if (strcmp(p->key, "pattern") == 0)
        return json_is_string(v)
                   ? pith_pattern_parse(json_string_value(v), &s->prune.pattern, p->err)
                   : pith_json_bad(p, "a text such as any or 2:4");
    return pith_json_no_such_key(p, "prune");
}

/* Steps without training between them would end as one does. */
static enum pith_status check_steps(json_t *object, const char *where, const struct pith_stage *s,
                                    struct pith_error *err)
{
    static const char *const together[] = {"schedule", "train", "seed"};
    if (s->kind != PITH_STAGE_PRUNE)
        return PITH_OK;
    if (s->steps && !json_object_get(object, "train"))
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s: 'steps' needs 'train'", where);
    for (size_t i = 0; !s->steps && i < sizeof together / sizeof *together; i++)
        if (json_object_get(object, together[i]))
            return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s: '%s' needs 'steps'", where,
                                   together[i]);
    return PITH_OK;
}

enum pith_status pith_stage_from_json(json_t *object, const char *where, struct pith_stage *stage,
                                      struct pith_error *err)
{
    const char *verb = json_string_value(json_object_get(object, "do"));
    struct json_place p = {where, "do", err};
    const char *key;
    json_t *v;
    const struct pith_word *w = stage_words;
    char why[PITH_MISFIT_BYTES];
    enum pith_status st;
    while (verb && w->text && strcmp(w->text, verb) != 0)
        w++;
    if (!verb)
        return pith_json_bad(&p, "a stage: prune, cluster, train, quantize or encode");
    if (!w->text)
        return pith_error_fill(
            err, PITH_ERR_UNSUPPORTED,
            "%s: no stage '%s' in this version (prune, cluster, train, quantize, "
            "encode)",
            where, verb);
    pith_stage_init(stage, (enum pith_stage_kind)w->value);
    json_object_foreach(object, key, v)
    {
        p.key = key;
        if (strcmp(key, "do") == 0 || strcmp(key, "result") == 0)
            continue;
        st = stage->kind == PITH_STAGE_PRUNE ? prune_key(&p, v, stage)
                                             : pith_option_from_json(&p, v, stage->kind, stage);
        if (st)
            return st;
    }
    st = check_steps(object, where, stage, err);
    if (!st && pith_stage_misfit(stage, false, why))
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s: %s", where, why);
    return st;
}

static void put_steps(const struct pith_stage *s, json_t **j)
{
    struct pith_stage between = *s;
    json_t *train = json_object();
    between.seed = 0;
    pith_options_to_json(&between, PITH_STAGE_TRAIN, &train);
    pith_json_put(j, "steps", json_integer(s->steps));
    pith_json_put(j, "schedule", json_string(pith_json_word_of(schedule_words, (int)s->schedule)));
    pith_json_put(j, "train", train);
    if (s->seed)
        pith_json_put(j, "seed", json_integer((json_int_t)s->seed));
}

static json_t *prune_to_json(const struct pith_stage *s)
{
    const struct pith_prune_opts *o = &s->prune;
    char pattern[40];
    json_t *j = json_pack("{ss}", "do", "prune"), *layers;
    pith_pattern_print(&o->pattern, pattern, sizeof pattern);
    if (o->by == PITH_PRUNE_BY_SPARSITY)
        pith_json_put(&j, "sparsity", json_real(o->sparsity));
    else if (o->by == PITH_PRUNE_BY_SIGMA)
        pith_json_put(&j, "sigma", json_real(o->sigma));
    else
        pith_json_put(&j, "zeros", json_true());
    pith_json_put(&j, "pattern", json_string(pattern));
    pith_json_put(&j, "scope", json_string(pith_json_word_of(scope_words, (int)o->scope)));
    if (o->n_layers) {
        layers = json_object();
        for (uint32_t i = 0; i < o->n_layers; i++)
            pith_json_put(&layers, o->layers[i].pattern, json_real(o->layers[i].value));
        pith_json_put(&j, "layers", layers);
    }
    if (s->steps)
        put_steps(s, &j);
    return j;
}

json_t *pith_stage_to_json(const struct pith_stage *s)
{
    if (s->kind == PITH_STAGE_PRUNE)
        return prune_to_json(s);
    json_t *j = json_pack("{ss}", "do", pith_json_word_of(stage_words, (int)s->kind));
    pith_options_to_json(s, s->kind, &j);
    return j;
}
