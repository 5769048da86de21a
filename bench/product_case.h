/* SPDX-License-Identifier: MIT */
/* product_case.h - compressed matrices drawn from a seed, and products with them, ready to run. */
#ifndef PRODUCT_CASE_H
#define PRODUCT_CASE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/kernels.h"
#include "decode/weight.h"
#include "products/product_f32.h"

static uint32_t seed = 2026;

static inline uint32_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed;
}

static inline void *new_bytes(uint64_t bytes)
{
    size_t n = ((size_t)bytes + 127) & ~(size_t)63;
    void *p = aligned_alloc(64, n);
    if (!p) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    return memset(p, 0, n);
}

struct matrix {
    uint32_t rows, cols, percent, centroids; /* centroids 0: f32 */
};

/* Sparse with a bitmap, or dense; indices of 8 bits. */
static inline struct weight weight_new(const struct matrix *m)
{
    uint64_t n = (uint64_t)m->rows * m->cols, nnz = 0;
    uint8_t *bitmap = new_bytes(n / 8 + 1), *index = new_bytes(m->centroids ? n : 4 * n);
    uint8_t *raw = new_bytes(1 + 4 * 256);
    for (uint64_t i = 0; i < n && m->centroids; i++) {
        if (next_random() % 100 >= m->percent)
            continue;
        bitmap[i / 8] |= (uint8_t)(1u << i % 8);
        index[nnz++] = (uint8_t)(next_random() % m->centroids);
    }
    for (uint32_t i = 0; i < m->centroids; i++)
        store_le32(raw + 1 + 4 * i, f32_bits(((float)i + 0.5f) / (float)m->centroids - 0.5f));
    bool dense = m->percent == 100;
    return (struct weight){.type = PITH_F32,
                           .shape = {2, {m->rows, m->cols}},
                           .count = n,
                           .nnz = m->centroids ? nnz : n,
                           .support = dense ? SUPPORT_DENSE : SUPPORT_BITMAP,
                           .grid = m->centroids ? GRID_CODEBOOK : GRID_PLAIN,
                           .n_centroids = m->centroids,
                           .index_bits = 8,
                           .group_elems = n,
                           .n_groups = 1,
                           .support_stream = {bitmap, dense ? 0 : (size_t)(n + 7) / 8},
                           .index_stream = {index, (size_t)(m->centroids ? nnz : 4 * n)},
                           .codebook = {raw, m->centroids ? 1 + 4 * (size_t)m->centroids : 0}};
}

static inline void weight_free(struct weight *w)
{
    free((void *)(uintptr_t)w->support_stream.bytes);
    free((void *)(uintptr_t)w->index_stream.bytes);
    free((void *)(uintptr_t)w->codebook.bytes);
}

/* A product of m rows with a constant weight. */
struct made_product {
    struct product p;
    struct product_data d; /* prep is owned, a and y are the caller's */
    struct op_env env;     /* scratch is owned */
    const char *kernel;
};

static inline struct made_product product_new(const struct weight *w, uint32_t m,
                                              const struct pith_kernels *k, uint32_t flags,
                                              const struct pith_opts *opts)
{
    struct made_product c = {.p = {.m = m,
                                   .n = w->shape.dim[0],
                                   .k = w->shape.dim[1],
                                   .trans_b = true,
                                   .alpha = 1,
                                   .beta = 1},
                             .d = {.weight = w},
                             .env = {.kernels = k,
                                     .flags = flags,
                                     .parallel_for = opts ? opts->parallel_for : NULL,
                                     .user = opts ? opts->parallel_user : NULL}};
    struct op_need need;
    if (pith_product_need(&c.p, w, 0, &c.env, &need))
        exit(1);
    c.kernel = need.kernel;
    c.d.prep = need.prep_bytes ? new_bytes(need.prep_bytes) : NULL;
    c.env.scratch = new_bytes(need.prep_scratch_bytes);
    if (pith_product_prepare(&c.p, w, c.d.prep, &c.env))
        exit(1);
    free(c.env.scratch);
    c.env.scratch = new_bytes(need.scratch_bytes);
    return c;
}

static inline void product_free(struct made_product *c)
{
    free((void *)(uintptr_t)c->d.prep);
    free(c->env.scratch);
}

#endif
