/* SPDX-License-Identifier: MIT */
/* All bit strings of 0 to 6 bytes, read from each of their bits on: no byte outside of the string
 * is read, no shift is too wide, and no place beyond the end is reached. */
#include "proof.h"
#include "decode/bit_reader.h"

static void read_from(size_t n, uint64_t pos)
{
    uint8_t bytes[6];
    any_bytes(bytes, sizeof bytes);
    struct bit_reader r = bit_reader_of(bytes + (6 - n), n), at = r;
    at.pos = pos;
    uint32_t more = br_peek(&at);
    static const uint32_t width[] = {0, 1, 8, 15, 16, 17, 25, 31, 32};
    //@ loop unroll 9;
    for (uint32_t i = 0; i < 9; i++) {
        r = at;
        uint32_t v = br_bits(&r, width[i]);
        //@ assert r.pos <= r.end;
    }
    r = at;
    uint32_t ones = br_unary(&r, 31);
    //@ assert ones <= 31;
    bool end = br_at_end(&at);
}

int main(void)
{
    //@ loop unroll 7;
    for (size_t n = 0; n <= 6; n++)
        //@ loop unroll 49;
        for (uint64_t pos = 0; pos <= 8 * n; pos++)
            read_from(n, pos);
    return 0;
}
