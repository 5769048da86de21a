/* SPDX-License-Identifier: MIT */
/* Adaptive streams: every shape, density, codebook and source comes back exactly; a damaged stream
 * gives an error or other values, never a byte read or written outside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "pith_adaptive_decode.h"
#include "pith_adaptive_encode.h"
#include "guard_page.h"
#include "pith_huffman.h"
#include "rows_agree.h"

#define SEED 20240731u

struct spec {
    uint32_t rank, dim[4];
    uint32_t keep;        /* thousandths that are stored; 1000: dense */
    uint32_t n_centroids; /* 0: plain f32 */
    uint64_t n_groups;
    uint32_t zeros;  /* of dense: percent of elements that are the zero */
    uint8_t trellis; /* states; 1 more: by the second model */
};

struct sample {
    struct weight w;
    uint8_t *mask, *index, *codebook, *stream;
    float *centroid, *data;
};

static void *array(uint64_t n, size_t each)
{
    void *p = calloc((size_t)n + 1, each);
    assert_non_null(p);
    return p;
}

static uint32_t below(uint64_t *seed, uint32_t n)
{
    return (uint32_t)(random_u64(seed) >> 33) % n;
}

static void make_codebooks(struct sample *s, bool with_zero, uint64_t *seed)
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
static void make_level(struct sample *s, uint64_t i, const struct spec *spec, uint32_t *state,
                       uint64_t *seed)
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

static void make_levels(struct sample *s, const struct spec *spec, uint64_t *seed)
{
    uint64_t cols = s->w.count / adaptive_rows(&s->w);
    uint32_t state = 0;
    for (uint64_t i = 0; i < s->w.count; i++) {
        state = i % cols ? state : 0;
        make_level(s, i, spec, &state, seed);
    }
}

static void make_elements(struct sample *s, const struct spec *spec, uint64_t *seed)
{
    struct weight *w = &s->w;
    uint64_t cols = w->count / adaptive_rows(w);
    w->nnz = 0;
    for (uint64_t i = 0; i < w->count; i++) {
        uint32_t place =
            (uint32_t)(i % cols % 7 * (i / cols % 3)); /* some rows and columns empty */
        s->mask[i] = spec->keep == 1000 || (below(seed, 1000) < spec->keep && place % 2 == 0);
        w->nnz += s->mask[i];
    }
    if (w->nnz == 0)
        w->nnz = s->mask[w->count - 1] = 1;
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

static void encode(struct sample *s)
{
    struct adaptive_input in = {.w = &s->w};
    if (s->w.support != SUPPORT_DENSE)
        in.mask = s->mask;
    if (s->w.grid == GRID_CODEBOOK)
        in.index = s->index;
    else
        in.data = s->data;
    size_t counted = 0, bytes = 0;
    assert_int_equal(pith_adaptive_encode(&in, NULL, 0, &counted), PITH_OK);
    s->stream = array(counted, 1);
    if (counted > 0)
        assert_int_equal(pith_adaptive_encode(&in, s->stream, counted - 1, &bytes), PITH_ERR_SPACE);
    assert_int_equal(pith_adaptive_encode(&in, s->stream, counted, &bytes), PITH_OK);
    assert_int_equal(bytes, counted);
    s->w.index_stream = (struct stream){s->stream, bytes};
}

static struct sample make(const struct spec *spec, const struct weight *source, uint64_t *seed)
{
    struct sample s = {
        .w = {.type = PITH_F32, .code = CODE_ADAPTIVE, .trellis = spec->trellis & 24}};
    s.w.second = spec->trellis % 2 != 0;
    struct weight *w = &s.w;
    w->shape.rank = spec->rank;
    w->count = 1;
    for (uint32_t i = 0; i < spec->rank; i++)
        w->count *= w->shape.dim[i] = spec->dim[i];
    w->support = spec->keep < 1000 ? SUPPORT_ADAPTIVE : SUPPORT_DENSE;
    s.mask = array(w->count, 1);
    s.index = array(w->count, 1);
    s.data = array(w->count, sizeof(float));
    if (spec->n_centroids) {
        w->grid = GRID_CODEBOOK;
        w->n_centroids = spec->n_centroids;
        w->n_groups = spec->n_groups;
        w->group_elems = w->count / w->n_groups;
        make_codebooks(&s, spec->zeros > 0, seed);
    }
    make_elements(&s, spec, seed);
    if (source && pith_adaptive_tells_rows(source) &&
        w->count / adaptive_rows(w) % adaptive_rows(source) == 0) {
        w->source_rows = adaptive_rows(source);
        w->source_stream = source->index_stream;
    }
    encode(&s);
    return s;
}

static void release(struct sample *s)
{
    free(s->mask);
    free(s->index);
    free(s->data);
    free(s->codebook);
    free(s->centroid);
    free(s->stream);
}

static uint32_t value_bits(const struct sample *s, uint64_t i)
{
    const struct weight *w = &s->w;
    if (!s->mask[i])
        return 0;
    return f32_bits(w->grid == GRID_PLAIN
                        ? s->data[i]
                        : s->centroid[i / w->group_elems * w->n_centroids + s->index[i]]);
}

static void check_parts(const struct sample *s, void *scratch)
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
static void check(struct sample *s)
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
    rows_agree(w, PITH_OK, out.data);
    if (w->grid == GRID_PLAIN)
        assert_int_equal(pith_weight_expand_plain(w, out.data, scratch.data), PITH_OK);
    w->index_stream.bytes = s->stream;
    guard_free(&stream);
    guard_free(&scratch);
    guard_free(&out);
}

static enum pith_status count_bytes(const struct sample *s, size_t *bytes)
{
    struct adaptive_input in = {.w = &s->w, .index = s->index};
    return pith_adaptive_encode(&in, NULL, 0, bytes);
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

static void test_round_trip(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < 4; round++) {
        for (size_t i = 0; i < N_SPECS; i++) {
            uint64_t seed = SEED + round * N_SPECS + i;
            struct sample s = make(&specs[i], NULL, &seed);
            check(&s);
            release(&s);
        }
    }
}

static struct spec by_second(const struct spec *spec)
{
    struct spec s = *spec;
    s.trellis |= s.n_centroids > 0;
    return s;
}

/* The same by the second model; one of numbers has none. */
static void test_second_round_trip(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < 4; round++) {
        for (size_t i = 0; i < N_SPECS; i++) {
            struct spec spec = by_second(&specs[i]);
            uint64_t seed = SEED + round * N_SPECS + i;
            struct sample s = make(&spec, NULL, &seed);
            check(&s);
            release(&s);
        }
    }
    const struct spec numbers = {1, {90}, 1000, 0, 1, 50, 0};
    uint64_t seed = SEED;
    struct sample s = make(&numbers, NULL, &seed);
    float *dst = array(s.w.count, sizeof *dst);
    s.w.second = true;
    void *scratch = array(pith_weight_scratch_bytes(&s.w), 1);
    assert_int_equal(pith_weight_expand_f32(&s.w, dst, scratch), PITH_ERR_CORRUPT);
    free(scratch);
    free(dst);
    release(&s);
}

/* Signs that go on to the right and below, as kernels' do, and sizes that are those of their rows;
 * zeros of groups, whose share is that of their columns: a 25th less than by the first model. */
static void test_second_knows_more(void **state)
{
    (void)state;
    static const struct spec kinds[] = {{4, {40, 12, 3, 3}, 1000, 15, 1, 10, 0},
                                        {2, {60, 100}, 1000, 15, 60, 10, 0}};
    for (uint32_t k = 0; k < 2; k++) {
        uint64_t seed = SEED + k;
        struct sample s = make(&kinds[k], NULL, &seed);
        while (f32_bits(s.centroid[7]) != 0) {
            release(&s);
            s = make(&kinds[k], NULL, &seed);
        }
        uint64_t cols = s.w.count / s.w.shape.dim[0];
        for (uint64_t i = 0, negative = 0; i < s.w.count; i++) {
            bool zero = k == 1 && below(&seed, (uint32_t)cols) < i % cols;
            negative = i % 9 == 0 || below(&seed, 8) == 0 ? below(&seed, 2) : negative;
            uint32_t far = zero ? 0 : 1 + below(&seed, 1 + (uint32_t)(i / cols) % 7);
            s.index[i] = (uint8_t)(negative ? 7 - far : 7 + far);
        }
        size_t first, second;
        assert_int_equal(count_bytes(&s, &first), PITH_OK);
        s.w.second = true;
        assert_int_equal(count_bytes(&s, &second), PITH_OK);
        assert_true(second < first - first / 25);
        release(&s);
    }
}

/* A layer's input units are the rows of the layer before. */
static void test_source(void **state)
{
    (void)state;
    static const struct spec first = {4, {20, 1, 5, 5}, 60, 5, 1, 0, 0};
    static const struct spec second[] = {{4, {10, 20, 3, 3}, 100, 5, 1, 0, 0},
                                         {2, {50, 320}, 50, 5, 1, 0, 0},
                                         {2, {50, 340}, 50, 5, 1, 0, 0},
                                         {1, {20}, 1000, 0, 1, 70, 0},
                                         {1, {20}, 1000, 31, 1, 70, 0}};
    uint64_t seed = SEED;
    struct sample a = make(&first, NULL, &seed);
    for (size_t i = 0; i < sizeof second / sizeof *second; i++) {
        struct sample b = make(&second[i], &a.w, &seed);
        assert_int_equal(b.w.source_rows, 20);
        check(&b);
        release(&b);
    }
    release(&a);
}

/* Levels are as many as half of the integers: a bit less for each. What is no level is refused, and
 * what is one of the other trellis. */
static void test_levels(void **state)
{
    (void)state;
    for (uint8_t states = 8; states <= 16; states += 8) {
        const struct spec spec = {2, {40, 100}, 1000, 63, 1, 2, states};
        uint64_t seed = SEED + states;
        struct sample s = make(&spec, NULL, &seed);
        while (f32_bits(s.centroid[31]) != 0) { /* as many on each side */
            release(&s);
            s = make(&spec, NULL, &seed);
        }
        size_t levels = s.w.index_stream.n_bytes, all, ignored;
        s.w.trellis = 0;
        assert_int_equal(count_bytes(&s, &all), PITH_OK);
        assert_true(levels + 400 < all);
        s.w.trellis = 24 - states;
        assert_int_equal(count_bytes(&s, &ignored), PITH_ERR_ARGUMENT);
        s.w.trellis = states;
        assert_int_equal(count_bytes(&s, &ignored), PITH_OK);
        assert_int_equal(ignored, levels);
        uint64_t last = s.w.count - 1;
        s.index[last] = (uint8_t)(s.index[last] > 40 ? s.index[last] - 1 : s.index[last] + 1);
        assert_int_equal(count_bytes(&s, &ignored), PITH_ERR_ARGUMENT);
        release(&s);
    }
}

/* What was decoded stays inside the tensor; nothing else is promised. */
static enum pith_status decode(const struct weight *w, float *dst)
{
    void *scratch = array(pith_weight_scratch_bytes(w), 1);
    enum pith_status st = pith_weight_expand_f32(w, dst, scratch);
    assert_true(st == PITH_OK || st == PITH_ERR_CORRUPT);
    rows_agree(w, st, dst);
    free(scratch);
    return st;
}

static void test_damage(void **state)
{
    (void)state;
    static const struct spec damaged[] = {
        {2, {20, 30}, 150, 6, 1, 0, 0},     {4, {3, 4, 3, 3}, 1000, 20, 3, 50, 0},
        {1, {90}, 1000, 0, 1, 50, 0},       {2, {10, 30}, 1000, 11, 1, 30, 8},
        {2, {10, 30}, 400, 12, 1, 30, 16},  {4, {3, 4, 3, 3}, 1000, 22, 3, 50, 1},
        {2, {10, 30}, 1000, 31, 10, 30, 9}, {2, {10, 30}, 400, 12, 1, 30, 17}};
    for (size_t k = 0; k < sizeof damaged / sizeof *damaged; k++) {
        uint64_t seed = SEED + k;
        struct sample s = make(&damaged[k], NULL, &seed);
        uint64_t n = s.w.index_stream.n_bytes, wrong = 0;
        float *dst = array(s.w.count, sizeof *dst), *good = array(s.w.count, sizeof *good);
        assert_int_equal(decode(&s.w, good), PITH_OK);
        for (uint64_t bit = 0; bit < 8 * n; bit++) {
            s.stream[bit / 8] ^= (uint8_t)(1u << (bit % 8));
            if (decode(&s.w, dst) == PITH_OK) {
                assert_memory_not_equal(dst, good, s.w.count * sizeof *dst);
                wrong++;
            }
            s.stream[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        }
        if (s.w.grid == GRID_CODEBOOK)        /* else mantissas, which nothing else depends on */
            assert_true(wrong * 25 <= 8 * n); /* the end of the code tells nearly always */
        for (uint64_t cut = 0; cut < n; cut++) {
            s.w.index_stream.n_bytes = cut;
            if (decode(&s.w, dst) == PITH_OK)
                assert_memory_not_equal(dst, good, s.w.count * sizeof *dst);
        }
        free(dst);
        free(good);
        release(&s);
    }
}

/* Any bytes at all, for any description that the gate lets pass. */
static void test_noise(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * N_SPECS; i++) {
        struct spec spec = i < N_SPECS ? specs[i] : by_second(&specs[i - N_SPECS]);
        uint64_t seed = SEED ^ i;
        struct sample s = make(&spec, NULL, &seed);
        float *dst = array(s.w.count, sizeof *dst);
        for (uint32_t round = 0; round < 20; round++) {
            size_t n = 1 + below(&seed, 300);
            struct guarded noise = guard_new(n, 1);
            for (size_t k = 0; k < n; k++)
                ((uint8_t *)noise.data)[k] = (uint8_t)random_u64(&seed);
            s.w.index_stream = (struct stream){noise.data, n};
            s.w.nnz =
                s.w.support == SUPPORT_DENSE ? s.w.count : 1 + below(&seed, (uint32_t)s.w.count);
            decode(&s.w, dst);
            guard_free(&noise);
        }
        free(dst);
        release(&s);
    }
}

/* The bytes are those a writer gives: none more, whatever it is, and no nonzero more than there
 * are. */
static void test_end(void **state)
{
    (void)state;
    static const struct spec small[] = {{2, {20, 30}, 150, 6, 1, 0, 0},
                                        {2, {6, 5}, 1000, 4, 1, 50, 0},
                                        {1, {9}, 1000, 0, 1, 50, 0}};
    for (uint64_t round = 0; round < 40; round++)
        for (size_t k = 0; k < sizeof small / sizeof *small; k++) {
            uint64_t seed = SEED + 100 * round + k;
            struct sample s = make(&small[k], NULL, &seed);
            size_t n = s.w.index_stream.n_bytes;
            uint8_t longer[2048] = {0};
            float *dst = array(s.w.count, sizeof *dst);
            assert_true(n + 8 < sizeof longer);
            memcpy(longer, s.stream, n);
            s.w.index_stream.bytes = longer;
            for (size_t more = 0; more <= 6; more++) {
                s.w.index_stream.n_bytes = n + more;
                assert_int_equal(decode(&s.w, dst), more ? PITH_ERR_CORRUPT : PITH_OK);
            }
            longer[n] = 1;
            s.w.index_stream.n_bytes = n + 1;
            assert_int_equal(decode(&s.w, dst), PITH_ERR_CORRUPT);
            s.w.index_stream.n_bytes = n;
            if (s.w.support != SUPPORT_DENSE) {
                s.w.nnz++;
                assert_int_equal(decode(&s.w, dst), PITH_ERR_CORRUPT);
            }
            free(dst);
            release(&s);
        }
}

/* Where more elements are told than there are, the walk ends with the tensor: the byte behind the
 * rows' flags is never read. (Of floats, whose mantissas any bits are; a codebook's groups end as
 * well.) */
static void test_more_elements_than_places(void **state)
{
    (void)state;
    uint32_t refused = 0;
    for (uint64_t round = 0; round < 40; round++) {
        static const struct spec spec = {2, {8, 8}, 400, 0, 1, 0, 0};
        uint64_t seed = SEED + 7 * round;
        struct sample s = make(&spec, NULL, &seed);
        struct guarded scratch = guard_new(pith_adaptive_bytes(&s.w), 1);
        struct adaptive *a = calloc(1, sizeof *a);
        uint32_t pos[65];
        float value[65];
        assert_non_null(a);
        s.w.nnz++;
        assert_int_equal(pith_adaptive_open(a, &s.w, scratch.data), PITH_OK);
        if (pith_adaptive_next(a, pos, NULL, value, (uint32_t)s.w.nnz) == PITH_OK)
            assert_true(pos[s.w.nnz - 1] < 64); /* they were elsewhere */
        else
            refused++;
        free(a);
        guard_free(&scratch);
        release(&s);
    }
    assert_true(refused > 20);
}

static void test_what_is_allowed(void **state)
{
    (void)state;
    struct weight w = {.type = PITH_F32, .count = ADAPTIVE_MAX, .nnz = 1, .code = CODE_ADAPTIVE};
    assert_true(pith_adaptive_allows(&w));
    w.nnz = 0;
    assert_false(pith_adaptive_allows(&w));
    w.nnz = 1;
    w.count++;
    assert_false(pith_adaptive_allows(&w));
    w = (struct weight){.type = PITH_F32, .count = 4, .nnz = 4, .code = CODE_ADAPTIVE};
    w.shape = (struct shape){2, {2, 2}};
    assert_true(pith_adaptive_tells_rows(&w));
    w.shape = (struct shape){2, {1, 4}};
    assert_false(pith_adaptive_tells_rows(&w));
    w.shape = (struct shape){1, {4}};
    assert_false(pith_adaptive_tells_rows(&w));
    w.shape = (struct shape){2, {2, 2}};
    w.code = CODE_PLAIN;
    assert_false(pith_adaptive_tells_rows(&w));
}

/* Of dense tensors with codebooks those whose one codebook has a zero. */
static void test_rows_by_zero(void **state)
{
    (void)state;
    static const float with[] = {-1, 0, 2, -1, 0, 2}, without[] = {-1, 1, 2};
    struct weight w = {.type = PITH_F32,
                       .count = 4,
                       .nnz = 4,
                       .code = CODE_ADAPTIVE,
                       .grid = GRID_CODEBOOK,
                       .n_centroids = 3,
                       .n_groups = 1,
                       .group_elems = 4};
    uint8_t book[64];
    w.shape = (struct shape){2, {2, 2}};
    w.codebook.bytes = book;
    assert_int_equal(pith_codebook_encode(with, 1, 3, book, sizeof book, &w.codebook.n_bytes),
                     PITH_OK);
    assert_true(pith_adaptive_tells_rows(&w));
    assert_int_equal(pith_codebook_encode(without, 1, 3, book, sizeof book, &w.codebook.n_bytes),
                     PITH_OK);
    assert_false(pith_adaptive_tells_rows(&w));
    w.support = SUPPORT_ADAPTIVE;
    assert_true(pith_adaptive_tells_rows(&w));
    w.support = SUPPORT_DENSE;
    assert_int_equal(pith_codebook_encode(with, 1, 3, book, sizeof book, &w.codebook.n_bytes),
                     PITH_OK);
    w.n_groups = 2;
    assert_false(pith_adaptive_tells_rows(&w));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_second_round_trip),
        cmocka_unit_test(test_second_knows_more),
        cmocka_unit_test(test_source),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_end),
        cmocka_unit_test(test_more_elements_than_places),
        cmocka_unit_test(test_what_is_allowed),
        cmocka_unit_test(test_rows_by_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
