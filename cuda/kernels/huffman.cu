/* SPDX-License-Identifier: MIT */
/* huffman.cu - indices of a weight from their Huffman codes, and from indices its codes of some bits
 * (pack_codes.c). Sub-streams stand alone: a warp takes one, of which a single lane works, since the
 * next code begins where the one before it ends. A chip has room for thousands of warps. */
#include "device.h"

/* As huff_sub_begin. */
DEVICE uint32_t sub_begin(uint32_t n, uint32_t subs, uint32_t sub)
{
    return n / subs * sub + (uint32_t)((uint64_t)(n % subs) * sub / subs);
}

/* Bits that are read but not used yet, first bit lowest; what is behind the end is 0. */
struct ahead {
    uint64_t bits;
    uint32_t have, word, last; /* last: words begin before it */
};

DEVICE void read_ahead(const struct huffman_args *arg, struct ahead *a)
{
    if (a->have >= HUFFMAN_BITS)
        return;
    a->bits |= (uint64_t)(a->word < a->last ? arg->words[a->word] : 0u) << a->have;
    a->have += 32u;
    a->word++;
}

/* 0, or 1: codes go on beyond the sub-stream, an index is of no centroid, or what is left behind
 * the last code is no padding. */
DEVICE uint32_t decode_sub(const struct huffman_args *arg, const uint16_t *table, uint32_t sub)
{
    const uint32_t at = arg->begin[sub], end = arg->begin[sub + 1u];
    const uint32_t mask = (1u << arg->table_bits) - 1u, stop = sub_begin(arg->n, arg->subs, sub + 1u);
    struct ahead a = {0, 0, at / 4u, (end + 3u) / 4u};
    uint32_t left = 8u * (end - at);
    read_ahead(arg, &a);
    a.bits >>= 8u * (at % 4u);
    a.have -= 8u * (at % 4u);
    for (uint32_t i = sub_begin(arg->n, arg->subs, sub); i < stop; i++) {
        read_ahead(arg, &a);
        const uint32_t entry = table[(uint32_t)a.bits & mask], length = entry >> 8;
        if (length > left || (entry & 255u) >= arg->centroids)
            return 1u;
        arg->symbol[i] = (uint8_t)entry;
        a.bits >>= length;
        a.have -= length;
        left -= length;
    }
    read_ahead(arg, &a);
    return left >= 8u || ((uint32_t)a.bits & ((1u << left) - 1u)) != 0u;
}

KERNEL(huffman_symbols, huffman_args)
{
    SHARED uint16_t table[1u << HUFFMAN_BITS];
    const uint32_t sub = BLOCK_X * HUFFMAN_SUBS + THREAD / 32u;
    for (uint32_t i = THREAD; i < 1u << arg->table_bits; i += LAUNCH_THREADS)
        table[i] = arg->table[i];
    barrier();
    if (THREAD % 32u == 0u && sub < arg->subs)
        arg->fault[sub] = decode_sub(arg, table, sub);
}

/* Of element e; 0 where it is not stored. */
DEVICE uint32_t code_of(const struct symbols_args *arg, uint32_t e)
{
    if (!arg->support)
        return arg->symbol[e];
    const uint32_t word = arg->support[e / 32u];
    if (!(word >> e % 32u & 1u))
        return 0u;
    uint32_t rank = arg->rank[e / HUFFMAN_RANKED];
    for (uint32_t i = e / HUFFMAN_RANKED * (HUFFMAN_RANKED / 32u); i < e / 32u; i++)
        rank += count_ones(arg->support[i]);
    return arg->symbol[rank + count_ones(word & ((1u << e % 32u) - 1u))] + 1u;
}

KERNEL(codes_of_symbols, symbols_args)
{
    FOR_EACH(i, arg->n)
    {
        const uint32_t step = i / CODES_STEP_WORDS % arg->steps, at = i % CODES_STEP_WORDS;
        const uint32_t row = i / CODES_STEP_WORDS / arg->steps * CODES_ROWS + at / 128u * 4u + at % 4u;
        const uint32_t first = step * CODES_COLUMNS(arg->bits) + at % 128u / 4u * 4u;
        uint32_t word = 0;
        for (uint32_t k = 0; k < 32u / arg->bits && row < arg->rows; k++) {
            const uint32_t column = first + k / 4u * 128u + k % 4u;
            if (column < arg->cols)
                word |= code_of(arg, row * arg->row_step + column * arg->column_step) << arg->bits * k;
        }
        arg->word[i] = word;
    }
}
