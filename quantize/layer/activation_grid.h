/* SPDX-License-Identifier: MIT */
/* activation_grid.h - the integers an activation becomes. */
#ifndef PITH_ACTIVATION_GRID_H
#define PITH_ACTIVATION_GRID_H

#include "pith_value_stats.h"

/* The value's grid, or one of 256 steps between its observed extremes and 0, made in m's arena.
 * *grid is NULL where nothing was observed. PITH_ERR_MEMORY. */
enum pith_status pith_activation_grid(struct pith_model *m, const struct pith_value *v,
                                      const struct pith_grid **grid);

struct pith_grid_kind {
    uint32_t bits; /* 2..16 */
    bool radix;    /* zero point 0, the scale a power of two */
};

/* One that covers what g, of whatever kind, does. PITH_ERR_MEMORY. */
enum pith_status pith_grid_of_kind(struct pith_model *m, const struct pith_grid *g,
                                   const struct pith_grid_kind *kind, const struct pith_grid **fit);

/* One grid (of one scale) that covers both; it is a where it equals b. */
enum pith_status pith_grid_union(struct pith_model *m, const struct pith_grid *a,
                                 const struct pith_grid *b, const struct pith_grid **both);

/* Does saturation to the grid do what cutting off below `low` and above `high` would? */
bool pith_grid_cuts(const struct pith_grid *g, float low, float high);

/* The same zero point, but for channel c (of axis 1) steps as wide as the channel's largest number
 * needs, in fixed point the power of two above; no channel gets more than the tensor had. stats: of
 * each channel; none below 0. */
enum pith_status pith_grid_by_channel(struct pith_model *m, const struct pith_grid *g,
                                      const struct pith_value_stats *stats, bool radix,
                                      const struct pith_grid **by_channel);

static inline double pith_grid_scale(const struct pith_grid *g, uint64_t channel)
{
    return (double)g->scale[g->n > 1 ? channel : 0];
}

#endif
