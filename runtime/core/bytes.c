/* SPDX-License-Identifier: MIT */
/* bytes.c - numbers of variable length, read from bytes of unknown origin. */
#include "core/bytes.h"

/* An overlong form would be a second spelling of a number, which canonical files must not have. */
uint64_t pith_rd_varint(struct reader *r, uint64_t max)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t b = rd_u8(r);
        if (r->bad)
            return 0;
        /* The tenth byte has room for one bit. */
        if (shift == 63 && b > 1)
            break;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) {
            if ((b == 0 && shift > 0) || v > max)
                break;
            return v;
        }
    }
    r->bad = true;
    return 0;
}

int64_t pith_rd_svarint(struct reader *r, int64_t min, int64_t max)
{
    uint64_t u = rd_varint(r, UINT64_MAX);
    int64_t v = (int64_t)(u >> 1) ^ -(int64_t)(u & 1);
    if (v < min || v > max)
        r->bad = true;
    return r->bad ? 0 : v;
}
