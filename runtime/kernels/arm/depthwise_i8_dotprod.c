/* SPDX-License-Identifier: MIT */
/* depthwise_i8_dotprod.c - depthwise_i8 (kernel_integer.h) in blocks of 16 channels:
 * interleaving the bytes of four taps brings those of a channel side by side, as SDOT adds them up.
 * x becomes x - 128 in registers, as in gemm_i8_dotprod.c. */
#include "kernels/arm/simd_i32_neon.h"

/* A register of bytes. */
#define BLOCK 16u
#define GROUP 4u

/* Four sums a register, in the order that zips leave. */
struct block_sums {
    int32x4x2_t half[2];
};

/* n channels of a tap Channels behind the last are zeros of x, whatever their weights. */
static inline int8x16_t load_tap(const uint8_t *x, uint32_t n)
{
    uint8_t some[BLOCK] = {0};
    if (n < BLOCK)
        memcpy(some, x, n);
    uint8x16_t bytes = vld1q_u8(n < BLOCK ? some : x);
    return vreinterpretq_s8_u8(veorq_u8(bytes, vdupq_n_u8(0x80)));
}

/* Taps of 4 channels, and their weights. SDOT adds four products to a lane of 32 bits, without
 * saturation. */
static inline int32x4_t dot(int32x4_t acc, int16x8_t x, const uint8_t *w)
{
    return vdotq_s32(acc, vreinterpretq_s8_s16(x), vld1q_s8((const int8_t *)w));
}

/* Zips of bytes, then of words: a channel's four taps side by side. */
static inline void add_group(struct block_sums *s, const int8x16_t t[GROUP], const uint8_t *w)
{
    int16x8_t a = vreinterpretq_s16_s8(vzip1q_s8(t[0], t[1]));
    int16x8_t b = vreinterpretq_s16_s8(vzip1q_s8(t[2], t[3]));
    int16x8_t c = vreinterpretq_s16_s8(vzip2q_s8(t[0], t[1]));
    int16x8_t d = vreinterpretq_s16_s8(vzip2q_s8(t[2], t[3]));
    s->half[0].val[0] = dot(s->half[0].val[0], vzip1q_s16(a, b), w);
    s->half[0].val[1] = dot(s->half[0].val[1], vzip2q_s16(a, b), w + 16);
    s->half[1].val[0] = dot(s->half[1].val[0], vzip1q_s16(c, d), w + 32);
    s->half[1].val[1] = dot(s->half[1].val[1], vzip2q_s16(c, d), w + 48);
}

/* x: channel 0 of block b under the pixel; n channels of it exist. Whole blocks and partial ones
 * are two instances, as n is a constant in one of them. */
static inline void pixel(const struct depthwise_i8_job *job, const uint8_t *x, uint32_t b,
                         uint32_t n, uint8_t *y)
{
    size_t at = (size_t)b * BLOCK;
    const uint8_t *w = job->w + at * job->groups * GROUP;
    const uint32_t *tap = job->tap;
    const int32_t *offset = job->to.offset + at;
    struct block_sums s = {{load_sums(offset), load_sums(offset + 8)}};
    for (uint32_t g = 0; g < job->groups; g++, w += BLOCK * GROUP, tap += GROUP) {
        int8x16_t t[GROUP];
        for (uint32_t i = 0; i < GROUP; i++)
            t[i] = load_tap(x + tap[i], n);
        add_group(&s, t, w);
    }
    store_some(y, values_of(s.half[0], &job->to, at), n < 8 ? n : 8);
    if (n > 8)
        store_some(y + 8, values_of(s.half[1], &job->to, at + 8), n - 8);
}

/* The last block begins earlier where channels are no multiple of 16. */
void pith_depthwise_i8_dotprod(const struct depthwise_i8_job *job)
{
    uint32_t n = job->channels < BLOCK ? job->channels : BLOCK;
    for (uint32_t b = 0; b < depthwise_blocks(BLOCK, job->channels); b++) {
        uint32_t c = depthwise_begin(BLOCK, job->channels, b);
        const uint8_t *x = job->x + c;
        uint8_t *y = job->y + c;
        for (uint32_t i = 0; i < job->m; i++, x += job->x_step, y += job->y_step) {
            if (n == BLOCK)
                pixel(job, x, b, BLOCK, y);
            else
                pixel(job, x, b, n, y);
        }
    }
}
