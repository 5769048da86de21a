/* SPDX-License-Identifier: MIT */
/* row_f32.c - the row kernels for every machine: the definition of right (kernel_row.h). */
#define ROW(name) name
#include "kernels/ref/row_f32_impl.h"
