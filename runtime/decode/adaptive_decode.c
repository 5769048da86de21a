/* SPDX-License-Identifier: MIT */
/* The decoder of adaptive streams: the walk of adaptive_impl.h with an arithmetic decoder.
 * Bytes past the end read as zeros, so that nothing is ever read there; the end is tested once:
 * the code that remains must be the one a writer gives, and no byte may be left or missing.
 * Elements cannot lead out of the tensor since the walk is over the tensor's elements.
 *
 * The coder is the carryless one of Mahoney's lpaq: 32-bit bounds, a byte leaves when both agree in
 * it. */
#include "decode/adaptive_decode.h"
#include "core/build_choice.h"

/* `missing` counts zeros read past the end, which the end's test then requires exactly. */
static inline uint32_t next_byte(struct adaptive *a)
{
    if (a->coder.at < a->coder.end)
        return *a->coder.at++;
    a->coder.missing++;
    return 0;
}

/* mid lies in [low, high), so both symbols keep an interval that is not empty. */
static inline uint32_t code_bit(struct adaptive *a, uint32_t p, uint32_t bit)
{
    uint32_t mid = a->coder.low + (uint32_t)((uint64_t)(a->coder.high - a->coder.low) * p >> 16);
    bit = a->coder.code <= mid;
    uint32_t one = 0 - bit; /* whether is hard to foresee: no branch */
    a->coder.high = (mid & one) | (a->coder.high & ~one);
    a->coder.low = (a->coder.low & one) | ((mid + 1) & ~one);
    while ((a->coder.low ^ a->coder.high) >> 24 == 0) {
        a->coder.low <<= 8;
        a->coder.high = a->coder.high << 8 | 255;
        a->coder.code = a->coder.code << 8 | next_byte(a);
    }
    return bit;
}

#include "decode/adaptive_impl.h"

/* Other types are coded in other ways; the count bounds memory and 32-bit positions. */
bool pith_adaptive_allows(const struct weight *w)
{
    bool has_type = w->type == PITH_F32 || (w->type == PITH_I8 && w->grid == GRID_CODEBOOK);
    return has_type && w->count <= ADAPTIVE_MAX && w->nnz > 0;
}

/* Without zeros there is nothing to flag, so the codebook has to have one. Groups have a zero
 * each, or not. */
bool pith_adaptive_flags_rows(const struct weight *w)
{
    struct codebook_reader r;
    float group[256];
    if (w->code != CODE_ADAPTIVE || adaptive_rows(w) < 2)
        return false;
    if (w->support != SUPPORT_DENSE || w->grid == GRID_PLAIN)
        return true;
    if (w->n_groups != 1 ||
        pith_codebook_open(&r, w->codebook.bytes, w->codebook.n_bytes, 1, w->n_centroids) ||
        pith_codebook_next(&r, group))
        return false;
    for (uint32_t i = 0; i < w->n_centroids; i++)
        if (f32_bits(group[i]) == 0)
            return true;
    return false;
}

bool pith_adaptive_feed(struct weight *w, const struct weight *source)
{
    uint64_t rows = adaptive_rows(source);
    if (!pith_adaptive_flags_rows(source) || w->count / adaptive_rows(w) % rows != 0)
        return false;
    w->source_rows = rows;
    w->source_stream = source->index_stream;
    return true;
}

size_t pith_adaptive_bytes(const struct weight *w)
{
    return adaptive_memory(w);
}

/* Four bytes are ahead of the interval, always. */
static void open_stream(struct adaptive *a, const struct stream *stream)
{
    a->coder.at = stream->bytes;
    a->coder.end = stream->bytes + stream->n_bytes;
    a->coder.low = 0;
    a->coder.high = UINT32_MAX;
    a->coder.missing = 0;
    for (uint32_t i = 0; i < 4; i++)
        a->coder.code = a->coder.code << 8 | next_byte(a);
}

/* The row flags of the weight this one refers to, with which its stream begins. Decoded anew
 * wherever they are needed: a few hundred flags, no memory kept. */
static ONCE void read_source(struct adaptive *a)
{
    if (a->w->source_rows == 0)
        return;
    open_stream(a, &a->w->source_stream);
    start_row_flags(a);
    code_row_flags(a, a->memory.source_live, a->w->source_rows);
}

void pith_adaptive_source(const struct weight *w, struct adaptive *a, uint8_t *live)
{
    memset(a, 0, sizeof *a);
    a->w = w;
    a->memory.source_live = live;
    read_source(a);
}

/* The stream has the bytes that a writer gives it: the rest of the code is the shortest one, and
 * only its zeros are not there. Any bit changed in the stream leaves another rest with near
 * certainty; together with the file's checksum this is what catches damage. */
static bool ends_well(const struct adaptive *a)
{
    uint32_t zeros = a->coder.code ? (uint32_t)__builtin_ctz(a->coder.code) / 8 : 4;
    return a->coder.at == a->coder.end && a->coder.missing == zeros &&
           a->coder.code == adaptive_last_code(a->coder.low, a->coder.high);
}

/* What the gate has tested for weights of files is tested again for those that a program makes. 23
 * mantissa bits at most can be zero. */
enum pith_status pith_adaptive_open(struct adaptive *a, const struct weight *w, void *mem)
{
    memset(a, 0, sizeof *a);
    if (!pith_adaptive_allows(w) || w->count == 0 ||
        (w->grid == GRID_CODEBOOK && (w->n_centroids - 1 > 255 || w->group_elems == 0)))
        return PITH_ERR_CORRUPT;
    a->w = w;
    adaptive_place(a, mem);
    if (adaptive_begin(a))
        return PITH_ERR_CORRUPT;
    read_source(a);
    open_stream(a, &w->index_stream);
    code_flags(a);
    return a->zero_bits <= 23 ? PITH_OK : PITH_ERR_CORRUPT;
}

/* Elements that are not stored cost time but are not handed out. */
static bool next_stored(struct adaptive *a, struct adaptive_element *e, uint64_t *at)
{
    do {
        if (a->row == a->rows)
            return false;
        *at = a->element;
        if (!code_element(a, e))
            return false;
    } while (!e->stored);
    return true;
}

/* With the last stored element the stream must end. */
enum pith_status pith_adaptive_next(struct adaptive *a, uint32_t *pos, uint8_t *index, float *value,
                                    uint32_t n)
{
    struct adaptive_element e = {.stored = true};
    for (uint32_t i = 0; i < n; i++) {
        uint64_t at;
        if (!next_stored(a, &e, &at))
            return PITH_ERR_CORRUPT;
        if (pos)
            pos[i] = (uint32_t)at;
        if (a->w->grid == GRID_CODEBOOK)
            index[i] = e.index;
        else
            value[i] = f32_from_bits(e.bits);
        if (++a->taken == a->nnz && !ends_well(a))
            return PITH_ERR_CORRUPT;
    }
    return PITH_OK;
}
