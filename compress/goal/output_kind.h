/* SPDX-License-Identifier: MIT */
/* output_kind.h - what the numbers of an output mean, told from what the network ends in.
 *
 * Classes: behind a Softmax, along its axis; or, of a network with one output, a row of 2 or more
 * numbers for each sample that a product or a pool gives (a classifier without its Softmax), where
 * the row is shorter than the input: an autoencoder's is as long. What moves or adds to numbers
 * (Flatten, Reshape, a bias) is looked through. Any other output is numbers. */
#ifndef OUTPUT_KIND_H
#define OUTPUT_KIND_H

#include "pith_model.h"

/* Of one call: `rows` rows of `classes` numbers, each `inner` apart; classes 0: just numbers. */
struct output_kind {
    uint32_t classes;
    uint64_t rows, inner;
    bool softmax; /* they are probabilities */
};

struct output_kind pith_output_kind(const struct pith_model *m, uint32_t output);

#endif
