/* SPDX-License-Identifier: MIT */
/* spec_sizes.c - mixed decisions and expected sizes of adaptive streams (S8). */
#include "spec_sizes.h"

static const int64_t first_weight[5][13] = {{27, 27, 33, 61, 35, 18, 13, 30, 15, 15, 15},
                                            {-54, 155, 50, 33, 25, 25, 25, 25},
                                            {85, -1, -15, 76, 79, 15, 15, 15},
                                            {113, 64, 62, 34, -4, 15, 15, 15},
                                            {79, 65, 73, 78}};

void start_sizes(struct model *m, struct view *v, struct counter stored)
{
    static const int64_t first[4] = {47, 17, 23, 32};
    m->mean = 512;
    m->mean_n = 0;
    for (uint64_t i = 0; i < v->cols; i++) {
        v->column[i].mean = 512;
    }
    for (uint32_t i = 0; i < 16; i++) {
        struct counter c = i < 2 ? stored : start_at(first[i - 2 < 3 ? i - 2 : 3], 1);
        renew(m->act[i], 64, c);
        renew(m->both[i][0], 256, c);
        renew(m->around[i], 64, c);
    }
    RENEW(m->pair);
    RENEW(m->sum);
    RENEW(m->above);
    RENEW(m->even);
}

void start_mixing(struct model *m)
{
    for (uint32_t set = 0; set < 5; set++) {
        for (uint32_t i = 0; i < 26; i++) {
            m->all[i / 13][set][i % 13] = 256 * first_weight[set][i % 13];
        }
        for (uint32_t i = 0; i < 32 * 26; i++) {
            m->one[i / 416][i / 13 % 32][set][i % 13] = 256 * first_weight[set][i % 13];
        }
        for (int64_t i = 0; i < 33; i++) {
            m->refine[set][i] = squash(128 * (i - 16)) * 1024;
        }
    }
}

static int64_t octaves(int64_t x)
{
    int64_t e = 0;
    while (x >> (e + 1) > 0) {
        e++;
    }
    return x == 0 ? 0 : 8 * e + (x * 8 >> e) % 8;
}

static int64_t absolute(int64_t v)
{
    return v < 0 ? -v : v;
}

static int64_t sign_of(int64_t v)
{
    return v < 0 ? -1 : v > 0 ? 1 : 0;
}

/* S of column c - k, if `there` and that is one. */
static int64_t S_back(const struct view *v, bool there, uint64_t k)
{
    return there && k <= v->c ? v->column[v->c - k].S : 0;
}

void expect_size(struct model *m, const struct view *v, uint64_t line)
{
    const struct column *col = &v->column[v->c];
    int64_t of_row = octaves(m->row_mean) - octaves(m->mean),
            of_col = octaves(col->mean) - octaves(m->mean);
    int64_t next = v->c + 1 < v->cols ? col[1].S : 0;
    int64_t l = 4 * m->L[0] + 2 * m->L[1] + m->L[2] + 3 * absolute(col->S) + col->P +
                absolute(next) + 2 * absolute(S_back(v, v->place > 1, v->place)) +
                2 * absolute(S_back(v, line > 1, line));
    m->expected = between((of_row + of_col) / 2 + 24, 0, 63);
    m->at_row = between(of_row / 4 + 8, 0, 15);
    m->at_column = between(of_col / 4 + 8, 0, 15);
    m->near = between((octaves(16 * l + 8) - octaves(m->mean) - 24) / 2 + 20, 0, 63);
}

void saw_size(struct model *m, struct column *col, int64_t s)
{
    int64_t v = 256 * absolute(s) + 64;
    col->mean += (v - col->mean) / (3 + between(col->n, 0, 40));
    m->row_mean += (v - m->row_mean) / (4 + between(m->row_n, 0, 40));
    m->mean += (v - m->mean) / (2 + between(m->mean_n, 0, 1000));
    col->n++;
    m->row_n++;
    m->mean_n++;
    m->agree += 256 * sign_of(col->S) * sign_of(s) - m->agree / 16;
    m->balance += 64 * sign_of(s) - m->balance / 16;
    col->P = absolute(col->S);
    col->S = s;
    m->L[2] = m->L[1];
    m->L[1] = m->L[0];
    m->L[0] = absolute(s);
}

/* k counters and the constant. */
uint32_t mixed(struct model *m, uint32_t kind, uint32_t choice, struct counter **c, uint32_t k)
{
    static const int64_t Y[8] = {80, 40, 45, 48, 55, 54, 54, 58};
    int64_t *w[2] = {m->all[m->quantizer][kind], m->one[m->quantizer][choice][kind]};
    int64_t t[13], x[2], *T = m->refine[kind];
    for (uint32_t j = 0; j < k; j++) {
        t[j] = stretch(c[j]->P >> 10);
        t[j] = c[j]->n < 8 ? t[j] * Y[c[j]->n] / 64 : t[j];
    }
    t[k] = 256;
    for (uint32_t i = 0; i < 2; i++) {
        x[i] = 0;
        for (uint32_t j = 0; j <= k; j++) {
            x[i] += w[i][j] * t[j];
        }
        x[i] = between(x[i] >> 16, -2047, 2047);
    }
    int64_t y = (x[0] + x[1]) >> 1, u = y + 2048, i = u >> 7, f = u & 127;
    int64_t mapped = (T[i] * (128 - f) + T[i + 1] * f) >> 17;
    uint32_t b = decide(m, between((between(squash(y), 24, 65512) + mapped) / 2, 24, 65512));
    int64_t *near = f >= 64 ? &T[i + 1] : &T[i];
    *near = b == 1 ? *near + (((1 << 26) - *near) >> 6) : *near - (*near >> 6);
    for (uint32_t n = 0; n < 2; n++) {
        int64_t e = ((int64_t)b * 65536 - between(squash(x[n]), 24, 65512)) * 512 >> 10;
        for (uint32_t j = 0; j <= k; j++) {
            w[n][j] = between(w[n][j] + ((t[j] * e + 8192) >> 14), -(1 << 20), 1 << 20);
        }
    }
    for (uint32_t j = 0; j < k; j++) {
        learn_bit(c[j], b);
    }
    return b;
}

uint32_t mixed_by_size(struct model *m, uint32_t kind, uint32_t node, struct counter **c,
                       uint32_t k)
{
    c[k] = &m->act[node][m->expected];
    c[k + 1] = &m->both[node][m->at_row][m->at_column];
    c[k + 2] = &m->around[node][m->near];
    return mixed(m, kind, (uint32_t)m->expected / 2, c, k + 3);
}

static uint32_t class_of(int64_t v, int64_t most)
{
    int64_t a = absolute(v), k = a < 2 ? a : a < 4 ? 2 : a < 7 ? 3 : a < 12 ? 4 : 5;
    return (uint32_t)(most + sign_of(v) * between(k, 0, most));
}

uint32_t sign_by_size(struct model *m, const struct view *v, struct counter **c, uint32_t rank)
{
    uint64_t pos = v->c % v->place, line = v->line_of_kernel;
    uint32_t r = rank < 3 ? rank : 3;
    bool kernel = v->place > 1 && v->place < v->cols && line > 1;
    bool in = kernel && pos % line > 0, below = kernel && pos >= line;
    int64_t l = S_back(v, in, 1), u = S_back(v, below, line);
    int64_t all = 2 * l + 2 * u + S_back(v, in && below, line + 1) +
                  S_back(v, below && pos % line + 1 < line, line - 1);
    c[4] = &m->pair[r][class_of(l, 4)][class_of(u, 4)];
    c[5] = &m->sum[r][class_of(all, 5)][pos < 63 ? pos : 63];
    c[6] = &m->above[class_of(v->column[v->c].S, 3)][class_of(m->agree / 256, 5)];
    c[7] = &m->even[class_of(m->balance / 64, 5)];
    return mixed(m, 1, r, c, 8);
}
