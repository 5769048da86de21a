/* SPDX-License-Identifier: MIT */
/* stage_rows_prune.c - the options of the stage `prune`. Recipes say them in this order. What is
 * trained between steps has the options of `train`, in recipes in an object of its own. */
#include <stdio.h>
#include <string.h>

#include "base/error_fill.h"
#include "stage_rows.h"

/* ---- how much: one of three ------------------------------------------------------------------ */

enum pith_status pith_prune_choose(struct pith_stage *s, enum pith_prune_by by,
                                   struct pith_error *err)
{
    bool other = s->prune.by != PITH_PRUNE_BY_SPARSITY || s->prune.sparsity > 0;
    if (other && s->prune.by != by)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "cannot be combined: give one of sparsity, sigma and zeros");
    s->prune.by = by;
    return PITH_OK;
}

static enum pith_status read_sparsity(struct pith_stage *s, const char *text,
                                      struct pith_stage_texts *texts, struct pith_error *err)
{
    static const struct pith_option row = {.kind = PITH_OPTION_SHARE, .max = 1};
    (void)texts;
    enum pith_status st = pith_option_read(&row, text, &s->prune.sparsity, err);
    return st ? st : pith_prune_choose(s, PITH_PRUNE_BY_SPARSITY, err);
}

static bool has_sparsity(const struct pith_stage *s)
{
    return s->prune.by == PITH_PRUNE_BY_SPARSITY;
}

/* 0 is as if it had not been said. */
static enum pith_status read_sigma(struct pith_stage *s, const char *text,
                                   struct pith_stage_texts *texts, struct pith_error *err)
{
    static const struct pith_option row = {.kind = PITH_OPTION_NUMBER, .max = 100};
    (void)texts;
    enum pith_status st = pith_option_read(&row, text, &s->prune.sigma, err);
    return st || !(s->prune.sigma > 0) ? st : pith_prune_choose(s, PITH_PRUNE_BY_SIGMA, err);
}

static bool has_sigma(const struct pith_stage *s)
{
    return s->prune.by == PITH_PRUNE_BY_SIGMA;
}

static enum pith_status read_zeros(struct pith_stage *s, const char *text,
                                   struct pith_stage_texts *texts, struct pith_error *err)
{
    (void)texts;
    if (*text && strcmp(text, "true") != 0)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "'%.60s': give true", text);
    return pith_prune_choose(s, PITH_PRUNE_BY_ZERO, err);
}

static bool has_zeros(const struct pith_stage *s)
{
    return s->prune.by == PITH_PRUNE_BY_ZERO;
}

const struct pith_option_own pith_own_sparsity = {read_sparsity, NULL, has_sparsity, false},
                             pith_own_sigma = {read_sigma, NULL, has_sigma, false},
                             pith_own_zeros = {read_zeros, NULL, has_zeros, false};

/* ---- where ----------------------------------------------------------------------------------- */

static enum pith_status read_pattern(struct pith_stage *s, const char *text,
                                     struct pith_stage_texts *texts, struct pith_error *err)
{
    (void)texts;
    return pith_pattern_parse(text, &s->prune.pattern, err);
}

static void print_pattern(const struct pith_stage *s, char *text, size_t room)
{
    pith_pattern_print(&s->prune.pattern, text, room);
}

static bool has_pattern(const struct pith_stage *s)
{
    return s->prune.pattern.kind != PITH_PATTERN_ANY;
}

static const struct pith_option_own pattern = {read_pattern, print_pattern, has_pattern, false};

/* "conv1=0.6", "fc=90%" */
static enum pith_status read_layer(struct pith_stage *s, const char *text,
                                   struct pith_stage_texts *texts, struct pith_error *err)
{
    static const struct pith_option row = {.kind = PITH_OPTION_SHARE, .max = 1e6};
    const char *value = pith_stage_layer_value(text, err);
    struct pith_prune_amount layer = {0};
    if (!value)
        return PITH_ERR_ARGUMENT;
    if (pith_option_read(&row, value, &layer.value, NULL))
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "'%.100s': '%.100s' is not a valid value",
                               text, value);
    layer.pattern = pith_stage_keep_glob(texts, text, value, s->prune.n_layers, err);
    if (!layer.pattern)
        return PITH_ERR_ARGUMENT;
    s->prune_layers[s->prune.n_layers++] = layer;
    s->prune.layers = s->prune_layers;
    return PITH_OK;
}

static bool has_layers(const struct pith_stage *s)
{
    return s->prune.n_layers > 0;
}

const struct pith_option_own pith_own_prune_layers = {read_layer, NULL, has_layers, false};

/* ---- what is trained after each step --------------------------------------------------------- */

static enum pith_status read_train(struct pith_stage *s, const char *text,
                                   struct pith_stage_texts *texts, struct pith_error *err)
{
    (void)texts;
    if (*text && strcmp(text, "true") != 0)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "'%.60s': give true", text);
    pith_prune_set_trains(s);
    return PITH_OK;
}

void pith_prune_set_trains(struct pith_stage *s)
{
    s->trains = true;
    s->steps = s->steps ? s->steps : 1;
}

static bool has_train(const struct pith_stage *s)
{
    return s->trains;
}

const struct pith_option_own pith_own_prune_train = {read_train, NULL, has_train, false};

/* ---- rows ------------------------------------------------------------------------------------ */

static const struct pith_word scopes[] = {
    {"layer", PITH_PRUNE_LAYER}, {"global", PITH_PRUNE_GLOBAL}, {NULL, 0}};

static const struct pith_option rows[] = {
    PITH_OWN_ROW("sparsity", &pith_own_sparsity, "SHARE", "share of weights to remove: 0.9 or 90%",
                 .without = "sigma|zeros"),
    PITH_OWN_ROW("sigma", &pith_own_sigma, "S",
                 "remove weights below S standard deviations of their layer",
                 .without = "sparsity|zeros",
                 .source = "Han et al., 2015, Learning both weights and connections"),
    PITH_OWN_ROW("zeros", &pith_own_zeros, NULL, "store existing zeros as pruned (lossless)",
                 .without = "sparsity|sigma"),
    PITH_OWN_ROW("pattern", &pattern, "P", "any, 2:4, 1x4, balanced:12/128, row, channel",
                 .flags = PITH_OPTION_ALWAYS),
    PITH_ROW(WORD, "scope", prune.scope, "S", "threshold per", .normal = PITH_PRUNE_LAYER,
             .words = scopes, .flags = PITH_OPTION_ALWAYS),
    PITH_OWN_ROW("layers", &pith_own_prune_layers, "GLOB=V",
                 "amount for these layers; 0: not pruned", .option = "layer"),
    PITH_ROW(UINT, "steps", steps, "N", "prune in N steps, with --train after each", .min = 1,
             .max = PITH_STAGE_STEPS, .needs = "train",
             .source = "Han et al., 2015; Zhu & Gupta, 2017"),
    PITH_OWN_ROW("train", &pith_own_prune_train, NULL,
                 "retrain the remaining weights (pith help train)"),
    PITH_ROW(SEED, "seed", seed, NULL, NULL, .min = 1, .max = 9e18, .needs = "steps",
             .flags = PITH_OPTION_RECIPE),
};
static const struct pith_option_set all = {rows, sizeof rows / sizeof *rows};

const struct pith_option_table pith_prune_stage_options = {"prune", {{&all, 0}, {NULL, 0}}};
