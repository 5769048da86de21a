/* SPDX-License-Identifier: MIT */
/* pith_calibrate.h - what ranges do a model's activations take? Runs samples through the runtime and
 * keeps, for every float value of the graph (inputs too), the smallest and largest number seen.
 *
 *     struct pith_calibrate_opts o = {.size_bytes = sizeof o, .data = data, .n_samples = 512};
 *     pith_calibrate(model, &o, &n_seen, &err);
 *     ... model->values[v].min, .max, .n_observed ...
 *
 * Memory does not grow with the number of samples. Results are added to what the model already
 * holds, so two runs over two data sets give the ranges over both. */
#ifndef PITH_CALIBRATE_H
#define PITH_CALIBRATE_H

#include "pith_data.h"
#include "pith_model.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pith_calibrate_opts {
    uint32_t size_bytes;
    struct pith_data *data; /* borrowed; its samples have the shape of the model's only input */
    uint64_t n_samples;     /* the first so many; 0 or more than there are: all */
    const struct pith_opts *runtime; /* cpu_mask, max_bytes, parallel_for and its user;
                                        NULL: defaults */
    /* Called after each sample; returning false ends the run early, keeping what was seen. NULL: not
     * wanted. */
    bool (*progress)(void *user, uint64_t done, uint64_t total);
    void *user;
};

/* *n_seen (may be NULL): samples run. On failure the model is as before. PITH_ERR_ARGUMENT (several
 * inputs, shapes differ), PITH_ERR_UNSUPPORTED (a value became NaN), and what pith_model_pack, the
 * plan and the data return. */
enum pith_status pith_calibrate(struct pith_model *m, const struct pith_calibrate_opts *opts,
                                uint64_t *n_seen, struct pith_error *err);

/* Widens m's ranges by those of `other`, the same network calibrated elsewhere. PITH_ERR_ARGUMENT
 * when the two are not the same network; m is then as before. */
enum pith_status pith_calibrate_merge(struct pith_model *m, const struct pith_model *other,
                                      struct pith_error *err);

/* Forgets all ranges: min > max, n_observed 0. */
void pith_calibrate_reset(struct pith_model *m);

#ifdef __cplusplus
}
#endif
#endif
