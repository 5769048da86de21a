/* SPDX-License-Identifier: MIT */
/* pith_compress.h - stages joined: one stage with its history entry, a recipe of several, and
 * `compress`, which runs a recipe and holds the result against a limit.
 *
 *     struct pith_recipe *r;
 *     pith_recipe_parse(text, n, "recipe.json", &r, &err);
 *     struct pith_compress_opts o = {.size_bytes = sizeof o, .data = data, .max_drop = 0.005};
 *     struct pith_compress_result res;
 *     pith_compress(model, r, &o, &res, &err);     // PITH_ERR_GOAL: worse than allowed
 *     write(res.file) ...
 *     pith_compress_result_free(&res);
 *
 * A stage is described by one JSON object, the same in a recipe, in a file's history and on the
 * command line of the stage:
 *
 *     { "do": "prune", "sparsity": 0.9, "pattern": "any", "scope": "layer", "layers": { "fc*": 0.95 } }
 *     { "do": "cluster", "bits": 5, "init": "linear", "per": "tensor", "layers": { "conv*": 8 } }
 *     { "do": "encode", "coder": "huffman", "for": "speed" }
 */
#ifndef PITH_COMPRESS_H
#define PITH_COMPRESS_H

#include "pith_model.h"
#include "pith_prune.h"
#include "pith_quantize.h"
#include "pith_measure.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PITH_STAGE_LAYERS 64u

enum pith_stage_kind { PITH_STAGE_PRUNE = 1, PITH_STAGE_CLUSTER = 2, PITH_STAGE_ENCODE = 3 };

struct pith_encode_opts {
    bool plain;        /* no entropy coding */
    bool adaptive;     /* adaptive streams where they are smaller; implied by compact */
    bool huffman;      /* none of them, not even with compact */
    bool compact;      /* "for": "size": the compact header */
    bool keep_history; /* also in the compact header */
};

/* How the constants will be written. */
enum pith_code pith_encode_code(const struct pith_encode_opts *opts);

/* Options of the kind; the layer overrides stand in the arrays here, their patterns are borrowed
 * from whoever filled them (for a recipe's stages: the recipe). */
struct pith_stage {
    enum pith_stage_kind kind;
    uint64_t seed; /* CLUSTER: from the recipe; 0: the caller's */
    struct pith_prune_opts prune;
    struct pith_cluster_opts cluster;
    struct pith_encode_opts encode;
    struct pith_prune_amount prune_layers[PITH_STAGE_LAYERS];
    struct pith_cluster_size cluster_layers[PITH_STAGE_LAYERS];
};

/* A stage with the defaults of its kind. */
void pith_stage_init(struct pith_stage *stage, enum pith_stage_kind kind);

struct pith_stage_report {
    uint64_t weights, kept; /* over all prunable weights */
    double snr_db;          /* cluster: over all clustered weights */
    uint32_t n_layers;      /* entries in the arrays below */
    struct pith_prune_layer *prune;     /* malloc'ed; PRUNE */
    struct pith_cluster_layer *cluster; /* malloc'ed; CLUSTER */
};
void pith_stage_report_free(struct pith_stage_report *report);

/* Runs one stage on m and appends its JSON object and result to m's history. CLUSTER and ENCODE
 * fold batch normalisation; ENCODE sets every constant's code; packing is pith_model_pack with
 * pith_stage_pack_opts. */
enum pith_status pith_stage_run(struct pith_model *m, const struct pith_stage *stage, uint64_t seed,
                                struct pith_stage_report *report, struct pith_error *err);
struct pith_pack_opts pith_stage_pack_opts(const struct pith_stage *encode);

struct pith_recipe {
    double max_drop; /* fraction; negative: none */
    uint32_t n_stages;
    struct pith_stage *stages;
    void *json; /* private */
};

/* name stands in messages. PITH_ERR_CORRUPT: no JSON (line and column told); PITH_ERR_ARGUMENT:
 * unknown key, value out of range; PITH_ERR_UNSUPPORTED: a stage this version does not have. */
enum pith_status pith_recipe_parse(const char *text, size_t n, const char *name,
                                   struct pith_recipe **recipe, struct pith_error *err);
void pith_recipe_free(struct pith_recipe *recipe);
/* The classic recipe: prune to `sparsity` (0: no pruning), cluster to `bits`, encode. */
enum pith_status pith_recipe_classic(double sparsity, uint32_t bits, bool compact,
                                     struct pith_recipe **recipe, struct pith_error *err);
/* Canonical JSON: parses to an equal recipe. malloc'ed, NUL-terminated. */
enum pith_status pith_recipe_print(const struct pith_recipe *recipe, char **text,
                                   struct pith_error *err);
/* The recipe that made m, from its history. PITH_ERR_ARGUMENT when it has none. */
enum pith_status pith_recipe_of_model(const struct pith_model *m, char **text,
                                      struct pith_error *err);

struct pith_compress_opts {
    uint32_t size_bytes;
    struct pith_data *data; /* of the only input; NULL: see feed */
    double max_drop;        /* fraction of top-1; negative: the recipe's, else none */
    uint64_t seed;
    struct pith_engine_opts engine;
    const struct pith_watch *watch; /* for evaluations */
    /* Called before each stage and evaluation: "prune", "baseline", ... May be NULL. */
    void (*progress)(void *user, const char *what, uint64_t total);
    void *user;
    const struct pith_feed *feed; /* instead of data: several inputs, states; both NULL: no accuracy
                                     is measured */
};

struct pith_compress_result {
    struct pith_buffer file; /* owns: the packed result */
    bool has_accuracy;
    struct pith_accuracy before, after;
    double drop; /* top-1 before - after, fraction */
    bool met;
};

/* Runs the recipe on m. PITH_ERR_GOAL when the drop exceeds the limit: *result is filled all the
 * same, so that the best model found can be kept. */
enum pith_status pith_compress(struct pith_model *m, const struct pith_recipe *recipe,
                               const struct pith_compress_opts *opts,
                               struct pith_compress_result *result, struct pith_error *err);
void pith_compress_result_free(struct pith_compress_result *result);

#ifdef __cplusplus
}
#endif
#endif
