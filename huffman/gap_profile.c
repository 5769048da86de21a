/* SPDX-License-Identifier: MIT */
/* Statistics of a mask from which the cost of every support code follows: gaps below 256 one by
 * one, larger ones in eighths of octaves (the finest buckets a code can have), and the bitmap as
 * bytes and nibbles. */
#include <string.h>
#include "gap_symbols.h"

uint32_t pith_gap_symbol(uint32_t gap, uint32_t direct_bits, uint32_t mantissa_bits)
{
    if (gap >> direct_bits == 0)
        return gap;
    uint32_t e = 31 - (uint32_t)__builtin_clz(gap);
    uint32_t mantissa = gap >> (e - mantissa_bits);
    return (1u << direct_bits) + ((e - direct_bits) << mantissa_bits) + mantissa -
           (1u << mantissa_bits);
}

uint32_t pith_gap_extra_bits(uint32_t symbol, uint32_t direct_bits, uint32_t mantissa_bits)
{
    uint32_t direct = 1u << direct_bits;
    if (symbol < direct)
        return 0;
    return direct_bits + ((symbol - direct) >> mantissa_bits) - mantissa_bits;
}

static void count_gap(struct pith_support_profile *p, uint64_t gap)
{
    if (gap < 256) {
        p->gap[gap]++;
        return;
    }
    uint32_t e = 63 - (uint32_t)__builtin_clzll(gap);
    p->far_gap[e - 8][gap >> (e - 3) & 7]++;
}

void pith_support_profile_add(struct pith_support_profile *p, const uint8_t *mask, uint64_t count)
{
    if (!p || !mask)
        return;
    uint64_t next = 0;
    for (uint64_t i = 0; i < count; i += 8) {
        uint32_t left = count - i < 8 ? (uint32_t)(count - i) : 8;
        uint32_t pattern = mask_pattern(mask + i, left);
        p->pattern8[pattern]++;
        p->pattern4[pattern & 15]++;
        if (left > 4)
            p->pattern4[pattern >> 4]++;
        for (; pattern; pattern &= pattern - 1) {
            uint64_t at = i + (uint32_t)__builtin_ctz(pattern);
            count_gap(p, at - next);
            next = at + 1;
            p->nnz++;
        }
    }
    p->count += count;
}

void pith_support_profile_sum(struct pith_support_profile *sum,
                              const struct pith_support_profile *more)
{
    if (!sum || !more)
        return;
    sum->count += more->count;
    sum->nnz += more->nnz;
    for (uint32_t i = 0; i < 256; i++) {
        sum->gap[i] += more->gap[i];
        sum->pattern8[i] += more->pattern8[i];
    }
    for (uint32_t i = 0; i < 16; i++)
        sum->pattern4[i] += more->pattern4[i];
    for (uint32_t i = 0; i < 24; i++)
        for (uint32_t k = 0; k < 8; k++)
            sum->far_gap[i][k] += more->far_gap[i][k];
}

static bool gap_histogram(const struct pith_support_profile *p, uint32_t d, uint32_t m,
                          struct support_histogram *h)
{
    for (uint32_t gap = 0; gap < 256; gap++)
        if (p->gap[gap]) {
            uint32_t s = pith_gap_symbol(gap, d, m);
            if (s > 255)
                return false;
            h->hist[s] += p->gap[gap];
            h->extra_bits += p->gap[gap] * pith_gap_extra_bits(s, d, m);
        }
    for (uint32_t i = 0; i < 24; i++)
        for (uint32_t k = 0; k < 8; k++) {
            uint64_t n = p->far_gap[i][k];
            uint32_t s = n ? pith_gap_symbol((8 + k) << (5 + i), d, m) : 0;
            if (s > 255)
                return false;
            h->hist[s] += n;
            h->extra_bits += n ? n * pith_gap_extra_bits(s, d, m) : 0;
        }
    h->n = p->nnz;
    return true;
}

bool pith_support_histogram(const struct pith_support_profile *p,
                            const struct pith_support_code *code, struct support_histogram *h)
{
    memset(h, 0, sizeof *h);
    if (code->kind == PITH_SUPPORT_GAPS)
        return gap_histogram(p, code->direct_bits, code->mantissa_bits, h);
    if (code->pattern_bits == 8)
        memcpy(h->hist, p->pattern8, sizeof p->pattern8);
    else
        memcpy(h->hist, p->pattern4, sizeof p->pattern4);
    for (uint32_t s = 0; s < PITH_SYMBOLS; s++)
        h->n += h->hist[s];
    return true;
}
