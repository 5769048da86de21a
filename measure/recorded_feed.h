/* SPDX-License-Identifier: MIT */
/* recorded_feed.h - what a model is fed as numbered calls, each of which may be read at any
 * time and more than once: for running parts of a network, or many calls side by side.
 *
 * A state that comes back is recorded: as the model makes it that this was opened with. The steps
 * of a sample are calls one behind the other. */
#ifndef PITH_RECORDED_FEED_H
#define PITH_RECORDED_FEED_H

#include "pith_measure.h"

#ifdef __cplusplus
extern "C" {
#endif

struct recorded_feed;

/* Of the feed's first n_samples (0, or more than there are: all); feed NULL: of data for the only
 * input. Borrows the feed, its data and m until closed. PITH_ERR_ARGUMENT: the feed does not fit
 * the model; PITH_ERR_UNSUPPORTED: no feed, and several inputs; PITH_ERR_MEMORY, _IO, and what
 * reading data and running return. */
enum pith_status pith_recorded_feed_open(const struct pith_model *m, const struct pith_feed *feed,
                                         struct pith_data *data, uint64_t n_samples,
                                         struct recorded_feed **r, struct pith_error *err);
void pith_recorded_feed_close(struct recorded_feed *r); /* accepts NULL */
uint64_t pith_recorded_feed_calls(const struct recorded_feed *r);
/* Input `input` (of the model's list) in a call; to: [its bytes]. Calls on one data set may not
 * overlap. PITH_ERR_IO, what reading data returns. */
enum pith_status pith_recorded_feed_read(struct recorded_feed *r, uint32_t input, uint64_t call,
                                         void *to, struct pith_error *err);

#ifdef __cplusplus
}
#endif
#endif
