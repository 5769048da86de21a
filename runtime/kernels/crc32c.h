/* SPDX-License-Identifier: MIT */
/* crc32c.h - the checksum of images. */
#ifndef PITH_CRC32C_H
#define PITH_CRC32C_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/kernel_list.h"

/* CRC32C (Castagnoli), as in RFC 3720; start with crc 0. */
typedef uint32_t crc32c_fn(uint32_t crc, const void *p, size_t bytes);
crc32c_fn pith_crc32c;

struct checksum_kernels {
    crc32c_fn *crc32c;
};

/* The list: kernel_list.h. */
#define CHECKSUM_KERNELS_ANY(KERNEL) KERNEL(crc32c, crc32c_fn, pith_crc32c_portable, 0)
#ifdef __x86_64__
#define CHECKSUM_KERNELS_OWN(KERNEL) KERNEL(crc32c, crc32c_fn, pith_crc32c_avx2, PITH_CPU_AVX2)
#else
#define CHECKSUM_KERNELS_OWN(KERNEL)
#endif
#define CHECKSUM_KERNELS(KERNEL) CHECKSUM_KERNELS_ANY(KERNEL) CHECKSUM_KERNELS_OWN(KERNEL)

CHECKSUM_KERNELS(KERNEL_DECLARE)

/* features: as pith_kernels_fill. */
void pith_checksum_kernels_fill(struct checksum_kernels *k, uint32_t features);

#endif
