/* SPDX-License-Identifier: MIT */
/* goal_retrain.h - with time left: prune, retrain, again. Each network begins as the last one that
 * kept the goal, with weights for about half of its bytes, until one misses it; then between the
 * two. The teacher is the original; labels count as well where there are any. What the preset
 * `small` says of training holds (preset.h), but for how long and for how many weights. */
#ifndef GOAL_RETRAIN_H
#define GOAL_RETRAIN_H

#include "goal_checkpoint.h"
#include "goal_encoders.h"

struct goal_retraining {
    const struct goal_encoders *encoders;  /* borrowed */
    const struct pith_model *original;     /* as it came: normalizations as they are */
    const struct pith_goal_search *search; /* measures files and reports them */
    struct goal_checkpoint *checkpoint;    /* borrowed; NULL: none is kept */
    struct pith_buffer *state; /* becomes the network of the file made last, as the next begins */
    double (*seconds_left)(void *user);
    bool (*should_stop)(void *user); /* no time, or interrupted */
    bool (*interrupted)(void *user); /* by the caller, not by the end of the time */
    void *user;
};

/* found grows by the files that were made. Where the network cannot be trained - several inputs, an
 * operator without gradient, numbers without targets - or the time does not do for an epoch,
 * nothing is made. PITH_ERR_MEMORY, _IO, and what reading data returns. */
enum pith_status pith_goal_retrain(const struct goal_retraining *r, struct pith_goal_found *found,
                                   struct pith_error *err);

#endif
