/* SPDX-License-Identifier: MIT */
/* what_if.h - pith bench --what-if: what pruning would gain here, before anything is trained. */
#ifndef WHAT_IF_H
#define WHAT_IF_H

#include "cli/common/cli.h"
#include "pith_measure.h"

struct cli_what_if {
    double density;   /* share of the weights that stay */
    uint64_t bits;    /* of codebooks for what stays; 0: none */
    char pattern[40]; /* as pith prune --pattern; "any" */
};

/* "density=0.2[,bits=4][,pattern=2:4]"; N:M and balanced patterns state the density themselves.
 * EXIT_USAGE. */
enum cli_exit cli_what_if_parse(const char *text, struct cli_what_if *w);

/* The model at path as it would run: magnitude pruning alone, so weights that stay, and what the
 * network answers, are of no use. */
enum cli_exit cli_what_if_load(const struct cli_what_if *w, const char *path,
                               struct pith_packed *packed);

/* Layers with weights, one a line: kernel and fastest run of each. */
void cli_what_if_print(struct pith_engine *dense, struct pith_engine *pruned);
void cli_what_if_json(struct pith_engine *dense, struct pith_engine *pruned);

#endif
