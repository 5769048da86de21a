/* SPDX-License-Identifier: MIT */
/* few_patches.h - a layer whose samples have few patches for the length of its rows, such as a
 * fully connected one: the patches themselves are less than the n x n sums of their products
 * (layer_moments.h), and say the same. */
#ifndef FEW_PATCHES_H
#define FEW_PATCHES_H

#include "layer_patches.h"

#define PITH_COLUMNS_FOR_A_PATCH 4u /* so many of a row: few */

struct few_patches {
    struct layer_patches patches;
    size_t n, r;          /* columns of a row, patches of all samples */
    int16_t *x;           /* [r, n] of one group of rows */
    double *unit;         /* [r] what 1 stands for in each; NULL: the same in all */
    double *room;         /* [r, r + 1] of the factor */
    double *by_place, *p; /* [n, r] */
};

/* At most a quarter of n: a rounded weight then takes less work by patches than by products. */
bool pith_patches_are_few(const struct layer_inputs *in, const struct integer_layer *l);

/* PITH_ERR_MEMORY; release with pith_few_patches_end also then. */
enum pith_status pith_few_patches(const struct layer_inputs *in, const struct integer_layer *l,
                                  struct few_patches *f);
/* Room for r patches that the caller puts into x and unit. The same. */
enum pith_status pith_few_patches_room(size_t n, size_t r, struct few_patches *f);
void pith_few_patches_end(struct few_patches *f);

/* x of a group; diagonal: [n] sum of x^2 of each column. */
void pith_few_patches_read(struct few_patches *f, uint64_t group, double *diagonal);
/* diagonal alone, of x as it is. */
void pith_few_patches_diagonal(const struct few_patches *f, double *diagonal);
/* by_place: columns in the order of their places. order: [n]. */
void pith_few_patches_place(struct few_patches *f, const size_t *order);

#endif
