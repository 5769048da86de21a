/* SPDX-License-Identifier: MIT */
/* pack_codes.c - a code for each element, for matrices that are dense or almost, in words of 32
 * bits. Eight rows are a group, and 32 words of each a step: a warp reads a step of a group at
 * once, 1024 bytes that lie side by side, each lane four words of rows below one another, twice. A
 * lane's word has the codes of four columns side by side of each slice of 128:
 *
 *     | codebooks, of 2^bits values | words [rows / 8, steps, 2, 32, 4] |
 *
 * Rows are filled up to whole groups, and columns to whole steps, with code 0. Codes of integers
 * are 128 higher than they, and scales, times 128, are where codebooks would be:
 *
 *     [rows / 8, columns / 2^scale_shift, 8]
 *
 * Codes of a matrix of integers of 8 bits are, where they have no smaller codebook, the integers,
 * and nothing lies in front of them. */
#include <stdlib.h>
#include <string.h>
#include "core/bytes.h"
#include "core/f32_bits.h"
#include "cuda/kernels/launch.h"
#include "pack_forms.h"

/* A support leaves one code to what is not stored. */
static uint32_t first_code(const struct weight *w)
{
    return w->support != SUPPORT_DENSE;
}

bool pith_device_codes_layout(const struct weight *w, bool turned, struct codes_layout *c)
{
    const bool bytes = pith_pack_is_bytes(w);
    struct pack_shape s = {.rows = w->shape.dim[turned], .cols = w->shape.dim[!turned]};
    if (bytes ? w->shape.rank != 2 || w->count >= UINT64_C(1) << 31 : !pith_pack_shape(w, &s))
        return false;
    const bool scaled = s.scale_shift > 0;
    const bool book = w->grid == GRID_CODEBOOK && !(bytes && w->n_groups > 1);
    const uint32_t values = book ? w->n_centroids + first_code(w) : 256;
    c->bits = values <= 4 ? 2 : values <= 16 ? 4 : 8;
    c->plain = bytes && c->bits == 8;
    c->rows = s.rows;
    c->cols = s.cols;
    c->turned = turned;
    c->steps = (s.cols + CODES_COLUMNS(c->bits) - 1) / CODES_COLUMNS(c->bits);
    const uint64_t groups = (s.rows + CODES_ROWS - 1) / CODES_ROWS;
    const uint64_t words = groups * c->steps * CODES_STEP_WORDS;
    const uint64_t scales = groups * CODES_SCALES(c->steps, s.scale_shift);
    const uint64_t front = scaled ? scales : c->plain ? 0 : w->n_groups << c->bits;
    c->words = pith_pack_aligned(front * sizeof(float));
    c->bytes = c->words + words * sizeof(uint32_t);
    return values <= 256 && words < UINT64_C(1) << 31;
}

/* Of element i. */
static void put_code(const struct codes_layout *c, uint8_t *to, uint64_t i, uint32_t code)
{
    const uint32_t row = (uint32_t)(c->turned ? i % c->rows : i / c->cols);
    const uint32_t column = (uint32_t)(c->turned ? i / c->rows : i % c->cols);
    const uint32_t columns = CODES_COLUMNS(c->bits);
    uint64_t at = ((uint64_t)(row / CODES_ROWS) * c->steps + column / columns) * CODES_STEP_WORDS +
                  CODES_ROW_WORD(row) + CODES_COLUMN_WORD(column);
    uint8_t *place = to + c->words + at * sizeof(uint32_t); /* wherever the caller has room */
    uint32_t word;
    memcpy(&word, place, sizeof word);
    word ^= code << CODES_COLUMN_CODE(column % columns) * c->bits;
    memcpy(place, &word, sizeof word);
}

/* Codebooks one behind the other, as they are decoded, to where each begins at a multiple of
 * 2^bits. */
static enum pith_status put_books(const struct weight *w, const struct codes_layout *c, uint8_t *to)
{
    const uint32_t n = w->n_centroids;
    float *book = malloc(w->n_groups * n * sizeof *book), *floats = (float *)(void *)to;
    if (!book)
        return PITH_ERR_MEMORY;
    enum pith_status st = pith_weight_codebooks(w, book);
    for (uint64_t i = 0; i < w->n_groups * n && !st; i++) {
        const uint64_t at = (i / n << c->bits) + i % n + first_code(w);
        if (pith_pack_is_bytes(w))
            to[at] = (uint8_t)(int8_t)book[i];
        else
            floats[at] = book[i];
    }
    free(book);
    return st;
}

enum pith_status pith_device_codes_books(const struct weight *w, uint8_t *to)
{
    struct codes_layout c;
    if (!pith_device_codes_layout(w, false, &c))
        return PITH_ERR_UNSUPPORTED;
    memset(to, 0, c.words);
    return c.plain ? PITH_OK : put_books(w, &c, to);
}

/* All bytes are 0x80 before: integers of 0 where there are none, and scales of some number. */
static void put_scaled(const struct weight *w, const struct codes_layout *c, uint8_t *to)
{
    struct pack_shape s;
    pith_pack_shape(w, &s);
    const uint32_t scales = CODES_SCALES(c->steps, s.scale_shift);
    for (uint64_t i = 0; i < w->count; i++) {
        const uint32_t row = (uint32_t)(i / s.cols), column = (uint32_t)(i % s.cols);
        float *group = (float *)(void *)to + (size_t)(row / CODES_ROWS) * scales;
        put_code(c, to, i, w->index_stream.bytes[i]);
        if (column % 32 == 0)
            group[(column >> s.scale_shift) * CODES_ROWS + row % CODES_ROWS] =
                128.0f * f32_from_bits(load_le32(w->codebook.bytes +
                                                 4 * scale_number(&w->shape, w->index_bits,
                                                                  w->group_elems, w->n_groups, i)));
    }
}

static enum pith_status put_bytes(const struct weight *w, const struct codes_layout *c, uint8_t *to)
{
    uint8_t *bytes = malloc(w->count);
    enum pith_status st = bytes ? pith_pack_elements(w, false, bytes) : PITH_ERR_MEMORY;
    for (uint64_t i = 0; i < w->count && !st; i++)
        put_code(c, to, i, bytes[i] ^ (w->type == PITH_I8 ? 0u : 0x80u));
    free(bytes);
    return st;
}

enum pith_status pith_device_codes_pack(const struct weight *w, bool turned, uint8_t *to)
{
    struct codes_layout c;
    struct nonzeros z;
    if (!pith_device_codes_layout(w, turned, &c))
        return PITH_ERR_UNSUPPORTED;
    memset(to, w->grid == GRID_SCALED ? 0x80 : 0, c.bytes);
    if (w->grid == GRID_SCALED)
        put_scaled(w, &c, to);
    if (c.plain || w->grid == GRID_SCALED)
        return c.plain ? put_bytes(w, &c, to) : PITH_OK;
    enum pith_status st = pith_nonzeros_new(w, &z);
    if (st)
        return st;
    st = put_books(w, &c, to);
    for (uint64_t i = 0; i < w->nnz && !st; i++)
        put_code(&c, to, z.pos[i], z.index[i] + first_code(w));
    pith_nonzeros_free(&z);
    return st;
}
