/* SPDX-License-Identifier: MIT */
/* scores.h - which value of a network holds what losses are computed of. */
#ifndef SCORES_H
#define SCORES_H

#include <stdbool.h>

#include "pith_model.h"

/* The value that holds the logits of output 0; *softmax: one stands behind it. */
uint32_t pith_run_scores(const struct pith_model *m, bool *softmax);
/* Its classes: of each position where it is [1, positions, classes], else all of a sample's. */
uint32_t pith_run_classes(const struct pith_model *m, uint32_t scores);

#endif
