/* SPDX-License-Identifier: MIT */
/* preset.h - recipes by name, and options that are given for stages without a recipe.
 *
 *     struct pith_requested_options requested = {0};
 *     pith_request_option(&requested, PITH_STAGE_PRUNE, "sparsity", "95%", &err);
 *     pith_request_option(&requested, PITH_STAGE_TRAIN, "epochs", "4", &err);
 *     pith_recipe_make("deep-compression", &requested, &recipe, &err);
 *
 * A requested option overrides the preset's. In recipes: "preset": "deep-compression", with the
 * same in "stages": { "do": "prune", "sparsity": 0.95 } changes each prune of the preset. */
#ifndef PITH_PRESET_H
#define PITH_PRESET_H

#include "pith_recipe.h"
#include "pith_stage_options.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pith_preset {
    const char *name, *help;
    const char *stages; /* a line for each: its name and KEY=VALUE, with blanks between them */
};
/* Row i of all; NULL past the last. */
const struct pith_preset *pith_preset_row(uint32_t i);

#define PITH_MAX_REQUESTED 64u
#define PITH_REQUESTED_KEY_BYTES 48u
/* Options of stages by their kind, in the order in which they were given. */
struct pith_requested_options {
    struct {
        enum pith_stage_kind kind;
        char key[PITH_REQUESTED_KEY_BYTES]; /* "sparsity", "train.epochs" */
        const char *text;                   /* borrowed */
    } option[PITH_MAX_REQUESTED];
    uint32_t n;
};

/* PITH_ERR_ARGUMENT: no such key, or not a value for it (err->text as of pith_stage_set). */
enum pith_status pith_request_option(struct pith_requested_options *requested,
                                     enum pith_stage_kind kind, const char *key, const char *text,
                                     struct pith_error *err);
bool pith_is_requested(const struct pith_requested_options *requested, enum pith_stage_kind kind);
/* Whether encode.lossless is requested. */
bool pith_requests_lossless(const struct pith_requested_options *requested);

/* The stages of a preset with the requested options, the same for all stages of a kind. Without one
 * (NULL): prune, train, cluster (8 bits), calibrate and quantize where options of theirs are
 * requested, cluster also where none of quantize are and encode is not lossless, and encode. The
 * recipe borrows the texts. PITH_ERR_ARGUMENT: no such preset, a stage that it does not have,
 * options that do not fit each other. */
enum pith_status pith_recipe_make(const char *preset,
                                  const struct pith_requested_options *requested,
                                  struct pith_recipe **recipe, struct pith_error *err);

/* The goal of a COMPRESS, as far as one is given, in the place of the recipe's. */
void pith_recipe_set_goal(struct pith_recipe *recipe, const struct pith_stage *requested);

#ifdef __cplusplus
}
#endif
#endif
