/* SPDX-License-Identifier: MIT */
/* huff_chains.h - the bit buffer of a chain of kernel_decode.h. */
#ifndef HUFF_CHAINS_H
#define HUFF_CHAINS_H

#include "core/bytes.h"
#include "kernels/kernel_decode.h"

/* The next 56 bits and more. A sentinel one stands above the data and moves down with every shift,
 * so that the count of leading zeros gives what was consumed (as in zstd's and Giesen's decoders).
 */
static inline uint64_t huff_bits(const uint8_t *in, uint32_t consumed)
{
    return (load_le64(in) | UINT64_C(1) << 63) >> consumed;
}

#endif
