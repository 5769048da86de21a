/* SPDX-License-Identifier: MIT */
/* select_largest.c - selection by radix: four counting passes find the k-th largest key, one more
 * pass applies it. Linear time for any input, no copy of the keys, no dependence on their order. */
#include "select_largest.h"

#include <string.h>

enum { ROUND_BITS = 8, SMALL = 32 };

static uint32_t round_shift(uint32_t round)
{
    return ROUND_BITS * (LARGEST_ROUNDS - 1 - round);
}

void pith_largest_begin(struct largest_search *s, uint64_t k)
{
    memset(s, 0, sizeof *s);
    s->wanted = k;
}

void pith_largest_count(struct largest_search *s, const uint32_t *keys, uint64_t n)
{
    uint32_t shift = round_shift(s->round);
    /* bits above this round's digit; shifted in two steps because a shift by 32 is undefined */
    for (uint64_t i = 0; i < n; i++) {
        if (((keys[i] ^ s->prefix) >> shift) >> ROUND_BITS == 0)
            s->histogram[keys[i] >> shift & 0xff]++;
    }
}

void pith_largest_next(struct largest_search *s)
{
    uint32_t digit = 255;
    while (digit > 0 && s->histogram[digit] < s->wanted)
        s->wanted -= s->histogram[digit--];
    s->prefix |= digit << round_shift(s->round);
    s->round++;
    memset(s->histogram, 0, sizeof s->histogram);
}

struct largest_rule pith_largest_end(const struct largest_search *s)
{
    return (struct largest_rule){s->prefix, s->wanted};
}

void pith_largest_apply(struct largest_rule *rule, const uint32_t *keys, uint64_t n, uint8_t *keep)
{
    for (uint64_t i = 0; i < n; i++) {
        keep[i] = keys[i] > rule->threshold;
        if (keys[i] == rule->threshold && rule->n_ties > 0) {
            keep[i] = 1;
            rule->n_ties--;
        }
    }
}

/* Counting, for each key, the ones before it in the order: cheaper than a histogram of 256. */
static void rank_small(const uint32_t *keys, uint64_t n, uint64_t k, uint8_t *keep)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t ahead = 0;
        for (uint64_t j = 0; j < n; j++)
            ahead += keys[j] > keys[i] || (keys[j] == keys[i] && j < i);
        keep[i] = ahead < k;
    }
}

void pith_largest(const uint32_t *keys, uint64_t n, uint64_t k, uint8_t *keep)
{
    if (n <= SMALL || k == 0) {
        if (k == 0)
            memset(keep, 0, n);
        else
            rank_small(keys, n, k, keep);
        return;
    }
    struct largest_search s;
    pith_largest_begin(&s, k);
    for (uint32_t round = 0; round < LARGEST_ROUNDS; round++) {
        pith_largest_count(&s, keys, n);
        pith_largest_next(&s);
    }
    struct largest_rule rule = pith_largest_end(&s);
    pith_largest_apply(&rule, keys, n, keep);
}

/* Ascending as the floats are, negative ones among them. */
static uint32_t key_of(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits >> 31 ? ~bits : bits | 1u << 31;
}

static float float_of(uint32_t key)
{
    uint32_t bits = key >> 31 ? key & ~(1u << 31) : ~key;
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

float pith_kth_largest(const float *v, uint64_t n, uint64_t k)
{
    enum { PIECE = 256 };
    uint32_t keys[PIECE];
    struct largest_search s;
    pith_largest_begin(&s, k);
    for (uint32_t round = 0; round < LARGEST_ROUNDS; round++) {
        for (uint64_t i = 0; i < n; i += PIECE) {
            uint64_t m = n - i < PIECE ? n - i : PIECE;
            for (uint64_t j = 0; j < m; j++)
                keys[j] = key_of(v[i + j]);
            pith_largest_count(&s, keys, m);
        }
        pith_largest_next(&s);
    }
    return float_of(pith_largest_end(&s).threshold);
}
