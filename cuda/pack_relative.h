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

/* Of a weight that pith_relative_bytes takes. Offsets are multiples of 256. row_at: u32 [rows + 1],
 * in lines of 32 words from `words` on; start: u16 [rows, 32]. */
struct relative_layout pith_relative_layout(const struct weight *w);
/* Bytes of all of it. PITH_ERR_UNSUPPORTED: the weight is no sparse matrix with finite codebooks of
 * whole rows, or too wide; PITH_ERR_MEMORY, _CORRUPT. Decodes the weight, as its size depends on
 * where the nonzeros are. */
enum pith_status pith_relative_bytes(const struct weight *w, uint64_t *bytes);
/* to: as many bytes as pith_relative_bytes says, aligned to 4. PITH_ERR_UNSUPPORTED, _MEMORY and
 * _CORRUPT as there. */
enum pith_status pith_relative_pack(const struct weight *w, uint8_t *to);

#endif
