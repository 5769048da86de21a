/* SPDX-License-Identifier: MIT */
/* gemm_slots_dotprod.c - a sparse matrix of i8 times rows of u8 (struct slots_panel): 128 values of
 * a row of x stay in eight registers while groups do not advance, and two look-ups put four of them
 * beside the weights of each output: TBL in the first four, TBX in the others, where TBL found
 * nothing. SDOT takes i8 alone, so x enters as x - SLOTS_MIDDLE. */
#include "kernels/arm/simd_i32_neon.h"

#define LANES SLOTS_NR

/* 128 values around 0. */
struct window {
    int8x16x4_t low, high;
};

static inline struct window window_at(const uint8_t *x)
{
    struct window v;
    for (int i = 0; i < 4; i++) {
        const uint8x16_t turn = vdupq_n_u8(SLOTS_MIDDLE);
        v.low.val[i] = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(x + 16 * i), turn));
        v.high.val[i] = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(x + 64 + 16 * i), turn));
    }
    return v;
}

static void begin_sums(const struct gemm_i8_job *job, const struct slots_panel *p, const uint8_t *x,
                       uint32_t first, int32x4_t sum[4])
{
    uint32_t sums[LANES];
    slots_outside(p, job->to.offset + first, x, SLOTS_MIDDLE, sums);
    for (int q = 0; q < 4; q++)
        sum[q] = vreinterpretq_s32_u32(vld1q_u32(sums + 4 * q));
}

/* n outputs from `first` on. */
static void store(const struct requantize *to, const int32x4_t sum[4], uint32_t first, uint32_t n,
                  uint8_t *y)
{
    int32_t sums[LANES];
    n = n < LANES ? n : LANES;
    for (int q = 0; q < 4; q++)
        vst1q_s32(sums + 4 * q, sum[q]);
    if (!to->factor) {
        memcpy(y + first * sizeof *sums, sums, n * sizeof *sums);
        return;
    }
    store_some(y + first, values_of(load_sums(sums), to, first, false), n < 8 ? n : 8);
    if (n > 8)
        store_some(y + first + 8, values_of(load_sums(sums + 8), to, first + 8, false), n - 8);
}

/* Where a group stands: its columns, and its weights or their numbers, in the high bits of bytes
 * where `odd`. */
struct group_at {
    const uint8_t *place, *weight;
    bool odd;
};

static inline struct group_at group_at(const uint8_t *groups, uint32_t n, bool halved)
{
    if (!halved)
        return (struct group_at){groups + (size_t)n * SLOTS_BYTES,
                                 groups + (size_t)n * SLOTS_BYTES + 64, false};
    const uint8_t *pair = groups + (size_t)(n / 2) * SLOTS_PAIR_BYTES;
    return (struct group_at){pair + 64 + n % 2 * 64, pair, n % 2};
}

/* The weights of four outputs. */
static inline int8x16_t weights_of(const struct group_at *g, int quarter, bool halved,
                                   int8x16_t table)
{
    const uint8x16_t w = vld1q_u8(g->weight + 16 * quarter);
    if (!halved)
        return vreinterpretq_s8_u8(w);
    return vqtbl1q_s8(table, g->odd ? vshrq_n_u8(w, 4) : vandq_u8(w, vdupq_n_u8(15)));
}

static inline void add_group(const struct group_at *g, const struct window *v, bool halved,
                             int8x16_t table, int32x4_t sum[4])
{
#pragma GCC unroll 4
    for (int q = 0; q < 4; q++) {
        const uint8x16_t place = vandq_u8(vld1q_u8(g->place + 16 * q), vdupq_n_u8(SLOTS_STEP - 1));
        const int8x16_t low = vqtbl4q_s8(v->low, place);
        const int8x16_t all = vqtbx4q_s8(low, v->high, vsubq_u8(place, vdupq_n_u8(64)));
        sum[q] = vdotq_s32(sum[q], all, weights_of(g, q, halved, table));
    }
}

/* One row of x: its window alone takes eight registers, so rows share no loads but those that the
 * cache makes cheap. */
static inline __attribute__((always_inline)) void
add_groups(const struct gemm_i8_job *job, uint32_t i, uint32_t panel, const bool halved)
{
    const struct slots_panel *p = slots_panel(job->w, panel);
    const uint8_t *x = job->x[i] + job->segment[0];
    const int8x16_t table = halved ? vld1q_s8(job->table) : vdupq_n_s8(0);
    const uint32_t first = panel * LANES;
    int32x4_t sum[4];
    begin_sums(job, p, x, first, sum);
    struct window v = window_at(x);
    for (uint32_t n = 0; n < p->groups; n++) {
        const struct group_at g = group_at(slots_of(p), n, halved);
        const uint32_t columns = slots_advance(g.place);
        x += columns;
        if (columns)
            v = window_at(x);
        add_group(&g, &v, halved, table, sum);
    }
    store(&job->to, sum, first, job->n - first, job->y + i * job->y_step);
}

/* All rows of x by a panel, whose weights stay in cache. */
void pith_gemm_slots_dotprod(const struct gemm_i8_job *job)
{
    for (uint32_t p = 0; p * LANES < job->n; p++)
        for (uint32_t i = 0; i < job->m; i++)
            if (job->halved)
                add_groups(job, i, p, true);
            else
                add_groups(job, i, p, false);
}
