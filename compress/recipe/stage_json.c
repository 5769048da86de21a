/* SPDX-License-Identifier: MIT */
/* A stage as a JSON object and back. Unknown keys are refused: a misspelt option that silently did
 * nothing would be worse than an error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "option_json.h"
#include "stage_json.h"

static const struct pith_word stage_words[] = {{"prune", PITH_STAGE_PRUNE},
                                               {"cluster", PITH_STAGE_CLUSTER},
                                               {"train", PITH_STAGE_TRAIN},
                                               {"quantize", PITH_STAGE_QUANTIZE},
                                               {"encode", PITH_STAGE_ENCODE},
                                               {"calibrate", PITH_STAGE_CALIBRATE},
                                               {NULL, 0}};

enum pith_stage_kind pith_stage_json_kind(const json_t *object)
{
    const char *verb = json_string_value(json_object_get(object, "do"));
    const struct pith_word *w = stage_words;
    while (verb && w->text && strcmp(w->text, verb) != 0)
        w++;
    return verb ? (enum pith_stage_kind)w->value : (enum pith_stage_kind)0;
}

enum pith_status pith_stage_change(json_t *object, const char *where, struct pith_stage *stage,
                                   struct pith_error *err)
{
    struct json_place p = {where, "do", err};
    const char *key;
    json_t *v;
    json_object_foreach(object, key, v)
    {
        p.key = key;
        if (strcmp(key, "do") == 0 || strcmp(key, "result") == 0)
            continue;
        enum pith_status st = pith_option_from_json(&p, v, stage->kind, stage);
        if (st)
            return st;
    }
    return PITH_OK;
}

enum pith_status pith_stage_check(const char *where, const struct pith_stage *stage,
                                  struct pith_error *err)
{
    char why[PITH_CONFLICT_BYTES];
    if (!pith_stage_conflict(stage, false, why))
        return PITH_OK;
    return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s: %s", where, why);
}

enum pith_status pith_stage_from_json(json_t *object, const char *where, struct pith_stage *stage,
                                      struct pith_error *err)
{
    const char *verb = json_string_value(json_object_get(object, "do"));
    const struct json_place p = {where, "do", err};
    enum pith_stage_kind kind = pith_stage_json_kind(object);
    if (!verb)
        return pith_json_bad(&p, "a stage: prune, cluster, train, calibrate, quantize or encode");
    if (!kind)
        return pith_error_fill(
            err, PITH_ERR_UNSUPPORTED,
            "%s: no stage '%s' in this version (prune, cluster, train, calibrate, "
            "quantize, encode)",
            where, verb);
    pith_stage_init(stage, kind);
    enum pith_status st = pith_stage_change(object, where, stage, err);
    return st ? st : pith_stage_check(where, stage, err);
}

json_t *pith_stage_to_json(const struct pith_stage *s)
{
    json_t *j = json_pack("{ss}", "do", pith_json_word_of(stage_words, (int)s->kind));
    pith_options_to_json(s, s->kind, &j);
    return j;
}
