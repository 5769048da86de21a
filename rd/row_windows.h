/* SPDX-License-Identifier: MIT */
/* row_windows.h - which weights of a row stay where its pattern is of windows (N:M, balanced),
 * chosen as SparseGPT does (Frantar and Alistarh, 2023): when the sweep reaches a window, from
 * weights that make up for what was removed before. In a window weights go one after the other
 * (eliminate.h), each with what the others then become. */
#ifndef ROW_WINDOWS_H
#define ROW_WINDOWS_H

#include "layers/layer_factor.h"
#include "pith_prune.h"

struct row_windows {
    const struct layer_factor *factor; /* in the order of windows */
    struct pith_pattern pattern;       /* N_OF_M or BALANCED; b columns are a window */
    size_t most;                       /* columns of a window: b, or all that there are */
    double *inverse; /* [groups, n, most] H^-1 of each window's places, those in front being free */
};

/* Room of one row. */
struct row_windows_room {
    double *w, *error, *inverse, *room;
    uint8_t *gone;
};

/* What both leave after a failure is freed by the close of it. False: no memory. */
bool pith_row_windows_open(struct row_windows *c, const struct layer_factor *f,
                           const struct pith_pattern *pattern);
void pith_row_windows_close(struct row_windows *c); /* accepts zeros */
bool pith_row_windows_room(const struct row_windows *c, struct row_windows_room *r);
void pith_row_windows_room_end(struct row_windows_room *r); /* accepts zeros */

/* goal: [n] by place. kept: [n] by place, 0: is to be 0 anyway; becomes 0 of all that go. */
void pith_row_windows_choose(const struct row_windows *c, uint32_t group, const double *goal,
                             const struct row_windows_room *r, uint8_t *kept);

#endif
