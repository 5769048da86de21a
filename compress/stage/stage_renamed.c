/* SPDX-License-Identifier: MIT */
/* stage_renamed.c - keys that options had once. They are not read: who says one is told the key
 * that stands in its place. */
#include <string.h>

#include "pith_stage_options.h"

static const struct {
    const char *stage, *was, *now;
} renamed[] = {
    {"train", "average", "ema"},
    {"train", "dampening", "oscillation_damping"},
    {"train", "feedback", "gptq_samples"},
    {"train", "feedback_loss", "gptq_fisher_share"},
    {"train", "hint", "feature_distillation"},
    {"train", "hints", "feature_distillation"},
    {"train", "rate_weight", "lambda"},
    {"train", "softness", "assignment_temperature"},
    {"train", "step_by", "step_init"},
    {"train", "units", "remove_dead_channels"},
    {"quantize", "fine", "int16_activations"},
};

static bool is_key(const char *key, const char *name, size_t n)
{
    if (strlen(key) != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (key[i] != (name[i] == '-' ? '_' : name[i]))
            return false;
    return true;
}

const struct pith_option *pith_option_renamed(const struct pith_option_table *table,
                                              const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (strcmp(renamed[i].stage, table->stage) == 0 && is_key(renamed[i].was, name, n))
            return pith_option_find(table, renamed[i].now, strlen(renamed[i].now), NULL);
    return NULL;
}
