/* SPDX-License-Identifier: MIT */
/* stage_renamed.c - former keys of options. They are refused with the key that replaced them, or
 * with the reason why the option was removed. */
#include <string.h>

#include "pith_stage_options.h"

static const struct {
    const char *stage, *was, *now; /* now NULL: removed */
} former[] = {
    {"cluster", "centroids", "bits"},
    {"cluster", "init", NULL},
    {"cluster", "iterations", NULL},
    {"cluster", "seed", NULL},
    {"quantize", "blocks", NULL},
    {"quantize", "fine", NULL},
    {"quantize", "int16_activations", NULL},
    {"quantize", "reestimate", NULL},
    {"train", "assignment_temperature", NULL},
    {"train", "average", NULL},
    {"train", "dampening", "oscillation_damping"},
    {"train", "ema", NULL},
    {"train", "feature_distillation", NULL},
    {"train", "feedback", NULL},
    {"train", "feedback_loss", NULL},
    {"train", "gptq_fisher_share", NULL},
    {"train", "gptq_samples", NULL},
    {"train", "hint", NULL},
    {"train", "hints", NULL},
    {"train", "lambda", NULL},
    {"train", "rate_weight", NULL},
    {"train", "regrow", NULL},
    {"train", "smoothing", NULL},
    {"train", "softness", NULL},
    {"train", "step_by", NULL},
    {"train", "step_init", NULL},
    {"train", "step_power", NULL},
    {"train", "temperature", NULL},
    {"train", "units", "remove_dead_channels"},
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

bool pith_option_former(const struct pith_option_table *table, const char *name, size_t n,
                        const struct pith_option **now)
{
    if (!table || !name || !now)
        return false;
    *now = NULL;
    for (size_t i = 0; i < sizeof former / sizeof *former; i++) {
        const char *key = former[i].now;
        if (strcmp(former[i].stage, table->stage) != 0 || !is_key(former[i].was, name, n))
            continue;
        *now = key ? pith_option_find(table, key, strlen(key), NULL) : NULL;
        return true;
    }
    return false;
}
