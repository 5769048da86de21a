/* SPDX-License-Identifier: MIT */
/* pith_adaptive_second.h - the second model of adaptive streams: what pith_adaptive_impl.h includes
 * for weights that say so (docs/format-streams.md, section 12). Beside the contexts of the first
 *
 *     an element's size is expected from averages of its row, its column, the tensor, and from
 *     those around it;
 *     zeros of groups with codebooks of their own are decisions of all these contexts;
 *     ranks are counted from zero outwards whatever their number;
 *     the sign comes behind the rank, and is expected from the kernel's other elements.
 *
 * A decision is mixed twice, by weights that all elements share and by those of the expected size
 * (of signs: of the rank), and what both say together is corrected by how it went so far (an
 * adaptive probability map, Mahoney, PAQ). Integers only. */
#ifndef PITH_ADAPTIVE_SECOND_H
#define PITH_ADAPTIVE_SECOND_H

#include "pith_adaptive_model.h"

/* ---- what is known of sizes ------------------------------------------------------------------ */

/* Size 0, 1, 2 ... as averages have them: 8 fraction bits, and a little of a size for none. */
#define SIZE_ONE 256
#define SIZE_NONE 64
#define ROW_SEEN 40u
#define COLUMN_SEEN 40u
#define TENSOR_SEEN 1000u

static inline bool is_second(const struct adaptive *a)
{
    return PITH_BUILD_SECOND && a->w->second;
}

/* Eighths of an octave, as contexts of indices have them (section 11). */
static inline int32_t eighths(uint32_t x)
{
    uint32_t e = 31u - (uint32_t)__builtin_clz(x | 1);
    return (int32_t)(8 * e + ((x << 3) >> e & 7)); /* x < 2^29 */
}

static inline uint32_t within(int32_t v, int32_t most)
{
    return v < 0 ? 0 : v > most ? (uint32_t)most : (uint32_t)v;
}

static inline uint32_t size_back(const struct adaptive *a, uint64_t back)
{
    const struct adaptive_second_column *c = a->second->column;
    int32_t v = back > 1 && a->col >= back ? c[a->col - back].last : 0;
    return (uint32_t)(v < 0 ? -v : v);
}

/* A channel and a line back count where there is such a thing. */
static inline uint32_t size_near(const struct adaptive *a)
{
    const struct adaptive_second *s = a->second;
    const struct adaptive_second_column *c = &s->column[a->col];
    int32_t next = a->col + 1 < a->cols ? c[1].last : 0;
    uint32_t above = (uint32_t)(c->last < 0 ? -c->last : c->last);
    return 4 * s->before[0] + 2 * s->before[1] + s->before[2] + 3 * above + c->above +
           (uint32_t)(next < 0 ? -next : next) + 2 * size_back(a, a->place) +
           2 * size_back(a, a->place_row);
}

/* Once an element: none of its decisions changes what is expected. */
static void expect_size(struct adaptive *a)
{
    struct adaptive_second *s = a->second;
    int32_t mean = eighths(s->mean), row = eighths(s->row) - mean;
    int32_t column = eighths(s->column[a->col].mean) - mean;
    int32_t near = eighths(16 * size_near(a) + 8) - mean - 24;
    s->expected = within((row + column) / 2 + 24, 63);
    s->of_row = within(row / 4 + 8, 15);
    s->of_column = within(column / 4 + 8, 15);
    s->near = within(near / 2 + 20, 63);
}

static inline int32_t sign_of(int32_t v)
{
    return v < 0 ? -1 : v > 0;
}

static inline void follow(uint32_t *mean, int32_t v, uint32_t n)
{
    *mean = (uint32_t)((int32_t)*mean + (v - (int32_t)*mean) / (int32_t)n);
}

static inline uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Behind every element of the tensor, coded or not; v: its size with its sign. */
static void second_saw(struct adaptive *a, int32_t v)
{
    struct adaptive_second *s = a->second;
    struct adaptive_second_column *c = &s->column[a->col];
    int32_t size = v < 0 ? -v : v, x = SIZE_ONE * size + SIZE_NONE;
    uint32_t column = c->mean;
    follow(&column, x, 3 + smaller(c->seen, COLUMN_SEEN));
    c->mean = column & 0xffffff;
    follow(&s->row, x, 4 + smaller(s->row_seen, ROW_SEEN));
    follow(&s->mean, x, 2 + smaller(s->seen, TENSOR_SEEN));
    c->seen = smaller(c->seen + 1u, COLUMN_SEEN) & 255;
    s->row_seen = smaller(s->row_seen + 1, ROW_SEEN);
    s->seen = smaller(s->seen + 1, TENSOR_SEEN);
    s->agreement += 256 * sign_of(c->last) * sign_of(v) - s->agreement / 16;
    s->balance += 64 * sign_of(v) - s->balance / 16;
    c->above = (uint16_t)(c->last < 0 ? -c->last : c->last);
    c->last = (int16_t)v;
    s->before[2] = s->before[1];
    s->before[1] = s->before[0];
    s->before[0] = (uint32_t)size;
}

static inline void second_row(struct adaptive *a)
{
    struct adaptive_second *s = a->second;
    s->row = s->mean;
    s->row_seen = 0;
    s->agreement = s->balance = 0;
    memset(s->before, 0, sizeof s->before);
}

/* ---- a decision ------------------------------------------------------------------------------ */

struct opinions {
    uint32_t *counter[SECOND_INPUTS];
    uint32_t n;
};

static inline void add_opinion(struct opinions *o, uint32_t *counter)
{
    o->counter[o->n++] = counter;
}

#define BIAS 256 /* the last input, which is no counter */

static inline void second_inputs(const struct adaptive *a, const struct opinions *o,
                                 int32_t input[SECOND_INPUTS])
{
    for (uint32_t i = 0; i < o->n; i++) {
        uint32_t seen = *o->counter[i] & COUNTER_SEEN;
        input[i] = stretch_of(a, *o->counter[i]);
        if (seen < YOUNG)
            input[i] = input[i] * young[seen] / 64;
    }
    input[o->n] = BIAS;
}

static inline int32_t weighed(const int32_t *weight, const int32_t *input, uint32_t n)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += (int64_t)weight[i] * input[i];
    sum >>= 16;
    return sum > 2047 ? 2047 : sum < -2047 ? -2047 : (int32_t)sum;
}

static inline void teach(int32_t *weight, const int32_t *input, uint32_t n, int32_t x, uint32_t bit)
{
    int32_t error =
        ((int32_t)(bit << 16) - (int32_t)bound(squash(x))) * MIX_RATE >> 10; /* < 2^26 */
    for (uint32_t i = 0; i < n; i++) {
        int32_t w = weight[i] + ((input[i] * error + 0x2000) >> 14);
        weight[i] = w > MIX_LIMIT ? MIX_LIMIT : w < -MIX_LIMIT ? -MIX_LIMIT : w;
    }
}

/* between: 33 probabilities of 26 bits, of which the one closer to x learns. The mean of what is
 * said and what it was worth so far. */
static inline uint32_t code_refined(struct adaptive *a, uint32_t between[33], int32_t x,
                                    uint32_t bit)
{
    uint32_t u = (uint32_t)(x + 2048), i = u >> 7, f = u & 127;
    uint64_t told = ((uint64_t)between[i] * (128 - f) + (uint64_t)between[i + 1] * f) >> 17;
    bit = code_bit(a, bound((bound(squash(x)) + (uint32_t)told) / 2), bit);
    uint32_t *p = &between[i + (f >= 64)];
    *p = bit ? *p + (((1u << 26) - *p) >> 6) : *p - (*p >> 6);
    return bit;
}

static uint32_t code_opinions(struct adaptive *a, enum second_set set, uint32_t chosen,
                              const struct opinions *o, uint32_t bit)
{
    struct adaptive_second *s = a->second;
    int32_t *all = s->weight[quantizer(a)][set],
            *one = s->chosen[quantizer(a)][set * SECOND_CHOICES + chosen];
    int32_t input[SECOND_INPUTS];
    uint32_t n = o->n + 1;
    second_inputs(a, o, input);
    int32_t x = weighed(all, input, n), y = weighed(one, input, n);
    bit = code_refined(a, s->refined[set], (x + y) >> 1, bit);
    teach(all, input, n, x, bit);
    teach(one, input, n, y, bit);
    for (uint32_t i = 0; i < o->n; i++)
        *o->counter[i] = learned(a, *o->counter[i], bit);
    return bit;
}

/* ---- decisions about an element -------------------------------------------------------------- */

static inline void add_sizes(struct adaptive_second *s, struct opinions *o, uint32_t kind)
{
    add_opinion(o, &s->by_expected[kind][s->expected]);
    add_opinion(o, &s->by_both[kind][s->of_row][s->of_column]);
    add_opinion(o, &s->by_near[kind][s->near]);
}

/* first: the eight of the first model. */
static uint32_t second_stored(struct adaptive *a, uint32_t *const first[8], uint32_t bit)
{
    struct opinions o = {.n = 8};
    memcpy(o.counter, first, 8 * sizeof *first);
    add_sizes(a->second, &o, quantizer(a));
    return code_opinions(a, SECOND_STORED, a->second->expected / 2, &o, bit);
}

/* One of the first nodes: first are the five of the first model. */
static uint32_t second_rank_bit(struct adaptive *a, uint32_t *const first[5], uint32_t node,
                                uint32_t bit)
{
    struct opinions o = {.n = 5};
    memcpy(o.counter, first, 5 * sizeof *first);
    add_sizes(a->second, &o, 2 + node);
    return code_opinions(a, node > 1 ? SECOND_RANK_MORE : SECOND_RANK, a->second->expected / 2, &o,
                         bit);
}

/* A step of a sum of sizes with signs: 0, 1, 2 .. 3, 4 .. 6, 7 .. 11, more. */
static inline uint32_t step_of(int32_t v, int32_t most)
{
    int32_t m = v < 0 ? -v : v, k = m < 2 ? m : m < 4 ? 2 : m < 7 ? 3 : m < 12 ? 4 : 5;
    k = k < most ? k : most;
    return (uint32_t)(most + (v < 0 ? -k : k));
}

static inline int32_t signed_back(const struct adaptive *a, bool there, uint32_t back)
{
    return there ? a->second->column[a->col - back].last : 0;
}

/* Elements of a kernel go on like those beside them; rows resemble the row above, or its opposite.
 * rank: of the element whose sign it is. */
static uint32_t second_sign(struct adaptive *a, uint32_t *const first[4], uint32_t rank,
                            uint32_t bit)
{
    struct adaptive_second *s = a->second;
    uint32_t at = (uint32_t)(a->col % a->place), k = a->place_row, r = rank < 3 ? rank : 3;
    bool kernel = a->place > 1 && a->place < a->cols && k > 1;
    bool in = kernel && at % k > 0, below = kernel && at >= k;
    int32_t left = signed_back(a, in, 1), up = signed_back(a, below, k);
    int32_t both = 2 * left + 2 * up + signed_back(a, in && below, k + 1) +
                   signed_back(a, below && at % k + 1 < k, k - 1);
    struct opinions o = {.n = 4};
    memcpy(o.counter, first, 4 * sizeof *first);
    add_opinion(&o, &s->sign_pair[r][step_of(left, 4)][step_of(up, 4)]);
    add_opinion(&o,
                &s->sign_sum[(r * 11 + step_of(both, 5)) * s->sizes.places + (at < 63 ? at : 63)]);
    add_opinion(&o,
                &s->sign_above[step_of(s->column[a->col].last, 3)][step_of(s->agreement / 256, 5)]);
    add_opinion(&o, &s->sign_balance[step_of(s->balance / 64, 5)]);
    return code_opinions(a, SECOND_SIGN, r, &o, bit);
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* place: of an element in its kernel, as of places_of; only a trellis has a second quantizer. */
static ONCE struct second_sizes second_sizes(const struct weight *w, uint64_t place)
{
    return (struct second_sizes){.places = place < 64 ? (uint32_t)place : 64,
                                 .quantizers = PITH_BUILD_TRELLIS && w->trellis ? 2 : 1};
}

static ONCE size_t second_table_bytes(const struct second_sizes *n)
{
    const struct adaptive_second *s = NULL;
    return 4 * 11 * n->places * sizeof *s->sign_sum + n->quantizers * sizeof *s->chosen;
}

static ONCE void place_second(struct adaptive_second *s, struct second_sizes n)
{
    s->sizes = n;
    s->sign_sum = (void *)(s + 1);
    s->chosen = (void *)(s->sign_sum + 4 * 11 * n.places);
    s->column = (void *)(s->chosen + n.quantizers);
}

static const int32_t second_first_weight[SECOND_SETS][SECOND_INPUTS] = {
    [SECOND_STORED] = {27, 27, 33, 61, 35, 18, 13, 30, 15, 15, 15},
    [SECOND_SIGN] = {-54, 155, 50, 33, 25, 25, 25, 25},
    [SECOND_RANK] = {85, -1, -15, 76, 79, 15, 15, 15},
    [SECOND_RANK_MORE] = {113, 64, 62, 34, -4, 15, 15, 15},
}; /* 1/256 */

static ONCE void second_weights(struct adaptive_second *s)
{
    for (uint32_t z = 0; z < s->sizes.quantizers; z++)
        for (uint32_t k = 0; k < SECOND_SETS; k++)
            for (uint32_t i = 0; i < SECOND_INPUTS; i++) {
                int32_t w = second_first_weight[k][i] * 256;
                s->weight[z][k][i] = w;
                for (uint32_t c = 0; c < (k == SECOND_SIGN ? SECOND_RANKS : SECOND_CHOICES); c++)
                    s->chosen[z][k * SECOND_CHOICES + c][i] = w;
            }
    for (uint32_t k = 0; k < SECOND_SETS; k++)
        for (int32_t i = 0; i < 33; i++)
            s->refined[k][i] = squash((i - 16) * 128) << 10;
}

static ONCE void start_second(struct adaptive *a)
{
    struct adaptive_second *s = a->second;
    s->mean = 2 * SIZE_ONE;
    s->seen = 0;
    for (uint64_t i = 0; i < a->cols; i++)
        s->column[i].mean = s->mean & 0xffffff;
    for (uint32_t kind = 0; kind < 2 + SECOND_NODES; kind++) {
        uint32_t v = kind < 2 ? a->fresh : first_rank[kind - 2 < 3 ? kind - 2 : 3];
        fill(s->by_expected[kind], sizeof s->by_expected[kind], v);
        fill(s->by_both[kind][0], sizeof s->by_both[kind], v);
        fill(s->by_near[kind], sizeof s->by_near[kind], v);
    }
    fill(s->sign_pair[0][0], sizeof s->sign_pair, COUNTER_HALF);
    fill(s->sign_sum, 4 * 11 * s->sizes.places * sizeof *s->sign_sum, COUNTER_HALF);
    fill(s->sign_above[0], sizeof s->sign_above, COUNTER_HALF);
    fill(s->sign_balance, sizeof s->sign_balance, COUNTER_HALF);
    second_weights(s);
}

#endif
