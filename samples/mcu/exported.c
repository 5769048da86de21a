/* SPDX-License-Identifier: MIT */
/* exported.c - the network as C source, from pith export. Pixels are its input integers as they
 * are. */
#include "mcu.h"
#include "digits.h"

_Static_assert(DIGITS_IN0_ZERO == 0 && DIGITS_IN0_SCALE * 255 > 0.999f &&
                   DIGITS_IN0_SCALE * 255 < 1.001f,
               "an input integer is a pixel: real = q / 255");

const float *classify(const uint8_t *pixels)
{
    static float scores[DIGITS_OUT0_COUNT];
    digits_run(pixels, scores);
    return scores;
}
