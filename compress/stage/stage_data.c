/* SPDX-License-Identifier: MIT */
/* stage_data.c - defaults, and what a stage's options say of it. */
#include <string.h>
#include "pith_stage_options.h"

void pith_stage_init(struct pith_stage *s, enum pith_stage_kind kind)
{
    if (!s)
        return;
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->prune.size_bytes = sizeof s->prune;
    s->cluster.size_bytes = sizeof s->cluster;
    s->quantize.size_bytes = sizeof s->quantize;
    s->ranges.size_bytes = sizeof s->ranges;
    pith_train_opts_init(&s->train, sizeof s->train);
    pith_option_defaults(pith_stage_options(PITH_STAGE_TRAIN)->part[1].set, s);
    pith_option_defaults(pith_stage_options(PITH_STAGE_CALIBRATE)->part[0].set, s);
    pith_option_defaults(pith_stage_options(PITH_STAGE_COMPRESS)->part[0].set, s);
    if (kind == PITH_STAGE_PRUNE)
        s->train.epochs = 1; /* there is more than one step */
}

bool pith_stage_trains(const struct pith_stage *s)
{
    if (!s)
        return false;
    return s->kind == PITH_STAGE_TRAIN || (s->kind == PITH_STAGE_PRUNE && s->trains);
}

enum pith_code pith_encode_code(const struct pith_encode_opts *o)
{
    if (!o)
        return PITH_CODE_PLAIN;
    if (o->plain)
        return PITH_CODE_PLAIN;
    return o->adaptive ? PITH_CODE_ADAPTIVE : o->rans ? PITH_CODE_RANS : PITH_CODE_HUFFMAN;
}

struct pith_pack_opts pith_stage_pack_opts(const struct pith_stage *encode)
{
    if (!encode)
        return (struct pith_pack_opts){0};
    return (struct pith_pack_opts){.size_bytes = sizeof(struct pith_pack_opts),
                                   .compact = encode->encode.goal != PITH_FOR_SPEED,
                                   .keep_history = encode->encode.keep_history};
}

bool pith_stage_needs_original(const struct pith_stage *s)
{
    if (!s)
        return false;
    return pith_stage_trains(s) &&
           (s->teacher ? strcmp(s->teacher, "start") == 0 : s->until_drop >= 0);
}
