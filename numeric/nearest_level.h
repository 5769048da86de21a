/* SPDX-License-Identifier: MIT */
/* nearest_level.h - the integer of a range that is nearest to a number, without a call of the
 * library: it runs for each weight and each scale that is tried. */
#ifndef NEAREST_LEVEL_H
#define NEAREST_LEVEL_H

#include <stdint.h>

/* Half to even, as nearbyint; lowest where x is not a number. |lowest|, |most| < 2^31. */
static inline double nearest_level(double x, int32_t lowest, int32_t most)
{
    const double whole = 0x1.8p52; /* doubles around it are the integers */
    double low = x > lowest ? x : lowest, in = low < most ? low : most;
    return (in + whole) - whole;
}

#endif
