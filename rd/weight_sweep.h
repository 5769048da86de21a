/* SPDX-License-Identifier: MIT */
/* weight_sweep.h - a whole network's weights onto integers times steps, for the least of loss
 * + lambda * bits, without labels and without training.
 *
 *     pith_model_fold_batch_norm(m, NULL, &err);
 *     pith_fisher_rows(m, calibration, NULL, &sensitivity, &err);   // fisher_rows.h; once
 *     struct pith_weight_sweep_opts o = {.size_bytes = sizeof o, .lambda = 2e-7,
 *                                        .sensitivity = &sensitivity};
 *     pith_weight_sweep(m, calibration, &o, &out, &report, &err);
 *     pith_model_write(out, &(struct pith_pack_opts){.size_bytes = ..., .compact = true}, ...);
 *
 * Layer by layer, in the order of the network: statistics of what comes in, behind layers that were
 * swept already (layer_moments.h); steps from the one lambda and the sensitivity
 * (step_choice.h); integers by error feedback along several paths, their bits counted
 * (layer_round.h); one factor for the steps by least squares; what is left on the mean into the
 * bias, and that onto a grid. Weights that no statistics can be had of, and all other numbers with
 * known sensitivity, are rounded to steps of the same rule. docs/method.md has the
 * objective; time and memory are those of two runs of the network on all samples, and of one
 * layer's matrices. */
#ifndef PITH_WEIGHT_SWEEP_H
#define PITH_WEIGHT_SWEEP_H

#include "pith_measure.h"
#include "pith_prune.h"
#include "layers/sensitivity.h"

#ifdef __cplusplus
extern "C" {
#endif

enum pith_sweep_steps {
    PITH_SWEEP_STEPS_AUTO = 0, /* of rows where they save more than they take */
    PITH_SWEEP_STEPS_TENSOR = 1,
    PITH_SWEEP_STEPS_ROW = 2
};

/* Parts of the sweep that can be left out, to know what each is worth. */
enum {
    PITH_SWEEP_NO_STATISTICS = 1u << 0, /* H = I: each weight goes to its nearest integer */
    PITH_SWEEP_NO_CORRECTION = 1u << 1, /* inputs as they are now make up for nothing */
    PITH_SWEEP_NO_REFIT = 1u << 2,      /* steps stay as they were chosen */
    PITH_SWEEP_NO_COUPLING = 1u << 3    /* rows make up for nothing of each other */
};

/* A layer that was swept. */
struct pith_swept_layer {
    uint32_t number, n_layers; /* 0 .. n_layers - 1 */
    const char *layer;         /* its name, the model's */
    uint64_t weights;
    double bits;    /* of all its weights, by the counts of its integers */
    double loss;    /* nats that they cost, by the sensitivity */
    double step;    /* the mean one, by its logarithm */
    bool by_row;    /* rows have steps of their own */
    bool data_free; /* there were no statistics */
};

struct pith_weight_sweep_opts {
    uint32_t size_bytes;
    double lambda;      /* nats of the loss a bit; > 0 */
    double rate_share;  /* 0..1: of lambda times a weight's bits, that weighs in its rounding */
    double place_share; /* 0..1: weight of a convolution's places: 0 equal, 1 by the loss's
                           sensitivity there */
    uint64_t samples;   /* the first of the data; 0, or more than there are: all */
    uint32_t paths;     /* 1..64, with states a multiple of them; 0: 16, with states 32, with 16 of
                           them 64 */
    enum pith_sweep_steps steps;
    const struct pith_sensitivity *sensitivity; /* NULL: each layer's results count the same */
    const struct pith_opts
        *runtime; /* cpu_mask, parallel_for (pith_threads_start); NULL: one thread */
    uint64_t
        memory_bytes; /* that values between layers may take, the others go to files; 0: 20 MiB */
    bool (*on_layer)(void *user, const struct pith_swept_layer *layer); /* false: stop; or NULL */
    int (*stop)(void *user); /* called between layers: anything but 0 stops; NULL: never */
    void *user;
    const struct pith_feed *feed; /* borrowed; instead of calibration, which may then be NULL:
                                     several inputs, states. samples are its own; each step of one
                                     counts for itself. States are those of the network as it came
                                     */
    uint32_t without;             /* PITH_SWEEP_NO_... */
    uint32_t states; /* of the trellis whose levels integers become (trellis.h), which an
                        adaptive file has in fewer bytes, and no other: 8 or 16; 0: none. Rows are
                        swept from their first weight on then; short ones have no trellis */
    struct pith_pattern pattern; /* that weights keep, in the layers that pith_prune takes: what
                                    goes is chosen by what it costs (layer_support.h), blocks that
                                    cost less than their bits; ANY (no pattern), N_OF_M, BLOCK or
                                    BALANCED. Such layers have no trellis */
    uint32_t levels; /* 3..16 that a weight's may be at most, 0 in their middle, so that run forms
                          of few centroids take it; steps may cut off large weights then, and there
                          is no trellis. 0: 255 */
};

struct pith_weight_sweep_report {
    uint32_t n_layers, n_data_free;
    uint64_t weights;
    double bits, loss; /* sums over layers */
};

/* Whether the sweep can keep the pattern in m. PITH_ERR_ARGUMENT: it divides no layer, or is of
 * rows or channels; PITH_ERR_MEMORY. */
enum pith_status pith_weight_sweep_takes(const struct pith_model *m,
                                         const struct pith_pattern *pattern,
                                         struct pith_error *err);

/* m has no normalization behind a layer that could be folded, or its steps are coarser than they
 * need be. *out: a model of the same values and nodes; the caller frees it. report may be NULL. The
 * same bytes for any number of threads. PITH_ERR_ARGUMENT: bad options, a pattern that
 * divides no layer, data that does not fit, or "interrupted"; PITH_ERR_UNSUPPORTED: several inputs
 * and no feed; PITH_ERR_MEMORY, _IO, and what reading data and running the network return; *out is
 * then untouched. */
enum pith_status pith_weight_sweep(const struct pith_model *m, struct pith_data *calibration,
                                   const struct pith_weight_sweep_opts *opts,
                                   struct pith_model **out, struct pith_weight_sweep_report *report,
                                   struct pith_error *err);

#ifdef __cplusplus
}
#endif
#endif
