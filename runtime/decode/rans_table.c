/* SPDX-License-Identifier: MIT */
/* Frequencies of unknown origin. A table stores weights, which are turned into frequencies by one
 * rule that gives each symbol at least 1 and all of them 4096 together, whatever the weights: so
 * every slot has a symbol, and a decoder needs no test. */
#include "decode/rans_table.h"

/* 128 * 2^(i / 8), rounded An eighth of an octave is 9 %, so a frequency is stored within 4.5 % in
 * three bits and an exponent. */
static const uint8_t eighth[8] = {128, 140, 152, 166, 181, 197, 215, 235};

/* < 2^24 */
static uint32_t weight_of(uint32_t eighths)
{
    return (uint32_t)eighth[eighths & 7] << (eighths >> 3);
}

/* weight[s] of the symbols that occur. The sum of weights up to a symbol, rounded down to slots,
 * decides where it begins; every symbol before it adds one slot. false: all weights are 0. One
 * slot each is dealt out first, the others by weight: no frequency is 0, and the sum is exact
 * because the last sum is the total. */
static bool set_starts(struct rans_table *t, const uint32_t *weight, const bool *occurs)
{
    uint64_t total = 0, sum = 0;
    uint32_t n_present = 0, before = 0;
    for (uint32_t s = 0; s < t->n_symbols; s++) {
        total += weight[s];
        n_present += occurs[s];
    }
    if (total == 0 || n_present < 2)
        return false;
    for (uint32_t s = 0; s <= t->n_symbols; s++) {
        /* < 2^32 * 2^12: no overflow. */
        t->start[s] = (uint16_t)(sum * (RANS_SLOTS - n_present) / total + before);
        if (s < t->n_symbols) {
            sum += weight[s];
            before += occurs[s];
        }
    }
    return true;
}

/* Shape of a level's code: `k` low bits, unless each is written as it is. A difference to the
 * level before, in zigzag. */
static uint32_t read_level(struct bit_reader *r, uint32_t k, uint32_t last)
{
    if (k == RANS_LEVEL_RAW)
        return br_bits(r, RANS_LEVEL_BITS);
    uint32_t z = br_unary(r, 2u << RANS_LEVEL_BITS) << k;
    z |= br_bits(r, k);
    return last + (z & 1 ? -(z >> 1) - 1 : z >> 1); /* what leaves 0..127 is refused */
}

/* What an escape may stand for: all that has no frequency of its own, in order. Symbols without
 * a frequency need fewer slots than one each. */
static bool set_rare(struct rans_table *t, const bool *occurs)
{
    if (t->escape >= t->n_symbols || !occurs[t->escape])
        return false;
    for (uint32_t s = 0; s < t->n_symbols; s++)
        if (!occurs[s] || s == t->escape)
            t->rare[t->n_rare++] = (uint8_t)s;
    while (1u << t->rare_bits < t->n_rare)
        t->rare_bits++;
    return t->n_rare > 1;
}

/* Steps of 1, 2, 4 or 8 eighths. */
static bool read_levels(struct bit_reader *r, struct rans_table *t)
{
    uint32_t weight[RANS_SYMBOLS] = {0}, level = 0;
    bool occurs[RANS_SYMBOLS];
    uint32_t shift = 3 - br_bits(r, 2), k = br_bits(r, 3);
    for (uint32_t s = 0; s < t->n_symbols; s++) {
        level = read_level(r, k, level);
        uint32_t eighths = (level - RANS_LEVEL_SMALL - 1) << shift;
        if (r->bad || level >> RANS_LEVEL_BITS != 0 ||
            (level > RANS_LEVEL_SMALL && eighths > RANS_MAX_EIGHTHS))
            return false;
        occurs[s] = level > 0;
        if (level > RANS_LEVEL_SMALL)
            weight[s] = weight_of(eighths);
    }
    return (t->escapes ? set_rare(t, occurs) : level > 0) && set_starts(t, weight, occurs);
}

/* Weights of quantized layers fall off smoothly around zero, so three numbers suffice. */
static bool read_curve(struct bit_reader *r, struct rans_table *t)
{
    uint32_t weight[RANS_SYMBOLS] = {0};
    bool occurs[RANS_SYMBOLS];
    uint32_t centre = br_bits(r, RANS_CENTRE_BITS), slope = br_bits(r, RANS_SLOPE_BITS);
    uint32_t bend = br_bits(r, RANS_BEND_BITS);
    for (uint32_t s = 0; s < t->n_symbols; s++) {
        uint32_t d = 2 * s > centre ? 2 * s - centre : centre - 2 * s; /* <= 511 */
        uint32_t down = (slope * d * 128 + bend * d * d) >> 12;
        occurs[s] = true;
        if (down <= RANS_CURVE_TOP)
            weight[s] = weight_of(RANS_CURVE_TOP - down);
    }
    return !r->bad && !t->escapes && set_starts(t, weight, occurs);
}

enum pith_status pith_rans_read_table(const uint8_t *bytes, size_t n_bytes, struct rans_table *t)
{
    struct bit_reader r = bit_reader_of(bytes, n_bytes);
    uint32_t form = br_bits(&r, 2);
    bool ok = false;
    memset(t, 0, sizeof *t);
    t->n_symbols = (uint16_t)(br_bits(&r, 8) + 1);
    t->single = form == RANS_ONE;
    if (!t->single)
        t->escapes = br_bits(&r, 1);
    if (t->escapes)
        t->escape = (uint8_t)br_bits(&r, 8);
    if (form == RANS_LEVELS)
        ok = read_levels(&r, t);
    else if (form == RANS_CURVE)
        ok = read_curve(&r, t);
    else
        ok = t->single;
    return ok && br_at_end(&r) ? PITH_OK : PITH_ERR_CORRUPT;
}

/* Low 8 bits the symbol, then the slot's distance from its start, then the frequency. */
void pith_rans_build_entries(const struct rans_table *t, uint32_t *entries)
{
    for (uint32_t s = 0; s < t->n_symbols; s++) {
        uint32_t frequency = (uint32_t)t->start[s + 1] - t->start[s];
        for (uint32_t i = 0; i < frequency; i++)
            entries[t->start[s] + i] = frequency << 20 | i << 8 | s;
    }
}
