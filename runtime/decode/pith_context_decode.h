/* SPDX-License-Identifier: MIT */
/* pith_context_decode.h - context-coded indices (docs/format-streams.md, section 11), one behind
 * the other. Coded are levels: of dense support these are the indices; of support 3 one more level,
 * between the centroids below zero and the others, says that an element is not stored. */
#ifndef PITH_CONTEXT_DECODE_H
#define PITH_CONTEXT_DECODE_H

#include "pith_bytes.h"
#include "pith_kernel_decode.h"
#include "pith_row_slices.h"

#define CONTEXT_HEAD_BYTES 10u /* the most that a stream has before its code */
#define CONTEXT_AHEAD 256u
#define CONTEXT_CLASS_BITS 8u /* the most that tell an index of a class */

/* How a stream begins: classes of indices, and the magnitude that is expected. apart: a decision
 * tells elements that are zero; then levels that are not are the indices. */
struct context_head {
    uint32_t mean_code; /* 8 steps an octave */
    bool apart;
    uint32_t n_classes;
    uint8_t bits[CONTEXT_SYMBOLS]; /* of each class: it has 2^bits indices, the last one fewer */
};

struct context_stream {
    struct context_coder coder;
    context_indices_fn *indices;
    const uint8_t *begin; /* of its code */
    uint64_t left;        /* levels to come, of the slice at hand */
    const struct weight *w;
    void *mem;
    struct row_slices slices; /* to come */
    /* of support 3 */
    uint32_t zero; /* the level that is not stored */
    uint64_t element, stored_left;
    uint32_t ahead_at, n_ahead;
    uint8_t ahead[CONTEXT_AHEAD]; /* levels decoded, not yet looked at */
};

/* May the indices of w be coded so? The gate asks; the decoder relies on it. */
bool pith_context_allows(const struct weight *w);

/* Memory beside struct context_stream; 4-byte aligned. */
size_t pith_context_bytes(const struct weight *w);

/* Before the first index: c for a tensor like w behind this head, but for the walk's stream.
 * column: pith_context_bytes. false: the head is not one. */
bool pith_context_begin(struct context_coder *c, const struct weight *w,
                        const struct context_head *head, void *column);

/* Reads directory and head. mem: pith_context_bytes. s borrows w. PITH_ERR_CORRUPT. */
enum pith_status pith_context_open(struct context_stream *s, const struct weight *w, void *mem);

/* The same, standing before slice `first` of a w whose directory was found right. */
enum pith_status pith_context_enter(struct context_stream *s, const struct weight *w, void *mem,
                                    uint64_t first);

/* Of the first group: the centroids below zero, which are the levels below that of elements that
 * are not stored; and whether a centroid is +0. false: they cannot be read. */
bool pith_context_zero(const struct weight *w, uint32_t *negative, bool *has_zero);

/* The next n indices of dense support, n at most those that are left. With the last one of a slice
 * its end is tested. PITH_ERR_CORRUPT. */
enum pith_status pith_context_next(struct context_stream *s, uint8_t *index, uint64_t n);

/* The next n stored elements of support 3: their numbers and indices. With the last one the rest of
 * the stream is tested. PITH_ERR_CORRUPT. */
enum pith_status pith_context_stored(struct context_stream *s, uint32_t *pos, uint8_t *index,
                                     uint32_t n);

#endif
