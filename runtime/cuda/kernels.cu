/* SPDX-License-Identifier: MIT */
/* kernels.cu - all kernels as one unit, which is one fatbin. */
#include "elementwise.cu"
#include "integer.cu"
#include "integer_product.cu"
#include "move.cu"
#include "product.cu"
#include "recurrent.cu"
#include "reduce.cu"
#include "sparse.cu"
#include "columns.cu"
#include "bitmap.cu"
#include "codes.cu"
#include "window.cu"
