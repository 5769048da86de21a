/* SPDX-License-Identifier: MIT */
/* depthwise_i8_neon.c - depthwise_i8 (kernel_integer.h) in blocks of 16 channels, four pixels at
 * a time. Products of i8 by i8 fill 16 bits; where no weight is -128 those of two taps are added
 * there, then to sums of 32. SDOT would need bytes of four taps side by side, and bringing them
 * there takes longer. */
#include "kernels/arm/simd_i32_neon.h"

#define BLOCK 16u
#define PIXELS (UINTPTR_MAX > 0xffffffffu ? 4u : 2u) /* sums of one take four registers */
#define USUAL_TAPS 9u                                /* 3 x 3: without a loop */

/* Channels 0 to 7, 8 to 15. */
struct block_sums {
    int32x4x2_t half[2];
};

static inline int32x4x2_t add_words(int32x4x2_t sum, int16x8_t words)
{
    return (int32x4x2_t){
        {vaddw_s16(sum.val[0], vget_low_s16(words)), vaddw_high_s16(sum.val[1], words)}};
}

static inline void add_tap(struct block_sums *s, int8x16_t x, int8x16_t w)
{
    s->half[0] = add_words(s->half[0], vmull_s8(vget_low_s8(x), vget_low_s8(w)));
    s->half[1] = add_words(s->half[1], vmull_high_s8(x, w));
}

static inline void add_two(struct block_sums *s, const int8x16_t x[2], const int8x16_t w[2])
{
    const int16x8_t low = vmull_s8(vget_low_s8(x[0]), vget_low_s8(w[0]));
    const int16x8_t high = vmull_high_s8(x[0], w[0]);
    s->half[0] = add_words(s->half[0], vmlal_s8(low, vget_low_s8(x[1]), vget_low_s8(w[1])));
    s->half[1] = add_words(s->half[1], vmlal_high_s8(high, x[1], w[1]));
}

/* n channels; those behind the last are zeros, whatever their weights. */
static inline int8x16_t load_x(const uint8_t *x, uint32_t n)
{
    uint8_t some[BLOCK] = {0};
    if (n < BLOCK)
        memcpy(some, x, n);
    return less_128(vld1q_u8(n < BLOCK ? some : x));
}

/* By value: an array of sums that has an address is no longer kept in registers. */
static inline void store_sums(uint8_t *y, struct block_sums s, uint32_t n)
{
    if (n < BLOCK) {
        memcpy(y, &s, n * sizeof(int32_t));
        return;
    }
    for (uint32_t k = 0; k < 4; k++)
        vst1q_u8(y + 16 * k, vreinterpretq_u8_s32(s.half[k / 2].val[k % 2]));
}

/* Constants in each instance. */
struct block_kind {
    uint32_t pixels, groups;
    bool pairs;
};

/* Pixels of a block that begins at x and y, n channels of which exist, a constant where it is
 * BLOCK; at: its place. */
static inline __attribute__((always_inline)) void block_run(const struct depthwise_i8_job *job,
                                                            const uint8_t *x, uint8_t *y, size_t at,
                                                            uint32_t n,
                                                            const struct block_kind kind)
{
    const uint32_t pixels = kind.pixels, groups = kind.groups;
    const bool pairs = kind.pairs;
    /* y may be anything to a compiler: what is read again is copied */
    const struct requantize to = job->to;
    const uint32_t *tap = job->tap;
    const uint8_t *pixel[PIXELS];
    const int8_t *w = (const int8_t *)job->w + at * groups;
    struct block_sums sum[PIXELS];
    const uint32_t in_pairs = pairs ? groups / 2 * 2 : 0;
    uint32_t t = 0;
#pragma GCC unroll 4
    for (uint32_t i = 0; i < pixels; i++) {
        pixel[i] = x + i * job->x_step;
        sum[i] = (struct block_sums){{load_sums(to.offset + at), load_sums(to.offset + at + 8)}};
    }
#pragma GCC unroll 4
    for (; t < in_pairs; t += 2, w += 2 * BLOCK) {
        const int8x16_t wv[2] = {vld1q_s8(w), vld1q_s8(w + BLOCK)};
        const size_t first = tap[t], second = tap[t + 1];
#pragma GCC unroll 4
        for (uint32_t i = 0; i < pixels; i++) {
            const int8x16_t xv[2] = {load_x(pixel[i] + first, n), load_x(pixel[i] + second, n)};
            add_two(&sum[i], xv, wv);
        }
        LOADS_IN_ORDER();
    }
    for (; t < groups; t++, w += BLOCK) {
        const int8x16_t wv = vld1q_s8(w);
#pragma GCC unroll 4
        for (uint32_t i = 0; i < pixels; i++)
            add_tap(&sum[i], load_x(pixel[i] + tap[t], n), wv);
    }
    const size_t y_step = job->y_step;
    if (!to.factor) {
#pragma GCC unroll 4
        for (uint32_t i = 0; i < pixels; i++, y += y_step)
            store_sums(y, sum[i], n);
        return;
    }
    uint8x16_t values[PIXELS];
#pragma GCC unroll 4
    for (uint32_t i = 0; i < pixels; i++)
        values[i] = values16_of(sum[i].half[0], sum[i].half[1], &to, at, false);
#pragma GCC unroll 4
    for (uint32_t i = 0; i < pixels; i++, y += y_step) {
        if (n == BLOCK)
            vst1q_u8(y, values[i]);
        else
            memcpy(y, &values[i], n);
    }
}

/* All pixels of a whole block. The last ones are taken together with some that have been there
 * already. */
static inline __attribute__((always_inline)) void whole_block(const struct depthwise_i8_job *job,
                                                              const uint8_t *x, uint8_t *y,
                                                              size_t at, const uint32_t groups,
                                                              const bool pairs)
{
    uint32_t i = 0;
    for (; job->m >= PIXELS && i < job->m; i += PIXELS) {
        if (i + PIXELS > job->m)
            i = job->m - PIXELS;
        block_run(job, x + i * job->x_step, y + i * job->y_step, at, BLOCK,
                  (struct block_kind){PIXELS, groups, pairs});
    }
    for (; i < job->m; i++)
        block_run(job, x + i * job->x_step, y + i * job->y_step, at, BLOCK,
                  (struct block_kind){1, job->groups, pairs});
}

/* The last block begins earlier where channels are no multiple of 16. */
void pith_depthwise_i8_neon(const struct depthwise_i8_job *job)
{
    for (uint32_t b = 0; b < depthwise_blocks(BLOCK, job->channels); b++) {
        const uint32_t c = depthwise_begin(BLOCK, job->channels, b);
        const size_t at = (size_t)b * BLOCK;
        const uint8_t *x = job->x + c, *w = job->w + at * job->groups;
        uint8_t *y = job->y + c * (job->to.factor ? 1 : sizeof(int32_t));
        if (job->channels < BLOCK)
            for (uint32_t i = 0; i < job->m; i++)
                block_run(job, x + i * job->x_step, y + i * job->y_step, at, job->channels,
                          (struct block_kind){1, job->groups, false});
        else if (job->groups == USUAL_TAPS && !has_lowest(w, USUAL_TAPS * BLOCK))
            whole_block(job, x, y, at, USUAL_TAPS, true);
        else if (has_lowest(w, (size_t)job->groups * BLOCK))
            whole_block(job, x, y, at, job->groups, false);
        else
            whole_block(job, x, y, at, job->groups, true);
    }
}
