/* SPDX-License-Identifier: MIT */
/* grid_choice.h - the grids that methods propose for each value, and the one taken. */
#ifndef PITH_GRID_CHOICE_H
#define PITH_GRID_CHOICE_H

#include "pith_calibrate.h"
#include "range.h"

#define METHODS 5u  /* PITH_RANGE_MAX .. PITH_RANGE_ACIQ */
#define NARROWER 8u /* ranges that auto tries besides: that of PITH_RANGE_MSE times 2^(-i / 2) */

struct candidate {
    enum pith_range_method method;
    struct range range;
    struct simple_grid grid; /* of the whole value */
    double error;            /* squared, of the outputs: what auto measured */
    uint32_t n_samples;      /* on so many of its samples */
};

struct grid_choice {
    uint32_t value;
    struct distribution d;
    struct candidate candidate[METHODS + NARROWER];
    uint32_t n, taken; /* candidates; the one that the grid is made of */
    bool by_channel;
    struct pith_grid *grid; /* the model's; of candidate `taken` */
};

struct grid_choices {
    struct grid_choice *choice; /* [n] */
    uint32_t n;
    struct grid_kind kind; /* of all */
};

/* x: [n] numbers of a value with c's shape: each becomes the nearest on candidate k. */
void pith_choice_apply(const struct pith_model *m, const struct grid_choice *c,
                       const struct pith_grid *grid, float *x, size_t n);
/* The grid of candidate k, in m's memory; NULL: no memory. */
struct pith_grid *pith_choice_grid(struct pith_model *m, const struct grid_choice *c, uint32_t k,
                                   const struct grid_kind *kind);

/* to_try: [m->n_values], 0; scratch: the same. Those whose grids are worth trying on the outputs:
 * that a layer with weights depends on, and that are more than parts of a Concat, which is tried as
 * a whole. */
void pith_values_to_try(const struct pith_model *m, bool *to_try, bool *scratch);
/* Sets `taken` of each by the effect on the outputs. */
enum pith_status pith_choose_by_output(struct pith_model *m, const struct grid_choices *of,
                                       const struct pith_calibrate_opts *samples, uint64_t *n_runs,
                                       struct pith_error *err);

#endif
