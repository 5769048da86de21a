/* SPDX-License-Identifier: MIT */
/* The fast loop of Huffman decoding, run for as many rounds as safe_rounds gives, from any state,
 * over any data, with any look-up table: for all sub-streams with 0 to 29 bytes left and room for 0
 * to 47 symbols, with five and with four look-ups a round, it reads and writes inside of its
 * buffers alone. (More bytes and symbols are more rounds of the same.) */
#include "proof.h"
#include "runtime/decode/huff_decode.c"

enum { MOST_IN = 29, MOST_OUT = 47, INDEX_BITS = 3 /* of a table: the fewer, the faster */ };

static uint32_t entries[1u << INDEX_BITS];

static struct lane any_lane(uint8_t *in, size_t n_in, uint8_t *out, size_t n_out)
{
    any_bytes(in, MOST_IN);
    return (struct lane){in + (MOST_IN - n_in), in + MOST_IN, out + (MOST_OUT - n_out),
                         out + MOST_OUT, (uint32_t)Frama_C_interval(0, 7)};
}

static void run(size_t n_in, size_t n_out, uint32_t steps)
{
    static uint8_t in[4][MOST_IN], out[4][MOST_OUT];
    struct lane l[4];
    //@ loop unroll 4;
    for (uint32_t i = 0; i < 4; i++)
        l[i] = any_lane(in[i], n_in, out[i], n_out);
    uint64_t mask = (1u << INDEX_BITS) - 1;
    size_t rounds = safe_rounds(&l[0], steps);
    if (rounds == 0)
        return;
    run_one(&l[0], entries, mask, steps, rounds);
    l[0] = any_lane(in[0], n_in, out[0], n_out);
    run_four(l, entries, mask, steps, rounds);
}

/* Entries as pith_huff_build_table makes them: codes take `bits` bits at most. */
static void any_entries(uint32_t bits)
{
    uint32_t e = (uint32_t)Frama_C_interval(0, 0xffffff) |
                 (uint32_t)Frama_C_interval(0, (int)bits) << 24 |
                 (uint32_t)Frama_C_interval(1, 3) << 30;
    //@ loop unroll 8;
    for (uint32_t i = 0; i < 1u << INDEX_BITS; i++)
        entries[i] = e;
}

int main(void)
{
    static const size_t in[] = {7, 8, 14, 15, 22, 29};
    static const size_t out[] = {12, 13, 15, 16, 25, 31, 47};
    any_entries(11);
    //@ loop unroll 6;
    for (size_t i = 0; i < 6; i++)
        //@ loop unroll 7;
        for (size_t k = 0; k < 7; k++)
            run(in[i], out[k], 5);
    any_entries(12);
    //@ loop unroll 6;
    for (size_t i = 0; i < 6; i++)
        //@ loop unroll 7;
        for (size_t k = 0; k < 7; k++)
            run(in[i], out[k], 4);
    return 0;
}
