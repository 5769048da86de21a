/* SPDX-License-Identifier: MIT */
/* channel_rows_avx512.c - channel_rows_impl.h for AVX512. */
#define ROWS pith_channel_rows_avx512
#include "channel_rows_impl.h"
