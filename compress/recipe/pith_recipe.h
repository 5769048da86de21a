/* SPDX-License-Identifier: MIT */
/* pith_recipe.h - recipes: JSON in, a list of stages out, and back.
 *
 * A stage is described by one JSON object, the same in a recipe, in a file's history and on the
 * command line of the stage:
 *
 *     { "do": "prune", "sparsity": 0.9, "pattern": "any", "scope": "layer", "layers": { "fc*": 0.95
 * } } { "do": "cluster", "bits": 5, "per": "tensor", "layers": { "conv*": 8 } }
 *     { "do": "train", "epochs": 8, "lr": 0.001, "teacher": "start", "until_drop": "0.3%" }
 *     { "do": "prune", "sparsity": 0.9, "steps": 6, "schedule": "cubic", "train": { "epochs": 1 } }
 *     { "do": "quantize", "weights": 8, "rounding": "gptq", "samples": 64, "keep": ["fc_out"] }
 *     { "do": "quantize", "to": "fixed:8", "per": "channel" }      or "activations": 16
 *     { "do": "quantize", "keep": ["fc_out"], "floats": "f16" }    or "bf16"
 *     { "do": "encode", "coder": "huffman", "for": "speed" }
 *
 * A recipe may begin with those of a preset (preset.h). One with a goal and no stages is for a
 * search (pith_goal_compress.h): n_stages is 0. */
#ifndef PITH_RECIPE_H
#define PITH_RECIPE_H

#include "pith_stage.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct pith_stage_texts;
struct pith_recipe {
    struct pith_goal goal;
    uint32_t n_stages;
    struct pith_stage *stages;
    void *json;                     /* private */
    struct pith_stage_texts *texts; /* private */
};

/* name stands in messages. PITH_ERR_CORRUPT: no JSON (with line and column); PITH_ERR_ARGUMENT:
 * unknown key, value out of range; PITH_ERR_UNSUPPORTED: a stage this version does not have. */
enum pith_status pith_recipe_parse(const char *text, size_t n, const char *name,
                                   struct pith_recipe **recipe, struct pith_error *err);
void pith_recipe_free(struct pith_recipe *recipe);
/* The classic recipe: prune to `sparsity` (0: no pruning), cluster to `bits`, encode. */
enum pith_status pith_recipe_classic(double sparsity, uint32_t bits, enum pith_encode_goal goal,
                                     struct pith_recipe **recipe, struct pith_error *err);
/* Canonical JSON, all stages in full: parses to an equal recipe. malloc'ed, NUL-terminated. */
enum pith_status pith_recipe_print(const struct pith_recipe *recipe, char **text,
                                   struct pith_error *err);
/* The recipe that made m, from its history. PITH_ERR_ARGUMENT when it has none. */
enum pith_status pith_recipe_of_model(const struct pith_model *m, char **text,
                                      struct pith_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
