/* SPDX-License-Identifier: MIT */
/* slice_encode.c - see slice_encode.h. Sizes are known when slices are written, so those begin
 * where the longest directory would end, and are moved to where this one does. */
#include "slice_encode.h"
#include <stdlib.h>

struct slice_entry {
    size_t bytes;
    uint64_t stored;
};

static size_t varint_bytes(uint64_t v)
{
    size_t n = 1;
    for (; v >= 128; v >>= 7)
        n++;
    return n;
}

static uint8_t *put_varint(uint8_t *at, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        *at++ = (uint8_t)(v | 128);
    *at++ = (uint8_t)v;
    return at;
}

/* The last slice has no entry. */
static size_t directory_bytes(const struct slice_code *c, const struct slice_entry *t, uint64_t n)
{
    size_t bytes = varint_bytes(c->rows);
    for (uint64_t i = 0; i + 1 < n; i++)
        bytes += varint_bytes(t[i].bytes) + (c->stored ? varint_bytes(t[i].stored) : 0);
    return bytes;
}

static void put_directory(const struct slice_code *c, const struct slice_entry *t, uint64_t n,
                          uint8_t *dst)
{
    uint8_t *at = put_varint(dst, c->rows);
    for (uint64_t i = 0; i + 1 < n; i++) {
        at = put_varint(at, t[i].bytes);
        if (c->stored)
            at = put_varint(at, t[i].stored);
    }
}

/* One behind the other; *total: their bytes. What has no room is only counted. */
static enum pith_status encode_all(const struct slice_code *c, struct slice_entry *t, uint8_t *dst,
                                   size_t cap, size_t *total)
{
    enum pith_status st = PITH_OK;
    *total = 0;
    for (uint64_t row = 0; row < c->all && !st; row += c->rows, t++) {
        uint64_t rows = c->all - row < c->rows ? c->all - row : c->rows;
        bool fits = dst && *total < cap;
        st = c->encode(c->arg, row, rows, fits ? dst + *total : NULL, fits ? cap - *total : 0,
                       &t->bytes);
        *total += t->bytes;
        for (uint64_t i = 0; c->stored && i < rows; i++)
            t->stored += c->stored[row + i];
    }
    return st;
}

static enum pith_status encode(const struct slice_code *c, struct slice_entry *t, uint64_t n,
                               uint8_t *dst, size_t cap, size_t *bytes)
{
    size_t total, entry_bytes = varint_bytes(UINT32_MAX) * (c->stored ? 2 : 1);
    size_t room = varint_bytes(c->rows) + (size_t)(n - 1) * entry_bytes;
    bool fits = dst && room < cap;
    enum pith_status st = encode_all(c, t, fits ? dst + room : NULL, fits ? cap - room : 0, &total);
    if (st)
        return st;
    size_t head = directory_bytes(c, t, n);
    *bytes = head + total;
    if (!dst)
        return PITH_OK;
    if (!fits || total > cap - room)
        return PITH_ERR_SPACE;
    memmove(dst + head, dst + room, total);
    put_directory(c, t, n, dst);
    return PITH_OK;
}

enum pith_status pith_slices_encode(const struct slice_code *c, uint8_t *dst, size_t cap,
                                    size_t *bytes)
{
    if (c->rows == 0 || c->rows >= c->all)
        return PITH_ERR_ARGUMENT;
    uint64_t n = (c->all + c->rows - 1) / c->rows;
    struct slice_entry *t = calloc((size_t)n, sizeof *t);
    enum pith_status st = t ? encode(c, t, n, dst, cap, bytes) : PITH_ERR_MEMORY;
    free(t);
    return st;
}
