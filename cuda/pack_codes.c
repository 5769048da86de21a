/* SPDX-License-Identifier: MIT */
/* pack_codes.c - a code for each element, for matrices that are dense or almost. Words of 32 bits
 * have 8 codes of 4 bits, or 4 of 8; the fifth bits of codes of 5 stand apart. The codes of a word
 * are 32 columns apart, and words lie lane beside lane, so that a warp reads words and x at full
 * width.
 *
 *     | codebooks, of 2^bits values | words [rows, row_words] | fifth bits: bytes [rows, row_words]
 * | */
#include <stdlib.h>
#include <string.h>
#include "cuda/kernels/launch.h"
#include "pack_forms.h"

/* A support leaves one code to what is not stored. */
static uint32_t first_code(const struct weight *w)
{
    return w->support != SUPPORT_DENSE;
}

bool pith_device_codes_layout(const struct weight *w, struct codes_layout *c)
{
    struct pack_shape s;
    if (!pith_pack_shape(w, &s))
        return false;
    uint32_t values = w->n_centroids + first_code(w);
    c->bits = values <= 16 ? 4 : values <= 32 ? 5 : 8;
    uint32_t per_word = CODES_PER_WORD(c->bits), columns = 32 * per_word;
    c->row_words = (s.cols + columns - 1) / columns * 32;
    uint64_t words = (uint64_t)s.rows * c->row_words;
    c->low = pith_pack_aligned((w->n_groups * sizeof(float)) << c->bits);
    c->high = c->low + pith_pack_aligned(words * sizeof(uint32_t));
    c->bytes = c->high + (c->bits == 5 ? words : 0) + 1;
    return values <= 256 && words < UINT64_C(1) << 31;
}

static void put_code(const struct codes_layout *c, uint8_t *to, uint32_t row, uint32_t column,
                     uint32_t code)
{
    uint32_t per_word = CODES_PER_WORD(c->bits), bits = 32 / per_word;
    uint64_t at = (uint64_t)row * c->row_words + column / (32 * per_word) * 32 + column % 32;
    uint32_t slot = column / 32 % per_word, mask = c->bits == 8 ? 255 : 15;
    uint8_t *place = to + c->low + at * sizeof(uint32_t); /* wherever the caller has room */
    uint32_t word;
    memcpy(&word, place, sizeof word);
    word |= (code & mask) << slot * bits;
    memcpy(place, &word, sizeof word);
    if (c->bits == 5)
        to[c->high + at] |= (uint8_t)(code >> 4 << slot);
}

/* Codebooks one behind the other, as they are decoded, to where each begins at a multiple of
 * 2^bits. */
static enum pith_status put_books(const struct weight *w, const struct codes_layout *c, float *to)
{
    float *book = malloc(w->n_groups * w->n_centroids * sizeof *book);
    if (!book)
        return PITH_ERR_MEMORY;
    enum pith_status st = pith_weight_codebooks(w, book);
    for (uint64_t g = 0; g < w->n_groups && !st; g++)
        memcpy(to + (g << c->bits) + first_code(w), book + g * w->n_centroids,
               w->n_centroids * sizeof *book);
    free(book);
    return st;
}

enum pith_status pith_device_codes_books(const struct weight *w, uint8_t *to)
{
    struct codes_layout c;
    if (!pith_device_codes_layout(w, &c))
        return PITH_ERR_UNSUPPORTED;
    memset(to, 0, c.low);
    return put_books(w, &c, (float *)(void *)to);
}

enum pith_status pith_device_codes_pack(const struct weight *w, uint8_t *to)
{
    struct codes_layout c;
    struct pack_shape s;
    struct nonzeros z;
    if (!pith_device_codes_layout(w, &c) || !pith_pack_shape(w, &s))
        return PITH_ERR_UNSUPPORTED;
    enum pith_status st = pith_nonzeros_new(w, &z);
    if (st)
        return st;
    memset(to + c.low, 0, c.bytes - c.low);
    st = pith_device_codes_books(w, to);
    for (uint64_t i = 0; i < w->nnz && !st; i++)
        put_code(&c, to, z.pos[i] / s.cols, z.pos[i] % s.cols, z.index[i] + first_code(w));
    pith_nonzeros_free(&z);
    return st;
}
