/* SPDX-License-Identifier: MIT */
/* pack_forms.h - matrices with codebooks as kernels read them, besides relative index
 * (pack_relative.h), and any weight of floats or of bytes as tensor cores do. Those with codebooks
 * take what pith_pack_shape does; sizes follow from the counts of a weight, so that only packing
 * decodes it. Offsets are in bytes, multiples of 256; codebooks are at 0. */
#ifndef PACK_FORMS_H
#define PACK_FORMS_H

#include "pack_parts.h"

/* pack_codes.c: a code of 2, 4 or 8 bits for each element, codebooks of 2^bits values. Where not
 * all elements are stored, code 0 is 0. steps: of a row. Of a matrix of 8-bit integers, centroids
 * are bytes; 8 bits are the integers themselves (plain), signed, without a codebook. turned: of
 * such a matrix [columns, rows]. */
struct codes_layout {
    uint64_t words, bytes;
    uint32_t bits, steps, rows, cols;
    bool turned, plain;
};
bool pith_device_codes_layout(const struct weight *w, bool turned, struct codes_layout *c);
enum pith_status pith_device_codes_pack(const struct weight *w, bool turned, uint8_t *to);
/* Its codebooks alone: to [c->words]. */
enum pith_status pith_device_codes_books(const struct weight *w, uint8_t *to);

/* pack_rows.c: [rows, row] of f16 - of bf16 where the weight is stored so -, or of signed bytes,
 * where unsigned ones go 128 down: a row has for each tap channel_step elements, of which
 * `channels` are the weight's, and zeros behind. Of bytes, sums: i32 [rows], of each row. turned:
 * of a matrix [channels, rows]. */
struct rows_layout {
    uint32_t rows, row, taps, channels, channel_step;
    bool is_bf16;
    uint64_t sums, bytes;
};
/* false: no weight of bytes, or else of floats, with two axes or more (turned: two), or too large.
 */
bool pith_device_rows_layout(const struct weight *w, bool bytes, bool turned,
                             struct rows_layout *h);
/* PITH_ERR_MEMORY, _CORRUPT, _UNSUPPORTED where there is no layout. */
enum pith_status pith_device_rows_pack(const struct weight *w, bool turned, uint8_t *to);

#endif
