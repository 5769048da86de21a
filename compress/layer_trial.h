/* SPDX-License-Identifier: MIT */
/* layer_trial.h - the change of a network's outputs where one layer of it computes with integers,
 * all others with floats. */
#ifndef LAYER_TRIAL_H
#define LAYER_TRIAL_H

#include "calibrate/output_trial.h"
#include "pith_pack.h"

/* What the integers change is computed by it, of a lane of the output trial. */
struct layer_piece {
    struct pith_engine *engine; /* owns */
    uint32_t n_seen;            /* inputs of the piece that it has of the current sample */
    bool failed;                /* a value was changed before the piece had run */
};

struct layer_trial {
    struct output_trial outputs; /* of the float network */
    struct pith_calibrate_opts samples;
    struct pith_difference_sums sums;
    double signal, little;   /* of all outputs of the samples that ran; as pith_layer_trial_run */
    double before, squares;  /* noise before the sample that ran last; of each one's, squared */
    struct pith_buffer file; /* of the pieces */
    struct layer_piece piece[PITH_TRIAL_LANES];
    uint32_t *from, *to; /* own: [n_values] input and output of the piece, + 1; 0: none */
    uint32_t n_wanted;   /* inputs of the piece */
};

/* t: 0. m, borrowed, is a float network whose samples do not depend on each other: the first n of
 * `samples` are read and run now. PITH_ERR_UNSUPPORTED: it is none. Close in any case. */
enum pith_status pith_layer_trial_open(struct layer_trial *t, struct pith_model *m,
                                       const struct pith_calibrate_opts *samples, uint32_t n,
                                       struct pith_error *err);
/* integers: m by pith_quantize with opts.same_numbers. *noise: of the outputs, less their means,
 * relative to the outputs, at most 1; from a part of the samples where these show that it is far
 * below `little`. PITH_ERR_UNSUPPORTED: it cannot be seen as a change of m's values, and *noise is
 * untouched. */
enum pith_status pith_layer_trial_run(struct layer_trial *t, const struct pith_model *integers,
                                      double little, double *noise, struct pith_error *err);
void pith_layer_trial_close(struct layer_trial *t);

#endif
