/* SPDX-License-Identifier: MIT */
/* layer_patches.h - what a layer multiplies its weights with: for each position of its output the
 * numbers x - zero point under its taps, 0 where they lie outside. Row-major as a row of the weight
 * is: channel of the group, then tap. */
#ifndef LAYER_PATCHES_H
#define LAYER_PATCHES_H

#include "integer_walk.h"
#include "contract/pith_window.h"

struct layer_patches {
    const struct layer_inputs *in;
    bool is_conv;
    struct window window;  /* Conv */
    uint64_t groups, cols; /* cols: numbers of a patch, of one group */
    uint64_t positions;    /* of one sample */
    int32_t zero_point;
    size_t each; /* bytes of a number */
};

struct layer_patches pith_layer_patches(const struct layer_inputs *in,
                                        const struct integer_layer *l);

/* sum: [groups * cols] over all positions of sample n. */
void pith_patch_sums(const struct layer_patches *p, uint64_t n, int64_t *sum);

/* The patch of a group at one position of sample n: row[k * step], k < cols; of numbers of 16 bits
 * in units of 256. */
void pith_patch_row(const struct layer_patches *p, uint64_t n, uint64_t group, uint64_t position,
                    int16_t *row, size_t step);

/* Of a number in such a row, in steps of the input's grid. */
double pith_patch_unit(const struct layer_patches *p);

/* in->goal at a position of sample n and row o of all the weight's, less the bias. */
double pith_layer_goal(const struct layer_patches *p, const struct integer_layer *l, uint64_t n,
                       uint64_t o, uint64_t position);

#endif
