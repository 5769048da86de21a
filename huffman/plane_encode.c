/* SPDX-License-Identifier: MIT */
/* The encoder of byte planes: each plane with a code of its own where that is shorter than its
 * bytes. */
#include <stdlib.h>
#include "core/bytes.h"
#include "pith_huffman.h"
#include "plane_encode.h"

#define MAX_VARINT 10u

size_t pith_planes_bound(uint64_t n)
{
    return PLANES * ((size_t)n + 1);
}

static size_t write_varint(uint64_t v, uint8_t *dst)
{
    size_t n = 0;
    for (; v > 127; v >>= 7)
        dst[n++] = (uint8_t)(v | 128);
    dst[n++] = (uint8_t)v;
    return n;
}

static void take_plane(const float *value, uint64_t n, uint32_t plane, uint8_t *symbol)
{
    for (uint64_t i = 0; i < n; i++)
        symbol[i] = (uint8_t)(plane_word(f32_bits(value[i])) >> 8 * plane);
}

/* Table, length and codes to dst, room for n + 1 bytes; *bytes 0: that is no shorter than the
 * plane. */
static enum pith_status encode_plane(const uint8_t *symbol, uint64_t n, uint8_t *dst, size_t *bytes)
{
    uint64_t hist[PITH_SYMBOLS] = {0};
    struct pith_huff_code code;
    uint8_t length[MAX_VARINT];
    *bytes = 0;
    pith_histogram_add(hist, symbol, (size_t)n);
    enum pith_status st = pith_huff_build(hist, &code);
    if (st)
        return st;
    size_t table = pith_huff_table_bytes(&code), cap = pith_huff_bound(&code, hist, n), coded = 0;
    if (1 + table + MAX_VARINT + cap > n)
        return PITH_OK;
    uint8_t *stream = malloc(cap + 1);
    if (!stream)
        return PITH_ERR_MEMORY;
    st = pith_huff_encode(&code, symbol, (size_t)n, stream, cap, &coded);
    if (!st) {
        size_t length_bytes = write_varint(coded, length);
        *dst = (uint8_t)table;
        pith_huff_table_write(&code, dst + 1);
        memcpy(dst + 1 + table, length, length_bytes);
        memcpy(dst + 1 + table + length_bytes, stream, coded);
        *bytes = 1 + table + length_bytes + coded;
    }
    free(stream);
    return st;
}

enum pith_status pith_planes_encode(const float *value, uint64_t n, uint8_t *dst, size_t *bytes)
{
    uint8_t *symbol = malloc((size_t)n);
    enum pith_status st = symbol ? PITH_OK : PITH_ERR_MEMORY;
    size_t at = 0, plane_bytes;
    for (uint32_t p = 0; p < PLANES && !st; p++) {
        take_plane(value, n, p, symbol);
        st = encode_plane(symbol, n, dst + at, &plane_bytes);
        if (!st && plane_bytes == 0) {
            dst[at] = 0;
            memcpy(dst + at + 1, symbol, (size_t)n);
            plane_bytes = (size_t)n + 1;
        }
        at += st ? 0 : plane_bytes;
    }
    *bytes = at;
    free(symbol);
    return st;
}
