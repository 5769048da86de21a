/* SPDX-License-Identifier: MIT */
/* sample_models.h - models made by hand for tests of what stores them. */
#ifndef SAMPLE_MODELS_H
#define SAMPLE_MODELS_H

#include <stdint.h>
#include "pith_model.h"

/* xorshift64*; state is never 0. */
struct sample_random {
    uint64_t state;
};
struct sample_random sample_random_of(uint64_t seed);
uint32_t sample_below(struct sample_random *r, uint32_t n);
float sample_gauss(struct sample_random *r); /* about N(0, 1) */

/* LeNet-5 of Caffe: conv 20x5x5, max pool, conv 50x5x5, max pool, flatten, 500, relu, 10, softmax;
 * input 1x28x28 with open batch, preprocess scale=1/256. Weights are seeded Gaussians. */
struct pith_model *sample_lenet5(uint64_t seed);

/* Marks all but the largest `kept` of the elements of a constant as pruned. */
void sample_prune(struct pith_model *m, uint32_t value, double kept);
/* A codebook of n centroids per group of group_elems elements (0: one), by rank of the kept
 * values; data becomes the centroids. */
void sample_cluster(struct pith_model *m, uint32_t value, uint32_t n, uint64_t group_elems);
/* Both for every weight, and Huffman codes. */
void sample_compress(struct pith_model *m, double kept, uint32_t n_centroids);

/* A valid model of random size: random inputs, elementwise chains and sums, tensors of all types,
 * supports, grids and codes, names, meta, history, observed ranges. */
struct pith_model *sample_random_model(uint64_t seed);

/* NULL: all that a file keeps is equal; else what differs first. */
const char *sample_difference(const struct pith_model *a, const struct pith_model *b);

#endif
