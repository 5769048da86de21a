/* SPDX-License-Identifier: MIT */
/* The encoder of adaptive streams: the walk of runtime/decode/adaptive_impl.h with an
 * arithmetic coder that writes (carry-less: the interval [low, high] of 32 bits, whose equal
 * leading bytes go out). */
#include "adaptive_encode.h"
#include <stdlib.h>
#include "decode/adaptive_decode.h"

static void put(struct adaptive *a, uint32_t byte)
{
    if (a->coder.out && a->coder.out_bytes < a->coder.out_cap)
        a->coder.out[a->coder.out_bytes] = (uint8_t)byte;
    a->coder.out_bytes++;
}

static inline uint32_t code_bit(struct adaptive *a, uint32_t p, uint32_t bit)
{
    uint32_t mid = a->coder.low + (uint32_t)((uint64_t)(a->coder.high - a->coder.low) * p >> 16);
    if (bit)
        a->coder.high = mid;
    else
        a->coder.low = mid + 1;
    while ((a->coder.low ^ a->coder.high) >> 24 == 0) {
        put(a, a->coder.high >> 24);
        a->coder.low <<= 8;
        a->coder.high = a->coder.high << 8 | 255;
    }
    return bit;
}

#include "decode/adaptive_impl.h"

/* Zeros at its end need not be written: a reader sees them there. */
static void finish_code(struct adaptive *a)
{
    uint32_t v = adaptive_last_code(a->coder.low, a->coder.high);
    for (; v != 0; v <<= 8)
        put(a, v >> 24);
}

static struct adaptive_element element_of(const struct adaptive_input *in, uint64_t i)
{
    return (struct adaptive_element){.stored = !in->mask || in->mask[i],
                                     .index = in->index ? in->index[i] : 0,
                                     .bits = in->data ? f32_bits(in->data[i]) : 0};
}

/* Which rows and columns have a stored element; of dense tensors one that is not 0. */
static void find_live(struct adaptive *a, const struct adaptive_input *in)
{
    for (uint64_t i = a->element, r = 0; r < a->rows; r++)
        for (uint64_t c = 0; c < a->cols; c++, i++) {
            struct adaptive_element e = element_of(in, i);
            if (a->w->support != SUPPORT_DENSE ? e.stored : is_not_zero(a, &e)) {
                a->memory.row_live[r] = 1;
                a->memory.column[c].live = 1;
            }
        }
}

static enum pith_status encode(struct adaptive *a, const struct adaptive_input *in)
{
    enum pith_status st = adaptive_begin(a);
    if (st)
        return st;
    if (a->selects)
        find_live(a, in);
    code_flags(a);
    for (uint64_t i = 0; i < in->w->count; i++) {
        struct adaptive_element e = element_of(in, i);
        uint8_t index = e.index;
        if (!code_element(a, &e) || (a->w->trellis && e.stored && e.index != index))
            return PITH_ERR_ARGUMENT;
    }
    finish_code(a);
    return PITH_OK;
}

/* What a decoder will know. */
static enum pith_status read_source(struct adaptive *a)
{
    struct adaptive *other = calloc(1, sizeof *other);
    if (other)
        pith_adaptive_source(a->w, other, a->memory.source_live);
    free(other);
    return other ? PITH_OK : PITH_ERR_MEMORY;
}

static void zero_bits_of(struct adaptive *a, const struct adaptive_input *in)
{
    uint32_t bits = 1u << 23;
    for (uint64_t i = 0; i < in->w->count; i++)
        if (!in->mask || in->mask[i])
            bits |= f32_bits(in->data[i]);
    a->zero_bits = (uint32_t)__builtin_ctz(bits);
}

enum pith_status pith_adaptive_encode(const struct adaptive_input *in, uint8_t *dst, size_t cap,
                                      size_t *bytes)
{
    struct adaptive *a = calloc(1, sizeof *a);
    size_t need = adaptive_memory(in->w);
    uint8_t *mem = calloc(1, need + 1);
    enum pith_status st = PITH_ERR_MEMORY;
    if (a && mem) {
        a->w = in->w;
        a->coder.out = dst;
        a->coder.out_cap = cap;
        adaptive_place(a, mem);
        st = read_source(a);
        if (!st && in->w->grid == GRID_PLAIN)
            zero_bits_of(a, in);
        if (!st)
            st = encode(a, in);
    }
    if (!st) {
        *bytes = (size_t)a->coder.out_bytes;
        st = dst && a->coder.out_bytes > cap ? PITH_ERR_SPACE : PITH_OK;
    }
    free(a);
    free(mem);
    return st;
}
