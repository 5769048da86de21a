/* SPDX-License-Identifier: MIT */
/* adaptive_sample.h - tensors for adaptive streams: every shape, density, codebook and trellis;
 * whole or in slices. What comes back is compared with what went in, in every way that
 * it can be read. */
#ifndef ADAPTIVE_SAMPLE_H
#define ADAPTIVE_SAMPLE_H

#include <stdlib.h>
#include <string.h>
#include "guard_page.h"
#include "decode/adaptive_decode.h"
#include "decode/weight_cut.h"
#include "huffman/adaptive_encode.h"
#include "kernels/crc32c.h"
#include "pith_huffman.h"
#include "rows_agree.h"
#include "sanitized.h"

#define SEED 20240731u

struct spec {
    uint32_t rank, dim[4];
    uint32_t keep;        /* thousandths that are stored; 1000: dense */
    uint32_t n_centroids; /* 0: plain f32 */
    uint64_t n_groups;
    uint32_t zeros;  /* of dense: percent of elements that are the zero */
    uint8_t trellis; /* states */
};

struct sample {
    struct weight w;
    uint8_t *mask, *bitmap, *index, *codebook, *stream;
    float *centroid, *data;
};

static inline uint64_t rows_of(const struct weight *w)
{
    return w->count / class_cols(w);
}

static inline void *array(uint64_t n, size_t each)
{
    void *p = calloc((size_t)n + 1, each);
    assert_non_null(p);
    return p;
}

static inline uint32_t below(uint64_t *seed, uint32_t n)
{
    return (uint32_t)(random_u64(seed) >> 33) % n;
}

static inline void make_codebooks(struct sample *s, bool with_zero, uint64_t *seed)
{
    struct weight *w = &s->w;
    uint32_t k = w->n_centroids, below_zero = below(seed, k + 1);
    s->centroid = array(w->n_groups * k, sizeof(float));
    for (uint64_t g = 0; g < w->n_groups; g++) {
        float *c = s->centroid + g * k, step = (float)(1 + below(seed, 1000)) / 4096.0f;
        bool zero = with_zero && below_zero < k;
        for (uint32_t i = 0; i < k; i++)
            c[i] = i < below_zero ? -step * (float)(below_zero - i)
                                  : step * (float)(i - below_zero + !zero);
        if (g % 2) /* not uniform */
            c[k - 1] += c[k - 1] >= 0 ? step * 0.3f : 0.0f;
    }
    size_t cap = pith_codebook_bound(w->n_groups, k), bytes = 0;
    s->codebook = array(cap, 1);
    assert_int_equal(pith_codebook_encode(s->centroid, w->n_groups, k, s->codebook, cap, &bytes),
                     PITH_OK);
    w->codebook = (struct stream){s->codebook, bytes};
}

/* An index whose integer, counted from zero, is a level of the state; if there is none, the
 * element is not stored. */
static inline void make_level(struct sample *s, uint64_t i, const struct spec *spec,
                              uint32_t *state, uint64_t *seed)
{
    const struct weight *w = &s->w;
    const float *c = s->centroid + i / w->group_elems * w->n_centroids;
    int32_t below_zero = 0, q = 0, index = 0;
    while (below_zero < (int32_t)w->n_centroids && c[below_zero] < 0)
        below_zero++;
    bool zero = below_zero < (int32_t)w->n_centroids && f32_bits(c[below_zero]) == 0;
    bool found = zero && below(seed, 100) < spec->zeros;
    for (uint32_t tries = 0; tries < 300 && s->mask[i] && !found; tries++) {
        index = (int32_t)below(seed, w->n_centroids);
        q = index - below_zero + (index >= below_zero && !zero);
        found = q == 0 || (q & 1) == (int32_t)(*state & 1);
    }
    q = found && s->mask[i] ? q : 0;
    s->index[i] = (uint8_t)(found && q == 0 ? below_zero : index);
    s->w.nnz -= s->mask[i] && !found;
    s->mask[i] &= found;
    *state = pith_trellis_after(w->trellis, *state, q);
}

static inline void make_levels(struct sample *s, const struct spec *spec, uint64_t *seed)
{
    uint64_t cols = s->w.count / rows_of(&s->w);
    uint32_t state = 0;
    for (uint64_t i = 0; i < s->w.count; i++) {
        state = i % cols ? state : 0;
        make_level(s, i, spec, &state, seed);
    }
}

static inline void make_elements(struct sample *s, const struct spec *spec, uint64_t *seed)
{
    struct weight *w = &s->w;
    uint64_t cols = w->count / rows_of(w);
    w->nnz = 0;
    for (uint64_t i = 0; i < w->count; i++) {
        uint32_t place =
            (uint32_t)(i % cols % 7 * (i / cols % 3)); /* some rows and columns empty */
        s->mask[i] = spec->keep == 1000 || (below(seed, 1000) < spec->keep && place % 2 == 0);
        w->nnz += s->mask[i];
    }
    if (w->nnz == 0)
        w->nnz = s->mask[w->count - 1] = 1;
    if (w->support == SUPPORT_BITMAP) {
        s->bitmap = array(w->count / 8 + 1, 1);
        for (uint64_t i = 0; i < w->count; i++)
            s->bitmap[i / 8] |= (uint8_t)(s->mask[i] << i % 8);
        w->support_stream = (struct stream){s->bitmap, (size_t)(w->count + 7) / 8};
    }
    if (w->trellis) {
        make_levels(s, spec, seed);
        return;
    }
    for (uint64_t i = 0; i < w->count; i++) {
        if (!s->mask[i])
            continue;
        if (w->grid == GRID_CODEBOOK) {
            const float *c = s->centroid + i / w->group_elems * w->n_centroids;
            s->index[i] = (uint8_t)below(seed, w->n_centroids);
            for (uint32_t k = 0; k < w->n_centroids && below(seed, 100) < spec->zeros; k++)
                if (f32_bits(c[k]) == 0)
                    s->index[i] = (uint8_t)k;
        } else if (below(seed, 100) >= spec->zeros) {
            s->data[i] = ((float)below(seed, 512) - 256.0f) / 64.0f;
        }
    }
}

static inline struct class_input input_of(const struct sample *s)
{
    return (struct class_input){&s->w, s->index, s->w.support != SUPPORT_DENSE ? s->mask : NULL};
}

static inline enum pith_status encode_to(const struct sample *s, uint8_t *dst, size_t cap,
                                         size_t *bytes)
{
    const struct class_input in = input_of(s);
    if (s->w.grid == GRID_PLAIN)
        return pith_adaptive_encode_floats(&s->w, s->data, in.mask, dst, cap, bytes);
    return pith_adaptive_encode(&in, dst, cap, bytes);
}

static inline void encode(struct sample *s)
{
    size_t counted = 0, bytes = 0;
    assert_int_equal(encode_to(s, NULL, 0, &counted), PITH_OK);
    s->stream = array(counted, 1);
    if (counted > 0)
        assert_int_equal(encode_to(s, s->stream, counted - 1, &bytes), PITH_ERR_SPACE);
    assert_int_equal(encode_to(s, s->stream, counted, &bytes), PITH_OK);
    assert_int_equal(bytes, counted);
    s->w.index_stream = (struct stream){s->stream, bytes};
}

static inline struct sample make(const struct spec *spec, uint64_t *seed)
{
    struct sample s = {.w = {.type = PITH_F32, .code = CODE_ADAPTIVE, .trellis = spec->trellis}};
    struct weight *w = &s.w;
    w->shape.rank = spec->rank;
    w->count = 1;
    for (uint32_t i = 0; i < spec->rank; i++)
        w->count *= w->shape.dim[i] = spec->dim[i];
    w->support = spec->keep == 1000       ? SUPPORT_DENSE
                 : spec->n_centroids == 0 ? SUPPORT_BITMAP
                                          : SUPPORT_ADAPTIVE;
    s.mask = array(w->count, 1);
    s.index = array(w->count, 1);
    s.data = array(w->count, sizeof(float));
    if (spec->n_centroids) {
        w->grid = GRID_CODEBOOK;
        w->n_centroids = spec->n_centroids;
        w->n_groups = spec->n_groups;
        w->group_elems = w->count / w->n_groups;
        make_codebooks(&s, spec->zeros > 0 && spec->keep == 1000, seed);
    }
    make_elements(&s, spec, seed);
    encode(&s);
    return s;
}

static inline void release(struct sample *s)
{
    free(s->mask);
    free(s->bitmap);
    free(s->index);
    free(s->data);
    free(s->codebook);
    free(s->centroid);
    free(s->stream);
}

static inline uint32_t value_bits(const struct sample *s, uint64_t i)
{
    const struct weight *w = &s->w;
    if (!s->mask[i])
        return 0;
    return f32_bits(w->grid == GRID_PLAIN
                        ? s->data[i]
                        : s->centroid[i / w->group_elems * w->n_centroids + s->index[i]]);
}

static inline void check_parts(const struct sample *s, void *scratch)
{
    const struct weight *w = &s->w;
    uint32_t *pos = array(w->nnz, sizeof *pos);
    uint8_t *index = array(w->nnz, 1), *alone = array(w->nnz, 1);
    float *value = array(w->nnz, sizeof *value);
    bool codebook = w->grid == GRID_CODEBOOK;
    assert_int_equal(pith_weight_expand_parts(w, pos, codebook ? index : NULL, value, scratch),
                     PITH_OK);
    for (uint64_t i = 0, k = 0; i < w->count; i++) {
        if (!s->mask[i])
            continue;
        assert_int_equal(pos[k], i);
        assert_int_equal(f32_bits(value[k]), value_bits(s, i));
        if (codebook)
            assert_int_equal(index[k], s->index[i]);
        k++;
    }
    if (codebook) {
        assert_int_equal(pith_weight_expand_parts(w, NULL, alone, NULL, scratch), PITH_OK);
        assert_memory_equal(alone, index, w->nnz);
    }
    free(pos);
    free(index);
    free(alone);
    free(value);
}

/* Stream, scratch and result each end at a page that nothing follows. */
static inline void check(struct sample *s)
{
    struct weight *w = &s->w;
    struct guarded stream = guard_new(w->index_stream.n_bytes + 1, 1);
    memcpy((uint8_t *)stream.data + 1, s->stream, w->index_stream.n_bytes);
    w->index_stream.bytes = (const uint8_t *)stream.data + 1;
    struct guarded scratch = guard_new(pith_weight_scratch_bytes(w), 1);
    struct guarded out = guard_new((size_t)w->count * sizeof(float), 1);
    assert_int_equal(pith_weight_expand_f32(w, (float *)out.data, scratch.data), PITH_OK);
    for (uint64_t i = 0; i < w->count; i++)
        assert_int_equal(f32_bits(((const float *)out.data)[i]), value_bits(s, i));
    check_parts(s, scratch.data);
    assert_false(pith_weight_is_cut(w));
    rows_agree(w, PITH_OK, out.data);
    if (w->grid == GRID_PLAIN)
        assert_int_equal(pith_weight_expand_plain(w, out.data, scratch.data), PITH_OK);
    w->index_stream.bytes = s->stream;
    guard_free(&stream);
    guard_free(&scratch);
    guard_free(&out);
}

static inline enum pith_status count_bytes(const struct sample *s, size_t *bytes)
{
    return encode_to(s, NULL, 0, bytes);
}

static const struct spec specs[] = {
    {2, {300, 100}, 100, 16, 1, 0, 0},
    {2, {300, 100}, 100, 16, 300, 0, 0},
    {2, {50, 784}, 20, 7, 1, 50, 0},
    {4, {20, 10, 5, 5}, 300, 32, 1, 0, 0},
    {4, {20, 10, 3, 3}, 1000, 15, 1, 60, 0},
    {4, {20, 10, 3, 3}, 1000, 15, 20, 60, 0},
    {4, {8, 3, 1, 7}, 1000, 256, 1, 5, 0},
    {3, {5, 6, 7}, 500, 1, 1, 0, 0},
    {3, {5, 6, 7}, 1000, 1, 1, 100, 0},
    {1, {500}, 1000, 0, 1, 80, 0},
    {1, {500}, 200, 0, 1, 10, 0},
    {2, {40, 40}, 100, 0, 1, 0, 0},
    {1, {64}, 1000, 31, 1, 40, 0},
    {0, {0}, 1000, 2, 1, 0, 0},
    {2, {1, 100}, 0, 4, 1, 0, 0},
    {2, {100, 1}, 500, 4, 4, 0, 0},
    {2, {64, 64}, 999, 17, 1, 0, 0},
    {2, {64, 64}, 0, 255, 1, 0, 0},
    {2, {200, 1}, 1000, 2, 1, 100, 0},
    {2, {33, 4097}, 30, 5, 1, 0, 0},
    {1, {4}, 1000, 0, 1, 100, 0},
    {2, {30, 900}, 100, 9, 1, 0, 0},
    {2, {30, 41}, 1000, 15, 1, 40, 8},
    {2, {31, 40}, 1000, 15, 1, 40, 16},
    {4, {20, 10, 3, 3}, 1000, 31, 20, 60, 8},
    {4, {20, 10, 3, 3}, 1000, 31, 1, 60, 16},
    {2, {50, 70}, 300, 17, 1, 20, 16},
    {2, {50, 70}, 300, 18, 50, 0, 8},
    {2, {40, 3}, 1000, 255, 1, 10, 8},
    {1, {99}, 1000, 40, 1, 10, 16},
    {2, {9, 100}, 1000, 70, 1, 0, 8},
};
#define N_SPECS (sizeof specs / sizeof *specs)

/* Goes on with the checksum of all streams of a test: encoder and decoder share their model, so a
 * change of it may go unnoticed there and make older files unreadable. */
static inline uint32_t add_stream(uint32_t crc, const struct weight *w)
{
    crc = pith_crc32c(crc, w->index_stream.bytes, w->index_stream.n_bytes);
    return pith_crc32c(crc, w->index_table.bytes, w->index_table.n_bytes);
}

/* What was decoded stays inside the tensor; nothing else is promised. */
static inline enum pith_status decode(const struct weight *w, float *dst)
{
    void *scratch = array(pith_weight_scratch_bytes(w), 1);
    enum pith_status st = pith_weight_expand_f32(w, dst, scratch);
    assert_true(st == PITH_OK || st == PITH_ERR_CORRUPT);
    rows_agree(w, st, dst);
    free(scratch);
    return st;
}

/* Any bit, any byte less. In one of `most` places at most it is not noticed: the end of a code
 * shows it, where that is not too short. */
static inline void damage(struct sample *s, uint64_t most)
{
    uint64_t n = s->w.index_stream.n_bytes, wrong = 0;
    float *dst = array(s->w.count, sizeof *dst), *good = array(s->w.count, sizeof *good);
    assert_int_equal(decode(&s->w, good), PITH_OK);
    for (uint64_t bit = 0; bit < 8 * n; bit++) {
        s->stream[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        if (decode(&s->w, dst) == PITH_OK) {
            assert_memory_not_equal(dst, good, s->w.count * sizeof *dst);
            wrong++;
        }
        s->stream[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    if (s->w.grid == GRID_CODEBOOK) /* else mantissas, which nothing else depends on */
        assert_true(wrong * most <= 8 * n);
    for (uint64_t cut = 0; cut < n; cut++) {
        s->w.index_stream.n_bytes = cut;
        if (decode(&s->w, dst) == PITH_OK)
            assert_memory_not_equal(dst, good, s->w.count * sizeof *dst);
    }
    s->w.index_stream.n_bytes = n;
    free(dst);
    free(good);
}

#endif
