/* SPDX-License-Identifier: MIT */
/* feed_batch.h - samples of a data set into the slices of a tape, in a seeded order. */
#ifndef FEED_BATCH_H
#define FEED_BATCH_H

#include "pith_data.h"
#include "train/tape/tape.h"

struct feed_batch;

/* PITH_ERR_CORRUPT: a label of sample i is not in 0 .. n_classes - 1; says which sample. Where
 * positions have labels, one may be negative. */
enum pith_status pith_labels_check(struct pith_data *data, uint64_t i, uint64_t n_classes,
                                   struct pith_error *err);
/* Labels of sample i that count; 1 where there are none. */
uint64_t pith_labels_counted(const struct pith_data *data, uint64_t i);

struct batch_kind {
    enum pith_type type; /* of a sample's elements */
    uint32_t per_slice;  /* samples */
    uint32_t n_classes;  /* labels must lie below it; 0: labels are not read */
    bool with_targets;   /* real-valued ones instead of labels */
};
enum pith_status pith_batch_new(struct pith_data *data, struct batch_kind kind,
                                struct feed_batch **b, struct pith_error *err);
void pith_batch_free(struct feed_batch *b);            /* accepts NULL */
uint64_t pith_batch_count(const struct feed_batch *b); /* whole batches of one epoch */
/* A new order, of which this seed and epoch decide. */
void pith_batch_shuffle(struct feed_batch *b, uint64_t seed, uint32_t epoch);
/* Batch i of the epoch into the tape's input 0. PITH_ERR_CORRUPT: a label out of range, named. */
enum pith_status pith_batch_load(struct feed_batch *b, struct tape *t, uint64_t i,
                                 struct pith_error *err);
/* The order of the data set; one batch more then takes what is left, and the first samples again.
 */
void pith_batch_in_order(struct feed_batch *b);
/* Labels of batch i of the epoch that count, in all slices; samples where none are read. */
uint64_t pith_batch_counted(const struct feed_batch *b, uint64_t i);
/* Of the batch loaded last: [per_slice], of labels as many for each as the data has; [per_slice,
 * target elements]. */
const uint32_t *pith_batch_numbers(const struct feed_batch *b, uint32_t slice);
const int64_t *pith_batch_labels(const struct feed_batch *b, uint32_t slice);
float *pith_batch_targets(struct feed_batch *b, uint32_t slice);

#endif
