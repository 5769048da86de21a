/* SPDX-License-Identifier: MIT */
/* channel_rows_avx2.c - channel_rows_impl.h for AVX2. */
#define ROWS pith_channel_rows_avx2
#include "channel_rows_impl.h"
