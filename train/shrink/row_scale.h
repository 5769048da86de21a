/* SPDX-License-Identifier: MIT */
/* row_scale.h - rows made larger, and smaller again behind a rectifier.
 *
 * relu(s x) = s relu(x) for s > 0, and pools and reshapes keep it: where nothing else stands
 * between a weight and a depthwise one, a row of the first and its bias may be multiplied by s and
 * that of the second by 1 / s (Meller et al., 2019; Nagel et al., 2019, section 4.1). Those use it
 * to even ranges; here it evens steps. The rows of the first weight take one step, and those of the
 * second, which have a step each anyway, are as much finer or coarser: a file stores half as
 * many. */
#ifndef ROW_SCALE_H
#define ROW_SCALE_H

#include "train/tape/tape.h"

struct scaled {
    uint64_t rows;
    float *times;  /* [rows]; NULL: stays as it is */
    uint32_t bias; /* that is multiplied, too; PITH_VALUE_NONE */
    bool evened;   /* all its rows take one step now */
};

struct row_scale {
    uint32_t n;
    struct scaled *of; /* [n] of each value of the model */
};

/* step: for each value of m the steps of its rows, or NULL; they change as the rows shall. Zeros
 * are an empty scale. PITH_ERR_MEMORY. */
enum pith_status pith_row_scale_find(const struct pith_model *m, double *const *step,
                                     struct row_scale *scale, struct pith_error *err);
bool pith_row_scale_evens(const struct row_scale *scale, uint32_t value);
/* Multiplies in m and in t, which is m's. */
void pith_row_scale_apply(const struct row_scale *scale, struct pith_model *m, struct tape *t);
void pith_row_scale_free(struct row_scale *scale); /* accepts zeros */

#endif
