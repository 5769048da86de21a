/* SPDX-License-Identifier: MIT */
/* spec_model.h - the arithmetic code of adaptive streams and counters: S8 up to "Mixed decisions".
 * Here is also all that S8 remembers between two decisions.
 *
 * This file and spec_flags, spec_adaptive, spec_sizes follow S8 letter by letter: names as there,
 * arrays as there, nothing for speed. */
#ifndef SPEC_MODEL_H
#define SPEC_MODEL_H

#include "spec_bytes.h"

struct counter {
    int64_t P, n;
};

struct model {
    /* arithmetic code */
    uint64_t low, high, code;
    struct span bytes;
    uint64_t shifted;
    /* trellis */
    uint32_t states, state, quantizer, k;
    struct counter Q[16];
    /* counters */
    struct counter F[4], G[12], H[3][64], I[3][16], J[3][64], Z[4], E[256];
    struct counter beside[2][64], levels[64], places[128], before[64], ranks[256], signs[81],
        sign_places[64];
    struct counter K[2][14], U[14][8], V[14][8], W[14][16], X[14][64], far_bits[8], far_first[8];
    struct counter r;
    int64_t B, run;
    /* sizes */
    int64_t size, mean, mean_n, row_mean, row_n, L[3], agree, balance, expected, at_row, at_column,
        near;
    struct counter act[16][64], both[16][16][16], around[16][64];
    struct counter pair[4][9][9], sum[4][11][64], above[7][11], even[11];
    /* mixing */
    int64_t refine[5][33], all[2][5][13], one[2][32][5][13];
};

struct column {
    struct counter C, D, map;
    int64_t A;
    uint32_t last;
    int64_t mean, n, S, P;
};

/* What one element sees. */
struct view {
    struct column *column; /* [cols] */
    uint64_t c, cols, place, line_of_kernel;
    uint32_t left, line, above, channel;
};

extern const struct counter new_counter;
struct counter start_at(int64_t sixty_fourths, int64_t n);
void renew(struct counter *c, uint32_t n, struct counter value);
#define RENEW(array)                                                                               \
    renew((struct counter *)(array), sizeof(array) / sizeof(struct counter), new_counter)

/* v, but lo if it is lower, hi if it is higher. */
int64_t between(int64_t v, int64_t lo, int64_t hi);

/* A stream begins; it must end here. */
void open_code(struct model *m, struct span stream);
void check_code_end(const struct model *m, struct span stream);

/* Decisions: with the probability p in 1/65536, under one counter. */
uint32_t decide(struct model *m, int64_t p);
uint32_t single(struct model *m, struct counter *c);

/* What mixed decisions are made of. */
void learn_bit(struct counter *c, uint32_t b);
int64_t squash(int64_t x);
int64_t stretch(int64_t q);

#endif
