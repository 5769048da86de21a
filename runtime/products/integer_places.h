/* SPDX-License-Identifier: MIT */
/* integer_places.h - bands of a grid whose places are not pixels of x side by side: planes of every
 * second pixel and row, say, or folded places (integer_layout.h). */
#ifndef INTEGER_PLACES_H
#define INTEGER_PLACES_H

#include "products/integer_conv.h"

/* What a band is filled from: `rows` rows of places under output rows oy .. of an image, the
 * channels of a group from `channel` on. */
struct place_band {
    size_t image;
    uint32_t oy, channel;
    uint64_t rows;
};

/* x: of bytes, all images; in the band they are u8, as the kernels see them, and what is outside of
 * x is `zero`. */
void pith_integer_fill_places(const struct integer_conv *c, const struct integer_layout *l,
                              const struct byte_rows *rows, const uint8_t *x, uint8_t zero,
                              const struct place_band *b, uint8_t *band);

#endif
