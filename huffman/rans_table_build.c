/* SPDX-License-Identifier: MIT */
/* Tables of rANS frequencies. The reader's rule decides the frequencies of a table; so every
 * candidate is written, read back, and weighed by the frequencies that come out: its own bits, and
 * those of the symbols under it. Logarithms are in integers, so that the same counts give the same
 * table everywhere. */
#include <string.h>
#include "bit_writer.h"
#include "rans_encode.h"

#define LOG_ONE PITH_RANS_LOG_ONE

struct search {
    const uint64_t *hist;
    uint64_t total;
    struct pith_rans_code best;
    uint64_t best_bits;
};

int32_t pith_rans_log2(uint64_t v)
{
    uint32_t whole = 63 - (uint32_t)__builtin_clzll(v);
    uint64_t x = v << (63 - whole) >> 32; /* 1 .. 2 with 31 bits behind the point */
    int32_t result = (int32_t)whole;
    for (uint32_t i = 0; i < 16; i++) {
        x = x * x >> 31;
        result = result * 2 + (int32_t)(x >> 32);
        x >>= x >> 32;
    }
    return result;
}

static uint32_t frequency_of(const struct rans_table *t, uint32_t s)
{
    return s < t->n_symbols ? (uint32_t)t->start[s + 1] - t->start[s] : 0;
}

bool pith_rans_has_code(const struct pith_rans_code *code, uint32_t s)
{
    const struct rans_table *t = &code->frequencies;
    return t->single ? s + 1u == t->n_symbols
                     : frequency_of(t, s) > 0 || (t->escapes && s < t->n_symbols);
}

/* Of one symbol, in units of LOG_ONE: under its own frequency, or as an escape and a number. */
static uint64_t symbol_cost(const struct rans_table *t, uint32_t s)
{
    uint32_t escaped = t->escapes && (s == t->escape || frequency_of(t, s) == 0);
    uint32_t f = frequency_of(t, escaped ? t->escape : s);
    return (uint64_t)(RANS_BITS + escaped * t->rare_bits) * LOG_ONE - (uint64_t)pith_rans_log2(f);
}

uint64_t pith_rans_cost_bits(const struct pith_rans_code *code, const uint64_t hist[PITH_SYMBOLS])
{
    const struct rans_table *t = &code->frequencies;
    uint64_t sum = 0;
    for (uint32_t s = 0; s < PITH_SYMBOLS; s++) {
        if (hist[s] && !pith_rans_has_code(code, s))
            return UINT64_MAX;
        if (hist[s] && !t->single)
            sum += hist[s] * symbol_cost(t, s); /* < 2^40 * 2^21 */
    }
    return (sum + LOG_ONE - 1) / LOG_ONE;
}

/* ---- candidates ------------------------------------------------------------------------------ */

/* The table in w is taken if it is the best so far. A table that is refused was one too many: its
 * weights vanish. */
static void consider(struct search *s, struct bit_writer *w, uint8_t *bytes)
{
    struct pith_rans_code c;
    c.table_bytes = (size_t)(bw_close(w) - bytes);
    if (w->full || pith_rans_read_table(bytes, c.table_bytes, &c.frequencies))
        return;
    uint64_t bits = pith_rans_cost_bits(&c, s->hist);
    if (bits == UINT64_MAX || bits + 8 * c.table_bytes >= s->best_bits)
        return;
    memcpy(c.table, bytes, c.table_bytes);
    s->best = c;
    s->best_bits = bits + 8 * c.table_bytes;
}

static void write_head(struct bit_writer *w, enum rans_form form, uint32_t n_symbols)
{
    bw_bits(w, form, 2);
    bw_bits(w, n_symbols - 1, 8);
}

static uint32_t zigzag(int32_t v)
{
    return v < 0 ? (uint32_t)(-v) * 2 - 1 : (uint32_t)v * 2;
}

/* The Rice parameter that takes the fewest bits. */
static uint32_t best_rice(const uint8_t *level, uint32_t n)
{
    uint64_t least = (uint64_t)n * RANS_LEVEL_BITS;
    uint32_t best = RANS_LEVEL_RAW;
    for (uint32_t k = 0; k < RANS_LEVEL_RAW; k++) {
        uint64_t bits = 0;
        for (uint32_t i = 0, last = 0; i < n; last = level[i++])
            bits += (zigzag((int32_t)level[i] - (int32_t)last) >> k) + 1 + k;
        if (bits < least) {
            least = bits;
            best = k;
        }
    }
    return best;
}

static void write_levels(struct bit_writer *w, const uint8_t *level, uint32_t n, uint32_t k)
{
    for (uint32_t i = 0, last = 0; i < n; last = level[i++]) {
        uint32_t z = zigzag((int32_t)level[i] - (int32_t)last);
        if (k == RANS_LEVEL_RAW) {
            bw_bits(w, level[i], RANS_LEVEL_BITS);
        } else {
            bw_unary(w, z >> k);
            bw_bits(w, z & ((1u << k) - 1), k);
        }
    }
}

/* The level whose weight is nearest to what a symbol of n should have beside the slot that it gets
 * anyway; 2^scale levels an octave, from a fourth of a slot on. */
static uint8_t level_of(const struct search *s, uint64_t n, uint32_t scale)
{
    if (n == 0)
        return 0;
    if (n << RANS_BITS <= s->total)
        return RANS_LEVEL_SMALL;
    int32_t one = (int32_t)LOG_ONE;
    int32_t octaves =
        pith_rans_log2((n << RANS_BITS) - s->total) - pith_rans_log2(s->total) + 2 * one;
    int32_t at = octaves * (1 << scale) + one / 2;
    return at < 0 ? RANS_LEVEL_SMALL : (uint8_t)(RANS_LEVEL_SMALL + 1 + (uint32_t)(at / one));
}

/* Of symbols below n. escape < 0: none; else hist holds all that the escape stands for at that
 * symbol. */
static void try_levels(struct search *s, const uint64_t *hist, uint32_t n, int32_t escape,
                       uint32_t scale)
{
    uint8_t level[PITH_SYMBOLS], bytes[PITH_RANS_TABLE_MAX];
    struct bit_writer w = bit_writer_to(bytes, sizeof bytes);
    for (uint32_t i = 0; i < n; i++)
        level[i] = level_of(s, hist[i], scale);
    write_head(&w, RANS_LEVELS, n);
    bw_bits(&w, escape >= 0, 1);
    if (escape >= 0)
        bw_bits(&w, (uint32_t)escape, 8);
    uint32_t k = best_rice(level, n);
    bw_bits(&w, scale, 2);
    bw_bits(&w, k, 3);
    write_levels(&w, level, n, k);
    consider(s, &w, bytes);
}

/* Symbols that should have less than a slot in `parts` become one, the most frequent of them. */
static void try_escape(struct search *s, uint32_t n_symbols, uint32_t parts)
{
    uint64_t hist[PITH_SYMBOLS], rare = 0;
    int32_t escape = -1;
    uint32_t n_rare = 0;
    for (uint32_t i = 0; i < PITH_SYMBOLS; i++) {
        bool is_rare = s->hist[i] > 0 && s->hist[i] << (RANS_BITS + 2) < s->total * parts;
        hist[i] = is_rare ? 0 : s->hist[i];
        rare += is_rare ? s->hist[i] : 0;
        n_rare += is_rare;
        if (is_rare && (escape < 0 || s->hist[i] > s->hist[escape]))
            escape = (int32_t)i;
    }
    if (n_rare < 2)
        return;
    hist[escape] = rare;
    for (uint32_t scale = 1; scale < 4; scale++)
        try_levels(s, hist, n_symbols, escape, scale);
}

/* ---- curves ---------------------------------------------------------------------------------- */

struct curve {
    int64_t centre, slope, bend;
};

static uint32_t within(int64_t v, uint32_t bits)
{
    int64_t most = (INT64_C(1) << bits) - 1;
    return (uint32_t)(v < 0 ? 0 : v > most ? most : v);
}

static bool try_curve(struct search *s, uint32_t n_symbols, const struct curve *c)
{
    uint8_t bytes[PITH_RANS_TABLE_MAX];
    uint64_t before = s->best_bits;
    struct bit_writer w = bit_writer_to(bytes, sizeof bytes);
    write_head(&w, RANS_CURVE, n_symbols);
    bw_bits(&w, 0, 1);
    bw_bits(&w, within(c->centre, RANS_CENTRE_BITS), RANS_CENTRE_BITS);
    bw_bits(&w, within(c->slope, RANS_SLOPE_BITS), RANS_SLOPE_BITS);
    bw_bits(&w, within(c->bend, RANS_BEND_BITS), RANS_BEND_BITS);
    consider(s, &w, bytes);
    return s->best_bits < before;
}

/* Steps of each number while they help. */
static void improve(struct search *s, uint32_t n_symbols, struct curve c)
{
    for (uint32_t round = 0; round < 16; round++) {
        bool better = false;
        int64_t slope = c.slope / 16 + 1, bend = c.bend / 16 + 1;
        const struct curve next[6] = {
            {c.centre + 1, c.slope, c.bend},     {c.centre - 1, c.slope, c.bend},
            {c.centre, c.slope + slope, c.bend}, {c.centre, c.slope - slope, c.bend},
            {c.centre, c.slope, c.bend + bend},  {c.centre, c.slope, c.bend - bend}};
        for (uint32_t i = 0; i < 6; i++)
            if (try_curve(s, n_symbols, &next[i])) {
                c = next[i];
                better = true;
            }
        if (!better)
            return;
    }
}

/* From the mean and the mean distances: a Laplace and a Gauss distribution, and half of both. With
 * a mean distance of m half symbols the first falls by 8 / ln 2 / m eighths of an octave a half
 * symbol, with a mean square of v the second by 4 / ln 2 / v times the square. */
static void try_curves(struct search *s, uint32_t n_symbols)
{
    uint64_t sum = 0, far = 0, squares = 0;
    for (uint32_t i = 0; i < n_symbols; i++)
        sum += s->hist[i] * 2 * i;
    int64_t centre = (int64_t)((sum + s->total / 2) / s->total);
    for (uint32_t i = 0; i < n_symbols; i++) {
        int64_t d = 2 * (int64_t)i - centre;
        far += s->hist[i] * (uint64_t)(d < 0 ? -d : d);
        squares += s->hist[i] * (uint64_t)(d * d);
    }
    int64_t slope = far ? (int64_t)(s->total * 369 / far) : 255;           /* 8 / ln 2 * 32 */
    int64_t bend = squares ? (int64_t)(s->total * 23637 / squares) : 1023; /* 4 / ln 2 * 4096 */
    const struct curve start[3] = {
        {centre, slope, 0}, {centre, 0, bend}, {centre, slope / 2, bend / 2}};
    for (uint32_t i = 0; i < 3; i++)
        if (try_curve(s, n_symbols, &start[i]))
            improve(s, n_symbols, start[i]);
}

static void build(const uint64_t hist[PITH_SYMBOLS], bool escapes, struct pith_rans_code *code)
{
    struct search s = {.hist = hist, .best_bits = UINT64_MAX};
    uint32_t n_present = 0, n_symbols = 0;
    for (uint32_t i = 0; i < PITH_SYMBOLS; i++) {
        s.total += hist[i];
        n_present += hist[i] > 0;
        n_symbols = hist[i] ? i + 1 : n_symbols;
    }
    if (n_present == 1) {
        uint8_t bytes[2];
        struct bit_writer w = bit_writer_to(bytes, sizeof bytes);
        write_head(&w, RANS_ONE, n_symbols);
        consider(&s, &w, bytes);
    }
    for (uint32_t scale = 0; scale < 4 && n_present > 1; scale++)
        try_levels(&s, hist, n_symbols, -1, scale);
    for (uint32_t parts = 1; escapes && parts <= 8 && n_present > 1; parts *= 2)
        try_escape(&s, n_symbols, parts);
    if (n_present > 3)
        try_curves(&s, n_symbols);
    *code = s.best;
}

void pith_rans_build(const uint64_t hist[PITH_SYMBOLS], struct pith_rans_code *code)
{
    build(hist, true, code);
}

void pith_rans_build_whole(const uint64_t hist[PITH_SYMBOLS], struct pith_rans_code *code)
{
    build(hist, false, code);
}
