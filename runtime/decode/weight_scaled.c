/* SPDX-License-Identifier: MIT */
/* weight_scaled.c - plain elements as f32: of their type, or integers times scales. Differences of
 * 16-bit integers are exact in f32, so each element is rounded once, as DequantizeLinear does. */
#include "core/bytes.h"
#include "core/element_f32.h"
#include "decode/weight_kind.h"

/* Elements from number i on that share its scale, as far as is simple to say; at least 1. */
static uint64_t run_of(const struct weight *w, uint64_t i)
{
    if (w->n_groups == 1)
        return w->count;
    uint64_t inner = shape_product(&w->shape, w->index_bits + 1, w->shape.rank);
    return w->group_elems ? 1 : inner - i % inner;
}

void pith_weight_elements(const struct weight *w, uint64_t first, size_t n, float *dst)
{
    const enum pith_type type = is_scaled(w) ? (enum pith_type)w->scaled : w->type;
    const size_t each = plain_bytes(w);
    const uint8_t *from = w->index_stream.bytes + first * each;
    if (!is_scaled(w)) {
        pith_elements_to_f32(type, from, n, dst);
        return;
    }
    const uint8_t *scales = w->codebook.bytes, *zeros = scales + 4 * w->n_groups;
    for (size_t i = 0, run; i < n; i += run) {
        const uint64_t at = first + i, left = run_of(w, at);
        const uint64_t s = scale_number(&w->shape, w->index_bits, w->group_elems, w->n_groups, at);
        const float scale = f32_from_bits(load_le32(scales + 4 * s));
        float zero = 0;
        if (w->codebook.n_bytes > 4 * w->n_groups)
            pith_elements_to_f32(type, zeros + s * each, 1, &zero);
        run = left < n - i ? (size_t)left : n - i;
        pith_elements_to_f32(type, from + i * each, run, dst + i);
        for (size_t k = i; k < i + run; k++)
            dst[k] = (dst[k] - zero) * scale;
    }
}
