/* SPDX-License-Identifier: MIT */
/* class_output.h - whether an output holds classes, by the operators that the network ends in,
 * and the KL divergence of two such outputs.
 *
 * Classes: behind a Softmax, along its axis; or, of a network with one output, a row of 2 or more
 * numbers for each sample that a product or a pool gives (a classifier without its Softmax), where
 * the row is shorter than the input: an autoencoder's is as long; or along the last axis of
 * [1, S, classes] that a product gives from integers [1, S] (a language model). What moves or adds
 * to numbers (Flatten, Reshape, a bias) is looked through. Any other output is numbers. */
#ifndef PITH_CLASS_OUTPUT_H
#define PITH_CLASS_OUTPUT_H

#include "pith_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of one call: `rows` rows of `classes` numbers, each `inner` apart; classes 0: just numbers. */
struct output_kind {
    uint32_t classes;
    uint64_t rows, inner;
    bool softmax; /* they are probabilities */
};

struct output_kind pith_output_kind(const struct pith_model *m, uint32_t output);

/* At most one dimension is above 1: scores of this shape can be those of one label. */
bool pith_is_row(const uint32_t *dim, uint32_t rank);

/* The class that n >= 1 scores stand for: the first of the largest. n: one is NaN, so none. */
uint64_t pith_top_class(const float *x, uint64_t n);

/* The mean over rows of KL(a || b) in nats, >= 0, of the classes' probabilities (softmax of
 * logits). A row is no distribution where a number is NaN or +infinity, or all logits are
 * -infinity: such a row of a counts as 0, of b alone as -log(1e-30). a, b: f32 [rows * classes] of
 * one call; kind->classes > 0. *agree, if not NULL: grows by the rows with the same top class, or
 * without one in both. */
double pith_class_divergence(const struct output_kind *kind, const float *a, const float *b,
                             uint64_t *agree);

/* Signal and noise of the rows' logits: sums of squares of a's, and of b's less a's, each less its
 * mean over the row. Of probabilities the logits are logarithms (of at least 1e-30). Classes whose
 * logit is not finite on both sides are left out. */
void pith_class_logit_squares(const struct output_kind *kind, const float *a, const float *b,
                              double *signal, double *noise);

#ifdef __cplusplus
}
#endif
#endif
