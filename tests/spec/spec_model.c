/* SPDX-License-Identifier: MIT */
/* spec_model.c - arithmetic code and counters (S8). */
#include "spec_model.h"

const struct counter new_counter = {1 << 21, 0};

static uint32_t stream_byte(struct model *m)
{
    return left(&m->bytes) > 0 ? u8(&m->bytes) : 0;
}

void open_code(struct model *m, struct span stream)
{
    m->bytes = stream;
    m->low = 0;
    m->high = 0xFFFFFFFF;
    m->code = 0;
    m->shifted = 0;
    for (int i = 0; i < 4; i++) {
        m->code = m->code << 8 | stream_byte(m);
    }
}

uint32_t decide(struct model *m, int64_t p)
{
    uint64_t mid = m->low + ((m->high - m->low) * (uint64_t)p >> 16);
    uint32_t bit = m->code <= mid;
    if (bit == 1) {
        m->high = mid;
    } else {
        m->low = mid + 1;
    }
    while (m->low >> 24 == m->high >> 24) {
        m->low = m->low << 8 & 0xFFFFFFFF;
        m->high = (m->high << 8 & 0xFFFFFFFF) + 255;
        m->code = (m->code << 8 & 0xFFFFFFFF) + stream_byte(m);
        m->shifted++;
    }
    return bit;
}

void check_code_end(const struct model *m, struct span stream)
{
    uint64_t v = 0;
    for (uint32_t low_bits = 24; v < m->low || v > m->high; low_bits -= 8) {
        uint64_t unit = UINT64_C(1) << low_bits;
        v = (m->low + unit - 1) / unit * unit;
    }
    uint64_t rest = 0;
    while (rest < 4 && (v << 8 * rest & 0xFFFFFFFF) != 0) {
        rest++;
    }
    must(left(&stream) == m->shifted + rest, stream.end, "an adaptive stream is as long as needed");
    must(m->code == v, stream.end, "an adaptive stream must end with its shortest code");
}

int64_t between(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

void learn_bit(struct counter *c, uint32_t b)
{
    int64_t all = b == 1 ? (1 << 22) - 1 : 0;
    c->P += (all - c->P) / 32 * (524288 / (32 * c->n + 45)) / 512;
    c->n = c->n < 210 ? c->n + 1 : 210;
}

uint32_t single(struct model *m, struct counter *c)
{
    uint32_t b = decide(m, between(c->P >> 6, 24, 65512));
    learn_bit(c, b);
    return b;
}

int64_t squash(int64_t x)
{
    static const int64_t S[33] = {22,    36,    60,    98,    162,   267,   439,   720,   1179,
                                  1921,  3108,  4971,  7812,  11955, 17625, 24743, 32768, 40793,
                                  47911, 53581, 57724, 60565, 62428, 63615, 64357, 64816, 65097,
                                  65269, 65374, 65438, 65476, 65500, 65514};
    int64_t u = between(x, -2047, 2047) + 2048, i = u >> 7, f = u & 127;
    return (S[i] * (128 - f) + S[i + 1] * f) >> 7;
}

int64_t stretch(int64_t q)
{
    static int64_t known[4096];
    static bool filled;
    for (int64_t k = 0; !filled && k < 4096; k++) {
        int64_t x = -2047;
        while (x < 2047 && squash(x) >> 4 < k) {
            x++;
        }
        known[k] = x;
    }
    filled = true;
    return known[q];
}

void renew(struct counter *c, uint32_t n, struct counter value)
{
    for (uint32_t i = 0; i < n; i++) {
        c[i] = value;
    }
}

struct counter start_at(int64_t sixty_fourths, int64_t n)
{
    return (struct counter){sixty_fourths << 16, n};
}
