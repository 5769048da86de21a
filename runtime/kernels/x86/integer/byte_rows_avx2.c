/* SPDX-License-Identifier: MIT */
/* byte_rows_avx2.c - see byte_rows_impl.h. */
#define ROW(name) name##_avx2
#include "kernels/ref/byte_rows_impl.h"
