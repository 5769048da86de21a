/* SPDX-License-Identifier: MIT */
/* byte_rows_neon.c - see byte_rows_impl.h. */
#define ROW(name) name##_neon
#include "kernels/ref/byte_rows_impl.h"
