/* SPDX-License-Identifier: MIT */
/* Sixteen gaps of a relative index at once: for tables of seven kinds (direct and mantissa bits),
 * any symbols, any extra bits, from each bit of 72 bytes that has_extra_slack lets pass, nothing
 * outside of the extra bits is read and no shift is too wide. (Elsewhere they are read by the bit
 * reader, bit_reader.c.) */
#include "proof.h"
#include "runtime/decode/gap_decode.c"

enum { BYTES = 72 };

static struct gap_reader r;
static uint8_t bytes[BYTES], symbols[BLOCK];
static uint32_t to[BLOCK];

static void expand(uint64_t pos)
{
    r.group.rest[0] = bit_reader_of(bytes, BYTES);
    r.group.rest[0].pos = pos;
    r.count = any_u64() >> 32;
    r.pos = 0;
    if (has_extra_slack(&r.group.rest[0]))
        (void)add_block(&r, symbols, to);
}

static void with_table(uint32_t d, uint32_t m)
{
    static struct support_lengths t;
    uint32_t most = (1u << d) + ((MAX_EXPONENT + 1 - d) << m);
    t.direct_bits = (uint8_t)d;
    t.mantissa_bits = (uint8_t)m;
    t.huff.n_symbols = (uint16_t)(most < HUFF_SYMBOLS ? most : HUFF_SYMBOLS);
    //@ loop unroll 16;
    for (uint32_t i = 0; i < BLOCK; i++)
        symbols[i] = (uint8_t)Frama_C_interval(0, t.huff.n_symbols - 1);
    any_bytes(bytes, sizeof bytes);
    r.table = &t;
    fill_far_gaps(&r);
    //@ loop unroll 74;
    for (uint64_t pos = 0; pos < 74; pos++) /* 0..9 pass */
        expand(pos);
}

int main(void)
{
    static const uint32_t kind[][2] = {{0, 0}, {2, 0}, {2, 2}, {3, 3}, {5, 1}, {7, 0}, {7, 3}};
    //@ loop unroll 7;
    for (uint32_t i = 0; i < 7; i++)
        with_table(kind[i][0], kind[i][1]);
    return 0;
}
