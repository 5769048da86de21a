/* SPDX-License-Identifier: MIT */
/* integer_places.h - bands of a grid whose places are not pixels of x side by side: planes of every
 * second pixel and row, say, or folded places (integer_layout.h). */
#ifndef INTEGER_PLACES_H
#define INTEGER_PLACES_H

#include "products/integer_conv.h"

/* What a band is filled from: `rows` rows under output rows oy .. of an image, the channels of a
 * group from `channel` on. What is outside of x is `zero`. */
struct place_band {
    const uint8_t *x; /* all images */
    int32_t zero;
    size_t image;
    uint32_t oy, channel;
    uint64_t rows;
};

/* x: of bytes; in the band they are u8, as the kernels see them. */
void pith_integer_fill_places(const struct integer_conv *c, const struct integer_layout *l,
                              const struct byte_rows *rows, const struct place_band *b,
                              uint8_t *band);

#endif
