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
 *     { "do": "prune", "sparsity": 0.9, "pattern": "any", "scope": "layer", "layers": { "fc*": 0.95
 * } } { "do": "cluster", "bits": 5, "init": "linear", "per": "tensor", "layers": { "conv*": 8 } }
 *     { "do": "train", "epochs": 8, "lr": 0.001, "teacher": "start", "until_drop": "0.3%" }
 *     { "do": "prune", "sparsity": 0.9, "steps": 6, "schedule": "cubic", "train": { "epochs": 1 } }
 *     { "do": "quantize", "weights": 8, "rounding": "feedback", "samples": 64, "keep": ["fc_out"] }
 *     { "do": "quantize", "to": "fixed:8", "per": "channel" }      or "activations": 16
 *     { "do": "quantize", "keep": ["fc_out"], "floats": "f16" }    or "bf16"
 *     { "do": "encode", "coder": "huffman", "for": "speed" }
 *
 * Stages that train need data: pith_stage_run_with, or opts.train of pith_compress. */
#ifndef PITH_COMPRESS_H
#define PITH_COMPRESS_H

#include "pith_model.h"
#include "pith_pack.h"
#include "pith_prune.h"
#include "pith_quantize.h"
#include "pith_measure.h"
#include "pith_train.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PITH_STAGE_LAYERS 64u
#define PITH_STAGE_HINTS 16u
#define PITH_STAGE_STEPS 1000u

enum pith_stage_kind {
    PITH_STAGE_PRUNE = 1,
    PITH_STAGE_CLUSTER = 2,
    PITH_STAGE_ENCODE = 3,
    PITH_STAGE_TRAIN = 4,
    PITH_STAGE_QUANTIZE = 5
};

/* How much of its amount a gradual prune has reached in step t of n. */
enum pith_prune_schedule {
    PITH_PRUNE_CUBIC = 0, /* 1 - (1 - t/n)^3: most at first (Zhu & Gupta, 2017) */
    PITH_PRUNE_LINEAR = 1 /* t/n (Han et al., 2015) */
};

struct pith_encode_opts {
    bool plain;        /* no entropy coding */
    bool adaptive;     /* adaptive streams, for each tensor where they are smaller */
    bool huffman;      /* none of them */
    bool compact;      /* "for": "size": the compact header */
    bool keep_history; /* also in the compact header */
};

/* Compact, with no coder named: adaptive streams where the file is then loaded in less than this by
 * the estimate of pith_load_seconds, or is smaller by this share; else Huffman codes. */
#define PITH_ADAPTIVE_SECONDS 0.005
#define PITH_ADAPTIVE_SAVES 0.02

/* How the constants will be written; compact with no coder named: if adaptive streams do not pay.
 */
enum pith_code pith_encode_code(const struct pith_encode_opts *opts);

/* QUANTIZE with data, but in fixed point: where the outputs are worse than the floor, up to so many
 * layers stay float, each of which brings at least the gain. */
#define PITH_KEEP_FLOOR_DB 20.0
#define PITH_KEEP_GAIN_DB 3.0
#define PITH_KEEP_MOST 4u
/* Each layer is tried alone, which takes time by the square of their number: in a network of more,
 * none is. */
#define PITH_KEEP_TRIED 400u
/* Where they are below this, channels are re-estimated if that brings the gain. */
#define PITH_REESTIMATE_BELOW_DB 40.0
#define PITH_REESTIMATE_GAIN_DB 0.5
/* What quantize made of a network is worth a second look where its outputs are less than this above
 * their error, or more of the answers than this part have changed, on the samples that were judged.
 */
#define PITH_LOST_DB 25.0
#define PITH_LOST_ANSWERS 0.03

/* Options of the kind; the layer overrides stand in the arrays here, their patterns are borrowed
 * from whoever filled them (for a recipe's stages: the recipe). */
enum pith_when { PITH_AUTO = 0, PITH_ALWAYS = 1, PITH_NEVER = 2 };

struct pith_stage {
    enum pith_stage_kind kind;
    uint64_t seed; /* CLUSTER and what trains: from the recipe; 0: the caller's */
    struct pith_prune_opts prune;
    struct pith_cluster_opts cluster;
    struct pith_encode_opts encode;
    struct pith_prune_amount prune_layers[PITH_STAGE_LAYERS];
    struct pith_cluster_size cluster_layers[PITH_STAGE_LAYERS];
    /* TRAIN, and PRUNE in steps, which trains after each. Of `train`, the members hints, teacher,
     * threads, seed, progress, stop, user and enough are filled in when the stage runs; keep_best
     * counts only where there is validation data. */
    struct pith_train_opts train;
    struct pith_train_hint hints[PITH_STAGE_HINTS]; /* train.n_hints of them */
    const char *teacher;  /* "start": the network as the recipe found it; else a file; NULL: none */
    const char *integers; /* TRAIN: it ends as a network of integers, which train with it
                             (pith_integer_spec_parse); NULL: it does not */
    double until_drop;    /* train until the validation accuracy is at most this fraction below that
                             of the teacher, or where there is none of the network as the recipe
                             found it; negative: not */
    uint32_t start; /* the recipe found it: 0; or as after so many of its stages (in recipes of
                       models that were trained in several runs) */
    /* QUANTIZE: of `quantize`, the members keep, fine, halved, reestimate, data and n_samples are
     * filled in when the stage runs. */
    struct pith_quantize_opts quantize;
    const char *keep[PITH_STAGE_LAYERS];   /* quantize.n_keep of them */
    const char *fine[PITH_STAGE_LAYERS];   /* quantize.n_fine of them */
    const char *halved[PITH_STAGE_LAYERS]; /* quantize.n_halved of them */
    bool fine_auto, halves_auto; /* QUANTIZE: the samples tell which layers, in their place */
    enum pith_type floats; /* QUANTIZE: PITH_F16 or PITH_BF16: what stays float is rounded to that
                              and takes 2 bytes a number in the file; 0: PITH_F16 where the samples
                              told that layers stay float, and weights of layers with codebooks
                              where the outputs do not mind, else PITH_F32 */
    uint32_t samples;      /* to calibrate on, the first so many; 0: 64 */
    bool all_integers;     /* QUANTIZE: no layer stays float because of what it costs */
    bool equalize; /* QUANTIZE: factors move from layer to layer first, so that channels are of one
                      size; the model is not calibrated */
    enum pith_when
        smooth;                /* QUANTIZE: factors move from the inputs of matrix products behind
                                  normalizations to the weights first, with data, of a model not
                                  calibrated.     AUTO: where some channel is far larger than the others */
    enum pith_when reestimate; /* QUANTIZE, with data: scale and bias of output channels give their
                              sums the mean and the variance of floats, in the place of bias
                              correction. AUTO: where the outputs of some samples are better for it;
                              not with biases that are asked to be kept or corrected, all_integers,
                              or samples that are no independent witnesses (loops, streams) */
    bool blocks; /* QUANTIZE, with data: layers are trained a block together towards what the float
                    network has behind it, and a block stays so where samples held out like it. Not
                    in fixed point, nor with activations of 16 bits */
    bool absorb; /* QUANTIZE: biases of channels that are never near 0 move to the next layer
                    first; with data, the model is not calibrated */
    bool synthetic; /* QUANTIZE: without data, pictures of random discs stand for it; 32 of them
                       where samples is 0, by means.seed */
    uint32_t steps; /* PRUNE: 0 or 1..PITH_STAGE_STEPS; 0: at once, without training */
    enum pith_prune_schedule schedule;
};

/* "int8"; "w4a8": weights of 2 to 8 bits, activations of 2 to 8; "ternary": weights -1, 0, 1,
 * activations of 8 bits; "fixed:8": both of 2 to 8 bits, in fixed point. The first and the last
 * layer have at least 8 bits, but with ",all" behind. */
struct pith_integer_spec {
    int32_t lowest, highest; /* of weights */
    uint32_t activation_bits;
    bool radix, all;
};
/* False: this is none of these; *spec is untouched. */
bool pith_integer_spec_parse(const char *text, struct pith_integer_spec *spec);

/* A stage with the defaults of its kind. */
void pith_stage_init(struct pith_stage *stage, enum pith_stage_kind kind);

struct pith_stage_report {
    uint64_t weights, kept;               /* over all prunable weights */
    double snr_db;                        /* cluster: over all clustered weights */
    uint32_t n_layers;                    /* entries in the arrays below */
    struct pith_prune_layer *prune;       /* malloc'ed; PRUNE */
    struct pith_cluster_layer *cluster;   /* malloc'ed; CLUSTER */
    struct pith_quantize_layer *quantize; /* malloc'ed; QUANTIZE; texts are the model's */
    /* QUANTIZE with data, unless all_integers: outputs against those of the float network */
    uint64_t judged, changed; /* answers compared (0: nothing was measured), other ones now */
    double output_db;         /* signal to noise, an output less its mean; HUGE_VAL: equal */
    uint32_t equalized;       /* pairs of layers between which factors moved */
    uint32_t smoothed;        /* values of which factors moved into weights */
    bool reestimated;         /* because the samples liked it */
    uint32_t n_blocks, n_reconstructed; /* blocks of layers tried, and better together */
    uint32_t absorbed;                  /* channels whose biases moved into the next layer's */
    uint32_t synthetic;                 /* so many pictures stood for data */
    enum pith_type floats;              /* of these; 0: none is */
    uint64_t n_narrow;                  /* numbers that stayed float, now of 2 bytes each */
    uint32_t n_beyond;      /* tensors that stayed f32: 2 bytes do not have their range */
    uint32_t n_codebooks;   /* weights that stayed float, now with codebooks of up to 256 numbers */
    uint64_t n_indexed;     /* elements of these */
    uint32_t n_kept_float;  /* layers that stayed float because of what they cost */
    uint64_t integer_bytes; /* the packed model, were they integers; 0: unknown */
    int64_t kept_bytes;     /* the packed model as it is, less that */
    uint32_t n_tiny,
        n_infinite; /* values, where it calibrated: whose scale underflowed; without a grid */
    struct pith_train_result train; /* TRAIN; PRUNE in steps: of the last */
};
void pith_stage_report_free(struct pith_stage_report *report);

/* Runs one stage on m and appends its JSON object and result to m's history. CLUSTER, QUANTIZE and
 * ENCODE fold batch normalisation; ENCODE sets every constant's code (where it chooses that, it
 * packs the model for it, in memory); packing is pith_model_pack with pith_stage_pack_opts. */
enum pith_status pith_stage_run(struct pith_model *m, const struct pith_stage *stage, uint64_t seed,
                                struct pith_stage_report *report, struct pith_error *err);

/* What a stage that trains needs besides its options. */
struct pith_stage_means {
    uint32_t size_bytes;
    uint64_t seed;
    struct pith_data *train; /* samples to learn from; QUANTIZE: to calibrate on, NULL where m is */
    const struct pith_feed *feed; /* QUANTIZE: instead of train: several inputs, states; borrowed */
    struct pith_data *val;        /* samples that judge; NULL: none */
    const struct pith_model *start; /* what the stage calls so; NULL: the network as it finds it */
    uint32_t start_stages;          /* stages in the history of `start` (for the new entry) */
    uint32_t threads;
    uint32_t cpu_mask; /* as pith_opts, of what QUANTIZE runs */
    void (*progress)(void *user, const struct pith_train_progress *p); /* these may be NULL */
    bool (*stop)(void *user); /* true: the stage ends with PITH_ERR_ARGUMENT, without an entry */
    void *user;
    /* QUANTIZE: how far its present part is: what "calibrate" counts samples, "choose" trials of
     * ranges (total 0: unknown), "quantize" layers. A part may come again. NULL: not wanted. */
    void (*part)(void *user, const char *what, uint64_t done, uint64_t total);
};

/* As pith_stage_run, for every kind. PITH_ERR_ARGUMENT: no data for a stage that trains; a name
 * that is not UTF-8, which no history could hold; stopped. Also what pith_train and pith_evaluate
 * return. On failure the model is as after some of its steps. */
enum pith_status pith_stage_run_with(struct pith_model *m, const struct pith_stage *stage,
                                     const struct pith_stage_means *means,
                                     struct pith_stage_report *report, struct pith_error *err);
/* Whether the stage needs data to train on. */
bool pith_stage_trains(const struct pith_stage *stage);
/* Sets what recipes call key - optimizer, schedule, loss, score, units - to what they call word.
 * False: there is no such. */
bool pith_train_set_word(struct pith_train_opts *opts, const char *key, const char *word);
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
    struct pith_data *train, *val; /* for the stages that train, as in struct pith_stage_means; val
                                      may be the same as data */
    void (*train_progress)(void *user, const struct pith_train_progress *p);
    bool (*stop)(void *user); /* asked after each training step: true ends the work */
};

struct pith_compress_result {
    struct pith_buffer file; /* owns: the packed result */
    bool has_accuracy;
    struct pith_accuracy before, after;
    double drop;  /* top-1 before - after, fraction */
    double limit; /* that the drop was held against, fraction; negative: none */
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
