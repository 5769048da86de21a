/* SPDX-License-Identifier: MIT */
/* pith_init.h - networks that have not learned anything yet: known architectures, and fresh weights
 * for any model.
 *
 *     struct pith_model *m;
 *     if (pith_architecture_new("lenet5", NULL, &m, &err)) ...   // weights are zero
 *     if (pith_model_draw_weights(m, 1, &err)) ...               // seed 1
 *
 * The same architecture and seed give the same model on every machine. */
#ifndef PITH_INIT_H
#define PITH_INIT_H

#include "pith_model.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* The i-th known architecture: its name, and one line about it; NULL behind the last.
 *
 *     lenet5    LeNet-5 as in Caffe: 20 and 50 5x5 filters with max pooling, 500, 10; input
 *               N x 1 x 28 x 28; 431,080 parameters
 *     lenet300  784-300-100-10; input N x 1 x 28 x 28; 266,610 parameters
 *     digits    8 and 16 5x5 filters, each with ReLU and max pooling, 64, 10; input N x 1 x 28 x
 *               28; 20,522 parameters
 *     dscnn     DS-CNN of MLPerf Tiny: 64 10x4 filters, then 4 times depthwise 3x3 and pointwise,
 *               12; input N x 1 x 49 x 10 (frames, coefficients); 23,180 parameters and 1,152
 *               running statistics
 *     resnet20  ResNet-20 for CIFAR-10 with shortcuts that pad (option A); input N x 3 x 32 x 32;
 *               269,722 parameters and 1,376 running statistics */
const char *pith_architecture_name(uint32_t i);
const char *pith_architecture_summary(uint32_t i);

/* A model of that name with an open batch; its weights are zero. PITH_ERR_ARGUMENT (no such
 * architecture), PITH_ERR_MEMORY; *m is then untouched. alloc as for pith_model_new. */
enum pith_status pith_architecture_new(const char *name, const struct pith_alloc *alloc,
                                       struct pith_model **m, struct pith_error *err);

/* Forgets what m learned. Its weights (as pith_model_weights lists them) become independent draws
 * of mean 0 and variance 2 / fan-in where a ReLU comes next (He et al., 2015, arXiv:1502.01852) or
 * 1 / fan-in (LeCun et al., 1998); biases and means 0; scales and variances of
 * normalisations 1. Masks, codebooks, observed ranges and the history go; other constants stay.
 * PITH_ERR_MEMORY, PITH_ERR_UNSUPPORTED (nothing to draw); m is then unchanged. */
enum pith_status pith_model_draw_weights(struct pith_model *m, uint64_t seed,
                                         struct pith_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
