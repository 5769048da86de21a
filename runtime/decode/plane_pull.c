/* SPDX-License-Identifier: MIT */
/* plane_pull.c - see plane_pull.h. The planes stand one behind the other; each holds its length. */
#include "decode/plane_pull.h"

struct plane {
    struct huff_lengths lengths;
    const uint8_t *bytes; /* plain, or codes */
    size_t n_bytes;
    bool coded;
};

/* The next plane, cut out of r. false: broken. Bounds first: all later reads rest on the cuts
 * made here. */
static bool read_plane(struct reader *r, uint64_t n, struct plane *p)
{
    size_t table_bytes = rd_u8(r);
    p->coded = table_bytes > 0;
    const uint8_t *table = rd_bytes(r, table_bytes);
    uint64_t bytes = p->coded ? rd_varint(r, r->left) : n;
    if (r->bad || bytes > r->left)
        return false;
    p->n_bytes = (size_t)bytes;
    p->bytes = rd_bytes(r, p->n_bytes);
    struct bit_reader t = bit_reader_of(table, table_bytes);
    return !p->coded || (!pith_huff_read_lengths(&t, &p->lengths) && br_at_end(&t));
}

/* Called before the file has been checked, so a broken plane ends the walk and opening fails on
 * it. */
size_t pith_plane_pull_bytes(const struct weight *w)
{
    struct reader r = reader_of(w->index_stream.bytes, w->index_stream.n_bytes);
    struct plane plane;
    size_t bytes = 0;
    for (uint32_t i = 0; i < PLANES && read_plane(&r, w->count, &plane); i++)
        bytes += plane.coded ? huff_pull_bytes(&plane.lengths) : 0;
    return bytes;
}

bool pith_plane_pull_open(struct plane_pull *p, const struct weight *w, void *mem)
{
    struct reader r = reader_of(w->index_stream.bytes, w->index_stream.n_bytes);
    uint8_t *at = mem;
    for (uint32_t i = 0; i < PLANES; i++) {
        struct plane plane;
        if (!read_plane(&r, w->count, &plane))
            return false;
        p->plain[i] = plane.bytes;
        p->codes[i] = plane.coded ? (void *)at : NULL;
        if (!plane.coded)
            continue;
        at += huff_pull_bytes(&plane.lengths);
        if (pith_huff_pull_open(p->codes[i], &plane.lengths,
                                (struct stream){plane.bytes, plane.n_bytes}, w->count, false))
            return false;
    }
    return r.left == 0 && pith_planes_allow(w);
}

/* One byte of each plane, low to high; planes that lie plain have been tested for their length. */
bool pith_plane_pull(struct plane_pull *p, float *value)
{
    uint32_t word = 0;
    for (uint32_t i = 0; i < PLANES; i++) {
        uint8_t byte;
        if (!p->codes[i])
            byte = *p->plain[i]++;
        else if (!pith_huff_pull(p->codes[i], &byte))
            return false;
        word |= (uint32_t)byte << 8 * i;
    }
    *value = f32_from_bits(plane_bits(word));
    return true;
}

/* Plain planes have no end of their own. */
bool pith_plane_pull_ended(const struct plane_pull *p)
{
    for (uint32_t i = 0; i < PLANES; i++)
        if (p->codes[i] && !pith_huff_pull_ended(p->codes[i]))
            return false;
    return true;
}
