/* SPDX-License-Identifier: MIT */
/* integer_kernel_case.h - operands of one integer kernel drawn at random, and laid out as a level's
 * table requires them (kernel_integer.h). */
#ifndef INTEGER_KERNEL_CASE_H
#define INTEGER_KERNEL_CASE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "avxvnni_twin.h"
#include "cpu_levels.h"
#include "guard_page.h"
#include "kernels/ref/integer_element.h"
#include "kernels/kernels.h"

#define MAX_M 70u /* more than two groups of tiles */
#define MAX_N 140u

#ifndef CASES
#define CASES 600
#endif

static uint64_t seed = 3;

/* Levels in order; false: no more. */
static inline bool next_level(uint32_t *i, struct integer_kernels *k)
{
    static const uint32_t levels[] = {0, AVXVNNI_TWIN, CPU_LEVELS};
    while (*i < sizeof levels / sizeof *levels) {
        uint32_t level = levels[(*i)++];
        if ((features_with_twin() & level) != level)
            continue;
        bool twin = level == AVXVNNI_TWIN;
        pith_integer_kernels_fill(k, twin ? PITH_CPU_AVX2 | PITH_CPU_AVXVNNI : level);
        if (twin)
            twin_of_avxvnni(k);
        return true;
    }
    return false;
}

static inline uint32_t pick(uint32_t from, uint32_t to)
{
    return from + (uint32_t)(random_u64(&seed) % (to - from + 1));
}

static inline uint8_t some_byte(uint32_t kind)
{
    static const uint8_t extreme[] = {255, 0x80, 127, 0};
    return kind < sizeof extreme ? extreme[kind] : (uint8_t)random_u64(&seed);
}

static inline struct guarded guard_bytes(size_t n)
{
    struct guarded g = guard_new(n, 1);
    uint32_t kind = pick(0, 5);
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)g.data)[i] = some_byte(kind);
    return g;
}

static inline struct requantize random_requantize(int32_t *offset, float *factor, uint32_t n)
{
    struct requantize to = {.offset = offset, .is_signed = pick(0, 1)};
    static const float odd[] = {0.0f, -1.0f, 1e30f, INFINITY, -INFINITY, NAN, 0.5f, 1.0f};
    to.zero_point = to.is_signed ? (int32_t)pick(0, 255) - 128 : (int32_t)pick(0, 255);
    for (uint32_t i = 0; i < n; i++) {
        offset[i] = (int32_t)random_u64(&seed) >> pick(0, 31);
        factor[i] = pick(0, 9) ? 1.0f / (float)pick(1, 1u << pick(1, 24)) : odd[pick(0, 7)];
    }
    to.factor = pick(0, 4) ? factor : NULL;
    return to;
}

struct byte_product {
    uint32_t m, n, segments, run;
    struct guarded x, w; /* x: u8 [m, segments, run]; w: i8 [n, segments * run] */
    int32_t offset[MAX_N + 64];
    float factor[MAX_N + 64];
};

/* x as the level reads it, each pixel's segments apart and readable as far as promised. */
static inline struct guarded widened(const struct byte_product *p, const struct integer_kernels *k,
                                     uint32_t steps)
{
    size_t element = k->wide ? 2 : 1, padded = (size_t)steps * k->k_step;
    struct guarded g = guard_new((size_t)p->m * p->segments * padded * element, 1);
    const uint8_t *x = p->x.data;
    for (size_t s = 0; s < (size_t)p->m * p->segments; s++)
        for (size_t e = 0; e < padded; e++) {
            uint8_t v = e < p->run ? x[s * p->run + e] : (uint8_t)random_u64(&seed);
            if (k->wide)
                ((uint16_t *)g.data)[s * padded + e] = v;
            else
                ((uint8_t *)g.data)[s * padded + e] = v;
        }
    return g;
}

static inline struct guarded packed(const struct byte_product *p, const struct integer_kernels *k,
                                    uint32_t steps, size_t *panel_bytes)
{
    size_t element = k->wide ? 2 : 1, padded = (size_t)steps * k->k_step, at = 0;
    *panel_bytes = p->segments * padded * k->nr * element;
    uint32_t panels = (p->n + k->nr - 1) / k->nr;
    struct guarded g = guard_new(panels * *panel_bytes, 1);
    const int8_t *w = p->w.data;
    for (uint32_t o = 0; o < panels * k->nr; o += k->nr)
        for (uint32_t s = 0; s < p->segments; s++)
            for (size_t e = 0; e < padded; e += k->k_step)
                for (uint32_t j = 0; j < k->nr; j++)
                    for (size_t i = e; i < e + k->k_step; i++, at++) {
                        int8_t v = 0;
                        if (o + j < p->n && i < p->run)
                            v = w[((size_t)(o + j) * p->segments + s) * p->run + i];
                        if (k->wide)
                            ((int16_t *)g.data)[at] = v;
                        else
                            ((int8_t *)g.data)[at] = v;
                    }
    return g;
}

/* Sums that a kernel takes of x - middle come out as those of x. */
static inline int32_t middle_offset(const struct integer_kernels *k, const int8_t *w, size_t n)
{
    int32_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += w[i];
    return sum * k->middle;
}

static inline struct requantize product_to(const struct byte_product *p,
                                           const struct requantize *to,
                                           const struct integer_kernels *k, int32_t *offset)
{
    struct requantize result = *to;
    size_t terms = (size_t)p->segments * p->run;
    memcpy(offset, p->offset, sizeof p->offset);
    for (uint32_t o = 0; o < p->n; o++)
        offset[o] =
            (int32_t)((uint32_t)offset[o] +
                      (uint32_t)middle_offset(k, (const int8_t *)p->w.data + o * terms, terms));
    result.offset = offset;
    return result;
}

/* ---- Winograd's F(4x4, 3x3) ------------------------------------------------------------------ */

/* by * d * by^T, from [side, side] to [rows, rows], modulo 2^32. */
static inline void plain_both_ways(const int32_t *by, uint32_t rows, uint32_t side,
                                   const uint32_t *d, uint32_t *to)
{
    for (uint32_t i = 0; i < rows * rows; i++) {
        to[i] = 0;
        for (uint32_t t = 0; t < side * side; t++)
            to[i] +=
                (uint32_t)(by[i / rows * side + t / side] * by[i % rows * side + t % side]) * d[t];
    }
}

static inline void plain_winograd_i8_in(const struct winograd_i8_in *job)
{
    static const int32_t by[36] = {4, 0,  -5, 0, 1, 0, 0, -4, -4, 1,  1, 0, 0, 4, -4, -1, 1, 0,
                                   0, -2, -1, 2, 1, 0, 0, 2,  -1, -2, 1, 0, 0, 4, 0,  -5, 0, 1};
    for (uint32_t c = 0; c < job->channels; c++) {
        uint32_t d[36], v[36];
        for (uint32_t t = 0; t < 36; t++)
            d[t] =
                (uint32_t)(int8_t)(job->x[t / 6 * job->row + t % 6 * job->pixel + c] ^ job->flip);
        plain_both_ways(by, 6, 6, d, v);
        for (uint32_t t = 0; t < 36; t++)
            job->v[t * job->step + c] = (int16_t)v[t];
    }
}

/* A sum that is 64 times y modulo 2^32, as its inverse of 9 makes it; then the value. */
static inline void plain_winograd_i8_out(const struct winograd_i8_out *job)
{
    static const int32_t by[24] = {1, 1, 1, 1, 1, 0, 0, 1, -1, 2, -2, 0,
                                   0, 1, 1, 4, 4, 0, 0, 1, -1, 8, -8, 4};
    const struct requantize *to = &job->to;
    const struct integer_range range =
        integer_range_of(to->is_signed ? PITH_I8 : PITH_U8, to->zero_point);
    for (uint32_t o = 0; o < job->outputs; o++) {
        uint32_t m[36], y[16];
        for (uint32_t t = 0; t < 36; t++)
            m[t] = (uint32_t)job->m[t * job->step + o];
        plain_both_ways(by, 4, 6, m, y);
        for (uint32_t i = 0; i < 4 * job->rows; i++) {
            const int32_t whole = (int32_t)(y[i] * WINOGRAD_I8_INVERSE) >> WINOGRAD_I8_SHIFT;
            const int32_t sum = (int32_t)((uint32_t)whole + (uint32_t)to->offset[o]);
            if (i % 4 < job->columns)
                job->y[i / 4 * job->y_row + i % 4 * job->y_pixel + o] =
                    (uint8_t)quantized(&range, (float)sum * to->factor[o]);
        }
    }
}

/* ---- slots ----------------------------------------------------------------------------------- */

/* Most weights of p become 0: `percent` of them stay. */
static inline void prune_product(struct byte_product *p, uint32_t percent)
{
    for (size_t i = 0; i < (size_t)p->n * p->segments * p->run; i++)
        if (pick(0, 99) >= percent)
            ((int8_t *)p->w.data)[i] = 0;
}

/* Weights of outputs from o on in a window, at most 4 * groups of each in slots of SLOTS_BYTES a
 * group; the others go to more, whose new end is returned. */
static inline struct slots_more *put_window(const struct byte_product *p, uint32_t o, uint32_t s,
                                            uint32_t groups, uint8_t *at, struct slots_more *more)
{
    for (uint32_t j = 0; j < SLOTS_NR && o + j < p->n; j++)
        for (uint32_t e = s * SLOTS_STEP, n = 0; e < p->run && e < (s + 1) * SLOTS_STEP; e++) {
            int8_t w = ((const int8_t *)p->w.data)[(size_t)(o + j) * p->run + e];
            const bool apart = n == 4 * groups || w == INT8_MIN; /* which spans do not take */
            if (w != 0 && apart)
                *more++ = (struct slots_more){(uint16_t)e, (uint8_t)j, w};
            if (w == 0 || apart)
                continue;
            uint8_t *slot = at + n / 4 * SLOTS_BYTES + 4 * j + n % 4;
            slot[0] = (uint8_t)(e % SLOTS_STEP), slot[64] = (uint8_t)w, n++;
        }
    return more;
}

/* The lanes of a group of put_window's that has slots: the first, and how many; 0 and 1: none. */
static inline uint32_t lanes_of(const uint8_t *group, uint32_t *n)
{
    uint32_t first = SLOTS_STEP, last = 0;
    for (uint32_t i = 0; i < 64; i++)
        if (group[64 + i]) {
            first = group[i] < first ? group[i] : first;
            last = group[i] > last ? group[i] : last;
        }
    first = first == SLOTS_STEP ? 0 : first / SLOTS_LANE;
    *n = last / SLOTS_LANE - first + 1;
    return first;
}

/* Panels of as many groups each as put_window makes, turned by `put` into `each` bytes of a panel;
 * the last byte is the last of what is kept apart, or of the groups. */
typedef void put_panel_fn(const uint8_t *group, uint32_t steps, uint32_t groups,
                          const int8_t *table, uint8_t *at);

static inline struct guarded in_panels(const struct byte_product *p, uint32_t steps,
                                       uint32_t groups, size_t each, const int8_t *table,
                                       put_panel_fn *put)
{
    const uint32_t panels = (p->n + SLOTS_NR - 1) / SLOTS_NR;
    const size_t head = (panels * sizeof(struct slots_panel) + 63) / 64 * 64;
    const size_t apart = ((size_t)p->n * p->run * sizeof(struct slots_more) + 63) / 64 * 64;
    struct guarded windows = guard_new((size_t)steps * groups * SLOTS_BYTES, 1);
    struct guarded g = guard_new(head + panels * each + apart, 1);
    struct slots_panel *panel = g.data;
    uint8_t *at = (uint8_t *)g.data + head;
    struct slots_more *more = (void *)(at + panels * each);
    for (uint32_t i = 0; i < panels; i++, panel++, at += each) {
        const struct slots_more *first = more;
        memset(windows.data, 0, (size_t)steps * groups * SLOTS_BYTES);
        panel->at = (uint32_t)(at - (uint8_t *)panel);
        panel->groups = steps * groups;
        panel->more = (uint32_t)((uint8_t *)more - (uint8_t *)panel);
        for (uint32_t s = 0; s < steps; s++)
            more = put_window(p, i * SLOTS_NR, s, groups,
                              (uint8_t *)windows.data + (size_t)s * groups * SLOTS_BYTES, more);
        panel->n_more = (uint32_t)(more - first);
        put(windows.data, steps, groups, table, at);
    }
    guard_free(&windows);
    return g;
}

/* The 64 weights of group g, or the numbers of theirs in half of a byte each. */
static inline void put_slot_weights(const uint8_t *w, uint32_t g, const int8_t *table, uint8_t *at)
{
    if (!table) {
        memcpy(at + g * SLOTS_BYTES + 64, w, 64);
        return;
    }
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t number = 0;
        while (table[number] != (int8_t)w[i])
            number++;
        at[g / 2 * SLOTS_PAIR_BYTES + i] |= (uint8_t)(number << g % 2 * 4);
    }
}

/* Groups one behind the other. Each begins at any lane from which it reaches its slots and does not
 * reach beyond x, not before the one in front. */
static inline void put_slots(const uint8_t *group, uint32_t steps, uint32_t groups,
                             const int8_t *table, uint8_t *at)
{
    uint32_t lane = 0;
    memset(at, 0, slots_groups_bytes((uint64_t)steps * groups, table != NULL));
    for (uint32_t g = 0; g < steps * groups; g++, group += SLOTS_BYTES) {
        const uint32_t window = g / groups * SLOTS_LANES;
        uint32_t lanes, first = window + lanes_of(group, &lanes);
        uint32_t least = first + lanes > SLOTS_LANES ? first + lanes - SLOTS_LANES : 0;
        least = least > lane ? least : lane;
        uint32_t most = first < (steps - 1) * SLOTS_LANES ? first : (steps - 1) * SLOTS_LANES;
        const uint32_t to = most > least ? pick(least, most) : least;
        uint8_t *place =
            at + (table ? g / 2 * SLOTS_PAIR_BYTES + 64 + g % 2 * 64 : g * SLOTS_BYTES);
        for (uint32_t i = 0; i < 64; i++) {
            const uint32_t e = window * SLOTS_LANE + group[i] - to * SLOTS_LANE;
            place[i] = group[64 + i] ? (uint8_t)e : 0;
            if (i < 8 && (to - lane) >> i & 1)
                place[i] |= 0x80;
        }
        put_slot_weights(group + 64, g, table, at);
        lane = to;
    }
}

/* table: [16] with all weights of p, 0 first; then they are halved. NULL: they are not. */
static inline struct guarded in_slots(const struct byte_product *p, uint32_t steps, uint32_t groups,
                                      const int8_t *table)
{
    const size_t each = slots_groups_bytes((uint64_t)steps * groups, table != NULL);
    return in_panels(p, steps, groups, each, table, put_slots);
}

/* Each begins at the lane of its first slot. */
static inline void put_spans(const uint8_t *group, uint32_t steps, uint32_t groups,
                             const int8_t *table, uint8_t *to)
{
    (void)table;
    struct spans *spans = (void *)to;
    const uint32_t all = steps * groups;
    uint8_t *at = to + spans_bytes(all);
    uint32_t done = 0;
    for (uint32_t n = 1; n <= SLOTS_LANES; n++) {
        for (uint32_t g = 0; g < all; g++) {
            const uint8_t *slot = group + (size_t)g * SLOTS_BYTES;
            uint32_t lanes, first = lanes_of(slot, &lanes);
            if (lanes != n)
                continue;
            spans->lane[done] = (uint16_t)(g / groups * SLOTS_LANES + first);
            for (uint32_t i = 0; i < 64; i++) {
                at[done * SLOTS_BYTES + i] =
                    slot[64 + i] ? (uint8_t)(slot[i] - first * SLOTS_LANE) : 0;
                at[done * SLOTS_BYTES + 64 + i] = slot[64 + i];
            }
            spans->groups[n - 1]++, done++;
        }
    }
}

static inline struct guarded in_spans(const struct byte_product *p, uint32_t steps, uint32_t groups)
{
    const size_t each = spans_bytes((size_t)steps * groups) + (size_t)steps * groups * SLOTS_BYTES;
    return in_panels(p, steps, groups, each, NULL, put_spans);
}

/* ---- depthwise ------------------------------------------------------------------------------- */

struct byte_depthwise {
    uint32_t m, channels;
    uint32_t kh, kw, taps;  /* kh * kw */
    uint32_t stride, width; /* places from pixel to pixel, and of a row: (m - 1) * stride + kw */
    struct guarded x, w;    /* u8 [kh, width, channels]; i8 [channels, taps] */
    int32_t offset[MAX_N];
    float factor[MAX_N];
};

/* Where tap t lies, from the window's first place on, in bytes. */
static inline uint32_t tap_at(const struct byte_depthwise *p, uint32_t t)
{
    return (t / p->kw * p->width + t % p->kw) * p->channels;
}

/* Weights of a level, and offsets and factors in its order. */
static inline struct guarded packed_depthwise(const struct byte_depthwise *p,
                                              const struct integer_kernels *k, uint32_t groups,
                                              int32_t *offset, float *factor)
{
    uint32_t blocks = depthwise_blocks(k->block, p->channels);
    size_t element = k->wide ? 2 : 1, at = 0;
    struct guarded g = guard_new((size_t)blocks * groups * k->group * k->block * element, 1);
    for (uint32_t b = 0; b < blocks; b++)
        for (uint32_t t = 0; t < groups * k->group; t += k->group)
            for (uint32_t i = 0; i < k->block; i++) {
                uint32_t c = depthwise_place(k->block, p->channels, b, i);
                offset[b * k->block + i] =
                    (int32_t)((uint32_t)p->offset[c] +
                              (uint32_t)middle_offset(k, (const int8_t *)p->w.data + c * p->taps,
                                                      p->taps));
                factor[b * k->block + i] = p->factor[c];
                for (uint32_t j = t; j < t + k->group; j++, at++) {
                    const int8_t *w = p->w.data;
                    const uint32_t tap = depthwise_tap(k->group, p->kh, p->kw, j);
                    int8_t v = tap < p->taps ? w[c * p->taps + tap] : 0;
                    if (k->wide)
                        ((int16_t *)g.data)[at] = v;
                    else
                        ((int8_t *)g.data)[at] = v;
                }
            }
    return g;
}

#endif
