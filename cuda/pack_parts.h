/* SPDX-License-Identifier: MIT */
/* pack_parts.h - a matrix with codebooks as its nonzeros, from which the forms of the device are
 * made. */
#ifndef PACK_PARTS_H
#define PACK_PARTS_H

#include <stdbool.h>
#include "decode/weight.h"

#define PACK_CENTROIDS 256u /* that a codebook has at most */

/* A weight as rows of its first axis. Each codebook serves book_rows whole rows; of integers, each
 * scale 2^scale_shift columns of a row or, in several copies, more; 0: it has codebooks. */
struct pack_shape {
    uint32_t rows, cols, book_rows, scale_shift;
};

/* false: not f32 with codebooks for whole rows or scales for 32 columns or more, or too large to be
 * counted in 31 bits. */
bool pith_pack_shape(const struct weight *w, struct pack_shape *s);
/* Whether elements are integers of 8 bits. */
bool pith_pack_is_bytes(const struct weight *w);
/* All elements: integers of 8 bits, or floats. to [w->count]; PITH_ERR_MEMORY, _CORRUPT. */
enum pith_status pith_pack_elements(const struct weight *w, bool floats, void *to);
/* Bytes up to the next multiple of 256, as pieces of a packed weight begin. */
uint64_t pith_pack_aligned(uint64_t bytes);

/* Nonzeros in order: their element numbers, and their indices into the codebook. */
struct nonzeros {
    uint32_t *pos; /* owns, and index */
    uint8_t *index;
};

/* PITH_ERR_MEMORY, _CORRUPT: nothing is to be freed then. */
enum pith_status pith_nonzeros_new(const struct weight *w, struct nonzeros *z);
void pith_nonzeros_free(struct nonzeros *z);
/* The first nonzero from `first` on that is behind the row of `cols` elements. */
uint64_t pith_nonzeros_row_end(const struct weight *w, const struct nonzeros *z, uint64_t first,
                               uint32_t row, uint32_t cols);

#endif
