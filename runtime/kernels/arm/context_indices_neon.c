/* SPDX-License-Identifier: MIT */
/* context_indices_neon.c - pith_kernel_context.h with a distribution in two registers.
 *
 * NEON has neither a high product of 16 bits nor a mask of lanes as a number; both are made of
 * narrowing shifts. */
#include <arm_neon.h>
#include "context_decoder.h"
#include "pith_kernel_decode.h"

/* Sixteen lanes of 16 bits, eight a register. */
typedef uint16x8x2_t lanes;

static inline lanes lanes_load(const uint16_t *p)
{
    return (lanes){{vld1q_u16(p), vld1q_u16(p + 8)}};
}

static inline void lanes_store(uint16_t *p, lanes v)
{
    vst1q_u16(p, v.val[0]);
    vst1q_u16(p + 8, v.val[1]);
}

static inline lanes lanes_average(lanes a, lanes b)
{
    return (lanes){{vrhaddq_u16(a.val[0], b.val[0]), vrhaddq_u16(a.val[1], b.val[1])}};
}

/* The high halves of products. Widened to 32 bits, and the upper half taken. */
static inline uint16x8_t high_product(uint16x8_t a, uint16_t b)
{
    uint16x4_t by = vdup_n_u16(b);
    return vcombine_u16(vshrn_n_u32(vmull_u16(vget_low_u16(a), by), 16),
                        vshrn_n_u32(vmull_u16(vget_high_u16(a), by), 16));
}

/* As above with the rounding that learning asks for. */
static inline uint16x8_t rounded_product(uint16x8_t a, uint16_t b)
{
    uint16x4_t by = vdup_n_u16(b);
    return vcombine_u16(vrshrn_n_u32(vmull_u16(vget_low_u16(a), by), 16),
                        vrshrn_n_u32(vmull_u16(vget_high_u16(a), by), 16));
}

static inline lanes lanes_bounds(lanes m, const struct context_alphabet *a, uint32_t range)
{
    lanes least = lanes_load(a->least);
    for (uint32_t i = 0; i < 2; i++)
        m.val[i] =
            high_product(vaddq_u16(high_product(m.val[i], a->keep), least.val[i]), (uint16_t)range);
    return m;
}

/* The complement goes in and comes out again where a bound shall rise: see
 * context_indices_avx2.c. */
static inline lanes lanes_learned(lanes m, lanes above, uint32_t rate)
{
    for (uint32_t i = 0; i < 2; i++) {
        uint16x8_t d = rounded_product(veorq_u16(m.val[i], above.val[i]), (uint16_t)rate);
        m.val[i] = vsubq_u16(m.val[i], vsubq_u16(veorq_u16(d, above.val[i]), above.val[i]));
    }
    return m;
}

/* Four bits a lane instead of one: a narrowing shift makes them, and a count of trailing ones
 * divided by four is the symbol. */
static inline uint32_t code_symbol(struct context_walk *t, lanes bounds, uint32_t symbol,
                                   lanes *above)
{
    uint16_t bound[1 + CONTEXT_SYMBOLS];
    fill_window(t);
    uint16x8_t v = vdupq_n_u16((uint16_t)(t->window >> WINDOW_TOP));
    *above = (lanes){{vcgtq_u16(bounds.val[0], v), vcgtq_u16(bounds.val[1], v)}};
    uint8x16_t bytes = vcombine_u8(vmovn_u16(above->val[0]), vmovn_u16(above->val[1]));
    uint8x8_t nibbles = vshrn_n_u16(vreinterpretq_u16_u8(bytes), 4);
    symbol = (uint32_t)__builtin_ctzll(~vget_lane_u64(vreinterpret_u64_u8(nibbles), 0)) / 4;
    bound[0] = (uint16_t)t->range;
    lanes_store(bound + 1, bounds);
    narrow(t, bound[symbol + 1], bound[symbol]);
    return symbol;
}

#include "pith_context_impl.h"

void pith_context_indices_neon(struct context_coder *c, uint8_t *index, size_t n)
{
    context_decode(c, index, n);
}
