/* SPDX-License-Identifier: MIT */
/* weight_case.h - random matrices as struct weight, in the codings that need no encoder: bitmap or
 * dense support, plain elements or packed indices with codebooks as raw floats. Keeps the same
 * matrix as doubles beside it. */
#ifndef WEIGHT_CASE_H
#define WEIGHT_CASE_H

#include <stdlib.h>
#include <string.h>
#include "core/bytes.h"
#include "guard_page.h"
#include "decode/weight.h"

struct weight_case {
    struct weight w;
    uint32_t rows, cols;
    double *dense;    /* [rows, cols] */
    float *codebooks; /* [n_groups, n_centroids], each ascending */
    uint8_t *support, *stream, *codebook_bytes;
};

enum pattern {
    PATTERN_RANDOM,
    PATTERN_FIRST_ROW, /* one full row, the others empty */
    PATTERN_LAST_COLS, /* only the last two columns */
    PATTERN_TRIANGLE,  /* row r holds its first r columns: counts differ within every unit */
    PATTERN_FULL,
    PATTERN_EMPTY,
    N_PATTERNS
};

struct weight_want {
    uint32_t rows, cols;
    enum pattern pattern;
    double density;       /* PATTERN_RANDOM */
    bool dense;           /* SUPPORT_DENSE */
    uint32_t n_centroids; /* 0: plain f32 */
    uint64_t n_groups;
    float scale; /* of the values */
};

static inline bool case_holds(const struct weight_want *want, uint32_t r, uint32_t c,
                              uint64_t *seed)
{
    switch (want->pattern) {
    case PATTERN_FIRST_ROW:
        return r == 0;
    case PATTERN_LAST_COLS:
        return c + 2 >= want->cols;
    case PATTERN_TRIANGLE:
        return c < r;
    case PATTERN_FULL:
        return true;
    case PATTERN_EMPTY:
        return false;
    default:
        return (double)(random_u64(seed) >> 11) * 0x1p-53 < want->density;
    }
}

static inline int case_order(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static inline void case_codebooks(struct weight_case *k, const struct weight_want *want,
                                  uint64_t *seed)
{
    size_t n = want->n_centroids, total = n * (size_t)want->n_groups;
    k->codebooks = malloc(total * sizeof(float));
    k->codebook_bytes = malloc(1 + 4 * total);
    for (size_t i = 0; i < total; i++)
        k->codebooks[i] = want->scale * random_f32(seed);
    k->codebook_bytes[0] = 0; /* raw */
    for (size_t g = 0; g < want->n_groups; g++)
        qsort(k->codebooks + g * n, n, sizeof(float), case_order);
    for (size_t i = 0; i < total; i++)
        store_le32(k->codebook_bytes + 1 + 4 * i, f32_bits(k->codebooks[i]));
    k->w.grid = GRID_CODEBOOK;
    k->w.n_centroids = want->n_centroids;
    k->w.index_bits = 8;
    k->w.n_groups = want->n_groups;
    k->w.group_elems = k->w.count / want->n_groups;
    k->w.codebook = (struct stream){k->codebook_bytes, 1 + 4 * total};
}

static inline struct weight_case case_new(const struct weight_want *want, uint64_t *seed)
{
    uint64_t count = (uint64_t)want->rows * want->cols;
    struct weight_case k = {.rows = want->rows, .cols = want->cols};
    k.w = (struct weight){.type = PITH_F32, .shape = {2, {want->rows, want->cols}}, .count = count};
    k.w.support = want->dense ? SUPPORT_DENSE : SUPPORT_BITMAP;
    if (want->n_centroids)
        case_codebooks(&k, want, seed);
    uint32_t elem = want->n_centroids ? 1 : 4;
    k.dense = calloc(count, sizeof(double));
    k.support = calloc(count / 8 + 1, 1);
    k.stream = malloc(count * elem + 1);
    for (uint64_t i = 0; i < count; i++) {
        if (!want->dense &&
            !case_holds(want, (uint32_t)(i / want->cols), (uint32_t)(i % want->cols), seed))
            continue;
        uint8_t index = 0;
        float value = want->scale * random_f32(seed);
        if (want->n_centroids) {
            index = (uint8_t)(random_u64(seed) % want->n_centroids);
            value = k.codebooks[i / k.w.group_elems * want->n_centroids + index];
            k.stream[k.w.nnz] = index;
        } else {
            store_le32(k.stream + 4 * k.w.nnz, f32_bits(value));
        }
        k.support[i / 8] |= (uint8_t)(1u << i % 8);
        k.dense[i] = value;
        k.w.nnz++;
    }
    k.w.index_stream = (struct stream){k.stream, (size_t)k.w.nnz * elem};
    if (!want->dense)
        k.w.support_stream = (struct stream){k.support, (size_t)(count + 7) / 8};
    return k;
}

static inline void case_free(struct weight_case *k)
{
    free(k->dense);
    free(k->codebooks);
    free(k->support);
    free(k->stream);
    free(k->codebook_bytes);
}

#endif
