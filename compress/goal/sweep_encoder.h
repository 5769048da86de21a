/* SPDX-License-Identifier: MIT */
/* sweep_encoder.h - the joint sweep (rd/weight_sweep.h) as an encoder of a search: quality is
 * a step, relative to one at which the loss allowed would be reached if all of it were that of
 * rounding finely; lambda goes with its square.
 *
 *     lambda = quality^2 * allowed / weights
 *
 * A weight that is rounded to a step s and minded by F costs F s^2 / 24, which the sweep's steps
 * make lambda / (2 ln 2) of each. Coarse steps cost less than that, and so networks end at 1.2
 * to 4. */
#ifndef SWEEP_ENCODER_H
#define SWEEP_ENCODER_H

#include "goal_encoders.h"
#include "layers/sensitivity.h"

struct sweep_encoder {
    struct pith_sensitivity sensitivity; /* owns; of none where the network has no gradients */
    double allowed;                      /* nats, or half a squared error */
    uint64_t weights;                    /* 0: not prepared */
    struct pith_goal_cost costly[PITH_GOAL_COSTLY]; /* of the file made last */
};

/* Once for all files. progress: of the sensitivities, samples done and all. PITH_ERR_MEMORY,
 * _STOPPED, and what reading data returns. The samples that calibrate are to be picked. */
enum pith_status pith_sweep_encoder_prepare(struct sweep_encoder *s, const struct goal_encoders *e,
                                            struct pith_error *err);
void pith_sweep_encoder_free(struct sweep_encoder *s); /* accepts zeros */
/* *out: the caller's. What pith_weight_sweep returns, PITH_ERR_STOPPED. */
enum pith_status pith_sweep_encode(struct sweep_encoder *s, const struct goal_encoders *e,
                                   double quality, struct pith_model **out, struct pith_error *err);

#endif
