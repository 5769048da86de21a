/* SPDX-License-Identifier: MIT */
/* pith_sense.h - sensitivity: which layers bear coarse numbers, and which do not, by the SQNR of
 * the outputs.
 *
 *     struct pith_calibrate_opts samples = {.size_bytes = sizeof samples, .data = data};
 *     struct pith_sense_trial trial[] = {{PITH_SENSE_BITS, 8}, {PITH_SENSE_BITS, 4}};
 *     struct pith_sense_opts o = {.size_bytes = sizeof o, .samples = &samples, .trials = trial,
 *                                 .n_trials = 2};
 *     struct pith_sense s;
 *     pith_sense(model, &o, &s, &err);
 *     for (l = 0; l < s.n_layers; l++) ... s.layer[l].layer, s.layer[l].cost[t].output_db ...
 *     pith_sense_free(&s);
 *
 * One layer at a time is changed, all others stay as they are, and the network runs on a few
 * samples. Errors of layers that know nothing of each other add up, so what a layer costs alone is
 * about its share of what all cost together. */
#ifndef PITH_SENSE_H
#define PITH_SENSE_H

#include "pith_calibrate.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define PITH_SENSE_SAMPLES 8u

enum pith_sense_kind {
    PITH_SENSE_BITS = 1, /* weights as integers of `amount` bits, 2..8: nearest, a scale for each
                            output channel, searched for the least squared error */
    PITH_SENSE_ACTIVATIONS = 2, /* what the layer reads, as integers of 2..16 bits: one affine grid
                                   with the least squared error over the samples */
    PITH_SENSE_PRUNE = 3,       /* that share of its weights, the smallest, becomes 0; 0..1 */
    PITH_SENSE_GIVEN = 4        /* its weights become those of opts.given; amount is 0 */
};

struct pith_sense_trial {
    enum pith_sense_kind kind;
    double amount;
};

struct pith_sense_opts {
    uint32_t size_bytes;
    const struct pith_calibrate_opts
        *samples;       /* data or feed, threads, cpu_mask; n_samples: of these
                           the first so many are drawn from, 0: all. progress is
                           called with the trials done and their number */
    uint32_t n_samples; /* run in each trial, evenly spread; 0: PITH_SENSE_SAMPLES */
    const struct pith_sense_trial *trials;
    uint32_t n_trials;
    /* GIVEN: the other weights of ref, whose own are was; both [ref->rows * ref->cols]. False:
     * there are none, and its costs are NAN. */
    bool (*given)(void *given_user, const struct pith_weight_ref *ref, const float *was, float *to);
    void *given_user;
};

struct pith_sense_cost {
    double output_db; /* SQNR of the network's outputs; HUGE_VAL: no change */
    double layer_db;  /* of what the layer itself gives */
    uint64_t changed; /* predictions of output 0 that became others, of pith_sense.predictions */
};

struct pith_sense_layer {
    const char *layer, *tensor; /* borrowed from the model */
    uint64_t n_weights;
    struct pith_sense_cost *cost; /* [n_trials] */
};

struct pith_sense {
    uint64_t samples, predictions; /* run in each trial; their predictions (of sequences: one a
                                      step), 0 where output 0 is no row of classes */
    uint32_t n_layers, n_trials;
    struct pith_sense_layer *layer; /* owns; in the order of execution */
    struct pith_sense_cost *costs;  /* owns */
};

/* Folds batch normalisation into m, and where activations are tried and m was not calibrated it is;
 * what m computes stays. PITH_ERR_ARGUMENT (options; stopped by progress), PITH_ERR_UNSUPPORTED (no
 * layer has float weights), PITH_ERR_MEMORY, and what pith_calibrate returns. */
enum pith_status pith_sense(struct pith_model *m, const struct pith_sense_opts *opts,
                            struct pith_sense *result, struct pith_error *err);
void pith_sense_free(struct pith_sense *result);

/* Numbers of the layers, those first that a trial changed the outputs most in. order: [n_layers].
 */
void pith_sense_order(const struct pith_sense *s, uint32_t trial, uint32_t *order);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
