/* SPDX-License-Identifier: MIT */
/* All byte strings of 0 to 12 bytes, read as a varint, a signed one, four bytes and any number of
 * bytes: the reader stays inside of the string and gives nothing above its bound. */
#include "proof.h"
#include "runtime/core/bytes.c"

static uint8_t bytes[12];

/* The last n of the bytes: what lies before them is not of the string. */
static struct reader of(size_t n)
{
    any_bytes(bytes, sizeof bytes);
    return reader_of(bytes + (12 - n), n);
}

static void read_varint(size_t n, uint64_t max)
{
    struct reader r = of(n);
    uint64_t v = rd_varint(&r, max);
    //@ assert v <= max;
    //@ assert r.left <= n;
}

static void read_others(size_t n)
{
    struct reader r = of(n);
    int64_t s = rd_svarint(&r, -1000, 1000);
    //@ assert -1000 <= s <= 1000;
    r = of(n);
    uint32_t word = rd_le32(&r);
    r = of(n);
    const uint8_t *p = rd_bytes(&r, (size_t)any_u64());
    //@ assert r.left <= n;
}

int main(void)
{
    static const uint64_t max[] = {0, 127, 128, 65535, 4294967295, UINT64_MAX};
    //@ loop unroll 13;
    for (size_t n = 0; n <= 12; n++) {
        read_others(n);
        //@ loop unroll 6;
        for (size_t k = 0; k < 6; k++)
            read_varint(n, max[k]);
    }
    return 0;
}
