/* SPDX-License-Identifier: MIT */
/* pith_goal.h - what a compressed network has to reach, as data.
 *
 * One number, max_drop, stands for three limits, of which the data and the outputs choose one:
 *
 *     labels            so many points of top-1 (targets: of PSNR, 1 % is 1 dB)
 *     classes           mean KL divergence from the original's classes of at most 4 P nats: 0.5 %
 * is 0.02 any other output  an SQNR of at least 30 dB at 0.5 %, 3 dB less where P doubles:
 * what is allowed is power of noise, and so is KL, to first order */
#ifndef PITH_GOAL_H
#define PITH_GOAL_H

#include <stdbool.h>
#include <stdint.h>

#include "pith_prune.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define PITH_GOAL_DEFAULT_DROP 0.005 /* where data is given and no limit on what may be lost */
#define PITH_GOAL_NATS 4.0           /* of KL, a unit of max_drop */
#define PITH_GOAL_SNR_DB 30.0        /* at PITH_GOAL_DEFAULT_DROP */
#define PITH_GOAL_CLASSES_DB 10.0    /* that classes may be worse */

enum pith_goal_run {
    PITH_GOAL_RUN_ANY = 0,   /* whichever makes the smaller file */
    PITH_GOAL_RUN_FLOAT = 1, /* layers compute with floats */
    PITH_GOAL_RUN_INT8 = 2   /* layers compute with integers */
};

struct pith_goal {
    double max_drop;      /* fraction, 0.005 for 0.5 %; negative: none */
    double min_agreement; /* share of equal top-1 with the original, 0..1; 0: none */
    double min_snr;       /* dB, of all outputs, whatever they are; 0: none */
    double max_size;      /* bytes of the file; 0: none */
    double max_ram;       /* bytes of the plan, weights in run form included; 0: none */
    int target;           /* of export.h: max_ram is the arena of exported code; 0: of the plan */
    double max_latency;   /* seconds that 9 of 10 runs take at most on this machine, by the kernels
                             that pith_tune takes; 0: none */
    double time;          /* seconds that the search may take; 0: none */
    enum pith_goal_run run;
    struct pith_pattern pattern; /* that weights keep, as the sweep chooses it
                                    (weight_sweep.h); ANY: none */
    uint32_t levels; /* different values that a weight has at most, 3..16; 0: any number */
};

/* Every limit off. */
void pith_goal_init(struct pith_goal *goal);
/* Whether something limits what may be lost. */
bool pith_goal_limits_loss(const struct pith_goal *goal);
/* Whether it says what weights are to look like: a pattern, few levels. */
bool pith_goal_shapes(const struct pith_goal *goal);
/* What max_drop >= 0 allows. 0 allows nothing: 0 nats, infinite dB. */
double pith_goal_kl(double max_drop);
double pith_goal_snr(double max_drop);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
