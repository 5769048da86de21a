/* SPDX-License-Identifier: MIT */
/* Supports: choosing between relative index with its parameters and bitmap patterns by real cost,
 * and writing them. Every candidate is priced with its own optimal code and table; there are 28 of
 * them and none is skipped by a rule of thumb. */
#include <stdlib.h>
#include <string.h>
#include "gap_symbols.h"
#include "huff_write.h"

#define SCREEN_LEN 11u /* code length limit while candidates are compared */
/* Far gaps decode at a third of the speed of direct ones: worth a bit for so many. At most 0.3 %
 * of the size at any density, and for small tensors, where the table decides, nothing. */
#define FAR_PER_BIT 64u

static void write_head(struct bit_writer *w, const struct pith_support_code *code)
{
    bw_bits(w, code->kind == PITH_SUPPORT_PATTERNS, 1);
    if (code->kind == PITH_SUPPORT_PATTERNS) {
        bw_bits(w, code->pattern_bits == 8, 1);
    } else {
        bw_bits(w, code->direct_bits, 3);
        bw_bits(w, code->mantissa_bits, 2);
    }
    pith_huff_write_code(w, &code->huff);
}

size_t pith_support_table_bytes(const struct pith_support_code *code)
{
    if (!code)
        return 0;
    uint8_t scratch[PITH_HUFF_TABLE_MAX];
    if (code->huff.n_present == 0)
        return 0;
    struct bit_writer w = bit_writer_to(scratch, sizeof scratch);
    write_head(&w, code);
    return (size_t)(bw_close(&w) - scratch);
}

void pith_support_table_write(const struct pith_support_code *code, uint8_t *dst)
{
    if (!code || !dst)
        return;
    if (code->huff.n_present == 0)
        return;
    struct bit_writer w = bit_writer_to(dst, pith_support_table_bytes(code));
    write_head(&w, code);
    bw_close(&w);
}

uint64_t pith_support_cost_bits(const struct pith_support_code *code,
                                const struct pith_support_profile *profile)
{
    if (!code || !profile)
        return 0;
    struct support_histogram h;
    if (profile->nnz == 0)
        return 0;
    if (!pith_support_histogram(profile, code, &h))
        return UINT64_MAX;
    uint64_t bits = pith_huff_cost_bits(&code->huff, h.hist);
    return bits == UINT64_MAX ? UINT64_MAX : bits + h.extra_bits;
}

size_t pith_support_bound(const struct pith_support_code *code,
                          const struct pith_support_profile *profile)
{
    if (!code || !profile)
        return 0;
    uint64_t bits = pith_support_cost_bits(code, profile);
    uint64_t n = code->kind == PITH_SUPPORT_PATTERNS ? profile->count / code->pattern_bits + 1
                                                     : profile->nnz;
    if (profile->nnz == 0)
        return 0;
    return bits == UINT64_MAX ? SIZE_MAX : (size_t)(bits / 8) + pith_huff_stream_overhead(n);
}

static uint64_t far_count(const struct pith_support_code *code, const struct support_histogram *h)
{
    uint64_t n = 0;
    if (code->kind == PITH_SUPPORT_GAPS)
        for (uint32_t s = 1u << code->direct_bits; s < PITH_SYMBOLS; s++)
            n += h->hist[s];
    return n;
}

/* Keeps *best unless the kind and parameters of *other cost less; *cost belongs to *best. */
static enum pith_status try_code(const struct pith_support_profile *profile,
                                 struct pith_support_code *other, struct pith_support_code *best,
                                 uint64_t *cost)
{
    struct support_histogram h;
    if (!pith_support_histogram(profile, other, &h))
        return PITH_OK;
    enum pith_status st = pith_huff_build_limited(h.hist, SCREEN_LEN, &other->huff);
    if (st)
        return st;
    uint64_t bits = pith_huff_cost_bits(&other->huff, h.hist) + h.extra_bits +
                    8 * pith_support_table_bytes(other) + far_count(other, &h) / FAR_PER_BIT;
    if (bits < *cost) {
        *cost = bits;
        *best = *other;
    }
    return PITH_OK;
}

enum pith_status pith_support_build(const struct pith_support_profile *profile,
                                    struct pith_support_code *code)
{
    if (!profile || !code)
        return PITH_ERR_ARGUMENT;
    struct pith_support_code best, other;
    struct support_histogram h;
    uint64_t cost = UINT64_MAX;
    enum pith_status st = PITH_OK;
    memset(&best, 0, sizeof best);
    memset(&other, 0, sizeof other);
    if (profile->nnz == 0) {
        *code = best;
        return PITH_OK;
    }
    for (uint32_t d = 0; d < 8 && st == PITH_OK; d++)
        for (uint32_t m = 0; m <= d && m < 4 && st == PITH_OK; m++) {
            other.direct_bits = d;
            other.mantissa_bits = m;
            st = try_code(profile, &other, &best, &cost);
        }
    memset(&other, 0, sizeof other);
    other.kind = PITH_SUPPORT_PATTERNS;
    for (uint32_t w = 4; w <= 8 && st == PITH_OK; w += 4) {
        other.pattern_bits = w;
        st = try_code(profile, &other, &best, &cost);
    }
    if (st)
        return st;
    pith_support_histogram(profile, &best, &h);
    st = pith_huff_build(h.hist, &best.huff);
    if (st == PITH_OK)
        *code = best;
    return st;
}

/* Symbols of a mask; gap[i] (relative index only) is the whole gap of symbol i. */
struct support_symbols {
    uint8_t *symbol;
    uint32_t *gap;
    size_t n;
};

static void pattern_symbols(const uint8_t *mask, uint64_t count, uint32_t w,
                            struct support_symbols *s)
{
    for (uint64_t i = 0; i < count; i += w) {
        uint32_t left = count - i < w ? (uint32_t)(count - i) : w;
        s->symbol[s->n++] = (uint8_t)mask_pattern(mask + i, left);
    }
}

/* false: a gap without symbol. */
static bool gap_symbols(const uint8_t *mask, uint64_t count, const struct pith_support_code *code,
                        struct support_symbols *s)
{
    uint64_t next = 0;
    for (uint64_t i = 0; i < count; i += 8) {
        uint32_t left = count - i < 8 ? (uint32_t)(count - i) : 8;
        for (uint32_t p = mask_pattern(mask + i, left); p; p &= p - 1) {
            uint64_t at = i + (uint32_t)__builtin_ctz(p);
            uint32_t gap = (uint32_t)(at - next);
            uint32_t symbol = pith_gap_symbol(gap, code->direct_bits, code->mantissa_bits);
            if (symbol > 255)
                return false;
            s->gap[s->n] = gap;
            s->symbol[s->n++] = (uint8_t)symbol;
            next = at + 1;
        }
    }
    return true;
}

static uint64_t count_nonzeros(const uint8_t *mask, uint64_t count)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < count; i++)
        n += mask[i];
    return n;
}

static enum pith_status encode_gaps(const struct pith_support_code *code,
                                    const struct support_symbols *s, uint8_t *dst, size_t cap,
                                    size_t *bytes)
{
    uint8_t extra_bits[PITH_SYMBOLS];
    memset(extra_bits, 0, sizeof extra_bits);
    for (uint32_t k = 0; k < code->huff.n_symbols; k++)
        extra_bits[k] = (uint8_t)pith_gap_extra_bits(k, code->direct_bits, code->mantissa_bits);
    struct symbol_source src = {s->symbol, s->n, s->gap, extra_bits};
    return pith_huff_encode_source(&code->huff, &src, dst, cap, bytes);
}

enum pith_status pith_support_encode(const struct pith_support_code *code, const uint8_t *mask,
                                     uint64_t count, uint8_t *dst, size_t cap, size_t *bytes)
{
    if (!code || !mask || !bytes)
        return PITH_ERR_ARGUMENT;
    bool patterns = code->kind == PITH_SUPPORT_PATTERNS;
    uint64_t nnz = count_nonzeros(mask, count);
    struct support_symbols s = {NULL, NULL, 0};
    enum pith_status st = PITH_ERR_MEMORY;
    if (nnz == 0) {
        *bytes = 0;
        return PITH_OK;
    }
    if (code->huff.n_present == 0)
        return PITH_ERR_ARGUMENT;
    s.symbol = malloc(patterns ? (size_t)(count / code->pattern_bits) + 1 : (size_t)nnz);
    s.gap = patterns ? NULL : malloc((size_t)nnz * sizeof *s.gap);
    if (!s.symbol || (!patterns && !s.gap))
        goto out;
    if (patterns) {
        pattern_symbols(mask, count, code->pattern_bits, &s);
        st = pith_huff_encode(&code->huff, s.symbol, s.n, dst, cap, bytes);
    } else {
        st = gap_symbols(mask, count, code, &s) ? encode_gaps(code, &s, dst, cap, bytes)
                                                : PITH_ERR_ARGUMENT;
    }
out:
    free(s.symbol);
    free(s.gap);
    return st;
}
