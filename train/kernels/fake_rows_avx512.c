/* SPDX-License-Identifier: MIT */
/* fake_rows_avx512.c - fake_rows_impl.h for AVX-512. */
#define ROWS pith_fake_rows_avx512
#include "fake_rows_impl.h"
