/* SPDX-License-Identifier: MIT */
/* pack_relative.h - sparse matrices with codebooks in relative index, as warps read them. */
#ifndef PACK_RELATIVE_H
#define PACK_RELATIVE_H

#include <stdbool.h>
#include "decode/weight.h"

/* Offsets in bytes: the codebook is at 0. */
struct relative_layout {
    uint64_t row_at, start, words;
    bool wide; /* indices of 8 bits: more than 16 centroids */
};

/* Of a weight that pith_relative_pack takes. Offsets are multiples of 256. row_at: u32 [rows + 1],
 * in lines of 32 words from `words` on; start: u16 [rows, 32]. */
struct relative_layout pith_relative_layout(const struct weight *w);
/* to, aligned to 4: *bytes of it, or NULL: only they are counted, which decodes the weight, too, as
 * they depend on where the nonzeros are. PITH_ERR_UNSUPPORTED: the weight is no sparse matrix with
 * finite codebooks of whole rows, or too wide; PITH_ERR_MEMORY, _CORRUPT. */
enum pith_status pith_relative_pack(const struct weight *w, uint8_t *to, uint64_t *bytes);

#endif
