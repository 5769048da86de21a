/* SPDX-License-Identifier: MIT */
/* Plain forms: k-bit indices and bitmaps (docs/format-streams.md sections 4 and 5). */
#include <string.h>
#include "bit_writer.h"
#include "pith_huffman.h"

uint32_t pith_index_bits(uint32_t n_centroids)
{
    uint32_t bits = 1;
    while (1u << bits < n_centroids)
        bits++;
    return bits;
}

size_t pith_index_pack_bytes(uint64_t n, uint32_t index_bits)
{
    /* n = 8 a + b: no overflow while the result fits */
    return (size_t)(n / 8 * index_bits + (n % 8 * index_bits + 7) / 8);
}

void pith_index_pack(const uint8_t *index, uint64_t n, uint32_t index_bits, uint8_t *dst)
{
    if (!index || !dst)
        return;
    struct bit_writer w = bit_writer_to(dst, pith_index_pack_bytes(n, index_bits));
    if (index_bits == 8) {
        memcpy(dst, index, (size_t)n);
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        bw_bits(&w, index[i], index_bits);
    bw_close(&w);
}

void pith_bitmap_pack(const uint8_t *mask, uint64_t count, uint8_t *dst)
{
    if (!mask || !dst)
        return;
    struct bit_writer w = bit_writer_to(dst, (size_t)(count / 8 + (count % 8 != 0)));
    for (uint64_t i = 0; i < count; i++)
        bw_bits(&w, mask[i], 1);
    bw_close(&w);
}

uint64_t pith_index_gather(const uint8_t *index, const uint8_t *mask, uint64_t count, uint8_t *dst)
{
    if (!index || !dst)
        return 0;
    uint64_t n = 0;
    if (!mask) {
        memcpy(dst, index, (size_t)count);
        return count;
    }
    for (uint64_t i = 0; i < count; i++)
        if (mask[i])
            dst[n++] = index[i];
    return n;
}
