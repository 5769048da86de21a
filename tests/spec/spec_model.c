/* SPDX-License-Identifier: MIT */
/* spec_model.c - arithmetic code and counters (S8). */
#include "spec_model.h"

const struct counter new_counter = {1 << 21, 0};

static uint32_t stream_byte(struct code *m)
{
    return left(&m->bytes) > 0 ? u8(&m->bytes) : 0;
}

void open_code(struct code *m, struct span stream)
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

uint32_t decide(struct code *m, int64_t p)
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

void check_code_end(const struct code *m, struct span stream)
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

int64_t shifted(int64_t v, uint32_t by)
{
    int64_t unit = INT64_C(1) << by, q = v / unit;
    return q - (v % unit < 0 ? 1 : 0);
}

static void learn_bit(struct counter *c, uint32_t b)
{
    int64_t all = b == 1 ? (1 << 22) - 1 : 0;
    c->P += (all - c->P) / 32 * (524288 / (32 * c->n + 45)) / 512;
    c->n = c->n < 210 ? c->n + 1 : 210;
}

uint32_t single(struct code *m, struct counter *c)
{
    uint32_t b = decide(m, between(c->P >> 6, 24, 65512));
    learn_bit(c, b);
    return b;
}

static int64_t squash(int64_t x)
{
    static const int64_t S[33] = {22,    36,    60,    98,    162,   267,   439,   720,   1179,
                                  1921,  3108,  4971,  7812,  11955, 17625, 24743, 32768, 40793,
                                  47911, 53581, 57724, 60565, 62428, 63615, 64357, 64816, 65097,
                                  65269, 65374, 65438, 65476, 65500, 65514};
    int64_t u = between(x, -2047, 2047) + 2048, i = u >> 7, f = u & 127;
    return (S[i] * (128 - f) + S[i + 1] * f) >> 7;
}

static int64_t stretch(int64_t q)
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

uint32_t raw(struct code *m, uint32_t n)
{
    uint32_t v = 0;
    while (n-- > 0) {
        v = 2 * v + decide(m, 32768);
    }
    return v;
}

static int64_t B(int64_t p)
{
    return between(p, 24, 65512);
}

static int64_t sum_of(const int64_t *w, const int64_t *t, uint32_t n)
{
    int64_t x = 0;
    for (uint32_t j = 0; j <= n; j++) {
        x += w[j] * t[j];
    }
    return between(shifted(x, 16), -2047, 2047);
}

static void learn_sum(int64_t *w, const int64_t *t, uint32_t n, int64_t x, uint32_t b)
{
    int64_t e = b * 65536 - B(squash(x));
    for (uint32_t j = 0; j <= n; j++) {
        w[j] = between(w[j] + shifted(t[j] * e + 8192, 14), -(1 << 20), 1 << 20);
    }
}

uint32_t mixed(struct code *m, struct counter *const *c, uint32_t n, int64_t *w, int64_t *w1)
{
    static const int64_t Y[] = {80, 40, 45, 48, 55, 54, 54, 58};
    int64_t t[16];
    for (uint32_t j = 0; j < n; j++) {
        t[j] = stretch(c[j]->P >> 10);
        t[j] = c[j]->n < 8 ? t[j] * Y[c[j]->n] / 64 : t[j];
    }
    t[n] = 256;
    int64_t x = sum_of(w, t, n), x1 = sum_of(w1, t, n);
    uint32_t b = decide(m, B(squash(shifted(x + x1, 1))));
    learn_sum(w, t, n, x, b);
    learn_sum(w1, t, n, x1, b);
    for (uint32_t j = 0; j < n; j++) {
        learn_bit(c[j], b);
    }
    return b;
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
