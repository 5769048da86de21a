/* SPDX-License-Identifier: MIT */
/* spec_rans.c - rANS tables and streams (S10). */
#include "spec_rans.h"
#include <string.h>

/* The weight at e eighths of an octave. */
static uint64_t rans_weight(uint32_t e)
{
    static const uint64_t part[8] = {128, 140, 152, 166, 181, 197, 215, 235};
    return part[e % 8] << (e / 8);
}

static void rans_share_out(struct rans *t, const uint64_t *weight, const bool *occurs, uint64_t at)
{
    uint64_t W = 0, sum = 0, n = 0, before = 0;
    for (uint32_t s = 0; s < t->n_symbols; s++) {
        W += weight[s];
        n += occurs[s];
    }
    must(W > 0, at, "not all weights may be 0");
    must(n >= 2, at, "two symbols or more must occur");
    for (uint32_t s = 0; s <= t->n_symbols; s++) {
        t->begin[s] = (uint32_t)(sum * (4096 - n) / W + before);
        if (s < t->n_symbols) {
            sum += weight[s];
            before += occurs[s];
        }
    }
}

static void rans_read_levels(struct bits *b, struct rans *t)
{
    uint64_t weight[256] = {0}, at = b->at / 8;
    bool occurs[256];
    uint32_t r = field(b, 2), k = field(b, 3);
    int64_t level = 0;
    for (uint32_t s = 0; s < t->n_symbols; s++) {
        if (k == 7) {
            level = (int64_t)field(b, 7);
        } else {
            uint64_t q = unary(b);
            level += unzigzag((q << k) + field(b, k));
        }
        must(level >= 0 && level <= 127, at, "a level is 0..127");
        occurs[s] = level > 0;
        if (level >= 2) {
            uint32_t e = (uint32_t)(level - 2) * (8u >> r);
            must(e <= 135, at, "a level is at most 135 eighths");
            weight[s] = rans_weight(e);
        }
    }
    if (t->escapes) {
        must(t->escape < t->n_symbols && occurs[t->escape], at, "the escape must occur");
        for (uint32_t s = 0; s < t->n_symbols; s++) {
            if (!occurs[s] || s == t->escape) {
                t->rare[t->n_rare++] = s;
            }
        }
        must(t->n_rare >= 2, at, "an escape stands for two symbols or more");
    } else {
        must(level > 0, at, "the last symbol must occur");
    }
    rans_share_out(t, weight, occurs, at);
}

static void rans_read_curve(struct bits *b, struct rans *t)
{
    uint64_t weight[256], at = b->at / 8;
    bool occurs[256];
    int64_t c = (int64_t)field(b, 9), slope = (int64_t)field(b, 8), bend = (int64_t)field(b, 10);
    must(!t->escapes, at, "a curve has no escape");
    for (uint32_t s = 0; s < t->n_symbols; s++) {
        int64_t d = 2 * (int64_t)s > c ? 2 * (int64_t)s - c : c - 2 * (int64_t)s;
        int64_t e = 128 - (128 * slope * d + bend * d * d) / 4096;
        occurs[s] = true;
        weight[s] = e >= 0 ? rans_weight((uint32_t)e) : 0;
    }
    rans_share_out(t, weight, occurs, at);
}

void read_rans(struct bits *b, struct rans *t)
{
    uint64_t at = b->at / 8;
    uint32_t form = field(b, 2);
    memset(t, 0, sizeof *t);
    t->n_symbols = field(b, 8) + 1;
    must(form != 3, at, "a form is 0..2");
    t->single = form == 0;
    if (!t->single) {
        t->escapes = field(b, 1) == 1;
        t->escape = t->escapes ? field(b, 8) : 0;
    }
    if (form == 1) {
        rans_read_levels(b, t);
    } else if (form == 2) {
        rans_read_curve(b, t);
    }
}

static void rans_read_block(const struct rans *t, struct span states, struct span words,
                            struct span escapes, uint8_t *symbol, uint64_t n)
{
    uint64_t x[32];
    struct bits rare = bits_of(escapes);
    uint32_t width = 0;
    while (1u << width < t->n_rare) {
        width++;
    }
    for (uint32_t lane = 0; lane < 32; lane++) {
        x[lane] = 0;
        for (uint32_t byte = 0; byte < 4; byte++) {
            x[lane] += (uint64_t)u8(&states) << (8 * byte);
        }
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t *state = &x[i % 32], slot = *state % 4096;
        uint32_t s = 0;
        while (slot >= t->begin[s + 1]) {
            s++;
        }
        *state = (t->begin[s + 1] - t->begin[s]) * (*state / 4096) + slot - t->begin[s];
        if (*state < 65536) {
            *state = *state << 16;
            *state += u8(&words);
            *state += (uint64_t)u8(&words) << 8;
        }
        if (t->escapes && s == t->escape) {
            uint32_t number = field(&rare, width);
            must(number < t->n_rare, rare.at / 8, "an escape past the last rare symbol");
            s = t->rare[number];
        }
        symbol[i] = (uint8_t)s;
    }
    for (uint32_t lane = 0; lane < 32; lane++) {
        must(x[lane] == 65536, states.at, "a state must end at 2^16");
    }
    must(left(&words) == 0, words.at, "words behind the last one of a block");
    padding(&rare);
}

uint8_t *read_rans_stream(struct span s, const struct rans *t, uint64_t n)
{
    uint8_t *symbol = zeroed(n, 1);
    if (t->single) {
        must(left(&s) == 0, s.at, "one symbol takes no bytes");
        memset(symbol, (int)(t->n_symbols - 1), n);
        return symbol;
    }
    uint64_t at = s.at;
    uint32_t bits = u8(&s);
    must(bits >= 12 && bits <= 24, at, "a block has 2^12 to 2^24 symbols");
    uint64_t size = UINT64_C(1) << bits, n_blocks = (n + size - 1) / size;
    struct span directory = s;
    for (uint64_t i = 0; i < (t->escapes ? 2 : 1) * n_blocks; i++) {
        varint_in(&s, 0, UINT64_C(1) << 24, "words and escape bytes of a block: at most 2^24");
    }
    for (uint64_t i = 0; i < n_blocks; i++) {
        uint64_t words = varint(&directory), escapes = t->escapes ? varint(&directory) : 0;
        struct span states = cut(&s, 128), w = cut(&s, 2 * words), e = cut(&s, escapes);
        rans_read_block(t, states, w, e, symbol + i * size,
                        n - i * size < size ? n - i * size : size);
    }
    must(left(&s) == 0, s.at, "bytes behind the last block");
    return symbol;
}
