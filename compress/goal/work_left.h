/* SPDX-License-Identifier: MIT */
/* work_left.h - how far a search is: what share of all its time is over.
 *
 * Each part of the work begins with a guess in nanoseconds (sweep_cost.h). What has been timed says
 * by how much the other guesses are off, and counts instead of its own guess: a part that is done
 * whole, one under way the more the further it is. */
#ifndef WORK_LEFT_H
#define WORK_LEFT_H

#include <stdint.h>

enum work_part {
    WORK_BASELINE = 0, /* the original over the samples that choose and report */
    WORK_PREPARE = 1,  /* once, before the first file */
    WORK_ENCODE = 2,   /* a file */
    WORK_MEASURE = 3,  /* over the samples that choose */
    WORK_REPORT = 4,   /* over those that report */
    WORK_PARTS = 5
};

struct work_left {
    double guess[WORK_PARTS];  /* nanoseconds of one; > 0 */
    double wanted[WORK_PARTS]; /* how many there will be, on the mean */
    uint32_t done[WORK_PARTS];
    double spent[WORK_PARTS]; /* seconds, of those done */
    enum work_part at;        /* what is under way; WORK_PARTS: nothing */
    double share;             /* of that, 0..1 */
    double began;             /* it, in seconds */
    double told;              /* the last answer */
};

void pith_work_begin(struct work_left *w, enum work_part part, double seconds);
void pith_work_end(struct work_left *w, double seconds);
/* Of the whole, at that time: 0..1, never less than before. */
double pith_work_share(struct work_left *w, double seconds);

#endif
