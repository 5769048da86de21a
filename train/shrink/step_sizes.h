/* SPDX-License-Identifier: MIT */
/* step_sizes.h - a step size for each weight, or for each of its rows, found before a run starts
 * (row_steps.h says how) and taken by its parameters. */
#ifndef STEP_SIZES_H
#define STEP_SIZES_H

#include <stdint.h>

#include "row_scale.h"

struct steps_of {
    uint64_t n;  /* 0, 1, or one for each entry of axis 0 */
    float *step; /* [n] */
};

struct row_steps {
    uint32_t n;             /* values of the model; 0: nothing was requested */
    struct steps_of *of;    /* [n] of a weight */
    struct row_scale scale; /* to be applied before they are used */
};

#endif
