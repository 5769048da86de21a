/* SPDX-License-Identifier: MIT */
/* stage_table.c - which options a kind of stage has, and how one is set by its key. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "pith_error_fill.h"
#include "stage_rows.h"

const struct pith_option_table *pith_stage_options(enum pith_stage_kind kind)
{
    switch (kind) {
    case PITH_STAGE_TRAIN:
        return &pith_train_stage_options;
    case PITH_STAGE_PRUNE:
        return &pith_prune_stage_options;
    case PITH_STAGE_CLUSTER:
        return &pith_cluster_stage_options;
    case PITH_STAGE_ENCODE:
        return &pith_encode_stage_options;
    case PITH_STAGE_QUANTIZE:
        return &pith_quantize_stage_options;
    }
    return NULL;
}

enum pith_status pith_stage_set(struct pith_stage *s, const char *key, const char *text,
                                struct pith_stage_texts *texts, struct pith_error *err)
{
    size_t at;
    const struct pith_option *o =
        pith_option_find(pith_stage_options(s->kind), key, strlen(key), &at);
    if (!o || (o->kind == PITH_OPTION_OWN && !o->own->read))
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s", "");
    return o->kind == PITH_OPTION_OWN ? o->own->read(s, text, texts, err)
                                      : pith_option_read(o, text, (char *)s + at, err);
}

bool pith_stage_given(const struct pith_stage *s, const struct pith_option *o, size_t at)
{
    return o->kind == PITH_OPTION_OWN ? o->own->given(s)
                                      : pith_option_given(o, (const char *)s + at);
}
