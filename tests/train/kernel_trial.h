/* SPDX-License-Identifier: MIT */
/* kernel_trial.h - one call of a kernel on operands drawn from a seed: what it leaves behind, and
 * how long it takes. A trial runs what a table of its features has, so the same trial of two tables
 * compares two kernels. trials_*.h have one for each member of the tables. */
#ifndef KERNEL_TRIAL_H
#define KERNEL_TRIAL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test_run.h"

#include "runtime/weight_case.h"
/* after it, whose functions have a seed of their own */
#include "runtime/integer_kernel_case.h"

enum { TRIAL_RESULTS = 32, TRIAL_MEMORY = 96, TIMED_CALLS = 40 };

/* Bytes, or f32 that may be `bound` off. */
struct trial_result {
    void *data;
    size_t n;
    double bound; /* 0: bytes, equal to the bit */
};

struct trial {
    uint32_t features; /* of the table */
    bool timed;        /* operands as large as in networks; results do not count */
    struct trial_result result[TRIAL_RESULTS];
    uint32_t n_results;
    void *memory[TRIAL_MEMORY];
    uint32_t n_memory;
    double ns, work; /* the fastest call; multiply-adds, or elements, in it */
};

/* A dimension: drawn, or that of networks. */
static inline uint32_t size(const struct trial *t, uint32_t low, uint32_t high, uint32_t network)
{
    uint32_t drawn = pick(low, high);
    return t->timed ? network : drawn;
}

static inline void *take(struct trial *t, size_t bytes)
{
    assert_true(t->n_memory < TRIAL_MEMORY);
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    assert_non_null(p);
    memset(p, 0, (bytes + 127) / 64 * 64);
    return t->memory[t->n_memory++] = p;
}

/* -1..1 */
static inline float *reals(struct trial *t, size_t n)
{
    float *p = take(t, n * sizeof *p);
    for (size_t i = 0; i < n; i++)
        p[i] = random_f32(&seed);
    return p;
}

static inline uint8_t *some_bytes(struct trial *t, size_t n)
{
    uint8_t *p = take(t, n);
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)random_u64(&seed);
    return p;
}

static inline void leaves(struct trial *t, const void *data, size_t bytes, double bound)
{
    assert_true(t->n_results < TRIAL_RESULTS);
    void *copy = malloc(bytes + 1);
    assert_non_null(copy);
    memcpy(copy, data, bytes);
    t->result[t->n_results++] = (struct trial_result){copy, bytes, bound};
}

static inline void leaves_bytes(struct trial *t, const void *data, size_t bytes)
{
    leaves(t, data, bytes, 0);
}

static inline void leaves_reals(struct trial *t, const float *data, size_t n, double bound)
{
    leaves(t, data, n * sizeof *data, bound);
}

static inline double now_ns(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

/* The call, of so much work; the fastest of many where it is timed. */
#define CALL(t, amount, ...)                                                                       \
    do {                                                                                           \
        double fastest = INFINITY;                                                                 \
        for (int round = 0; round < ((t)->timed ? TIMED_CALLS : 1); round++) {                     \
            double begin = now_ns();                                                               \
            __VA_ARGS__;                                                                           \
            fastest = fmin(fastest, now_ns() - begin);                                             \
        }                                                                                          \
        (t)->ns += fastest;                                                                        \
        (t)->work += (double)(amount);                                                             \
    } while (0)

static inline void trial_close(struct trial *t)
{
    for (uint32_t i = 0; i < t->n_results; i++)
        free(t->result[i].data);
    for (uint32_t i = 0; i < t->n_memory; i++)
        free(t->memory[i]);
}

#endif
