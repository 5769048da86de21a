/* SPDX-License-Identifier: MIT */
/* pith_measure.h - what a model does: its answers, its accuracy, how it differs from another, how
 * long it takes. The toolchain has no second executor: everything here runs the runtime.
 *
 *     struct pith_engine *e;
 *     pith_engine_open(model, NULL, &e, &err);
 *     struct pith_accuracy a;
 *     pith_evaluate(e, data, NULL, &a, &err);
 *     printf("%.2f%%\n", 100.0 * a.correct1 / a.samples);
 *     pith_engine_close(e);
 */
#ifndef PITH_MEASURE_H
#define PITH_MEASURE_H

#include "pith_model.h"
#include "pith_data.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A model made ready to run: its packed image, a plan and a thread pool. */
struct pith_engine;

struct pith_engine_opts {
    uint32_t size_bytes;
    uint32_t threads;  /* 0: 1 */
    uint32_t cpu_mask; /* as pith_opts */
    uint32_t batch;    /* as pith_opts */
    uint32_t flags;    /* as pith_opts */
    bool profile;      /* time every layer */
    void *user;
    void (*observe)(void *user, const struct pith_layer *layer, const struct pith_tensor *out);
};

/* Packs m in memory; m may be freed afterwards. opts may be NULL. */
enum pith_status pith_engine_open(const struct pith_model *m, const struct pith_engine_opts *opts,
                                  struct pith_engine **engine, struct pith_error *err);
void pith_engine_close(struct pith_engine *engine); /* accepts NULL */
struct pith_plan *pith_engine_plan(struct pith_engine *engine);
size_t pith_engine_file_bytes(const struct pith_engine *engine);
struct pith_need pith_engine_need(const struct pith_engine *engine);

/* Called now and then with the number done; false stops the work (PITH_ERR_ARGUMENT with a text). */
struct pith_watch {
    bool (*step)(void *user, uint64_t done);
    void *user;
};

struct pith_accuracy {
    uint64_t samples, correct1, correct5;
    double loss;      /* mean cross-entropy in nats; outputs that are no probabilities are softmaxed */
    double mse, psnr; /* regression data (targets as large as the output); psnr for peak 1 */
    bool regression;
};

/* Runs every sample of data once. The data set has labels or targets: else PITH_ERR_ARGUMENT. */
enum pith_status pith_evaluate(struct pith_engine *engine, struct pith_data *data,
                               const struct pith_watch *watch, struct pith_accuracy *accuracy,
                               struct pith_error *err);

/* confusion[label * n_classes + answer], zeroed by the caller; n_classes: elements of output 0. */
enum pith_status pith_confusion(struct pith_engine *engine, struct pith_data *data,
                                const struct pith_watch *watch, uint64_t *confusion,
                                uint32_t n_classes, struct pith_error *err);

struct pith_difference {
    char layer[256];
    uint64_t elements;
    double snr_db;  /* 10 log10(sum a^2 / sum (a-b)^2); infinite when equal */
    double cosine;
    double max_abs;
    double range;   /* max(a) - min(a) */
    bool equal_bits;
};

struct pith_comparison {
    uint64_t samples, agree; /* equal top-1 of output 0 */
    struct pith_difference output;
    struct pith_difference *layers; /* in order of execution; values both models name. malloc'ed */
    uint32_t n_layers;
};

/* Runs A and B on the same samples (data NULL: n_random seeded normal inputs). layers: also every
 * layer output that both have under one name. Free with pith_comparison_free. */
enum pith_status pith_compare(const struct pith_model *a, const struct pith_model *b,
                              struct pith_data *data, uint32_t n_random, uint64_t seed, bool layers,
                              const struct pith_engine_opts *opts, const struct pith_watch *watch,
                              struct pith_comparison *comparison, struct pith_error *err);
void pith_comparison_free(struct pith_comparison *comparison);

struct pith_timing {
    double ms_median, ms_min, ms_p90;
    uint32_t runs;
};

/* Runs the plan on a fixed seeded input for about `seconds`, at least 5 times after 2 warm-ups. */
enum pith_status pith_time(struct pith_engine *engine, double seconds, struct pith_timing *timing,
                           struct pith_error *err);

/* The fastest run of a layer, of all that pith_time has done so far: single runs, and so their last
 * one, hold interruptions longer than the layer. 0 before, or where the engine does not profile. */
uint64_t pith_engine_layer_ns(const struct pith_engine *engine, uint32_t layer);

/* Seeded inputs, standard normal, for models without data at hand. */
void pith_fill_normal(struct pith_plan *plan, uint64_t seed);

#ifdef __cplusplus
}
#endif
#endif
