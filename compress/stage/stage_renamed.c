/* SPDX-License-Identifier: MIT */
/* stage_renamed.c - former keys of options. They are refused with the key that replaced them, or
 * with the reason why the option was removed. */
#include <string.h>

#include "pith_stage_options.h"

static const struct {
    const char *stage, *was, *now;
} renamed[] = {
    {"train", "average", "ema"},
    {"train", "dampening", "oscillation_damping"},
    {"train", "feedback", "gptq_samples"},
    {"train", "feedback_loss", "gptq_fisher_share"},
    {"train", "rate_weight", "lambda"},
    {"train", "step_by", "step_init"},
    {"train", "units", "remove_dead_channels"},
    {"quantize", "fine", "int16_activations"},
};

static const struct {
    const char *stage, *was;
} removed[] = {
    {"train", "assignment_temperature"},
    {"train", "feature_distillation"},
    {"train", "hint"},
    {"train", "hints"},
    {"train", "softness"},
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
    if (!table || !name)
        return NULL;
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (strcmp(renamed[i].stage, table->stage) == 0 && is_key(renamed[i].was, name, n))
            return pith_option_find(table, renamed[i].now, strlen(renamed[i].now), NULL);
    return NULL;
}

const char *pith_option_removed(const struct pith_option_table *table, const char *name, size_t n)
{
    if (!table || !name)
        return NULL;
    for (size_t i = 0; i < sizeof removed / sizeof *removed; i++)
        if (strcmp(removed[i].stage, table->stage) == 0 && is_key(removed[i].was, name, n))
            return "was removed: no network gained by it (docs/tried.md)";
    return NULL;
}
