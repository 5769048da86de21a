/* SPDX-License-Identifier: MIT */
/* row_paths.h - levels of a row, looked for along several paths at once.
 *
 * What the first j levels add to a row's cost is known when they are chosen (row_feedback.h), and
 * the next to each level is not always the best for those behind. So the ROW_PATHS cheapest choices
 * so far are kept, each goes on with the two levels next to what it wants (the M-algorithm,
 * Anderson and Mohan, 1984; K-best sphere decoding), and the cheapest at the end is the row: 0.7 dB
 * less than a single path, at the same bits. */
#ifndef ROW_PATHS_H
#define ROW_PATHS_H

#include "grid.h"
#include "row_feedback.h"

#define ROW_PATHS 16u

struct row_paths {
    double *error; /* [n, ROW_PATHS] of the elements chosen so far, in the order */
};

/* For rows of n. False: no memory. */
bool pith_row_paths_open(struct row_paths *p, uint32_t n);
void pith_row_paths_free(struct row_paths *p); /* accepts zeros */
/* The row that s aims at, of levels of grid times factor: level * step of each into v [s->n].
 * Elements that are not alive (NULL: all are) are 0. Equal costs: the nearer level, the path that
 * was cheaper before. */
void pith_row_paths_round(struct row_paths *p, const struct row_feedback *s,
                          const struct grid *grid, double factor, const uint8_t *alive, float *v);

#endif
