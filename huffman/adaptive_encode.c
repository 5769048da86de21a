/* SPDX-License-Identifier: MIT */
/* The encoder of adaptive streams: the decisions of runtime/decode/adaptive_impl.h with an
 * arithmetic coder that writes (carry-less: the interval [low, high] of 32 bits, whose equal
 * leading bytes go out). */
#include "adaptive_encode.h"
#include <stdlib.h>
#include "core/f32_bits.h"

static void put(struct adaptive_coder *c, uint32_t byte)
{
    if (c->out && c->out_bytes < c->out_cap)
        c->out[c->out_bytes] = (uint8_t)byte;
    c->out_bytes++;
}

static inline uint32_t code_bit(struct adaptive_coder *c, uint32_t p, uint32_t bit)
{
    uint32_t mid = c->low + (uint32_t)((uint64_t)(c->high - c->low) * p >> 16);
    if (bit)
        c->high = mid;
    else
        c->low = mid + 1;
    while ((c->low ^ c->high) >> 24 == 0) {
        put(c, c->high >> 24);
        c->low <<= 8;
        c->high = c->high << 8 | 255;
    }
    return bit;
}

#include "decode/adaptive_impl.h"

static struct adaptive *start(const struct weight *w, uint8_t *dst, size_t cap)
{
    struct adaptive *a = malloc(sizeof *a + pith_adaptive_bytes(w));
    if (!a)
        return NULL;
    start_adaptive(a, w, (void *)(a + 1), w->grid == GRID_PLAIN ? 0 : class_cols(w));
    a->coder.out = dst;
    a->coder.out_cap = cap;
    return a;
}

/* Zeros at its end need not be written: a reader reads them there. */
static enum pith_status finish(struct adaptive *a, enum pith_status st, size_t *bytes)
{
    for (uint32_t v = last_code(a->coder.low, a->coder.high); v != 0; v <<= 8)
        put(&a->coder, v >> 24);
    if (!st && a->coder.out && a->coder.out_bytes > a->coder.out_cap)
        st = PITH_ERR_SPACE;
    if (!st)
        *bytes = (size_t)a->coder.out_bytes;
    free(a);
    return st;
}

static void see(void *arg, const struct class_walk *w, uint32_t lane,
                const struct class_around *around, int32_t q)
{
    (void)lane;
    code_integer(arg, w, around, q);
}

enum pith_status pith_adaptive_encode(const struct class_input *in, uint8_t *dst, size_t cap,
                                      size_t *bytes)
{
    struct adaptive *a = start(in->w, dst, cap);
    return a ? finish(a, pith_class_walk(in, 1, see, a), bytes) : PITH_ERR_MEMORY;
}

enum pith_status pith_adaptive_encode_floats(const struct weight *w, const float *value,
                                             const uint8_t *mask, uint8_t *dst, size_t cap,
                                             size_t *bytes)
{
    struct adaptive *a = start(w, dst, cap);
    uint32_t all = 1u << 23;
    if (!a)
        return PITH_ERR_MEMORY;
    for (uint64_t i = 0; i < w->count; i++)
        all |= !mask || mask[i] ? f32_bits(value[i]) : 0;
    a->zero_bits = code_raw(a, (uint32_t)__builtin_ctz(all), 5);
    for (uint64_t i = 0; i < w->count; i++)
        if (!mask || mask[i])
            code_float(a, f32_bits(value[i]));
    return finish(a, PITH_OK, bytes);
}
