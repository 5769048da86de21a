/* SPDX-License-Identifier: MIT */
/* stage_table.c - which options a kind of stage has, and how one is set by its key. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/error_fill.h"
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
    case PITH_STAGE_CALIBRATE:
        return &pith_calibrate_stage_options;
    case PITH_STAGE_COMPRESS:
        return &pith_compress_options;
    }
    return NULL;
}

const char *pith_stage_name(enum pith_stage_kind kind)
{
    const struct pith_option_table *table = pith_stage_options(kind);
    return table ? table->stage : NULL;
}

enum pith_stage_kind pith_stage_named(const char *name, size_t n)
{
    int kind = PITH_STAGE_PRUNE;
    const char *known;
    while ((known = pith_stage_name((enum pith_stage_kind)kind)) &&
           (strlen(known) != n || memcmp(known, name, n) != 0))
        kind++;
    return known ? (enum pith_stage_kind)kind : (enum pith_stage_kind)0;
}

const struct pith_option *pith_stage_option(enum pith_stage_kind kind, const char *key, size_t n,
                                            size_t *at)
{
    if (!key)
        return NULL;
    static const char training[] = "train.";
    size_t prefix = sizeof training - 1;
    bool trains = kind == PITH_STAGE_PRUNE && n > prefix && memcmp(key, training, prefix) == 0;
    return trains ? pith_option_find(&pith_train_stage_options, key + prefix, n - prefix, at)
                  : pith_option_find(pith_stage_options(kind), key, n, at);
}

enum pith_status pith_stage_set(struct pith_stage *s, const char *key, const char *text,
                                struct pith_stage_texts *texts, struct pith_error *err)
{
    if (!s || !key || !text)
        return PITH_ERR_ARGUMENT;
    size_t at;
    const struct pith_option *o = pith_stage_option(s->kind, key, strlen(key), &at);
    if (!o || (o->kind == PITH_OPTION_OWN && !o->own->read))
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s", "");
    return o->kind == PITH_OPTION_OWN ? o->own->read(s, text, texts, err)
                                      : pith_option_read(o, text, (char *)s + at, err);
}

bool pith_stage_given(const struct pith_stage *s, const struct pith_option *o, size_t at)
{
    if (!s || !o)
        return false;
    return o->kind == PITH_OPTION_OWN ? o->own->given(s)
                                      : pith_option_given(o, (const char *)s + at);
}
