/* SPDX-License-Identifier: MIT */
/* any_reader.h - the reader of bytes as one that gives any numbers: whatever it may read from any
 * string, and that it stays inside of the string, varint.c shows. What calls it is then shown for
 * strings of any length. */
#ifndef ANY_READER_H
#define ANY_READER_H

#include "proof.h"
#include "core/bytes.h"

/* Some of the string is read, or it ends here. */
static bool any_step(struct reader *r)
{
    if (r->bad || Frama_C_interval(0, 1)) {
        r->bad = true;
        return false;
    }
    r->left = (size_t)any_u64();
    return true;
}

static uint8_t any_u8(struct reader *r)
{
    return any_step(r) ? (uint8_t)Frama_C_interval(0, 255) : 0;
}

static uint32_t any_le32(struct reader *r)
{
    return any_step(r) ? (uint32_t)any_u64() : 0;
}

static uint64_t any_varint(struct reader *r, uint64_t max)
{
    return any_step(r) ? Frama_C_unsigned_long_interval(0, max) : 0;
}

static int64_t any_svarint(struct reader *r, int64_t min, int64_t max)
{
    return any_step(r) ? Frama_C_long_interval(min, max) : 0;
}

/* Strings of at most four bytes: heads are read so. */
static const uint8_t *any_string(struct reader *r, size_t n)
{
    static uint8_t string[4];
    //@ assert n <= 4;
    any_bytes(string, sizeof string);
    return any_step(r) ? string : NULL;
}

#define rd_u8 any_u8
#define rd_le32 any_le32
#define rd_varint any_varint
#define rd_svarint any_svarint
#define rd_bytes any_string

#endif
