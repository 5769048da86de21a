/* SPDX-License-Identifier: MIT */
/* augment_batch.h - augmentation of the samples in a slice, each by itself, then of pairs: mixup
 * (Zhang et al., 2018). Neighbours 0 and 1, 2 and 3, ... are mixed with each other, so that nothing
 * of the batch is lost; the order of samples is random already. */
#ifndef AUGMENT_BATCH_H
#define AUGMENT_BATCH_H

#include "augment.h"
#include "train/tape/tape.h"

struct augment_batch;

/* *b: NULL where the text is empty. PITH_ERR_ARGUMENT: the text; pictures are moved, but
 * the input is none; colours are changed, but it has not three. */
enum pith_status pith_augment_batch_new(const char *text, const struct pith_value *input,
                                        uint32_t per_slice, struct augment_batch **b,
                                        struct pith_error *err);
void pith_augment_batch_free(struct augment_batch *b); /* accepts NULL */

/* x: the samples of the slice, row-major. Place and seed alone decide what is drawn: sample i is at
 * place first + i, or first + number[i] where that is given; shares are drawn at the place of the
 * first one. */
void pith_augment_slice(const struct augment_batch *b, uint64_t seed, uint64_t first,
                        const uint32_t *number, uint32_t slice, struct tape_tensor *x);
/* [per_slice]: what is left of each sample and its label; the rest is its neighbour's (number ^ 1).
 * NULL: nothing is mixed. */
const float *pith_augment_shares(const struct augment_batch *b, uint32_t slice);
bool pith_augment_mixes(const struct augment_batch *b); /* accepts NULL */
/* The same of targets [per_slice][each], in place. */
void pith_mix_pairs(const float *share, uint32_t per_slice, size_t each, float *x);

#endif
