/* SPDX-License-Identifier: MIT */
/* kernels.cu - all kernels as one unit, which is one fatbin. */
#include "integer_tile.cuh"

#ifdef __CUDACC__
namespace alone /* program.cu has them in another way */
{
#endif
#include "elementwise.cu"
#include "product.cu"
#include "integer.cu"
#include "integer_product.cu"
#include "integer_conv.cu"
#include "move.cu"
#include "logic.cu"
#include "direct.cu"
#include "recurrent.cu"
#include "reduce.cu"
#include "sparse.cu"
#include "codes.cu"
#include "codes_mma.cu"
#include "attention.cu"
#include "half.cu"
#include "half_product.cu"
#include "half_conv.cu"
#include "window.cu"
#include "huffman.cu"
#ifdef __CUDACC__
}
#endif
#include "program.cu"
