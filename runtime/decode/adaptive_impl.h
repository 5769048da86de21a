/* SPDX-License-Identifier: MIT */
/* adaptive_impl.h - the adaptive code of small tensors: an element as binary decisions, each with
 * a probability that both sides learn (docs/format-streams.md, section 8). Included by the decoder
 * and by the encoder, each with its own code_bit before it:
 *
 *     static uint32_t code_bit(struct adaptive_coder *c, uint32_t p, uint32_t bit);
 *
 * p: probability of 1 in 1/65536, 1..65535. The encoder writes `bit`, the decoder ignores it; both
 * return the bit.
 *
 * A decision has a counter in each of several contexts: sizes expected by row and column (the
 * averages of class_model.h) and by neighbours, the neighbours themselves. A counter's probability
 * moves by about 1/(n + 1.4) at the n-th decision, so that two are enough for a first estimate.
 * The probabilities are mixed as logarithms of odds by weights that learn (Mahoney's logistic
 * mixing, 2005, in integers): one set for all elements and one by the expected size. */
#ifndef ADAPTIVE_IMPL_H
#define ADAPTIVE_IMPL_H

#include "decode/adaptive_decode.h"

/* ---- probabilities --------------------------------------------------------------------------- */

/* 65536 / (1 + exp(-x / 256)) at x = 128 * (i - 16). Linear between 33 points is within the noise
 * of what is learned. */
static const uint16_t squash_at[33] = {
    22,    36,    60,    98,    162,   267,   439,   720,   1179,  1921,  3108,
    4971,  7812,  11955, 17625, 24743, 32768, 40793, 47911, 53581, 57724, 60565,
    62428, 63615, 64357, 64816, 65097, 65269, 65374, 65438, 65476, 65500, 65514};

static inline int32_t within(int32_t v, int32_t least, int32_t most)
{
    return v < least ? least : v > most ? most : v;
}

/* Logarithm of odds, 8 fraction bits, -2047..2047, to a probability in 1/65536. A decision costs
 * 11.4 bits at most, and 0.0005 at least. */
static inline uint32_t squash(int32_t x)
{
    uint32_t u = (uint32_t)(x + 2048), i = u >> 7, f = u & 127;
    uint32_t p = (squash_at[i] * (128 - f) + squash_at[i + 1] * f) >> 7;
    return p < 24 ? 24 : p > 65536 - 24 ? 65536 - 24 : p;
}

#define COUNTER(sixty_fourths, count) ((uint32_t)(sixty_fourths) << 26 | (count))
#define COUNTER_HALF COUNTER(32, 0) /* 22 bits of probability, 10 of count */
#define COUNTER_LIMIT 210u          /* the count stops there: from then on a counter forgets */

/* A counter behind a decision. Quotients are rounded toward zero, so it moves as far up on a 1 as
 * it would move down from the other end on a 0. */
static inline uint32_t learned(const struct adaptive *a, uint32_t counter, uint32_t bit)
{
    uint32_t count = counter & 1023, p = counter >> 10, down = bit - 1; /* 0 or all ones */
    uint32_t way = (p ^ ~down) & ((1u << 22) - 1);
    uint32_t step = (way >> 5) * a->rate[count] >> 9;
    return (p + ((step ^ down) - down)) << 10 | (count + (count < COUNTER_LIMIT));
}

/* One counter alone. */
static uint32_t code_single(struct adaptive *a, uint32_t *counter, uint32_t bit)
{
    uint32_t p = *counter >> 16;
    bit = code_bit(&a->coder, p < 24 ? 24 : p > 65536 - 24 ? 65536 - 24 : p, bit);
    *counter = learned(a, *counter, bit);
    return bit;
}

/* At even odds: noise. */
static uint32_t code_raw(struct adaptive *a, uint32_t v, uint32_t n_bits)
{
    uint32_t r = 0;
    while (n_bits-- > 0)
        r = r * 2 + code_bit(&a->coder, 32768, v >> n_bits & 1);
    return r;
}

/* ---- mixing ---------------------------------------------------------------------------------- */

/* A counter counts less while it is young: in 64ths, by the number of its decisions. */
static const uint8_t young[8] = {80, 40, 45, 48, 55, 54, 54, 58};

static inline int32_t weighted_sum(const int32_t *weight, const int32_t *input, uint32_t n)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i <= n; i++)
        sum += (int64_t)weight[i] * input[i];
    return (int32_t)(sum < -2047 * 65536ll ? -2047 : sum > 2047 * 65536ll ? 2047 : sum >> 16);
}

/* Online gradient descent of coding cost: weight += rate * error * input. */
static inline void learn_weights(int32_t *weight, const int32_t *input, uint32_t n, int32_t x,
                                 uint32_t bit)
{
    int32_t error = (int32_t)(bit << 16) - (int32_t)squash(x);
    for (uint32_t i = 0; i <= n; i++)
        weight[i] = within(weight[i] + ((input[i] * error + 0x2000) >> 14), -(1 << 20), 1 << 20);
}

/* weight: [1 + ADAPTIVE_CHOICES] sets, the first of which is for all elements. */
static uint32_t code_mixed(struct adaptive *a, int32_t (*weight)[ADAPTIVE_INPUTS + 1],
                           uint32_t choice, uint32_t *const *counter, uint32_t n, uint32_t bit)
{
    int32_t input[ADAPTIVE_INPUTS + 1], *all = weight[0], *one = weight[1 + choice];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t count = *counter[i] & 1023;
        input[i] = a->stretch[*counter[i] >> 20];
        input[i] = count < 8 ? input[i] * young[count] / 64 : input[i];
    }
    input[n] = 256;
    int32_t x = weighted_sum(all, input, n), y = weighted_sum(one, input, n);
    bit = code_bit(&a->coder, squash((x + y) >> 1), bit);
    learn_weights(all, input, n, x, bit);
    learn_weights(one, input, n, y, bit);
    for (uint32_t i = 0; i < n; i++)
        *counter[i] = learned(a, *counter[i], bit);
    return bit;
}

/* ---- one element ----------------------------------------------------------------------------- */

/* None, smallest, next, larger. */
static inline uint32_t size_class(int32_t q)
{
    int32_t m = class_abs(q);
    return m < 3 ? (uint32_t)m : 3;
}

/* A step of a sum of integers: 0, 1, 2 .. 3, 4 .. 6, 7 .. 11, more; counted from 0. */
static inline uint32_t sum_class(int32_t v, int32_t most)
{
    int32_t m = class_abs(v), k = m < 2 ? m : m < 4 ? 2 : m < 7 ? 3 : m < 12 ? 4 : 5;
    k = k < most ? k : most;
    return (uint32_t)(most + (v < 0 ? -k : k));
}

/* The integer `back` columns before, 0 outside of the row. */
static inline int32_t back_by(const struct class_walk *w, uint64_t back)
{
    return w->n_read >= back ? w->column.q[w->n_read - back] : 0;
}

/* Numbers of contexts, of averages relative to that of the tensor. */
struct adaptive_sizes {
    uint32_t expected, row, column, near, beside;
};

static inline struct adaptive_sizes sizes_of(const struct class_walk *w,
                                             const struct class_around *s)
{
    int32_t mean = class_log((uint32_t)w->mean), row = s->row - mean, column = s->column - mean;
    int32_t next = w->n_read + 1 < w->cols ? w->column.q[w->n_read + 1] : 0;
    int32_t channel = back_by(w, w->place);
    int32_t near = 4 * class_abs(s->left) + 2 * class_abs(back_by(w, 2)) +
                   class_abs(back_by(w, 3)) + 3 * class_abs(s->above) + class_abs(next) +
                   2 * class_abs(s->up) + 2 * class_abs(channel);
    near = class_log((uint32_t)(32 * near + 8)) - mean - 24;
    return (struct adaptive_sizes){.expected = (uint32_t)within((row + column) / 2 + 24, 0, 63),
                                   .row = (uint32_t)within(row / 4 + 8, 0, 15),
                                   .column = (uint32_t)within(column / 4 + 8, 0, 15),
                                   .near = (uint32_t)within(near / 2 + 20, 0, 63),
                                   .beside = size_class(s->left) | size_class(s->above) << 2 |
                                             size_class(s->up) << 4 | size_class(channel) << 6};
}

/* Levels behind those that nodes reach: an Exp-Golomb code. ADAPTIVE_FAR bits: none is so far. */
static uint32_t code_far(struct adaptive *a, uint32_t v)
{
    uint32_t n = v ? 31u - (uint32_t)__builtin_clz(v) : 0, bits = 0;
    while (bits < ADAPTIVE_FAR && code_single(a, &a->far[bits], n > bits))
        bits++;
    return 1u << bits | code_raw(a, v & ((1u << bits) - 1), bits);
}

/* From zero outwards. Node 0 has a context for each quantizer of a trellis. */
static uint32_t code_level(struct adaptive *a, const struct class_walk *w,
                           const struct class_around *s, uint32_t level)
{
    const struct adaptive_sizes e = sizes_of(w, s);
    uint32_t z = w->state & 1, k = 0, more = 1;
    for (; k < ADAPTIVE_NODES && more; k += more) {
        struct adaptive_node *node = &a->node[k > 0 ? k + 1 : z];
        uint32_t *counter[ADAPTIVE_INPUTS] = {
            &node->expected[e.expected], &node->both[e.row][e.column], &node->near[e.near],
            &node->beside[e.beside], k > 0 ? &node->all : &a->column[w->n_read].stored};
        more = code_mixed(a, a->weight[z][k < LARGER ? k : LARGER],
                          e.expected / (64 / ADAPTIVE_CHOICES), counter, 5, level > k);
    }
    return k < ADAPTIVE_NODES ? k : k - 1 + code_far(a, level - (k - 1));
}

/* Signs are nearly even, but elements of a kernel go on like those beside them, and rows resemble
 * the row above, or its opposite. */
static uint32_t code_sign(struct adaptive *a, const struct class_walk *w,
                          const struct class_around *s, uint32_t level, uint32_t negative)
{
    const struct class_lane *l = &w->lane[0];
    uint32_t size = level < 4 ? level - 1 : 3;
    bool right = l->at >= w->line && l->x + 1 < w->line;
    int32_t sum =
        2 * s->beside + 2 * s->up + s->corner + (right ? back_by(w, (uint64_t)w->line - 1) : 0);
    uint32_t *counter[] = {&a->sign_pair[size][sum_class(s->beside, 4)][sum_class(s->up, 4)],
                           &a->sign_around[sum_class(sum, 5)][sum_class(s->above, 4)],
                           &a->sign_balance[sum_class(w->balance / 64, 5)],
                           &a->column[w->n_read].negative};
    return code_mixed(a, a->weight[w->state & 1][SIGN], size, counter, 4, negative);
}

/* The integer of the element at hand; |q| <= CLASS_LARGEST, or the stream is broken. */
static int32_t code_integer(struct adaptive *a, const struct class_walk *w,
                            const struct class_around *s, int32_t q)
{
    uint32_t level = code_level(a, w, s, class_level_of(w, q));
    if (level == 0)
        return 0;
    uint32_t negative = code_sign(a, w, s, level, q < 0);
    int32_t size = (int32_t)(w->trellis ? 2 * level - (w->state & 1) : level);
    return negative ? -size : size;
}

/* Sign, exponent as a binary number under a tree of counters, mantissa as it is. Mantissas of
 * trained weights are noise, exponents are not. */
static uint32_t code_float(struct adaptive *a, uint32_t bits)
{
    uint32_t sign = code_single(a, &a->float_sign, bits >> 31), node = 1;
    for (uint32_t i = 31; i > 23; i--)
        node = node * 2 + code_single(a, &a->exponent[node], bits >> (i - 1) & 1);
    uint32_t mantissa = code_raw(a, (bits & 0x7fffff) >> a->zero_bits, 23 - a->zero_bits);
    return sign << 31 | (node & 255) << 23 | mantissa << a->zero_bits;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static void fill(void *counters, size_t bytes, uint32_t value)
{
    for (uint32_t *c = counters; bytes > 0; bytes -= sizeof value)
        *c++ = value;
}

/* Small levels are common where there are few, more so than far ones behind them. What is stored
 * of a sparse tensor is known. */
static uint32_t first_counter(const struct weight *w, uint32_t node)
{
    static const uint8_t rank[] = {47, 17, 23, 32};
    uint64_t p = (w->nnz << 20) / w->count; /* nnz < 2^28 */
    if (node > 1)
        return COUNTER(rank[node - 2 < 3 ? node - 2 : 3], 1);
    if (w->support == SUPPORT_DENSE)
        return COUNTER_HALF;
    return (uint32_t)(p < 1000 ? 1000 : p > 1046000 ? 1046000 : p) << 12 | 1;
}

/* columns: [cols], of a tensor with a codebook. stretch is the inverse of squash; rate[n] is
 * 1 / (n + 1.4) in 1/2^19. */
static void start_adaptive(struct adaptive *a, const struct weight *w,
                           struct adaptive_column *columns, uint64_t cols)
{
    uint32_t next = 0;
    memset(a, 0, sizeof *a);
    a->column = columns;
    for (int32_t x = -2047; x <= 2047; x++)
        for (uint32_t p = squash(x) >> 4; next <= p; next++)
            a->stretch[next] = (int16_t)x;
    for (; next < 4096; next++)
        a->stretch[next] = 2047;
    for (uint32_t n = 0; n <= COUNTER_LIMIT; n++)
        a->rate[n] = (uint16_t)(524288 / (32 * n + 45));
    for (uint32_t n = 0; n <= ADAPTIVE_NODES; n++)
        fill(&a->node[n], sizeof a->node[n], first_counter(w, n));
    for (uint64_t i = 0; i < cols; i++)
        columns[i] = (struct adaptive_column){first_counter(w, 0), COUNTER_HALF};
    for (uint32_t i = 0; i < 2 * ADAPTIVE_KINDS * (1 + ADAPTIVE_CHOICES); i++) {
        uint32_t set = i % (1 + ADAPTIVE_CHOICES), kind = i / (1 + ADAPTIVE_CHOICES);
        int32_t *weight = a->weight[kind / ADAPTIVE_KINDS][kind % ADAPTIVE_KINDS][set];
        fill(weight, (kind % ADAPTIVE_KINDS == SIGN ? 4 : 5) * sizeof *weight, 45 * 256);
    }
    fill(a->sign_pair, sizeof a->sign_pair, COUNTER_HALF);
    fill(a->sign_around, sizeof a->sign_around, COUNTER_HALF);
    fill(a->sign_balance, sizeof a->sign_balance, COUNTER_HALF);
    fill(a->far, sizeof a->far, COUNTER_HALF);
    fill(a->exponent, sizeof a->exponent, COUNTER_HALF);
    a->float_sign = COUNTER_HALF;
    a->coder.high = UINT32_MAX;
}

/* The shortest code that lies in the interval: as many zero bytes at its end as can be. Writers
 * use it, so readers can require it. */
static uint32_t last_code(uint32_t low, uint32_t high)
{
    for (uint32_t keep = 0; keep < 32; keep += 8) {
        uint32_t unit = UINT32_MAX >> keep, v = keep ? (low + unit) & ~unit : 0;
        if (v >= low && v <= high)
            return v;
    }
    return low;
}

#endif
