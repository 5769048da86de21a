/* SPDX-License-Identifier: MIT */
/* snr.h - a signal-to-noise ratio from two sums of squares. */
#ifndef PITH_SNR_H
#define PITH_SNR_H

#include <math.h>

/* 10 log10(signal / noise), in dB. HUGE_VAL: there is no noise. -HUGE_VAL: there is no signal, or
 * one of them is NaN or infinite, so that no limit in dB is met by it. */
static inline double pith_snr_db(double signal, double noise)
{
    if (noise == 0)
        return HUGE_VAL;
    return isfinite(signal) && isfinite(noise) ? 10 * log10(signal / noise) : -HUGE_VAL;
}

#endif
