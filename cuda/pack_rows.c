/* SPDX-License-Identifier: MIT */
/* pack_rows.c - a weight as tensor cores multiply it: a row of terms for each output, with zeros up
 * to a whole slice, so that a kernel's threads load 16 bytes each and never look where a row ends.
 * Taps of convolutions lie one behind the other, each with all its channels up to a multiple of
 * what is loaded at once: those terms then have one tap.
 *
 *     [outputs, taps, channel_step], each row up to row, and of bytes behind all rows their sums
 *
 * A matrix [k, n] is turned; it has one tap. */
#include <stdlib.h>
#include <string.h>
#include "cuda/kernels/half_bits.h"
#include "cuda/kernels/launch.h"
#include "pack_forms.h"

#define WORD_TERMS 4u /* of bytes */
#define PART_TERMS 8u /* of floats */

static uint32_t up_to(uint32_t n, uint32_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

bool pith_device_rows_layout(const struct weight *w, bool bytes, bool turned, struct rows_layout *h)
{
    const bool floats = w->type == PITH_F32 || w->type == PITH_F16 || w->type == PITH_BF16;
    if (!(bytes ? pith_pack_is_bytes(w) : floats) || w->shape.rank < 2 ||
        (turned && w->shape.rank > 2) || w->count >= UINT64_C(1) << 31)
        return false;
    const uint32_t *dim = w->shape.dim;
    h->rows = dim[turned];
    h->channels = dim[!turned];
    h->taps = (uint32_t)(w->count / h->rows / h->channels);
    h->channel_step = up_to(h->channels, bytes ? WORD_TERMS : PART_TERMS);
    h->is_bf16 = w->type == PITH_BF16;
    const uint64_t terms = (uint64_t)h->taps * h->channel_step;
    h->row = up_to((uint32_t)terms, bytes ? I8_SLICE : MMA_SLICE);
    h->sums = (uint64_t)h->rows * h->row;
    h->bytes = bytes ? h->sums + h->rows * sizeof(int32_t) : h->sums * 2;
    return terms < UINT64_C(1) << 31 && h->bytes < UINT64_C(1) << 32;
}

/* An element, as it is expanded, to place `at`; of a byte what it adds to the row's sum. */
static int32_t put_element(const struct weight *w, uint8_t *to, uint64_t at, const void *from,
                           size_t i)
{
    if (pith_pack_is_bytes(w)) {
        to[at] = ((const uint8_t *)from)[i] ^ (w->type == PITH_I8 ? 0 : 0x80);
        return (int8_t)to[at];
    }
    const float v = ((const float *)from)[i];
    ((uint16_t *)(void *)to)[at] =
        (uint16_t)(w->type == PITH_BF16 ? bf16_of_f32(v) : f16_of_f32(v));
    return 0;
}

static void put_rows(const struct weight *w, const struct rows_layout *h, bool turned,
                     const void *from, uint8_t *to)
{
    const size_t channel_step = turned ? h->rows : h->taps;
    const size_t row_step = turned ? 1 : (size_t)h->channels * h->taps;
    for (uint32_t row = 0; row < h->rows; row++) {
        int32_t sum = 0;
        for (uint32_t tap = 0; tap < h->taps; tap++)
            for (uint32_t c = 0; c < h->channels; c++)
                sum += put_element(w, to, (uint64_t)row * h->row + tap * h->channel_step + c, from,
                                   row * row_step + c * channel_step + tap);
        if (pith_pack_is_bytes(w))
            ((int32_t *)(void *)(to + h->sums))[row] = sum;
    }
}

enum pith_status pith_device_rows_pack(const struct weight *w, bool turned, uint8_t *to)
{
    struct rows_layout h;
    if (!pith_device_rows_layout(w, pith_pack_is_bytes(w), turned, &h))
        return PITH_ERR_UNSUPPORTED;
    const bool floats = !pith_pack_is_bytes(w);
    void *elements = malloc(w->count * (floats ? sizeof(float) : 1));
    enum pith_status st = elements ? pith_pack_elements(w, floats, elements) : PITH_ERR_MEMORY;
    memset(to, 0, h.bytes);
    if (!st)
        put_rows(w, &h, turned, elements, to);
    free(elements);
    return st;
}
