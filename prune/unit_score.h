/* SPDX-License-Identifier: MIT */
/* unit_score.h - a weight matrix cut into the units that a pattern removes whole, and their scores.
 *
 * A score is kept as a 32-bit key that orders like the score: 0 for a unit already pruned away,
 * else 1 + the bits of the (non-negative) float. Integers make ties and order the same everywhere.
 */
#ifndef UNIT_SCORE_H
#define UNIT_SCORE_H

#include "pith_prune.h"

/* Units are blocks of unit_rows x unit_cols, numbered row-major: grid_rows * grid_cols of them. */
struct unit_grid {
    uint64_t rows, cols; /* of the matrix */
    uint64_t unit_rows, unit_cols;
    uint64_t grid_rows, grid_cols;
    uint64_t n_units;
};

/* PITH_ERR_ARGUMENT when the pattern does not divide the weight `ref`. */
enum pith_status pith_unit_grid(const struct pith_model *m, const struct pith_weight_ref *ref,
                                const struct pith_pattern *pattern, struct unit_grid *grid,
                                struct pith_error *err);

/* w: [rows, cols] f32, finite; mask: the same, or NULL. keys: [n_units]. */
void pith_unit_keys(const struct unit_grid *grid, const float *w, const uint8_t *mask,
                    uint32_t *keys);

/* The key of a unit whose score is exactly `score` (>= 0, finite). */
uint32_t pith_unit_key(float score);

/* Clears mask[i] for every element of the units with keep[u] == 0. mask: [rows, cols]. */
void pith_unit_drop(const struct unit_grid *grid, const uint8_t *keep, uint8_t *mask);

#endif
