/* SPDX-License-Identifier: MIT */
/* The encoder of context-coded indices: the walk of runtime/kernels/ref/pith_context_impl.h with a
 * range coder that writes. In its struct context_walk, `window` is the lower end of the interval,
 * of which 16 + `have` bits are not written yet; a carry goes into the byte that was held back and
 * the 255s behind it. */
#include "pith_context_encode.h"
#include <stdlib.h>
#include "pith_context_lanes.h"
#include "slice_encode.h"

/* The walk comes first: it is all that code_symbol gets. */
struct encoder {
    struct context_walk walk;
    uint8_t *out; /* NULL: only counts */
    size_t n, cap;
    size_t used;   /* up to the last byte that is not 0 */
    size_t full;   /* 255s held back */
    uint32_t held; /* the byte before them */
    bool holds;
};

static void put(struct encoder *e, uint32_t byte)
{
    if (e->out && e->n < e->cap)
        e->out[e->n] = (uint8_t)byte;
    e->n++;
    if (byte & 255)
        e->used = e->n;
}

static void put_held(struct encoder *e, uint32_t carry)
{
    if (e->holds)
        put(e, e->held + carry);
    for (; e->full > 0; e->full--)
        put(e, 255 + carry);
}

/* v: a byte, and the carry that came with it. */
static void put_with_carry(struct encoder *e, uint32_t v)
{
    if (v == 255) {
        e->full++;
        return;
    }
    put_held(e, v >> 8);
    e->held = v & 255;
    e->holds = true;
}

static void put_bits(struct encoder *e)
{
    struct context_walk *t = &e->walk;
    for (; t->have >= 8; t->have -= 8) {
        uint32_t below = 8 + t->have; /* of 16 + have */
        put_with_carry(e, (uint32_t)(t->window >> below));
        t->window &= (UINT64_C(1) << below) - 1;
    }
}

/* The part low .. high of the range. */
static inline void put_part(struct context_walk *t, uint32_t low, uint32_t high)
{
    uint32_t shift = (uint32_t)__builtin_clz(high - low) - 16;
    t->window = (t->window + low) << shift;
    t->range = (high - low) << shift;
    t->have += shift;
    put_bits((struct encoder *)t);
}

static inline uint32_t code_decision(struct context_walk *t, uint32_t bound, uint32_t bit)
{
    put_part(t, bit ? 0 : bound, bit ? bound : t->range);
    return bit;
}

static inline uint32_t code_symbol(struct context_walk *t, lanes bounds, uint32_t symbol,
                                   lanes *above)
{
    put_part(t, bounds.x[symbol], symbol ? bounds.x[symbol - 1] : t->range);
    *above = lanes_below(symbol);
    return symbol;
}

static inline uint32_t code_even(struct context_walk *t, uint32_t bits, uint32_t symbol)
{
    const uint32_t behind = (1u << bits) - 1 - symbol;
    put_part(t, behind * t->range >> bits, (behind + 1) * t->range >> bits);
    return symbol;
}

#include "pith_context_impl.h"

/* All bits of the lower end; zeros at the end of the stream need not be written. */
static void finish(struct encoder *e)
{
    e->walk.window <<= 24 - e->walk.have;
    e->walk.have = 24;
    put_bits(e);
    put_held(e, 0);
}

/* ---- what a stream begins with --------------------------------------------------------------- */

/* Up to 16 classes of 2^k indices, one behind the other, that leave the fewest bits to tell an
 * index of its class: best[j][v] bits for the first v indices in j classes. */
static void choose_classes(const uint64_t *hist, uint32_t n, struct context_head *head)
{
    static const uint64_t none = UINT64_MAX;
    uint64_t best[CONTEXT_SYMBOLS + 1][257], sum[257] = {0};
    uint8_t last[CONTEXT_SYMBOLS + 1][257] = {{0}};
    uint16_t from[CONTEXT_SYMBOLS + 1][257] = {{0}};
    for (uint32_t v = 0; v < n; v++)
        sum[v + 1] = sum[v] + hist[v];
    for (uint32_t j = 0; j <= CONTEXT_SYMBOLS; j++)
        for (uint32_t v = 0; v <= n; v++)
            best[j][v] = j + v == 0 ? 0 : none;
    for (uint32_t j = 0; j < CONTEXT_SYMBOLS; j++)
        for (uint32_t v = 0; v < n; v++)
            for (uint32_t k = 0; k <= CONTEXT_CLASS_BITS && best[j][v] != none; k++) {
                uint32_t end = v + (1u << k) < n ? v + (1u << k) : n;
                uint64_t bits = best[j][v] + k * (sum[end] - sum[v]);
                if (bits >= best[j + 1][end])
                    continue;
                best[j + 1][end] = bits;
                last[j + 1][end] = (uint8_t)k;
                from[j + 1][end] = (uint16_t)v;
            }
    for (uint32_t j = 1; j <= CONTEXT_SYMBOLS; j++)
        if (best[j][n] < best[head->n_classes][n])
            head->n_classes = j;
    for (uint32_t j = head->n_classes, v = n; j > 0; v = from[j--][v])
        head->bits[j - 1] = last[j][v];
}

/* What is coded. */
struct levels {
    const uint8_t *mask, *index;
    uint64_t n;
    uint32_t most, zero; /* zero: of elements that are not stored */
};

static inline uint32_t level_of(const struct levels *l, uint64_t i)
{
    if (!l->mask)
        return l->index[i];
    uint32_t index = l->index[i];
    return l->mask[i] ? index + (index >= l->zero) : l->zero;
}

/* apart: whether zeros are told apart. */
static void choose_head(const struct levels *l, bool apart, struct context_head *head)
{
    uint64_t hist[256] = {0};
    memset(head, 0, sizeof *head);
    head->apart = apart;
    head->n_classes = l->most - apart;
    if (head->n_classes <= CONTEXT_SYMBOLS)
        return;
    for (uint64_t i = 0; i < l->n; i++)
        hist[level_of(l, i)]++;
    if (apart)
        memmove(hist + l->zero, hist + l->zero + 1, (255 - l->zero) * sizeof *hist);
    uint32_t n = head->n_classes;
    head->n_classes = 0;
    choose_classes(hist, n, head);
}

/* symbol_of: [256] by level; of zero told apart: any */
static void find_symbols(const struct context_coder *c, uint32_t n_classes, uint8_t *symbol_of)
{
    for (uint32_t k = 0, v = 0; v < c->n_indices; v++) {
        while (k + 1 < n_classes && v >= c->first[k + 1])
            k++;
        symbol_of[v + (c->apart && v >= c->zero)] = (uint8_t)k;
    }
}

/* The code of the mean magnitude. */
static uint32_t mean_code_of(const struct context_coder *c, const uint8_t *symbol_of,
                             const struct levels *l)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < l->n; i++) {
        uint32_t level = level_of(l, i);
        sum += c->apart && level == l->zero ? 0 : c->magnitude[symbol_of[level]];
    }
    uint32_t mean = (uint32_t)(sum / l->n), code = 0;
    while (mean > ((8 + (code & 7)) << (code >> 3)) << 5)
        code++;
    return code;
}

static void put_head(struct encoder *e, const struct context_head *head, uint32_t n_indices)
{
    put(e, head->mean_code | (uint32_t)head->apart << 7);
    if (n_indices > CONTEXT_SYMBOLS) {
        put(e, head->n_classes - 1);
        for (uint32_t k = 0; k < head->n_classes; k += 2)
            put(e,
                head->bits[k] | (uint32_t)(k + 1 < head->n_classes ? head->bits[k + 1] << 4 : 0));
    }
    e->used = e->n; /* zeros here are written */
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool encode(struct encoder *e, struct context_coder *c, const struct weight *w,
                   const struct levels *l, bool apart, uint32_t *column)
{
    struct context_head head;
    uint8_t symbol_of[256] = {0};
    choose_head(l, apart, &head);
    if (!pith_context_begin(c, w, &head, column))
        return false;
    find_symbols(c, head.n_classes, symbol_of);
    head.mean_code = mean_code_of(c, symbol_of, l);
    pith_context_begin(c, w, &head, column);
    put_head(e, &head, c->n_indices);
    e->walk = c->walk;
    for (uint64_t i = 0; i < l->n; i++) {
        uint32_t level = level_of(l, i);
        context_level(c, &e->walk, apart, symbol_of[level], level);
    }
    finish(e);
    return true;
}

static bool encode_together(struct encoder *e, struct context_coder *c, const struct weight *w,
                            const struct levels *l, uint32_t *column)
{
    *e = (struct encoder){.out = e->out, .cap = e->cap};
    return encode(e, c, w, l, false, column);
}

/* With zeros told apart and not, what takes fewer bytes: mostly the former, which is therefore
 * written while the other is only counted. */
static enum pith_status encode_shorter(struct encoder *e, struct context_coder *c,
                                       const struct weight *w, const struct levels *l,
                                       bool may_be_apart, uint32_t *column)
{
    struct encoder together = {0};
    bool apart = may_be_apart && encode(e, c, w, l, true, column), fits = true;
    if (apart) {
        fits = encode_together(&together, c, w, l, column);
        apart = e->used < together.used;
    }
    if (!apart && fits)
        fits = encode_together(e, c, w, l, column);
    if (!fits)
        return PITH_ERR_ARGUMENT;
    return e->out && e->used > e->cap ? PITH_ERR_SPACE : PITH_OK;
}

enum pith_status pith_context_encode(const struct weight *w, const uint8_t *mask,
                                     const uint8_t *index, uint8_t *dst, size_t cap, size_t *bytes)
{
    bool has_zero, dense = w->support == SUPPORT_DENSE;
    struct encoder e = {.out = dst, .cap = cap};
    struct levels l = {dense ? NULL : mask, index, w->count, w->n_centroids + !dense, 0};
    if (!pith_context_zero(w, &l.zero, &has_zero))
        return PITH_ERR_ARGUMENT;
    struct context_coder *c = malloc(sizeof *c);
    uint32_t *column = malloc(pith_context_bytes(w));
    enum pith_status st = c && column ? PITH_OK : PITH_ERR_MEMORY;
    if (!st)
        st = encode_shorter(&e, c, w, &l, (has_zero || !dense) && l.most > 1, column);
    if (!st)
        *bytes = e.used;
    free(c);
    free(column);
    return st;
}

/* ---- slices ---------------------------------------------------------------------------------- */

struct whole {
    const struct weight *w;
    const uint8_t *mask, *index;
};

static enum pith_status encode_slice(const void *arg, uint64_t row, uint64_t rows, uint8_t *dst,
                                     size_t cap, size_t *bytes)
{
    const struct whole *all = arg;
    struct weight one = *all->w;
    uint64_t cols = one.count / one.shape.dim[0], at = row * cols;
    one.shape.dim[0] = (uint32_t)rows;
    one.count = rows * cols;
    return pith_context_encode(&one, all->mask ? all->mask + at : NULL, all->index + at, dst, cap,
                               bytes);
}

enum pith_status pith_context_encode_sliced(const struct weight *w, uint64_t rows,
                                            const uint8_t *mask, const uint8_t *index, uint8_t *dst,
                                            size_t cap, size_t *bytes)
{
    struct whole all = {w, mask, index};
    struct slice_code c = {
        .all = adaptive_rows(w), .rows = rows, .encode = encode_slice, .arg = &all};
    return pith_slices_encode(&c, dst, cap, bytes);
}
