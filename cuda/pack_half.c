/* SPDX-License-Identifier: MIT */
/* pack_half.c - a weight as tensor cores multiply it: 16-bit floats, a row of terms for each
 * output, zeros up to a multiple of MMA_SLICE, so that a kernel's threads load 16 bytes each and
 * rows begin where sectors of memory do. Taps of convolutions lie one behind the other, each with
 * all its channels up to a multiple of 8: eight terms of one load then have one tap.
 *
 *     [outputs, taps, channel_step], each row up to row
 *
 * A matrix [k, n] is turned; it has one tap. */
#include <stdlib.h>
#include "cuda/kernels/half_bits.h"
#include "cuda/kernels/launch.h"
#include "pack_forms.h"

#define PART_TERMS 8u

static uint32_t up_to(uint32_t n, uint32_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

bool pith_device_half_layout(const struct weight *w, bool turned, struct half_layout *h)
{
    const bool floats = w->type == PITH_F32 || w->type == PITH_F16 || w->type == PITH_BF16;
    if (!floats || w->shape.rank < 2 || (turned && w->shape.rank > 2) ||
        w->count >= UINT64_C(1) << 31)
        return false;
    const uint32_t *dim = w->shape.dim;
    h->rows = dim[turned];
    h->channels = dim[!turned];
    h->taps = (uint32_t)(w->count / h->rows / h->channels);
    h->channel_step = up_to(h->channels, PART_TERMS);
    h->is_bf16 = w->type == PITH_BF16;
    const uint64_t terms = (uint64_t)h->taps * h->channel_step;
    h->row = up_to((uint32_t)terms, MMA_SLICE);
    h->bytes = (uint64_t)h->rows * h->row * 2;
    return terms < UINT64_C(1) << 31 && h->bytes < UINT64_C(1) << 32;
}

static void put_rows(const struct half_layout *h, bool turned, const float *from, uint16_t *to)
{
    const size_t channel_step = turned ? h->rows : h->taps;
    const size_t row_step = turned ? 1 : (size_t)h->channels * h->taps;
    for (uint32_t row = 0; row < h->rows; row++, to += h->row)
        for (uint32_t tap = 0; tap < h->taps; tap++)
            for (uint32_t c = 0; c < h->channels; c++) {
                float v = from[row * row_step + c * channel_step + tap];
                to[(size_t)tap * h->channel_step + c] =
                    (uint16_t)(h->is_bf16 ? bf16_of_f32(v) : f16_of_f32(v));
            }
}

enum pith_status pith_device_half_pack(const struct weight *w, bool turned, uint8_t *to)
{
    struct half_layout h;
    if (!pith_device_half_layout(w, turned, &h))
        return PITH_ERR_UNSUPPORTED;
    float *values = malloc(w->count * sizeof *values);
    void *scratch = aligned_alloc(64, (pith_weight_scratch_bytes(w) + 64) & ~(size_t)63);
    enum pith_status st = PITH_ERR_MEMORY;
    if (values && scratch)
        st = pith_weight_expand_f32(w, values, scratch);
    memset(to, 0, h.bytes);
    if (!st)
        put_rows(&h, turned, values, (uint16_t *)(void *)to);
    free(scratch);
    free(values);
    return st;
}
