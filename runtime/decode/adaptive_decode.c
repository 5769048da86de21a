/* SPDX-License-Identifier: MIT */
/* The decoder of adaptive streams. Bytes past the end read as zeros, so that nothing is ever read
 * there; the end is tested once: the code that remains must be the one a writer gives, and no byte
 * may be left or missing.
 *
 * The coder is the carryless one of Mahoney's lpaq: 32-bit bounds, a byte leaves when both agree in
 * it. */
#include "decode/adaptive_decode.h"
#include "core/f32_bits.h"

/* `missing` counts zeros read past the end, which the end's test then requires exactly. */
static inline uint32_t next_byte(struct adaptive_coder *c)
{
    if (c->at < c->end)
        return *c->at++;
    c->missing++;
    return 0;
}

/* mid lies in [low, high), so both symbols keep an interval that is not empty. */
static inline uint32_t code_bit(struct adaptive_coder *c, uint32_t p, uint32_t bit)
{
    uint32_t mid = c->low + (uint32_t)((uint64_t)(c->high - c->low) * p >> 16);
    bit = c->code <= mid;
    uint32_t one = 0 - bit; /* which is hard to predict: no branch */
    c->high = (mid & one) | (c->high & ~one);
    c->low = (c->low & one) | ((mid + 1) & ~one);
    while ((c->low ^ c->high) >> 24 == 0) {
        c->low <<= 8;
        c->high = c->high << 8 | 255;
        c->code = c->code << 8 | next_byte(c);
    }
    return bit;
}

#include "decode/adaptive_impl.h"

bool pith_adaptive_allows(const struct weight *w)
{
    bool floats = w->type == PITH_F32 && w->grid == GRID_PLAIN && w->support != SUPPORT_ADAPTIVE &&
                  w->count < UINT32_C(1) << 28 && w->nnz > 0;
    return floats || pith_classes_allow(w);
}

size_t pith_adaptive_bytes(const struct weight *w)
{
    return w->grid == GRID_PLAIN ? 0 : (size_t)class_cols(w) * sizeof(struct adaptive_column);
}

/* Four bytes are ahead of the interval, always. */
enum pith_status pith_adaptive_open(struct adaptive *a, const struct weight *w, void *mem)
{
    bool floats = w->grid == GRID_PLAIN;
    if (!pith_adaptive_allows(w))
        return PITH_ERR_CORRUPT;
    start_adaptive(a, w, mem, floats ? 0 : class_cols(w));
    a->coder.at = w->index_stream.bytes;
    a->coder.end = a->coder.at + w->index_stream.n_bytes;
    for (uint32_t i = 0; i < 4; i++)
        a->coder.code = a->coder.code << 8 | next_byte(&a->coder);
    a->floats = w->nnz;
    a->zero_bits = floats ? code_raw(a, 0, 5) : 0;
    return a->zero_bits <= 23 ? PITH_OK : PITH_ERR_CORRUPT;
}

bool pith_adaptive_row(struct adaptive *a, struct class_walk *w)
{
    class_begin_row(w);
    for (size_t i = 0; i < w->cols; i++) {
        const struct class_around s = class_look_all(w, 0, i);
        int32_t q = code_integer(a, w, &s, 0);
        if (class_abs(q) > CLASS_LARGEST)
            return false;
        class_take(w, q);
    }
    class_end_row(w);
    return true;
}

/* The stream has the bytes that a writer gives it: the rest of the code is the shortest one, and
 * only its zeros are not there. Any bit changed in the stream leaves another rest with near
 * certainty; together with the file's checksum this is what catches damage. */
bool pith_adaptive_ended(const struct adaptive *a)
{
    const struct adaptive_coder *c = &a->coder;
    uint32_t zeros = c->code ? (uint32_t)__builtin_ctz(c->code) / 8 : 4;
    return c->at == c->end && c->missing == zeros && c->code == last_code(c->low, c->high);
}

/* Behind its end a stream has 4 zeros at most. */
enum pith_status pith_adaptive_floats(struct adaptive *a, float *value, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        value[i] = f32_from_bits(code_float(a, 0));
    a->floats -= n;
    return (a->floats ? a->coder.missing <= 4 : pith_adaptive_ended(a)) ? PITH_OK
                                                                        : PITH_ERR_CORRUPT;
}
