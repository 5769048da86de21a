/* SPDX-License-Identifier: MIT */
/* buffer.c - bytes for the caller, and bytes in the making. */
#include <stdlib.h>
#include "byte_out.h"
#include "core/bytes.h"
#include "pith_base.h"

void pith_buffer_free(struct pith_buffer *buffer)
{
    if (!buffer)
        return;
    free(buffer->data);
    buffer->data = NULL;
    buffer->bytes = 0;
}

void pith_out_clear(struct byte_out *o)
{
    free(o->data);
    *o = (struct byte_out){0};
}

/* Doubling, so that n bytes cost O(n) copies. */
static bool reserve(struct byte_out *o, size_t n)
{
    if (o->failed || n > SIZE_MAX / 4 - o->bytes) {
        o->failed = true;
        return false;
    }
    size_t want = o->bytes + n, cap = o->cap ? o->cap : 256;
    if (o->data && want <= o->cap)
        return true;
    while (cap < want)
        cap *= 2;
    uint8_t *data = realloc(o->data, cap);
    if (!data) {
        o->failed = true;
        return false;
    }
    o->data = data;
    o->cap = cap;
    return true;
}

uint8_t *pith_out_room(struct byte_out *o, size_t n)
{
    if (!reserve(o, n))
        return NULL;
    o->bytes += n;
    return o->data + (o->bytes - n);
}

void pith_out_bytes(struct byte_out *o, const void *p, size_t n)
{
    uint8_t *room = n > 0 ? pith_out_room(o, n) : NULL;
    if (room)
        memcpy(room, p, n);
}

void pith_out_u8(struct byte_out *o, uint32_t v)
{
    uint8_t b = (uint8_t)v;
    pith_out_bytes(o, &b, 1);
}

void pith_out_le32(struct byte_out *o, uint32_t v)
{
    uint8_t b[4];
    store_le32(b, v);
    pith_out_bytes(o, b, sizeof b);
}

void pith_out_le64(struct byte_out *o, uint64_t v)
{
    uint8_t b[8];
    store_le64(b, v);
    pith_out_bytes(o, b, sizeof b);
}

void pith_out_varint(struct byte_out *o, uint64_t v)
{
    while (v >= 0x80) {
        pith_out_u8(o, (uint32_t)(v & 0x7f) | 0x80);
        v >>= 7;
    }
    pith_out_u8(o, (uint32_t)v);
}

void pith_out_svarint(struct byte_out *o, int64_t v)
{
    pith_out_varint(o, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}
