/* SPDX-License-Identifier: MIT */
/* spec_coded.c - coded streams (S3). */
#include "spec_coded.h"
#include <stdlib.h>

static uint64_t n_sub_streams(uint64_t n)
{
    return n < 4096 ? 1 : 4 * ((n + 32767) / 32768);
}

/* Bytes of each sub-stream; s is left behind the directory. */
static uint64_t *read_directory(struct span *s, uint64_t n_sub)
{
    uint64_t at = s->at;
    uint64_t *bytes = zeroed(n_sub, sizeof *bytes);
    if (n_sub > 1) {
        uint64_t base = varint_in(s, 0, UINT64_C(1) << 24, "base is at most 2^24");
        uint32_t width = u8(s);
        must(width <= 24, at, "width of the directory's fields is 0..24");
        struct bits b = bits_of(cut(s, ((n_sub - 1) * width + 7) / 8));
        bool some_zero = false, some_top = width == 0;
        for (uint64_t j = 0; j + 1 < n_sub; j++) {
            uint32_t v = field(&b, width);
            some_zero |= v == 0;
            some_top |= width > 0 && v >> (width - 1) == 1;
            bytes[j] = base + v;
        }
        padding(&b);
        must(some_zero, at, "one size of the directory must be the base");
        must(some_top, at, "width must be no larger than needed");
    }
    uint64_t rest = left(s);
    for (uint64_t j = 0; j + 1 < n_sub; j++) {
        must(bytes[j] <= rest, at, "sub-streams are longer than the stream");
        rest -= bytes[j];
    }
    bytes[n_sub - 1] = rest;
    return bytes;
}

/* n symbols; and the gaps, where the table is one of relative indices. */
uint8_t *read_coded(struct span s, const struct table *t, uint64_t n, uint64_t *gap)
{
    uint8_t *symbol = zeroed(n, 1);
    uint64_t n_sub = n_sub_streams(n);
    uint64_t *bytes = read_directory(&s, n_sub);
    for (uint64_t j = 0; j < n_sub; j++) {
        uint64_t from = j * n / n_sub, to = (j + 1) * n / n_sub;
        struct bits b = bits_of(cut(&s, bytes[j]));
        for (uint64_t i = from; i < to; i++) {
            symbol[i] = read_symbol(&b, &t->h);
        }
        for (uint64_t i = from; gap != NULL && i < to; i++) {
            gap[i] = read_gap(&b, t, symbol[i]);
        }
        padding(&b);
    }
    free(bytes);
    return symbol;
}
