/* SPDX-License-Identifier: MIT */
/* crc32c_avx2.c - CRC32C by the processor's own instruction (SSE4.2, which AVX2 includes). It takes
 * 8 bytes a cycle but has its result after three, so three stretches of a block run at once and are
 * joined: a CRC is linear, and moving a register over n zero bytes multiplies it by x^(8n) modulo
 * the polynomial (S. Gueron, Speeding up CRC32C computations with Intel CRC32 instruction, 2012,
 * with plain multiplications in place of carry-less ones: two for 24 KB cost little). */
#include <nmmintrin.h>
#include "core/bytes.h"
#include "kernels/crc32c.h"

/* Castagnoli's polynomial, reversed: the instruction shifts right. */
#define POLYNOMIAL 0x82f63b78u /* bit 31 is x^0 */
#define STRETCH_BYTES ((size_t)8192)
#define OVER_ONE 0x28461564u /* x^(8 * STRETCH_BYTES) */
#define OVER_TWO 0xbf455269u /* x^(16 * STRETCH_BYTES) */

/* a * b modulo the polynomial. Bit by bit, twice for 24 KB. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (uint32_t i = 0; i < 32; i++) {
        product ^= b & (0u - (a >> (31 - i) & 1));
        b = b >> 1 ^ (POLYNOMIAL & (0u - (b & 1)));
    }
    return product;
}

static uint64_t load_word(const uint8_t *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof w);
    return w;
}

/* The register after three stretches. Three independent chains hide the instruction's latency. */
static uint32_t shift_block(uint32_t crc, const uint8_t *p)
{
    uint64_t a = crc, b = 0, c = 0;
    for (size_t i = 0; i < STRETCH_BYTES; i += 8) {
        a = _mm_crc32_u64(a, load_word(p + i));
        b = _mm_crc32_u64(b, load_word(p + i + STRETCH_BYTES));
        c = _mm_crc32_u64(c, load_word(p + i + 2 * STRETCH_BYTES));
    }
    /* What the first stretch leaves is moved over two stretches, the second's over one. */
    return multiply(OVER_TWO, (uint32_t)a) ^ multiply(OVER_ONE, (uint32_t)b) ^ (uint32_t)c;
}

/* The tail, and files below 24 KB, go word by word. */
uint32_t pith_crc32c_avx2(uint32_t crc, const void *p, size_t bytes)
{
    const uint8_t *b = p;
    crc = ~crc;
    for (; bytes >= 3 * STRETCH_BYTES; b += 3 * STRETCH_BYTES, bytes -= 3 * STRETCH_BYTES)
        crc = shift_block(crc, b);
    for (; bytes >= 8; b += 8, bytes -= 8)
        crc = (uint32_t)_mm_crc32_u64(crc, load_word(b));
    for (; bytes > 0; b++, bytes--)
        crc = _mm_crc32_u8(crc, *b);
    return ~crc;
}
