/* SPDX-License-Identifier: MIT */
/* pack_integer.c - a weight of 8 bits as tensor cores multiply it: signed bytes, a row of terms for
 * each output, with zeros, which add nothing, up to whole slices (I8_SLICE), so that a kernel's
 * threads load 16 bytes each and never look where a row ends. Taps of convolutions lie one behind
 * the other, each with all its channels up to a multiple of four: the four terms of a word then
 * have one tap.
 *
 *     [outputs, taps, channel_step], each row up to row, and behind all rows the sums of them
 *
 * A matrix [k, n] is turned; it has one tap. */
#include <stdlib.h>
#include <string.h>
#include "cuda/kernels/launch.h"
#include "pack_forms.h"

#define WORD_TERMS 4u

static uint32_t up_to(uint32_t n, uint32_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

bool pith_device_integer_layout(const struct weight *w, bool turned, struct integer_layout *h)
{
    const bool bytes = w->type == PITH_I8 || w->type == PITH_U8;
    if (!bytes || w->shape.rank < 2 || (turned && w->shape.rank > 2) ||
        w->count >= UINT64_C(1) << 31)
        return false;
    const uint32_t *dim = w->shape.dim;
    h->rows = dim[turned];
    h->channels = dim[!turned];
    h->taps = (uint32_t)(w->count / h->rows / h->channels);
    h->channel_step = up_to(h->channels, WORD_TERMS);
    const uint64_t terms = (uint64_t)h->taps * h->channel_step;
    h->row = up_to((uint32_t)terms, I8_SLICE);
    h->sums = (uint64_t)h->rows * h->row;
    h->bytes = h->sums + h->rows * sizeof(int32_t);
    return terms < UINT64_C(1) << 31 && h->bytes < UINT64_C(1) << 32;
}

static void put_rows(const struct integer_layout *h, bool turned, uint8_t flip, const uint8_t *from,
                     uint8_t *to)
{
    const size_t channel_step = turned ? h->rows : h->taps;
    const size_t row_step = turned ? 1 : (size_t)h->channels * h->taps;
    int32_t *sum = (int32_t *)(void *)(to + h->sums);
    for (uint32_t row = 0; row < h->rows; row++, to += h->row) {
        sum[row] = 0;
        for (uint32_t tap = 0; tap < h->taps; tap++)
            for (uint32_t c = 0; c < h->channels; c++) {
                const uint8_t v = from[row * row_step + c * channel_step + tap] ^ flip;
                to[(size_t)tap * h->channel_step + c] = v;
                sum[row] += (int8_t)v;
            }
    }
}

enum pith_status pith_device_integer_pack(const struct weight *w, bool turned, uint8_t *to)
{
    struct integer_layout h;
    if (!pith_device_integer_layout(w, turned, &h))
        return PITH_ERR_UNSUPPORTED;
    uint8_t *elements = malloc(w->count);
    void *scratch = aligned_alloc(64, (pith_weight_scratch_bytes(w) + 64) & ~(size_t)63);
    enum pith_status st = PITH_ERR_MEMORY;
    if (elements && scratch)
        st = pith_weight_expand_plain(w, elements, scratch);
    memset(to, 0, h.bytes);
    if (!st)
        put_rows(&h, turned, w->type == PITH_I8 ? 0 : 0x80, elements, to);
    free(scratch);
    free(elements);
    return st;
}
