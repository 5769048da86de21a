/* SPDX-License-Identifier: MIT */
/* attention.cu - y = softmax(scale q k^T, masked) v, so that scores never leave a multiprocessor. A
 * warp has a query, a block eight of one head, which read keys once for all, 32 at a time. What was
 * summed is rescaled when a larger score comes (Milakov and Gimelshein 2018; Dao et al. 2022). */
#include "device_map.cuh"

#define QUERIES (LAUNCH_THREADS / 32u)
#define KEYS 32u
#define PARTS (ATTENTION_WIDEST / 32u) /* of y: elements of a lane */

struct attention_tile {
    float q[QUERIES][ATTENTION_WIDEST], k[KEYS][ATTENTION_WIDEST + 1], p[QUERIES][KEYS];
};

/* What a lane knows of its query. */
struct attention_sums {
    float largest, sum, y[PARTS]; /* sum: of the lane's keys alone */
};

/* A block's queries, scaled before they are multiplied as on the CPU; and 32 keys. */
DEVICE void load_queries(struct attention_tile *t, const struct attention_args *arg, const void *q)
{
    const uint32_t m0 = BLOCK_X * QUERIES;
    for (uint32_t i = THREAD; i < QUERIES * arg->d; i += LAUNCH_THREADS) {
        const uint32_t row = i / arg->d, d = i % arg->d;
        const size_t at = (size_t)(m0 + row) * arg->q_step[2] + d;
        t->q[row][d] = m0 + row < arg->m ? value_at(q, at, arg->q_type) * arg->scale : 0.0f;
    }
}

DEVICE void load_keys(struct attention_tile *t, const struct attention_args *arg, const void *k,
                      uint32_t n0)
{
    for (uint32_t i = THREAD; i < KEYS * arg->d; i += LAUNCH_THREADS) {
        const uint32_t row = i / arg->d, d = i % arg->d;
        const size_t at = (size_t)(n0 + row) * arg->k_step[2] + d;
        t->k[row][d] = n0 + row < arg->n ? value_at(k, at, arg->k_type) : 0.0f;
    }
}

/* A float mask is added, a bool mask chooses. */
DEVICE float masked_score(const struct attention_args *arg, uint32_t m, uint32_t n, float score)
{
    const size_t at = (size_t)(BLOCK_Z % arg->mask_batch) * arg->mask_step[0] + (size_t)BLOCK_Y * arg->mask_step[1] +
                      (size_t)m * arg->mask_step[2] + (size_t)n * arg->mask_step[3];
    if (!arg->mask)
        return score;
    if (arg->mask_is_f32)
        return score + ((const float *)arg->mask)[at];
    return (((const uint8_t *)arg->mask)[at] != 0) == (arg->keep != 0) ? score : arg->fill;
}

/* Of the lane's key; what is not there has no weight. */
DEVICE float score_of(const struct attention_tile *t, const struct attention_args *arg, uint32_t m,
                      uint32_t n)
{
    const float *q = t->q[THREAD / 32u], *k = t->k[THREAD % 32u];
    float sum = 0.0f;
    for (uint32_t d = 0; d < arg->d; d++)
        sum = fmaf(q[d], k[d], sum);
    return n < arg->n ? masked_score(arg, m < arg->m ? m : 0, n, sum) : f32_from_bits(0xff800000u);
}

/* While all scores are minus infinity the base is 0, and their weights are 0. */
DEVICE void add_scores(struct attention_sums *s, float score, float *p)
{
    const float none = f32_from_bits(0xff800000u);
    float largest = score;
    for (uint32_t half = 16; half > 0; half /= 2) {
        const float other = shuffle_xor_f32(largest, half);
        largest = other > largest ? other : largest;
    }
    largest = s->largest > largest ? s->largest : largest;
    const float base = largest > none ? largest : 0.0f, again = exp_f32(s->largest - base);
    s->largest = largest;
    *p = exp_f32(score - base);
    s->sum = fmaf(s->sum, again, *p);
    for (uint32_t i = 0; i < PARTS; i++)
        s->y[i] *= again;
}

DEVICE void add_values(struct attention_sums *s, const struct attention_args *arg, const float *p,
                       const void *v, uint32_t n0)
{
    const uint32_t here = arg->n - n0 < KEYS ? arg->n - n0 : KEYS, lane = THREAD % 32u;
    for (uint32_t j = 0; j < here; j++) {
        const size_t at = (size_t)(n0 + j) * arg->v_step[2] + lane;
        for (uint32_t i = 0; i < PARTS; i++)
            if (lane + 32u * i < arg->e)
                s->y[i] = fmaf(p[j], value_at(v, at + 32u * i, arg->v_type), s->y[i]);
    }
}

/* The part of a tensor that has the block's batch and one head. */
DEVICE const void *head_of(const void *x, uint32_t type, const uint32_t step[3], uint32_t head)
{
    return values_from(x, (size_t)BLOCK_Z * step[0] + (size_t)head * step[1], type);
}

KERNEL(attention, attention_args)
{
    SHARED struct attention_tile t;
    const uint32_t warp = THREAD / 32u, lane = THREAD % 32u, m = BLOCK_X * QUERIES + warp;
    const uint32_t shared = BLOCK_Y / arg->shared;
    const void *k = head_of(arg->k, arg->k_type, arg->k_step, shared);
    const void *v = head_of(arg->v, arg->v_type, arg->v_step, shared);
    const size_t y = (size_t)BLOCK_Z * arg->y_step[0] + (size_t)BLOCK_Y * arg->y_step[1] +
                     (size_t)m * arg->y_step[2] + lane;
    struct attention_sums s = {f32_from_bits(0xff800000u), 0.0f, {0.0f}};
    load_queries(&t, arg, head_of(arg->q, arg->q_type, arg->q_step, BLOCK_Y));
    for (uint32_t n0 = 0; n0 < arg->n; n0 += KEYS) {
        load_keys(&t, arg, k, n0);
        barrier();
        add_scores(&s, score_of(&t, arg, m, n0 + lane), &t.p[warp][lane]);
        barrier();
        add_values(&s, arg, t.p[warp], v, n0);
        barrier();
    }
    for (uint32_t half = 16; half > 0; half /= 2)
        s.sum += shuffle_xor_f32(s.sum, half);
    for (uint32_t i = 0; i < PARTS; i++)
        if (m < arg->m && lane + 32u * i < arg->e)
            put_value(arg->y, y + 32u * i, arg->y_type,
                      s.sum == 0.0f ? 0.0f : s.y[i] / s.sum); /* 0: all are minus infinity */
}
