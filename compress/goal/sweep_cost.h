/* SPDX-License-Identifier: MIT */
/* sweep_cost.h - what the parts of a search take, reckoned before any has begun: nanoseconds of one
 * core of Sapphire Rapids, by counts of the network's layers.
 *
 * Another machine is faster or slower in all parts by about as much; whoever tells what is left has
 * the clock for that (work_left.h). Within a quarter for drawn networks of all kinds; what cannot
 * be known beforehand is whether a layer has a trellis, whose weights take three times as long. */
#ifndef SWEEP_COST_H
#define SWEEP_COST_H

#include "pith_model.h"

/* A layer of the sweep over so many samples: the network's two runs up to it, its statistics, its
 * factor, its rounding with a trellis. >= 0. */
double pith_sweep_cost_layer(const struct pith_model *m, const struct pith_weight_ref *ref,
                             double samples);
/* The file of that many weights, when all layers are done. */
double pith_sweep_cost_coder(double weights);

/* Of the whole network, all layers added up. 0: no memory. */
struct sweep_cost {
    double macs;      /* products of a sample */
    double steps;     /* that loops make of it, 1 without: samples of a layer are that many more */
    double run;       /* a sample through the network */
    double gradients; /* and through that of its sensitivities */
    double layers;    /* of a file, over the samples that calibrate */
    double coder;     /* of a file */
    double open;      /* one that is measured */
};

/* samples: that calibrate. macs: products of a sample as its plan counts them, iterations of loops
 * and all; 0: not known, and loops count once. */
struct sweep_cost pith_sweep_cost(const struct pith_model *m, double samples, double macs);

#endif
