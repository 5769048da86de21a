/* SPDX-License-Identifier: MIT */
/* codebook_decode.h - codebooks group after group (docs/format-streams.md section 6). */
#ifndef PITH_CODEBOOK_DECODE_H
#define PITH_CODEBOOK_DECODE_H

#include "decode/bit_reader.h"
#include "pith_types.h"

struct codebook_reader {
    struct bit_reader bits;
    uint64_t groups_left;
    uint32_t n_centroids;
    uint32_t zero_bits, rice_bits;
    uint32_t step_bits; /* uniform: mantissa bits of the steps that are written */
    uint32_t exponent;  /* symmetric: that of the first step, already read; 0: no more */
    uint32_t base; /* near: the smallest step, its exponent and step_bits of its mantissa; or the
                      next one */
    uint32_t offset_bits; /* near: of what each step is above it; or CHAINED */
    bool coded, uniform;
    bool near;      /* uniform and symmetric, all steps close to each other */
    bool symmetric; /* uniform, as many values below zero as above, coarse steps */
    bool open_end;  /* other bytes follow */
};

/* n_centroids 1..256. PITH_ERR_CORRUPT. Borrows bytes. */
enum pith_status pith_codebook_open(struct codebook_reader *r, const uint8_t *bytes, size_t n_bytes,
                                    uint64_t n_groups, uint32_t n_centroids);

/* The next group: dst[n_centroids], finite, ascending. With the last group the end of the bytes is
 * checked. PITH_ERR_CORRUPT, also when no group is left. */
enum pith_status pith_codebook_next(struct codebook_reader *r, float *dst);
/* As whole numbers; PITH_ERR_CORRUPT also where one is none that i8 holds. */
enum pith_status pith_codebook_next_i8(struct codebook_reader *r, int8_t *dst);

/* Where all codebooks end that stand at the beginning of bytes. PITH_ERR_CORRUPT. */
enum pith_status pith_codebook_length(const uint8_t *bytes, size_t n_bytes, uint64_t n_groups,
                                      uint32_t n_centroids, size_t *length);

#endif
