/* SPDX-License-Identifier: MIT */
/* integer_pack.c - the weights of an integer convolution, packed for the kernels. Opening a network
 * of integers is mostly this.
 *
 * In front lie the sums of each output's weights, which take the zero point of x out of a product
 * when the plan runs; behind them the panels of nr outputs each, one group after the other:
 *
 *     panel          outputs p .. p + nr - 1
 *       segment      a run of x under the window: a tap, or a row of taps (integer_layout.c)
 *         step       k_step elements of the run of the first output, then of the second ...
 *
 * so that a kernel reads a panel from its first byte to its last. What stands for no weight is 0.
 * Depthwise weights and slots have layouts of their own (kernel_integer.h). */
#include "products/integer_slots.h"
#include "kernels/ref/integer_element.h"

/* i counts elements, whichever size these have. */
static void put_weight(const struct integer_layout *l, uint8_t *packed, uint64_t i, int32_t w)
{
    if (l->wide)
        ((int16_t *)(void *)packed)[i] = (int16_t)w;
    else
        packed[i] = (uint8_t)w;
}

/* sum[i], packed: of channel depthwise_place(b, i). A channel in two blocks, or twice in a block,
 * has a sum at each of its places. */
static void pack_depthwise(const struct integer_conv *c, const struct integer_layout *l,
                           const struct integer_kernels *k, const struct integer_weights *weights,
                           uint32_t *sum, uint8_t *packed)
{
    uint64_t at = 0;
    uint32_t taps = c->kh * c->kw;
    for (uint32_t b = 0; b < l->rounded / k->block; b++)
        for (uint32_t t = 0; t < l->segments; t += k->group)
            for (uint32_t i = 0; i < k->block; i++)
                for (uint32_t j = t; j < t + k->group; j++, at++) {
                    uint32_t o = depthwise_place(k->block, c->outputs, b, i);
                    const int8_t *all = weights->w;
                    const uint32_t tap = depthwise_tap(k->group, c->kh, c->kw, j);
                    int32_t w = tap < taps ? all[o * weights->output + tap] : 0;
                    put_weight(l, packed, at, w);
                    sum[b * k->block + i] += (uint32_t)w;
                }
}

/* A panel of n outputs of bytes, in steps of four channels that no tap divides: a word at a time,
 * in the order in which they lie there. w: the first output's weights. */
static void pack_words(const struct integer_layout *l, const struct integer_weights *weights,
                       const int8_t *w, uint32_t n, uint32_t *sum, uint8_t *to)
{
    const size_t channel = weights->channel, taps = (size_t)l->segments * (l->run / l->cg);
    for (size_t tap = 0; tap < taps; tap++)
        for (uint32_t c = 0; c < l->cg; c += 4, to += 4 * (size_t)l->nr)
            for (uint32_t o = 0; o < n; o++) {
                const int8_t *from = w + tap + c * channel + o * weights->output;
                const int8_t four[4] = {from[0], from[channel], from[2 * channel],
                                        from[3 * channel]};
                sum[o] += (uint32_t)(four[0] + four[1] + four[2] + four[3]);
                memcpy(to + (size_t)4 * o, four, sizeof four);
            }
}

#ifdef __OPTIMIZE_SIZE__
#define OUTPUTS_APART 0
#else
#define OUTPUTS_APART 1
#endif

/* The same of one output whose weights lie side by side, channel by channel. */
static void pack_output(const struct integer_layout *l, const int8_t *w, size_t taps, uint8_t *to)
{
    const size_t next = 4 * (size_t)l->nr, b = taps, c = 2 * taps, d = 3 * taps;
    const uint8_t *end = (const uint8_t *)w + taps * l->cg, *from = (const uint8_t *)w;
    for (; taps == 1 && from < end; from += 4, to += next)
        memcpy(to, from, 4);
    for (size_t tap = 0; taps > 1 && tap < taps; tap++)
        for (from = (const uint8_t *)w + tap; from < end; from += 4 * taps, to += next)
            store_le32(to, (uint32_t)from[0] | (uint32_t)from[b] << 8 | (uint32_t)from[c] << 16 |
                               (uint32_t)from[d] << 24);
}

/* Two words side by side, which compilers add in one register where there is one. */
typedef uint64_t word_pair __attribute__((vector_size(16)));

#define SUM_RUN 32u /* pairs whose sums of two bytes each 16 bits hold: 32 * 2 * 255 */

/* Sums of bytes as they are with their sign bit turned, which is 128 more each; 16 a step. */
static uint32_t sum_of(const int8_t *w, size_t n)
{
    const word_pair low = {UINT64_C(0x00ff00ff00ff00ff), UINT64_C(0x00ff00ff00ff00ff)};
    const word_pair sign = {UINT64_C(0x8080808080808080), UINT64_C(0x8080808080808080)};
    uint32_t sum = 0;
    int32_t rest = 0;
    size_t i = 0;
    while (i + sizeof low <= n) {
        word_pair sums = {0, 0}, x;
        for (uint32_t k = 0; k < SUM_RUN && i + sizeof x <= n; k++, i += sizeof x) {
            memcpy(&x, w + i, sizeof x);
            x ^= sign;
            sums += (x & low) + (x >> 8 & low);
        }
        for (uint32_t k = 0; k < 2; k++)
            sum += (uint32_t)(sums[k] * UINT64_C(0x0001000100010001) >> 48);
    }
    for (size_t k = i; k < n; k++)
        rest += w[k];
    return sum - (uint32_t)(128 * i) + (uint32_t)rest;
}

/* The weights of a segment of one output, from weights->w[from] on, to places from `to` on; returns
 * their sum. Channels of a tap follow one another in a run. */
static uint64_t pack_row(const struct integer_layout *l, const struct integer_weights *weights,
                         bool is_long, size_t from, uint8_t *packed, uint64_t to)
{
    const uint64_t next = (uint64_t)(l->nr - 1) * l->k_step; /* past the other outputs */
    uint64_t sum = 0;
    uint32_t j = 0;
    for (uint32_t tap = 0; tap < l->run / l->cg; tap++) {
        size_t at = from + tap;
        for (uint32_t c = 0; c < l->cg; c++, at += weights->channel, to++) {
            int32_t w =
                is_long ? ((const int16_t *)weights->w)[at] : ((const int8_t *)weights->w)[at];
            put_weight(l, packed, to, w);
            sum += (uint64_t)w;
            if (++j == l->k_step) {
                j = 0;
                to += next;
            }
        }
    }
    return sum;
}

static bool packs_words(const struct integer_layout *l)
{
    return !l->wide && l->k_step == 4 && l->cg % 4 == 0;
}

/* first: its first output. Outputs behind the last of a group and elements behind the last of a
 * segment have weights of 0, so what kernels read of x there does not count. */
static void pack_group(const struct integer_layout *l, const struct integer_weights *weights,
                       bool is_long, uint32_t first, void *sum, uint8_t *packed)
{
    const uint64_t segment = (uint64_t)l->steps * l->k_step * l->nr;
    const bool words = packs_words(l);
    /* words leave nothing out but in the last panel */
    const uint64_t zeros = !words ? l->prep.group_bytes : l->og % l->nr ? l->prep.panel_bytes : 0;
    memset(packed + l->prep.group_bytes - zeros, 0, zeros);
    /* a matrix whose outputs lie side by side is read along its rows, all others output by output
     */
    const uint32_t n = weights->output == 1 ? l->nr : 1;
    const size_t taps = (size_t)l->segments * (l->run / l->cg);
    for (uint32_t o = 0; o < l->og && words; o += n) {
        const int8_t *w = (const int8_t *)weights->w + (first + o) * weights->output;
        uint8_t *to = packed + o / l->nr * l->prep.panel_bytes + o % l->nr * (size_t)4;
        if (OUTPUTS_APART && n == 1 && weights->channel == taps) {
            ((uint32_t *)sum)[o] += sum_of(w, taps * l->cg);
            pack_output(l, w, taps, to);
        } else {
            pack_words(l, weights, w, least(l->og - o, n), (uint32_t *)sum + o, to);
        }
    }
    for (uint32_t o = 0; o < l->og && !words; o++)
        for (uint32_t s = 0; s < l->segments; s++) {
            uint64_t to =
                ((uint64_t)(o / l->nr) * l->segments + s) * segment + o % l->nr * l->k_step;
            size_t from = ((size_t)first + o) * weights->output + (size_t)s * (l->run / l->cg);
            uint64_t w = pack_row(l, weights, is_long, from, packed, to);
            if (is_long)
                ((uint64_t *)sum)[o] += w;
            else
                ((uint32_t *)sum)[o] += (uint32_t)w;
        }
}

/* Of folded places; what of them is outside of the window has weights of 0. */
static void pack_folded(const struct integer_conv *c, const struct integer_layout *l,
                        const struct integer_weights *weights, uint32_t *sum, uint8_t *packed)
{
    const uint64_t step = (uint64_t)l->k_step * l->nr;
    const uint32_t rows = l->grid.rows_folded ? l->grid.down : 1;
    memset(packed, 0, l->prep.group_bytes);
    for (uint32_t o = 0; o < l->og; o++)
        for (uint32_t i = 0; i < c->kh * c->kw * l->cg; i++) {
            const uint32_t tap = i / l->cg, channel = i % l->cg, y = tap / c->kw, x = tap % c->kw;
            const uint32_t segment = y / rows;
            const uint64_t e = x / l->grid.across * l->pixel + y % rows * l->grid.down_bytes +
                               x % l->grid.across * l->grid.across_bytes +
                               channel * l->grid.channel_bytes;
            const int32_t w =
                ((const int8_t *)
                     weights->w)[o * weights->output + channel * weights->channel + tap];
            packed[o / l->nr * l->prep.panel_bytes +
                   ((uint64_t)segment * l->steps + e / l->k_step) * step + o % l->nr * l->k_step +
                   e % l->k_step] = (uint8_t)w;
            sum[o] += (uint32_t)w;
        }
}

void pith_integer_conv_pack(const struct integer_conv *c, const struct integer_layout *l,
                            const struct op_env *env, const struct integer_weights *weights,
                            void *prep)
{
    uint8_t *sum = prep;
    uint8_t *packed = (uint8_t *)prep + l->prep.packed_at;
    memset(sum, 0, l->prep.packed_at);
    if (l->depthwise) {
        pack_depthwise(c, l, &env->kernels->integer, weights, prep, packed);
        return;
    }
    if (SLOTS_BUILT && l->packing == PACK_SLOTS) {
        pith_pack_slots(l, weights, (uint64_t)c->n * c->oh * c->ow,
                        l->steps * pith_integer_most_groups(c, l->run), prep, packed);
        return;
    }
    if (GRID_BUILT && l->grid.folded) {
        pack_folded(c, l, weights, prep, packed);
        return;
    }
    for (uint32_t g = 0; g < c->groups; g++)
        pack_group(l, weights, c->long_sums, g * l->og,
                   sum + (size_t)g * l->rounded * integer_sum_bytes(c),
                   packed + g * l->prep.group_bytes);
}
