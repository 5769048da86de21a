/* SPDX-License-Identifier: MIT */
/* spec_huffman.h - Huffman tables and the symbols under them: S2. */
#ifndef SPEC_HUFFMAN_H
#define SPEC_HUFFMAN_H

#include "spec_bytes.h"

struct huffman {
    uint8_t length[256]; /* 0: does not occur */
    bool present[256];
    uint32_t n_present, only; /* `only`: the symbol, when n_present is 1 */
    uint32_t count[13];       /* symbols of each length */
    uint8_t sorted[256];      /* by length, then symbol */
};

void read_huffman(struct bits *b, struct huffman *h);
uint8_t read_symbol(struct bits *b, const struct huffman *h);

#endif
