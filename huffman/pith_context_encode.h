/* SPDX-License-Identifier: MIT */
/* pith_context_encode.h - the indices of a weight, context-coded (docs/format-streams.md, section
 * 11). */
#ifndef PITH_CONTEXT_ENCODE_H
#define PITH_CONTEXT_ENCODE_H

#include "pith_context_decode.h"

/* w: one that pith_context_allows, with its codebook. mask: [w->count] 0 or 1, where support is not
 * dense. index: [w->count], below w->n_centroids where an element is stored. dst NULL: only counts.
 * PITH_ERR_SPACE, PITH_ERR_MEMORY; PITH_ERR_ARGUMENT when the codebook is not one. */
enum pith_status pith_context_encode(const struct weight *w, const uint8_t *mask,
                                     const uint8_t *index, uint8_t *dst, size_t cap, size_t *bytes);

/* The same in slices of `rows` rows, fewer than w has, as w->sliced says of a tensor. */
enum pith_status pith_context_encode_sliced(const struct weight *w, uint64_t rows,
                                            const uint8_t *mask, const uint8_t *index, uint8_t *dst,
                                            size_t cap, size_t *bytes);

#endif
