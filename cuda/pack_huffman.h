/* SPDX-License-Identifier: MIT */
/* pack_huffman.h - weights whose indices are Huffman-coded, and codes (pack_codes.c) on the device:
 * the coded bytes go there as they are in the file, with what their decoder (huffman.cu) needs. */
#ifndef PACK_HUFFMAN_H
#define PACK_HUFFMAN_H

#include "pack_forms.h"

/* Where parts begin, in bytes, multiples of 256: what is copied - the sub-streams' first bytes (u32
 * [subs + 1]), the table (u16 [2^table_bits]), the support and how many are stored before each
 * HUFFMAN_RANKED elements, where it is no dense one, the coded bytes -, and behind `bytes` the room
 * for what the device makes: a fault a sub-stream (u32), the symbols. */
struct huffman_layout {
    uint64_t table, rank, support, words, bytes, fault, symbol, all;
    uint32_t symbols, subs, table_bits;
};

/* false: its indices are not Huffman-coded, its support is coded, or it has no form of codes. */
bool pith_device_huffman_layout(const struct weight *w, struct huffman_layout *h);
/* What is copied: to [h->bytes]. What the decoder on the device relies on is checked here - the
 * table, the sizes of sub-streams, the support -, codes are checked there. PITH_ERR_CORRUPT,
 * _MEMORY. */
enum pith_status pith_device_huffman_pack(const struct weight *w, const struct huffman_layout *h,
                                          uint8_t *to);

#endif
