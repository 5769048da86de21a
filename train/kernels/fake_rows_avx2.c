/* SPDX-License-Identifier: MIT */
/* fake_rows_avx2.c - fake_rows_impl.h for AVX2. */
#define ROWS pith_fake_rows_avx2
#include "fake_rows_impl.h"
