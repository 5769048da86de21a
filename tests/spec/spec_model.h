/* SPDX-License-Identifier: MIT */
/* spec_model.h - the arithmetic code of adaptive streams, counters and mixed decisions: S8.
 *
 * This file and spec_adaptive follow S8 letter by letter: names as there, nothing for speed. */
#ifndef SPEC_MODEL_H
#define SPEC_MODEL_H

#include "spec_bytes.h"

struct counter {
    int64_t P, n;
};

struct code {
    uint64_t low, high, code;
    struct span bytes;
    uint64_t shifted;
};

extern const struct counter new_counter;
struct counter start_at(int64_t sixty_fourths, int64_t n);
void renew(struct counter *c, uint32_t n, struct counter value);

/* v, but lo if it is lower, hi if it is higher. */
int64_t between(int64_t v, int64_t lo, int64_t hi);
/* v DIV 2^by, rounded down. */
int64_t shifted(int64_t v, uint32_t by);

/* A stream begins; it must end here. */
void open_code(struct code *m, struct span stream);
void check_code_end(const struct code *m, struct span stream);

/* Decisions: with the probability p in 1/65536, under one counter, under n with two sets of n + 1
 * weights. */
uint32_t decide(struct code *m, int64_t p);
uint32_t single(struct code *m, struct counter *c);
uint32_t mixed(struct code *m, struct counter *const *c, uint32_t n, int64_t *w, int64_t *w1);
uint32_t raw(struct code *m, uint32_t n);

#endif
