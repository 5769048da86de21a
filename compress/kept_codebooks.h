/* SPDX-License-Identifier: MIT */
/* kept_codebooks.h - weights of layers that stay float, as codebooks where the outputs do not mind.
 */
#ifndef KEPT_CODEBOOKS_H
#define KEPT_CODEBOOKS_H

#include "pith_compress.h"

/* How far a network's outputs are from those of the float one. */
struct output_error {
    double signal, noise; /* powers over the same samples, >= 0; HUGE_VAL: infinite */
    uint64_t changed;     /* answers */
};

struct output_evaluator {
    enum pith_status (*measure)(void *user, const struct pith_model *m, struct output_error *e);
    void *user;
};

/* m: pith_store_floats has made its floats f16. Weights of its layers of floats get a codebook each
 * (pith_store_codebook), all of them if the outputs stay within limits, else one by one those that
 * keep them. r: n_codebooks, n_indexed, and n_narrow less these. Else f16 they stay, to the bit.
 * PITH_ERR_MEMORY, and what evaluator returns; m is to be thrown away then. */
enum pith_status pith_keep_in_codebooks(struct pith_model *m,
                                        const struct output_evaluator *evaluator,
                                        struct pith_stage_report *r, struct pith_error *err);

#endif
