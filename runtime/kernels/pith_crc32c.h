/* SPDX-License-Identifier: MIT */
/* pith_crc32c.h - the checksum of images. */
#ifndef PITH_CRC32C_H
#define PITH_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* CRC32C (Castagnoli), as in RFC 3720; start with crc 0. */
uint32_t pith_crc32c(uint32_t crc, const void *p, size_t bytes);
/* Its variants, for tests. */
uint32_t pith_crc32c_portable(uint32_t crc, const void *p, size_t bytes);
#ifdef __x86_64__
uint32_t pith_crc32c_avx2(uint32_t crc, const void *p, size_t bytes);
#endif

#endif
