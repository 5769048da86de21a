/* SPDX-License-Identifier: MIT */
/* adaptive_sizes.h - sizes of elements, which predict the size of the next one: averages of
 * its row, its column and the tensor, and those around it. Part of adaptive_impl.h. */
#ifndef PITH_ADAPTIVE_SIZES_H
#define PITH_ADAPTIVE_SIZES_H

#include "decode/adaptive_model.h"

/* Averages have 8 fraction bits, and a little of a size for none. */
#define SIZE_ONE 256
#define SIZE_NONE 64
#define ROW_COUNT_MAX 40u
#define COLUMN_COUNT_MAX 40u
#define TENSOR_COUNT_MAX 1000u

/* Logarithm to the base 2 in eighths; x < 2^29. */
static inline int32_t eighths(uint32_t x)
{
    uint32_t e = 31u - (uint32_t)__builtin_clz(x | 1);
    return (int32_t)(8 * e + ((x << 3) >> e & 7));
}

static inline uint32_t within(int32_t v, int32_t most)
{
    return v < 0 ? 0 : v > most ? (uint32_t)most : (uint32_t)v;
}

static inline uint32_t magnitude(int32_t v)
{
    return (uint32_t)(v < 0 ? -v : v);
}

static inline uint32_t size_back(const struct adaptive *a, uint64_t back)
{
    return back > 1 && a->col >= back ? magnitude(a->memory.column[a->col - back].size) : 0;
}

/* A channel and a line back count where there is such a thing. */
static inline uint32_t size_near(const struct adaptive *a)
{
    const struct adaptive_column *c = &a->memory.column[a->col];
    uint32_t next = a->col + 1 < a->cols ? magnitude(c[1].size) : 0;
    return 4 * a->sizes.before[0] + 2 * a->sizes.before[1] + a->sizes.before[2] +
           3 * magnitude(c->size) + c->above + next + 2 * size_back(a, a->place) +
           2 * size_back(a, a->place_row);
}

/* Once an element: its decisions do not change what is expected. */
static void expect_size(struct adaptive *a)
{
    int32_t mean = eighths(a->sizes.mean), row = eighths(a->sizes.row_mean) - mean;
    int32_t column = eighths(a->memory.column[a->col].mean) - mean;
    int32_t near = eighths(16 * size_near(a) + 8) - mean - 24;
    a->sizes.expected = within((row + column) / 2 + 24, 63);
    a->sizes.of_row = within(row / 4 + 8, 15);
    a->sizes.of_column = within(column / 4 + 8, 15);
    a->sizes.near = within(near / 2 + 20, 63);
}

static inline int32_t sign_of(int32_t v)
{
    return v < 0 ? -1 : v > 0;
}

static inline void follow(uint32_t *mean, int32_t v, uint32_t n)
{
    *mean = (uint32_t)((int32_t)*mean + (v - (int32_t)*mean) / (int32_t)n);
}

static inline uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Behind every element of the tensor, coded or not; v: its size with its sign. */
static void learn_size(struct adaptive *a, int32_t v)
{
    struct adaptive_column *c = &a->memory.column[a->col];
    int32_t size = (int32_t)magnitude(v), x = SIZE_ONE * size + SIZE_NONE;
    uint32_t column = c->mean;
    follow(&column, x, 3 + smaller(c->count, COLUMN_COUNT_MAX));
    c->mean = column & 0xffffff;
    follow(&a->sizes.row_mean, x, 4 + smaller(a->sizes.row_count, ROW_COUNT_MAX));
    follow(&a->sizes.mean, x, 2 + smaller(a->sizes.count, TENSOR_COUNT_MAX));
    c->count = smaller(c->count + 1u, COLUMN_COUNT_MAX) & 255;
    a->sizes.row_count = smaller(a->sizes.row_count + 1, ROW_COUNT_MAX);
    a->sizes.count = smaller(a->sizes.count + 1, TENSOR_COUNT_MAX);
    a->sizes.agreement += 256 * sign_of(c->size) * sign_of(v) - a->sizes.agreement / 16;
    a->sizes.balance += 64 * sign_of(v) - a->sizes.balance / 16;
    c->above = (uint16_t)magnitude(c->size);
    c->size = (int16_t)v;
    a->sizes.before[2] = a->sizes.before[1];
    a->sizes.before[1] = a->sizes.before[0];
    a->sizes.before[0] = (uint32_t)size;
}

static inline void start_row_sizes(struct adaptive *a)
{
    a->sizes.row_mean = a->sizes.mean;
    a->sizes.row_count = 0;
    a->sizes.agreement = a->sizes.balance = 0;
    memset(a->sizes.before, 0, sizeof a->sizes.before);
}

static ONCE void start_sizes(struct adaptive *a)
{
    a->sizes.mean = 2 * SIZE_ONE;
    a->sizes.count = 0;
    for (uint64_t i = 0; i < a->cols; i++)
        a->memory.column[i].mean = a->sizes.mean & 0xffffff;
}

/* A step of a sum of sizes with signs: 0, 1, 2 .. 3, 4 .. 6, 7 .. 11, more. */
static inline uint32_t step_of(int32_t v, int32_t most)
{
    int32_t m = v < 0 ? -v : v, k = m < 2 ? m : m < 4 ? 2 : m < 7 ? 3 : m < 12 ? 4 : 5;
    k = k < most ? k : most;
    return (uint32_t)(most + (v < 0 ? -k : k));
}

static inline int32_t signed_back(const struct adaptive *a, bool there, uint32_t back)
{
    return there ? a->memory.column[a->col - back].size : 0;
}

#endif
