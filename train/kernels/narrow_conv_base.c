/* SPDX-License-Identifier: MIT */
/* narrow_conv_base.c - narrow_conv_impl.h for every CPU. */
#include "simd_base.h"
#define MOST_TAPS 12
#define TABLE pith_narrow_base
#include "narrow_conv_impl.h"
