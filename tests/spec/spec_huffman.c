/* SPDX-License-Identifier: MIT */
/* spec_huffman.c - Huffman tables (S2). */
#include "spec_huffman.h"
#include <stdlib.h>
#include <string.h>

static void read_presence(struct bits *b, struct huffman *h, uint32_t alphabet, uint32_t presence)
{
    uint64_t at = b->at / 8;
    if (presence == 2) {
        bool occurs = field(b, 1) == 1;
        uint32_t s = 0;
        for (;; occurs = !occurs) {
            uint64_t run = gamma_number(b);
            must(run <= alphabet - s, at, "the runs of symbols must end at the alphabet's size");
            for (; run > 0; run--) {
                h->present[s++] = occurs;
            }
            if (s == alphabet) {
                break;
            }
        }
        must(h->present[alphabet - 1], at, "the last run must be of occurring symbols");
    } else {
        for (uint32_t s = 0; s + 1 < alphabet; s++) {
            h->present[s] = presence == 0 || (presence == 1 && field(b, 1) == 1);
        }
        h->present[alphabet - 1] = true;
    }
    for (uint32_t s = 0; s < alphabet; s++) {
        h->n_present += h->present[s];
    }
    must((h->n_present == 1) == (presence == 3), at, "one symbol is presence 3, more are not");
    h->only = alphabet - 1;
}

static void read_lengths(struct bits *b, struct huffman *h)
{
    uint64_t at = b->at / 8;
    uint32_t delta = field(b, 2), kraft = 0;
    int64_t length = 0;
    bool first = true;
    for (uint32_t s = 0; s < 256; s++) {
        if (!h->present[s]) {
            continue;
        }
        if (first || delta == 3) {
            length = (int64_t)field(b, 4) + 1;
        } else {
            uint64_t q = unary(b);
            length += unzigzag((q << delta) + field(b, delta));
        }
        first = false;
        must(length >= 1 && length <= 12, at, "a code length must be 1..12");
        h->length[s] = (uint8_t)length;
        h->count[length]++;
        kraft += UINT32_C(4096) >> length;
    }
    must(kraft == 4096, at, "the sum of 2^-length must be 1");
}

void read_huffman(struct bits *b, struct huffman *h)
{
    memset(h, 0, sizeof *h);
    uint64_t at = b->at / 8;
    bool power = field(b, 1) == 1;
    uint32_t a = field(b, power ? 3 : 8);
    uint32_t alphabet = power ? 2u << a : a + 1;
    must(power || a == 0 || (alphabet & a) != 0, at, "p = 0: the alphabet is no power of two");
    uint32_t presence = field(b, 2);
    must(presence != 0 || alphabet >= 2, at, "presence 0 needs two symbols");
    read_presence(b, h, alphabet, presence);
    if (presence != 3) {
        read_lengths(b, h);
    }
    uint32_t n = 0;
    for (uint32_t length = 1; length <= 12; length++) {
        for (uint32_t s = 0; s < 256; s++) {
            if (h->length[s] == length) {
                h->sorted[n++] = (uint8_t)s;
            }
        }
    }
}

/* Canonical codes of one length are consecutive numbers, starting at `first`; the symbols of that
 * length start at `index` of `sorted`. */
uint8_t read_symbol(struct bits *b, const struct huffman *h)
{
    if (h->n_present == 1) {
        return (uint8_t)h->only;
    }
    uint32_t code = 0, first = 0, index = 0;
    for (uint32_t length = 1; length <= 12; length++) {
        code = code << 1 | field(b, 1);
        if (code - first < h->count[length]) {
            return h->sorted[index + code - first];
        }
        index += h->count[length];
        first = (first + h->count[length]) << 1;
    }
    abort(); /* the lengths' sum is exact: every 12 bits hold a code */
}
