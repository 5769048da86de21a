/* SPDX-License-Identifier: MIT */
/* byte_rows_avx512.c - see byte_rows_impl.h. */
#define ROW(name) name##_avx512
#include "byte_rows_impl.h"
