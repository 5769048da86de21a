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
 * Stages that train need data: pith_stage_run_with, or opts.train of pith_compress. */
#ifndef PITH_COMPRESS_H
#define PITH_COMPRESS_H

#include "pith_measure.h"
#include "pith_recipe.h"
#include "pith_stage.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Outputs of the network of integers against those of the float network, on the held-out samples.
 */
struct pith_integer_loss {
    uint64_t held_out; /* so many, or steps; 0: there were too few, and it is those fitted to */
    bool ranges_given; /* by a calibration before: on which samples is not known */
    bool measured;
    uint64_t predictions,
        changed; /* predictions compared (0: output 0 is no row of classes), other ones now */
    double
        expected_changes; /* share of predictions, from the changes of logits on the held-out
                             samples and the margins of all; NAN: output 0 is no row of classes */
    double reported_db; /* SQNR as pith_compare measures it (pith_difference_logit_db), of the worst
                       output that is no state */
    double reported_error_db; /* its standard error */
    double output_db; /* the one that decides: an output less its mean, of a Softmax its input;
                         both HUGE_VAL: equal, -HUGE_VAL: NaN or infinite now */
};

/* QUANTIZE: what of the numbers that stayed float became smaller. */
struct pith_narrow_floats {
    enum pith_type type;  /* of these; 0: none is */
    uint64_t n_narrow;    /* numbers that stayed float, now of 2 bytes each */
    uint32_t n_beyond;    /* tensors that stayed f32: 2 bytes do not have their range */
    uint32_t n_codebooks; /* weights that stayed float, now with codebooks of up to 256 numbers */
    uint64_t n_indexed;   /* elements of these */
};

struct pith_stage_report {
    uint64_t weights, kept;               /* over all prunable weights */
    double snr_db;                        /* cluster: over all clustered weights */
    uint32_t n_layers;                    /* entries in the arrays below */
    struct pith_prune_layer *prune;       /* malloc'ed; PRUNE */
    struct pith_cluster_layer *cluster;   /* malloc'ed; CLUSTER */
    struct pith_quantize_layer *quantize; /* malloc'ed; QUANTIZE; texts are the model's */
    struct pith_integer_loss loss;        /* QUANTIZE with data */
    uint32_t equalized;                   /* pairs of layers between which factors moved */
    uint32_t smoothed;                    /* values of which factors moved into weights */
    uint32_t synthetic;                   /* so many pictures stood for data */
    struct pith_narrow_floats floats;
    uint32_t n_kept_float;  /* layers that stayed float because of what they cost */
    uint64_t integer_bytes; /* the packed model, were they integers; 0: unknown */
    int64_t kept_bytes;     /* the packed model as it is, less that */
    uint32_t n_tiny,
        n_infinite; /* values, where it calibrated: whose scale underflowed; without a grid */
    struct pith_range_report ranges; /* CALIBRATE */
    uint64_t n_samples;              /* CALIBRATE: observed by the model so far */
    struct pith_train_result train;  /* TRAIN; PRUNE in steps: of the last */
};
void pith_stage_report_free(struct pith_stage_report *report);

/* Runs one stage on m and appends its JSON object and result to m's history. CLUSTER, QUANTIZE and
 * ENCODE fold batch normalisation; ENCODE sets every constant's code (where it chooses that, it
 * packs the model for it, in memory); packing is pith_model_pack with pith_stage_pack_opts. */
enum pith_status pith_stage_run(struct pith_model *m, const struct pith_stage *stage, uint64_t seed,
                                struct pith_stage_report *report, struct pith_error *err);

/* What a stage that trains needs besides its options. */
struct pith_stage_context {
    uint32_t size_bytes;
    uint64_t seed;
    struct pith_data
        *train; /* samples to learn from; QUANTIZE and CALIBRATE: to see, NULL where m is */
    const struct pith_feed *feed;   /* these: instead of train: several inputs, states; borrowed */
    struct pith_data *val;          /* validation set; NULL: none */
    const struct pith_model *start; /* what the stage calls so; NULL: the network as it finds it */
    uint32_t start_stages;          /* stages in the history of `start` (for the new entry) */
    uint32_t threads;
    uint32_t cpu_mask; /* as pith_opts, of what QUANTIZE runs */
    void (*progress)(void *user, const struct pith_train_progress *p); /* these may be NULL */
    bool (*stop)(void *user); /* true: the stage ends with PITH_ERR_ARGUMENT, without an entry */
    void *user;
    /* QUANTIZE, CALIBRATE: how far its present part is: what "calibrate" counts samples, "choose"
     * trials of ranges (total 0: unknown), "quantize" layers. A part may come again. NULL: not
     * wanted. */
    void (*part)(void *user, const char *what, uint64_t done, uint64_t total);
};

/* As pith_stage_run, for every kind. PITH_ERR_ARGUMENT: no data for a stage that trains; a name
 * that is not UTF-8, which no history could hold; stopped. Also what pith_train and pith_evaluate
 * return. On failure the model is as after some of its steps. */
enum pith_status pith_stage_run_with(struct pith_model *m, const struct pith_stage *stage,
                                     const struct pith_stage_context *context,
                                     struct pith_stage_report *report, struct pith_error *err);
struct pith_compress_opts {
    uint32_t size_bytes;
    struct pith_data *data; /* of the only input; NULL: see feed */
    double max_drop;        /* fraction of top-1; negative: the recipe's, else none */
    uint64_t seed;
    struct pith_engine_opts engine;
    const struct pith_watch *watch; /* for evaluations */
    /* Called before each stage and evaluation: "prune", "baseline", ... May be NULL. */
    void (*progress)(void *user, const char *what, uint64_t total);
    /* Called after each stage; *report is freed behind it. May be NULL. */
    void (*report)(void *user, const struct pith_stage *stage,
                   const struct pith_stage_report *report);
    void *user;
    const struct pith_feed *feed; /* instead of data: several inputs, states; both NULL: no accuracy
                                     is measured */
    struct pith_data *train, *val; /* for the stages that train, as in struct pith_stage_context;
                                      val may be the same as data */
    void (*train_progress)(void *user, const struct pith_train_progress *p);
    bool (*stop)(void *user); /* called after each training step: true ends the work */
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

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
