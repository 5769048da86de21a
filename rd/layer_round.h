/* SPDX-License-Identifier: MIT */
/* layer_round.h - the rows of a layer onto integers times their steps: each weight takes the
 * integer for which
 *
 *     error^2 / (2 [H^-1]_jj) + lambda * bits(integer)
 *
 * is least along the cheapest of several paths, the error fed forward to the weights behind it
 * (error_feedback.h). Bits are those of the layer's own integers, counted, and rounded again
 * until they agree. With a trellis (trellis.h) integers are levels of its quantizers. */
#ifndef LAYER_ROUND_H
#define LAYER_ROUND_H

#include "layers/layer_round.h"
#include "layers/sweep_ranks.h"
#include "rate_table.h"
#include "row_coupling.h"
#include "row_windows.h"

struct layer_round {
    const struct layer_factor *factor;
    uint64_t rows;
    const float *w;      /* [rows, n] as the weight came */
    const double *loss;  /* [rows] F: what a squared error of the row's results costs, in nats */
    double *step;        /* [rows]; refit may change them */
    double lambda;       /* nats a bit; 0: bits cost nothing */
    bool keep_zeros;     /* weights that are 0 stay 0 */
    const uint8_t *kept; /* [rows, n] 0: weights that become 0; NULL: none has to */
    const struct row_windows *windows; /* by which each row chooses such weights; NULL: none does */
    int32_t levels;                    /* integers are -levels .. levels */
    uint32_t paths;
    uint32_t states; /* of a trellis whose levels the integers are, in the order that weights are
                        stored in, which is the factor's then; 0: none */
    const struct row_coupling *coupling; /* of one group, loss being what it says; NULL: rows are
                                            rounded each for itself */
    const struct pith_opts *runtime;
    const struct pith_sweep_ranks *ranks; /* that share the rows; NULL: one process */
    /* made here */
    int16_t *q;                /* [rows, n] */
    double *error;             /* [rows] squared error of the results, damping included */
    struct rate_table rate[2]; /* with a trellis, of each quantizer; else the first */
    double bits;               /* of all integers */
};

/* q and error of l belong to the caller, also after a failure. */
enum pith_status pith_layer_round(struct layer_round *l, struct pith_error *err);
/* The one factor by which all steps are best multiplied: least squares of the results. */
enum pith_status pith_layer_refit(const struct layer_round *l, double *factor,
                                  struct pith_error *err);

#endif
