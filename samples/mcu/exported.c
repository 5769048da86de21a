/* SPDX-License-Identifier: MIT */
/* exported.c - the network as C source, from pith export. A feature is kept as the integer that
 * the network computes with. */
#include "mcu.h"
#include "keywords.h"

_Static_assert(KEYWORDS_IN0_COUNT == FRAMES * COEFFICIENTS && KEYWORDS_OUT0_COUNT == CLASSES,
               "a network of other features or classes");

static int8_t input[KEYWORDS_IN0_COUNT];

int put_frame(uint32_t t, const float *mfcc)
{
    for (uint32_t c = 0; c < COEFFICIENTS; c++) {
        const float q = mfcc[c] * (1 / KEYWORDS_IN0_SCALE) + KEYWORDS_IN0_ZERO;
        const float rounded = q < 0 ? q - .5f : q + .5f;
        input[t * COEFFICIENTS + c] = (int8_t)(rounded < -128  ? -128
                                               : rounded > 127 ? 127
                                                               : rounded);
    }
    return 1;
}

const float *classify(void)
{
    static float scores[KEYWORDS_OUT0_COUNT];
    keywords_run(input, scores);
    return scores;
}
