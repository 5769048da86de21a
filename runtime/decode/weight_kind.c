/* SPDX-License-Identifier: MIT */
/* weight_kind.c - see weight_kind.h. */
#include "decode/weight_kind.h"
#include "core/bytes.h"

bool pith_plain_size_ok(const struct stream *s, uint64_t n, uint32_t bits)
{
    uint64_t n_bits;
    return mul_ok(n, bits, &n_bits) && s->n_bytes == n_bits / 8 + (n_bits % 8 != 0);
}

bool pith_plain_indices_ok(const struct weight *w, uint64_t n)
{
    return w->code != CODE_PLAIN
               ? w->index_stream.n_bytes == 0
               : w->index_bits - 1 < 8 && pith_plain_size_ok(&w->index_stream, n, w->index_bits);
}

bool pith_plain_padding_ok(const struct weight *w, uint64_t n)
{
    const struct stream *s = &w->index_stream;
    uint64_t used = n * w->index_bits; /* pith_plain_size_ok: no overflow */
    return used % 8 == 0 || s->bytes[s->n_bytes - 1] >> (used % 8) == 0;
}

bool pith_centroids_ok(const struct weight *w, const float *v)
{
    bool ok = true;
    for (uint32_t i = 0; w->type == PITH_I8 && i < w->n_centroids && ok; i++)
        ok = pith_centroid_is_i8(v[i]);
    return ok;
}
