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
        st = pith_option_from_json(&p, v, stage->kind, stage);
        if (st)
            return st;
    }
    st = check_steps(object, where, stage, err);
    if (!st && pith_stage_misfit(stage, false, why))
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s: %s", where, why);
    return st;
}

json_t *pith_stage_to_json(const struct pith_stage *s)
{
    json_t *j = json_pack("{ss}", "do", pith_json_word_of(stage_words, (int)s->kind));
    pith_options_to_json(s, s->kind, &j);
    return j;
}
