/* SPDX-License-Identifier: MIT */
/* row_slices.h - a tensor whose code learns, cut into slices of whole rows that learn each by
 * itself (docs/format-streams.md, section 11): how many elements each has, and its bytes. What is
 * not cut is one slice, so that its decoder needs no second way.
 *
 *     stream:   rows of a slice | bytes, stored elements of each but the last | slice | slice | ...
 *                               'sizes'                                       'bytes'
 */
#ifndef PITH_ROW_SLICES_H
#define PITH_ROW_SLICES_H

#include "core/bytes.h"
#include "decode/weight.h"

#define ADAPTIVE_MAX ((UINT32_C(1) << 28) - 1) /* elements of such a tensor */
#define SLICE_PIECES 16u                       /* at most, that one tensor is decoded in at once */

/* Matrix form of a shape. */
static inline uint64_t adaptive_rows(const struct weight *w)
{
    return w->shape.rank < 2 ? 1 : w->shape.dim[0];
}

struct row_slices {
    uint64_t each;   /* elements of each but the last, which has what is left; 0: broken */
    uint64_t behind; /* elements of slices to come */
    uint64_t last;   /* stored elements of the last one */
    bool counted;    /* sizes have those of each other one */
    struct reader sizes, bytes;
};

struct row_slice {
    struct reader bytes;
    uint64_t n, stored; /* elements */
};

/* Before the first slice of w, whose directory is tested. s borrows w's stream. false: the
 * directory is none. */
bool pith_slices_open(struct row_slices *s, const struct weight *w);

/* The same of the tensor that w refers to, of whose elements only the rows are known: as if a row
 * had ADAPTIVE_MAX. */
bool pith_slices_of_source(struct row_slices *s, const struct weight *w);

/* The next slice; there must be one (s->behind > 0). */
struct row_slice pith_slices_next(struct row_slices *s);

/* Elements of a slice of w but the last; w->count where it is not cut; 0: it cannot be computed. */
uint64_t pith_slice_elements(const struct weight *w);

/* Pieces of whole slices in which w is decoded at once, 2 .. SLICE_PIECES; 0: it is not cut. */
uint32_t pith_slice_pieces(const struct weight *w);

/* Stored elements of the first n slices of w, whose directory was found right and counts them. */
uint64_t pith_slices_stored(const struct weight *w, uint64_t n);

#endif
