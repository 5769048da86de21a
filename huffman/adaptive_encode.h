/* SPDX-License-Identifier: MIT */
/* adaptive_encode.h - one weight as an adaptive stream (docs/format-streams.md, section 8). */
#ifndef PITH_ADAPTIVE_ENCODE_H
#define PITH_ADAPTIVE_ENCODE_H

#include "decode/weight.h"

/* w: shape, count, nnz, support (dense, or anything else for a mask), grid, codebook and source are
 * looked at; nnz is how many the mask has. mask: [count] 0 or 1, where support is not dense; index:
 * [count], with a codebook; else data: [count] f32. */
struct adaptive_input {
    const struct weight *w;
    const uint8_t *mask, *index;
    const float *data;
};

/* dst NULL: only counts. PITH_ERR_SPACE, PITH_ERR_MEMORY; PITH_ERR_ARGUMENT when the codebook is
 * not one, or w says that there is a trellis and an index is no level of it. */
enum pith_status pith_adaptive_encode(const struct adaptive_input *in, uint8_t *dst, size_t cap,
                                      size_t *bytes);

#endif
