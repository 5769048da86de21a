/* SPDX-License-Identifier: MIT */
/* coded_weight.h - a random compressed weight together with what it must expand to. Everything is
 * encoded by huffman/ into one block of memory and described as runtime/decode/weight.h wants
 * it. */
#ifndef CODED_WEIGHT_H
#define CODED_WEIGHT_H

#include <stdlib.h>
#include <string.h>
#include "guard_page.h"
#include "decode/adaptive_decode.h"
#include "huffman/adaptive_encode.h"
#include "huffman/class_encode.h"
#include "pith_huffman.h"
#include "huffman/rans_encode.h"
#include "decode/weight.h"
#include "pith_runtime.h"

struct weight_case {
    struct weight w;
    float *dense;      /* [count] effective values */
    uint8_t *elements; /* [count * type bytes] for plain grids */
    uint8_t *mask;     /* [count] */
    uint8_t *index;    /* [count], of kept elements */
    float *codebook;   /* [n_groups * n_centroids] */
    uint8_t *bytes[5]; /* gap table, index table, support, index, codebook */
};

static inline int compare_f32(const void *a, const void *b)
{
    float x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* Sum of a few uniform numbers: bell-shaped in -1 .. 1. */
static inline float bell_f32(uint64_t *seed)
{
    return (random_f32(seed) + random_f32(seed) + random_f32(seed) + random_f32(seed)) / 4;
}

/* density in thousandths; 1000 keeps everything. */
static inline void case_mask(struct weight_case *c, uint32_t density, uint64_t *seed)
{
    c->mask = malloc(c->w.count + 1);
    for (uint64_t i = 0; i < c->w.count; i++) {
        c->mask[i] = random_u64(seed) % 1000 < density;
        c->w.nnz += c->mask[i];
    }
}

static inline void case_codebook(struct weight_case *c, uint32_t n_centroids, uint64_t n_groups,
                                 uint64_t *seed)
{
    struct weight *w = &c->w;
    w->grid = GRID_CODEBOOK;
    w->n_centroids = n_centroids;
    w->n_groups = n_groups;
    w->group_elems = w->count / n_groups;
    w->index_bits = pith_index_bits(n_centroids);
    c->codebook = malloc(n_groups * n_centroids * sizeof(float));
    for (uint64_t i = 0; i < n_groups * n_centroids; i++)
        c->codebook[i] = random_u64(seed) % 16 ? bell_f32(seed) : 0.0f;
    for (uint64_t g = 0; g < n_groups; g++)
        qsort(c->codebook + g * n_centroids, n_centroids, sizeof(float), compare_f32);
    c->index = malloc(w->count + 1);
    for (uint64_t i = 0; i < w->count; i++) {
        float at = (bell_f32(seed) + 1) / 2 * (float)n_centroids;
        c->index[i] = (uint8_t)(at >= (float)n_centroids ? n_centroids - 1 : (uint32_t)at);
        c->dense[i] = c->mask[i] ? c->codebook[i / w->group_elems * n_centroids + c->index[i]] : 0;
    }
    size_t cap = pith_codebook_bound(n_groups, n_centroids);
    c->bytes[4] = malloc(cap);
    if (pith_codebook_encode(c->codebook, n_groups, n_centroids, c->bytes[4], cap,
                             &w->codebook.n_bytes))
        abort();
    w->codebook.bytes = c->bytes[4];
}

/* The codes of indices that a form may have. */
static const enum weight_code case_codes[] = {CODE_PLAIN, CODE_HUFFMAN, CODE_RANS, CODE_ADAPTIVE,
                                              CODE_CLASSES};
enum {
    CASE_CODES = sizeof case_codes / sizeof *case_codes,
    CASE_CODES_APART = CASE_CODES - 2 /* the first ones are read without the codebook */
};

static inline void case_rans(struct weight_case *c, const uint64_t *hist, const uint8_t *kept)
{
    struct weight *w = &c->w;
    struct pith_rans_code code;
    size_t cap = pith_rans_bound(w->nnz);
    pith_rans_build(hist, &code);
    w->index_table.n_bytes = code.table_bytes;
    c->bytes[1] = malloc(code.table_bytes + 1);
    memcpy(c->bytes[1], code.table, code.table_bytes);
    c->bytes[3] = malloc(cap + 1);
    if (pith_rans_encode(&code, kept, w->nnz, c->bytes[3], cap, &w->index_stream.n_bytes))
        abort();
    w->index_table.bytes = c->bytes[1];
    w->cpu = pith_cpu_features();
}

/* Support and indices at once. What cannot be coded so has a bitmap and plain indices. */
static inline bool case_adaptive(struct weight_case *c)
{
    struct weight *w = &c->w;
    w->support = w->support == SUPPORT_DENSE ? SUPPORT_DENSE : SUPPORT_ADAPTIVE;
    const struct class_input in = {w, c->index, c->mask};
    size_t cap = 3 * w->count + 100;
    if (!pith_classes_allow(w) || pith_class_check(&in)) {
        w->code = CODE_PLAIN;
        w->support = SUPPORT_BITMAP;
        return false;
    }
    c->bytes[3] = malloc(cap);
    if (pith_adaptive_encode(&in, c->bytes[3], cap, &w->index_stream.n_bytes))
        abort();
    w->index_stream.bytes = c->bytes[3];
    w->cpu = pith_cpu_features();
    return true;
}

/* The same by classes; a stored 0 of a sparse tensor has no code. */
static inline bool case_classes(struct weight_case *c)
{
    struct weight *w = &c->w;
    w->support = w->support == SUPPORT_DENSE ? SUPPORT_DENSE : SUPPORT_ADAPTIVE;
    const struct class_input in = {w, c->index, c->mask};
    if (!pith_classes_allow(w) || pith_class_check(&in)) {
        w->code = CODE_PLAIN;
        w->support = SUPPORT_BITMAP;
        return false;
    }
    struct class_code *code = malloc(sizeof *code);
    size_t cap = 6 * w->count + 100;
    c->bytes[3] = malloc(cap);
    if (pith_class_fit(&in, 1, code) ||
        pith_class_encode(&code->model, &in, c->bytes[3], cap, &w->index_stream.n_bytes))
        abort();
    w->index_stream.bytes = c->bytes[3];
    c->bytes[1] = malloc(code->table_bytes);
    memcpy(c->bytes[1], code->table, code->table_bytes);
    w->index_table = (struct huff_table){c->bytes[1], code->table_bytes};
    free(code);
    return true;
}

static inline void case_indices(struct weight_case *c)
{
    struct weight *w = &c->w;
    if ((w->code == CODE_ADAPTIVE && case_adaptive(c)) ||
        (w->code == CODE_CLASSES && case_classes(c)))
        return;
    uint64_t hist[PITH_SYMBOLS] = {0};
    struct pith_huff_code code;
    uint8_t *kept = malloc(w->count + 1);
    uint64_t n = pith_index_gather(c->index, c->mask, w->count, kept);
    pith_histogram_add(hist, kept, n);
    if (w->code == CODE_PLAIN) {
        w->index_stream.n_bytes = pith_index_pack_bytes(n, w->index_bits);
        c->bytes[3] = malloc(w->index_stream.n_bytes + 1);
        pith_index_pack(kept, n, w->index_bits, c->bytes[3]);
    } else if (w->code == CODE_RANS) {
        case_rans(c, hist, kept);
    } else {
        if (pith_huff_build(hist, &code))
            abort();
        size_t cap = pith_huff_bound(&code, hist, n);
        w->index_table.n_bytes = pith_huff_table_bytes(&code);
        c->bytes[1] = malloc(w->index_table.n_bytes + 1);
        pith_huff_table_write(&code, c->bytes[1]);
        c->bytes[3] = malloc(cap + 1);
        if (pith_huff_encode(&code, kept, n, c->bytes[3], cap, &w->index_stream.n_bytes))
            abort();
        w->index_table.bytes = c->bytes[1];
    }
    w->index_stream.bytes = c->bytes[3];
    free(kept);
}

/* Small integers, which every element type can hold. */
static inline void case_plain(struct weight_case *c, enum pith_type type, uint64_t *seed)
{
    struct weight *w = &c->w;
    uint32_t each = pith_type_bytes(type);
    uint8_t *at;
    w->grid = GRID_PLAIN;
    w->type = type;
    c->elements = calloc(w->count + 1, each);
    w->index_stream.n_bytes = w->nnz * each;
    at = c->bytes[3] = malloc(w->nnz * each + 1);
    w->index_stream.bytes = at;
    for (uint64_t i = 0; i < w->count; i++) {
        uint32_t v = (uint32_t)(random_u64(seed) % (type == PITH_BOOL ? 2 : 100));
        float f = (float)v;
        double wide = f;
        uint32_t bits;
        uint8_t e[8] = {(uint8_t)v};
        memcpy(&bits, &f, sizeof bits);
        c->dense[i] = c->mask[i] ? f : 0;
        if (!c->mask[i])
            continue;
        if (type == PITH_F32)
            memcpy(e, &f, 4);
        if (type == PITH_F64)
            memcpy(e, &wide, 8);
        if (type == PITH_BF16)
            bits >>= 16;
        if (type == PITH_F16)
            bits = v ? (bits >> 13 & 0x3ff) | ((bits >> 23) - 112) << 10 : 0;
        if (type == PITH_BF16 || type == PITH_F16) {
            e[0] = (uint8_t)bits;
            e[1] = (uint8_t)(bits >> 8);
        }
        memcpy(at, e, each);
        memcpy(c->elements + i * each, e, each);
        at += each;
    }
}

static inline void case_support(struct weight_case *c)
{
    struct weight *w = &c->w;
    struct pith_support_profile *p = calloc(1, sizeof *p);
    struct pith_support_code code;
    if (w->support == SUPPORT_BITMAP) {
        w->support_stream.n_bytes = (w->count + 7) / 8;
        c->bytes[2] = malloc(w->support_stream.n_bytes + 1);
        pith_bitmap_pack(c->mask, w->count, c->bytes[2]);
    } else if (w->support == SUPPORT_GAPS) {
        pith_support_profile_add(p, c->mask, w->count);
        if (pith_support_build(p, &code))
            abort();
        size_t cap = pith_support_bound(&code, p);
        w->gap_table.n_bytes = pith_support_table_bytes(&code);
        c->bytes[0] = malloc(w->gap_table.n_bytes + 1);
        pith_support_table_write(&code, c->bytes[0]);
        w->gap_table.bytes = c->bytes[0];
        c->bytes[2] = malloc(cap + 1);
        if (pith_support_encode(&code, c->mask, w->count, c->bytes[2], cap,
                                &w->support_stream.n_bytes))
            abort();
    }
    w->support_stream.bytes = c->bytes[2];
    free(p);
}

struct case_spec {
    uint64_t count;
    uint32_t density; /* thousandths */
    enum weight_support support;
    enum weight_code code;
    uint32_t n_centroids; /* 0: plain elements of `type` */
    uint64_t n_groups;    /* divides count */
    enum pith_type type;
};

static inline struct weight_case case_new(const struct case_spec *s, uint64_t *seed)
{
    struct weight_case c;
    memset(&c, 0, sizeof c);
    c.w.type = PITH_F32;
    c.w.count = s->count;
    c.w.shape = (struct shape){1, {(uint32_t)s->count}};
    c.w.support = s->support;
    c.w.code = s->code;
    c.w.n_groups = s->n_groups;
    c.w.group_elems = s->count / (s->n_groups ? s->n_groups : 1);
    c.dense = malloc((s->count + 1) * sizeof(float));
    case_mask(&c, s->support == SUPPORT_DENSE ? 1000 : s->density, seed);
    if (s->n_centroids) {
        case_codebook(&c, s->n_centroids, s->n_groups, seed);
        case_indices(&c);
    } else {
        case_plain(&c, s->type, seed);
    }
    case_support(&c);
    return c;
}

static inline void case_free(struct weight_case *c)
{
    free(c->dense);
    free(c->elements);
    free(c->mask);
    free(c->index);
    free(c->codebook);
    for (int i = 0; i < 5; i++)
        free(c->bytes[i]);
}

#endif
