/* SPDX-License-Identifier: MIT */
/* spec_adaptive.c - adaptive streams (S8). */
#include "spec_adaptive.h"
#include <stdlib.h>
#include "spec_model.h"

struct node {
    struct counter expected[64], both[16][16], near[64], beside[256], all;
};

struct adaptive {
    struct code code;
    struct node node[15];
    struct counter *stored, *negative; /* [cols] */
    struct counter pair[4][9][9], around[11][9], balance[11], far[7];
    int64_t w[2][4][9][6];
};

static struct counter first_of(const struct tensor *t, uint32_t node)
{
    static const int64_t later[] = {47, 17, 23};
    int64_t q = (int64_t)((t->nnz << 20) / t->count);
    if (node > 1) {
        return start_at(node < 5 ? later[node - 2] : 32, 1);
    }
    return t->support == 0 ? new_counter : (struct counter){4 * between(q, 1000, 1046000), 1};
}

struct adaptive *open_adaptive(const struct walk *k)
{
    struct adaptive *a = zeroed(1, sizeof *a);
    for (uint32_t n = 0; n < 15; n++) {
        renew((struct counter *)&a->node[n], sizeof a->node[n] / sizeof(struct counter),
              first_of(k->t, n));
    }
    a->stored = zeroed(k->cols, sizeof *a->stored);
    a->negative = zeroed(k->cols, sizeof *a->negative);
    renew(a->stored, (uint32_t)k->cols, first_of(k->t, 0));
    renew(a->negative, (uint32_t)k->cols, new_counter);
    renew(&a->pair[0][0][0], sizeof a->pair / sizeof(struct counter), new_counter);
    renew(&a->around[0][0], sizeof a->around / sizeof(struct counter), new_counter);
    renew(a->balance, 11, new_counter);
    renew(a->far, 7, new_counter);
    for (uint32_t z = 0; z < 2; z++) {
        for (uint32_t i = 0; i < 4 * 9 * 6; i++) {
            a->w[z][i / 54][i / 6 % 9][i % 6] = i % 6 < (i / 54 == 3 ? 4 : 5) ? 45 * 256 : 0;
        }
    }
    open_code(&a->code, k->t->elements);
    return a;
}

static uint32_t h(int64_t q)
{
    return (uint32_t)between(size_of(q), 0, 3);
}

static uint32_t g(int64_t x, int64_t m)
{
    int64_t v = size_of(x), s = v < 2 ? v : v < 4 ? 2 : v < 7 ? 3 : v < 12 ? 4 : 5;
    s = between(s, 0, m);
    return (uint32_t)(x < 0 ? m - s : m + s);
}

static uint32_t read_level(struct adaptive *a, const struct walk *k, uint64_t c, uint32_t z)
{
    const struct around s = look_around(k, c);
    int64_t M = lg(k->M), r = lg(k->R) - M, o = lg(k->column[c].C) - M;
    int64_t next = c + 1 < k->cols ? k->column[c + 1].q : 0, channel = Q(k, c, k->place);
    int64_t l = 4 * size_of(s.left) + 2 * size_of(Q(k, c, 2)) + size_of(Q(k, c, 3)) +
                3 * size_of(s.above) + size_of(next) + 2 * size_of(s.up) + 2 * size_of(channel);
    int64_t expected = between((r + o) / 2 + 24, 0, 63);
    int64_t near = between((lg(32 * l + 8) - M - 24) / 2 + 20, 0, 63);
    uint32_t beside = h(s.left) + 4 * h(s.above) + 16 * h(s.up) + 64 * h(channel), n = 0;
    for (uint32_t more = 1; n < 14 && more == 1; n += more) {
        struct node *e = &a->node[n > 0 ? n + 1 : z];
        struct counter *counter[] = {
            &e->expected[expected], &e->both[between(r / 4 + 8, 0, 15)][between(o / 4 + 8, 0, 15)],
            &e->near[near], &e->beside[beside], n > 0 ? &e->all : &a->stored[c]};
        int64_t(*w)[6] = a->w[z][n < 2 ? n : 2];
        more = mixed(&a->code, counter, 5, w[0], w[1 + expected / 8]);
    }
    if (n < 14) {
        return n;
    }
    uint32_t bits = 0;
    while (bits < 7 && single(&a->code, &a->far[bits]) == 1) {
        bits++;
    }
    return 13 + (1u << bits) + raw(&a->code, bits);
}

int64_t read_integer(struct adaptive *a, const struct walk *k, uint64_t c)
{
    const struct around s = look_around(k, c);
    uint32_t z = k->state % 2, level = read_level(a, k, c, z);
    if (level == 0) {
        return 0;
    }
    uint64_t pos = c % k->place;
    int64_t right = pos >= k->line && pos % k->line + 1 < k->line ? Q(k, c, k->line - 1) : 0;
    int64_t sum = 2 * s.beside + 2 * s.up + s.corner + right;
    uint32_t r = level < 4 ? level - 1 : 3;
    struct counter *counter[] = {&a->pair[r][g(s.beside, 4)][g(s.up, 4)],
                                 &a->around[g(sum, 5)][g(s.above, 4)],
                                 &a->balance[g(k->balance / 64, 5)], &a->negative[c]};
    uint32_t negative = mixed(&a->code, counter, 4, a->w[z][3][0], a->w[z][3][1 + r]);
    int64_t q = k->t->trellis ? 2 * (int64_t)level - z : level;
    must(q <= 255, k->t->elements.at, "an integer is at most 255");
    return negative == 1 ? -q : q;
}

void close_adaptive(struct adaptive *a, const struct tensor *t)
{
    check_code_end(&a->code, t->elements);
    free(a->stored);
    free(a->negative);
    free(a);
}

void read_adaptive_floats(const struct tensor *t, uint32_t *bits)
{
    struct code code;
    struct counter sign = new_counter, E[256];
    renew(E, 256, new_counter);
    open_code(&code, t->elements);
    uint32_t z0 = raw(&code, 5);
    must(z0 <= 23, t->elements.at, "at most 23 bits of the mantissa are zero");
    for (uint64_t i = 0; i < t->nnz; i++) {
        uint32_t negative = single(&code, &sign), node = 1;
        while (node < 256) {
            node = 2 * node + single(&code, &E[node]);
        }
        bits[i] = negative << 31 | (node - 256) << 23 | raw(&code, 23 - z0) << z0;
    }
    check_code_end(&code, t->elements);
}
