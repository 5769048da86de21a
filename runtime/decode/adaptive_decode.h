/* SPDX-License-Identifier: MIT */
/* adaptive_decode.h - elements of an adaptive stream, one behind the other
 * (docs/format-streams.md, section 8). */
#ifndef PITH_ADAPTIVE_DECODE_H
#define PITH_ADAPTIVE_DECODE_H

#include "decode/adaptive_model.h"

/* May w be coded so? Validation calls it; the decoder relies on it. */
bool pith_adaptive_allows(const struct weight *w);

/* Does its stream begin with flags of rows, so that another weight may refer to it? */
bool pith_adaptive_flags_rows(const struct weight *w);

/* Lets w refer to the row flags of source, whose stream outlives w. false, and w is as it was: it
 * has none, or its rows do not divide the columns of w. */
bool pith_adaptive_feed(struct weight *w, const struct weight *source);

/* Memory behind struct adaptive; 8-byte aligned. */
size_t pith_adaptive_bytes(const struct weight *w);

/* mem: that many bytes. PITH_ERR_CORRUPT. */
enum pith_status pith_adaptive_open(struct adaptive *a, const struct weight *w, void *mem);

/* The next n stored elements: their numbers, and their index or value. pos may be NULL; index with
 * a codebook, value without. With the last one the end of the stream is tested. PITH_ERR_CORRUPT.
 */
enum pith_status pith_adaptive_next(struct adaptive *a, uint32_t *pos, uint8_t *index, float *value,
                                    uint32_t n);

/* live: [w->source_rows], the row flags of the weight that w refers to. a: used on the way. */
void pith_adaptive_source(const struct weight *w, struct adaptive *a, uint8_t *live);

#endif
