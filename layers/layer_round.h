/* SPDX-License-Identifier: MIT */
/* layer_round.h - the rows of a layer onto integers times their steps: each weight takes the
 * integer for which
 *
 *     error^2 / (2 [H^-1]_jj) + lambda * bits(integer)
 *
 * is least along the cheapest of several paths, the error fed forward to the weights behind it
 * (error_feedback.h). Bits are those of the layer's own integers, counted, and rounded again
 * until they agree. With a trellis (trellis.h) integers are levels of its quantizers.
 *
 *     struct layer_round l = {.factor = &f, .rows = rows, .w = w, .step = step,
 *                             .lowest = -127, .most = 127, .paths = 1};      layer_factor.h
 *     pith_layer_round(&l, err);
 *     ... l.q, l.step, l.error ...
 *     free(l.q), free(l.error);
 */
#ifndef LAYER_ROUND_H
#define LAYER_ROUND_H

#include "layer_factor.h"
#include "rate_table.h"
#include "row_coupling.h"

struct layer_round {
    const struct layer_factor *factor;
    uint64_t rows;
    const float *w;     /* [rows, n] as the weight came */
    const double *loss; /* [rows] F: what a squared error of the row's results costs, in nats; NULL:
                           all rows the same, lambda is 0 then */
    double *step;       /* [rows]; the search for steps and refit may change them */
    /* [rows] a row's step is searched: from the one that cuts nothing off, or this where that is
     * smaller, down to half of it, not below this (pith_search_scale). A row of zeros keeps its
     * step. NULL: steps are given */
    const double *least_step;
    bool halves;         /* steps that are searched are powers of two */
    double lambda;       /* nats a bit; 0: bits cost nothing */
    bool keep_zeros;     /* weights that are 0 stay 0 */
    const uint8_t *kept; /* [rows, n] 0: weights that become 0; NULL: none has to */
    /* Chooses more weights that become 0 when the targets of a row are known: target [n] and kept
     * [n] by place. thread: 0 .. threads - 1, each at one row at a time. NULL: none */
    void (*choose_kept)(const void *of, uint32_t thread, uint32_t group, const double *target,
                        uint8_t *kept);
    const void *choice; /* of */
    bool own_factors;   /* rows of which weights become 0 have the factor of what stays, which makes
                           up for what does not; each takes the cube of its weights */
    int32_t lowest, most; /* integers, within -RATE_MOST .. RATE_MOST */
    uint32_t paths;
    uint32_t states; /* of a trellis whose levels the integers are, in the order that weights are
                        stored in, which is the factor's then; 0: none */
    const struct row_coupling *coupling; /* of one group, loss being what it says; NULL: rows are
                                            rounded each for itself */
    const struct pith_opts *runtime;
    /* made here */
    int16_t *q;                /* [rows, n]; not NULL: the caller's room */
    double *error;             /* [rows] squared error of the results, damping included */
    struct rate_table rate[2]; /* with a trellis, of each quantizer; else the first */
    double bits;               /* of all integers */
};

/* q and error of l belong to the caller, also after a failure. The same bits for any number of
 * threads. PITH_ERR_MEMORY. */
enum pith_status pith_layer_round(struct layer_round *l, struct pith_error *err);
/* The one factor by which all steps are best multiplied: least squares of the results. */
enum pith_status pith_layer_refit(const struct layer_round *l, double *factor,
                                  struct pith_error *err);

#endif
