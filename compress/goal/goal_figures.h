/* SPDX-License-Identifier: MIT */
/* goal_figures.h - the figures of a loss from what a run over a part of the samples summed up. */
#ifndef GOAL_FIGURES_H
#define GOAL_FIGURES_H

#include "measure/difference.h"
#include "pith_goal_loss.h"

struct eval_output {
    uint32_t output;
    double weight; /* of losses */
    struct output_kind kind;
};

struct goal_sums {
    const struct eval_output *out; /* [n_out] */
    uint32_t n_out;
    enum pith_goal_metric metric;
    const struct pith_difference_sums *sums; /* [n_out] */
    const float *was, *now; /* the answers of all calls, of the original and of the file */
    uint64_t calls;         /* > 0 */
    uint64_t right, right_before,
        predictions;       /* with labels: of the file, of the original; of all */
    double change_squares; /* sum over calls of the square of how many more or fewer are right */
    double squares_before, squares; /* with targets: sums of mean squared errors */
};

/* *loss is untouched after PITH_ERR_MEMORY. */
enum pith_status pith_goal_figures(const struct goal_sums *s, struct pith_goal_loss *loss,
                                   struct pith_error *err);

#endif
