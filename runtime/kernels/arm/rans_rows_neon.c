/* SPDX-License-Identifier: MIT */
/* rans_rows_neon.c - kernel_decode.h with four lanes in a register. The states of a register
 * that are low take the next words in order: a table of byte permutations says, for each set of
 * lanes, which of the four next words goes to which lane. */
#include "kernels/arm/neon.h"
#include "kernels/kernel_decode.h"

#define WIDTH 4u
#define REGISTERS (RANS_LANES / WIDTH)

/* Bytes of lane i of a set: a word's two, where it takes one; 255 gives 0. As word_of_lane of
 * rans_rows_avx2.c, for sets of four. */
#define LANE(set, i) ((set) >> (i)&1u)
#define WORD(set, i, n)                                                                            \
    LANE(set, i) ? 2u * (n) : 255u, LANE(set, i) ? 2u * (n) + 1u : 255u, 255, 255
#define ONE(set)                                                                                   \
    {                                                                                              \
        WORD(set, 0, 0u), WORD(set, 1, LANE(set, 0)), WORD(set, 2, LANE(set, 0) + LANE(set, 1)),   \
            WORD(set, 3, LANE(set, 0) + LANE(set, 1) + LANE(set, 2))                               \
    }
#define FOUR(set) ONE(set), ONE((set) + 1u), ONE((set) + 2u), ONE((set) + 3u)
static const uint8_t bytes_of_lane[16][16] = {FOUR(0u), FOUR(4u), FOUR(8u), FOUR(12u)};

/* NEON cannot gather: four loads. */
static inline uint32x4_t load_entries(const uint32_t *entries, uint32x4_t x)
{
    uint32x4_t slot = vandq_u32(x, vdupq_n_u32((1u << RANS_BITS) - 1));
    uint32x4_t e = vld1q_dup_u32(entries + vgetq_lane_u32(slot, 0));
    e = vld1q_lane_u32(entries + vgetq_lane_u32(slot, 1), e, 1);
    e = vld1q_lane_u32(entries + vgetq_lane_u32(slot, 2), e, 2);
    return vld1q_lane_u32(entries + vgetq_lane_u32(slot, 3), e, 3);
}

/* frequency * (x >> n) + distance, in one instruction. */
static inline uint32x4_t next_state(uint32x4_t x, uint32x4_t e)
{
    uint32x4_t distance = vandq_u32(vshrq_n_u32(e, 8), vdupq_n_u32(0xfff));
    return vmlaq_u32(distance, vshrq_n_u32(e, 20), vshrq_n_u32(x, RANS_BITS));
}

/* The set as a number by weights of lanes and a sum across. */
static inline uint32x4_t take_words(uint32x4_t x, const uint8_t **in)
{
    static const uint32_t bit[4] = {1, 2, 4, 8};
    uint32x4_t low = vcltq_u32(x, vdupq_n_u32(RANS_LOW));
    uint32_t set = vaddvq_u32(vandq_u32(low, vld1q_u32(bit)));
    uint8x16_t words = vcombine_u8(vld1_u8(*in), vdup_n_u8(0));
    uint32x4_t word = vreinterpretq_u32_u8(vqtbl1q_u8(words, vld1q_u8(bytes_of_lane[set])));
    *in += 2 * (uint32_t)__builtin_popcount(set);
    return vbslq_u32(low, vorrq_u32(vshlq_n_u32(x, 16), word), x);
}

/* The low bytes of 16 entries, in order. */
static inline void put_symbols(uint8_t *out, const uint32x4_t *e)
{
    uint16x8_t a = vcombine_u16(vmovn_u32(e[0]), vmovn_u32(e[1]));
    uint16x8_t b = vcombine_u16(vmovn_u32(e[2]), vmovn_u32(e[3]));
    vst1q_u8(out, vcombine_u8(vmovn_u16(a), vmovn_u16(b)));
}

size_t pith_rans_rows_neon(uint32_t *state, const uint32_t *entries, const uint8_t **in,
                           const uint8_t *in_end, uint8_t *out, size_t rows)
{
    const uint8_t *at = *in;
    uint32x4_t x[REGISTERS], e[REGISTERS];
    size_t row = 0;
    for (uint32_t i = 0; i < REGISTERS; i++)
        x[i] = vld1q_u32(state + WIDTH * i);
    /* RANS_ROW_BYTES is the most that a row's words take, so no load passes the end. */
    for (; row < rows && (size_t)(in_end - at) >= RANS_ROW_BYTES; row++, out += RANS_LANES) {
#pragma GCC unroll 8
        for (uint32_t i = 0; i < REGISTERS; i++) {
            e[i] = load_entries(entries, x[i]);
            x[i] = take_words(next_state(x[i], e[i]), &at);
        }
        put_symbols(out, e);
        put_symbols(out + 16, e + 4);
    }
    for (uint32_t i = 0; i < REGISTERS; i++)
        vst1q_u32(state + WIDTH * i, x[i]);
    *in = at;
    return row;
}
