/* SPDX-License-Identifier: MIT */
/* sample_split.h - which samples calibrate, which choose, which report. */
#ifndef SAMPLE_SPLIT_H
#define SAMPLE_SPLIT_H

#include "pith_goal_loss.h"

struct sample_split {
    uint32_t *numbers[PITH_GOAL_PARTS]; /* owns, but for a REPORT that is CHOOSE */
    uint64_t n[PITH_GOAL_PARTS];
    bool shared;        /* REPORT is CHOOSE */
    uint32_t *training; /* owns: [n_training] all that neither choose nor report; CALIBRATE is the
                           first of them */
    uint64_t n_training;
};

/* Of n samples, in an order drawn by seed, or in their own where they are a stream: ten in sixteen
 * calibrate, three choose, three report, and of few samples half calibrate; at most so many each.
 * False: no memory. n: at least PITH_GOAL_LEAST. */
bool pith_sample_split(uint64_t n, uint64_t seed, bool stream, const uint64_t most[PITH_GOAL_PARTS],
                       struct sample_split *split);
void pith_sample_split_free(struct sample_split *split); /* accepts zeros */

#endif
