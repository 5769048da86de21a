/* SPDX-License-Identifier: MIT */
/* Attention at every level, on one thread and cut up, for all layouts and kinds of mask, against
 * sums in double; and what its shape rule refuses. */
#include "test_run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "guard_page.h"
#include "kernels/kernels.h"
#include "one_op.h"
#include "pith_runtime.h"
#include "op_interface/op_attr.h"

struct dims {
    uint32_t b, h, m, n, d, e, layout;
    uint32_t shared; /* heads of q that read one of k and v */
};

static void view_dims(uint32_t b, uint32_t h, uint32_t t, uint32_t d, bool swapped, uint32_t dim[4])
{
    dim[0] = b, dim[1] = swapped ? t : h, dim[2] = swapped ? h : t, dim[3] = d;
}

/* Element [b, h, t, d] of a tensor of `heads` heads whose axes 1 and 2 may be swapped. */
static size_t at(uint32_t heads, bool swapped, uint32_t t_n, uint32_t d_n, uint32_t b, uint32_t h,
                 uint32_t t, uint32_t d)
{
    size_t row = swapped ? ((size_t)b * t_n + t) * heads + h : ((size_t)b * heads + h) * t_n + t;
    return row * d_n + d;
}

enum mask_kind { MASK_NONE, MASK_ADDED, MASK_ROW, MASK_FULL, MASK_KEEP, MASK_KINDS };

struct sample {
    struct dims s;
    enum mask_kind kind;
    float *q, *k, *v, *added, fill;
    uint8_t *mask;
    uint32_t mask_dim[4];
};

static size_t mask_at(const struct sample *p, uint32_t b, uint32_t h, uint32_t m, uint32_t n)
{
    const uint32_t i[4] = {b, h, m, n};
    size_t offset = 0;
    for (uint32_t k = 0; k < 4; k++)
        offset = offset * p->mask_dim[k] + i[k] % p->mask_dim[k];
    return offset;
}

#define SCALE 0.37f

/* y[0 .. e-1] of one query. */
static void expect(const struct sample *p, uint32_t b, uint32_t h, uint32_t m, double *y)
{
    const struct dims *s = &p->s;
    double *score = malloc(s->n * sizeof *score), max = -INFINITY, sum = 0;
    const uint32_t own = s->h / s->shared, g = h / s->shared;
    assert_non_null(score);
    for (uint32_t n = 0; n < s->n; n++) {
        score[n] = 0;
        for (uint32_t d = 0; d < s->d; d++)
            score[n] += (double)p->q[at(s->h, s->layout & 1, s->m, s->d, b, h, m, d)] *
                        (double)p->k[at(own, s->layout & 2, s->n, s->d, b, g, n, d)] *
                        (double)SCALE;
        size_t i = mask_at(p, b, h, m, n);
        if (p->kind == MASK_ADDED)
            score[n] += (double)p->added[i];
        else if (p->kind != MASK_NONE && (p->mask[i] != 0) != (p->kind == MASK_KEEP))
            score[n] = (double)p->fill;
        max = fmax(max, score[n]);
    }
    for (uint32_t n = 0; n < s->n; n++)
        sum += score[n] = exp(score[n] - max);
    for (uint32_t e = 0; e < s->e; e++) {
        y[e] = 0;
        for (uint32_t n = 0; n < s->n; n++)
            y[e] += score[n] / sum * (double)p->v[at(own, s->layout & 4, s->n, s->e, b, g, n, e)];
        if (max == -INFINITY)
            y[e] = 0;
    }
    free(score);
}

static void check(const struct sample *p, const float *y)
{
    const struct dims *s = &p->s;
    double want[64];
    for (uint32_t b = 0; b < s->b; b++)
        for (uint32_t h = 0; h < s->h; h++)
            for (uint32_t m = 0; m < s->m; m++) {
                expect(p, b, h, m, want);
                for (uint32_t e = 0; e < s->e; e++) {
                    float got = y[at(s->h, s->layout & 8, s->m, s->e, b, h, m, e)];
                    if (!(fabs((double)got - want[e]) <= 2e-5))
                        fail_msg("m %u n %u d %u e %u layout %u mask %d: want %g, got %g", s->m,
                                 s->n, s->d, s->e, s->layout, (int)p->kind, want[e], (double)got);
                }
            }
}

static float *values(size_t n, uint64_t *seed)
{
    float *x = malloc(n * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = 2 * random_f32(seed);
    return x;
}

/* Queries see keys from some places before their own to some behind it, as in causal and in local
 * attention. */
static void see_window(struct sample *p, uint64_t *seed)
{
    const uint32_t keys = p->mask_dim[3], queries = p->mask_dim[2];
    const uint32_t before = (uint32_t)(random_u64(seed) % 70), behind = random_u64(seed) % 4;
    for (size_t i = 0; i < (size_t)p->mask_dim[0] * p->mask_dim[1] * queries * keys; i++) {
        const size_t n = i % keys, m = i / keys % queries;
        if (n + before >= m && n <= m + behind)
            continue;
        p->mask[i] = p->kind != MASK_KEEP;
        p->added[i] = random_u64(seed) % 2 ? -INFINITY : -3e38f;
    }
}

static void open_sample(struct sample *p, uint64_t *seed)
{
    struct dims *s = &p->s;
    const uint32_t shared = 1 + (uint32_t)(random_u64(seed) % 3);
    *s = (struct dims){
        2 * (uint32_t)(random_u64(seed) % 2) + 2, shared * (1 + (uint32_t)(random_u64(seed) % 3)),
        1 + (uint32_t)(random_u64(seed) % 60),    1 + (uint32_t)(random_u64(seed) % 60),
        1 + (uint32_t)(random_u64(seed) % 36),    1 + (uint32_t)(random_u64(seed) % 36),
        (uint32_t)(random_u64(seed) % 16),        shared};
    s->m = random_u64(seed) % 4 ? s->m : 1; /* a step of a decoder */
    p->kind = (enum mask_kind)(random_u64(seed) % MASK_KINDS);
    p->q = values((size_t)s->b * s->h * s->m * s->d, seed);
    p->k = values((size_t)s->b * s->h * s->n * s->d, seed);
    p->v = values((size_t)s->b * s->h * s->n * s->e, seed);
    const uint32_t full[4] = {s->b, s->h, s->m, s->n};
    for (uint32_t i = 0; i < 4; i++)
        p->mask_dim[i] = (p->kind == MASK_ROW && i < 3) || random_u64(seed) % 2 ? 1 : full[i];
    if (p->mask_dim[0] > 1 && random_u64(seed) % 2)
        p->mask_dim[0] /= 2;
    size_t n = (size_t)p->mask_dim[0] * p->mask_dim[1] * p->mask_dim[2] * p->mask_dim[3];
    p->added = values(n, seed);
    p->mask = malloc(n);
    assert_non_null(p->mask);
    for (size_t i = 0; i < n; i++)
        p->mask[i] = (uint8_t)(random_u64(seed) % 3);
    /* some queries see no key */
    for (size_t i = 0; i < n && random_u64(seed) % 2; i++)
        if (i / p->mask_dim[3] % 3 == 1)
            p->added[i] = -INFINITY;
    static const float fills[] = {-50.0f, -1e9f, -INFINITY};
    p->fill = fills[random_u64(seed) % 3];
    if (random_u64(seed) % 2)
        see_window(p, seed);
}

static void close_sample(struct sample *p)
{
    free(p->q);
    free(p->k);
    free(p->v);
    free(p->added);
    free(p->mask);
}

static void set_up(struct one_op *t, const struct sample *p)
{
    const struct dims *s = &p->s;
    uint32_t dim[4];
    one_op_open(t, PITH_OP_ATTENTION, p->kind == MASK_NONE ? 3 : 4, 1);
    t->attr[ATTR_ATTENTION_SCALE] = (int32_t)f32_bits(SCALE);
    t->attr[ATTR_ATTENTION_FILL] = (int32_t)f32_bits(p->fill);
    t->attr[ATTR_ATTENTION_KEEP] = p->kind == MASK_KEEP;
    t->attr[ATTR_ATTENTION_LAYOUT] = (int32_t)s->layout;
    view_dims(s->b, s->h, s->m, s->d, s->layout & 1, dim);
    one_op_in(t, 0, PITH_F32, 4, dim, p->q);
    view_dims(s->b, s->h / s->shared, s->n, s->d, s->layout & 2, dim);
    one_op_in(t, 1, PITH_F32, 4, dim, p->k);
    view_dims(s->b, s->h / s->shared, s->n, s->e, s->layout & 4, dim);
    one_op_in(t, 2, PITH_F32, 4, dim, p->v);
    if (p->kind == MASK_ADDED)
        one_op_in(t, 3, PITH_F32, 4, p->mask_dim, p->added);
    else if (p->kind != MASK_NONE)
        one_op_in(t, 3, PITH_BOOL, 4, p->mask_dim, p->mask);
}

TEST(test_random)
{
    static const uint32_t levels[] = {0, PITH_CPU_AVX2, PITH_CPU_AVX2 | PITH_CPU_AVX512,
                                      PITH_CPU_NEON};
    for (uint64_t turn = 0; turn < 250; turn++) {
        uint64_t seed = turn;
        struct sample p;
        open_sample(&p, &seed);
        for (size_t level = 0; level < sizeof levels / sizeof *levels; level++) {
            struct pith_kernels kernels;
            if ((pith_cpu_features() & levels[level]) != levels[level])
                continue;
            pith_kernels_fill(&kernels, levels[level]);
            for (int split = 0; split < 2; split++) {
                struct one_op t;
                set_up(&t, &p);
                t.kernels = &kernels;
                assert_int_equal(one_op_shape(&t), PITH_OK);
                one_op_run(&t, split);
                check(&p, t.out[0].data);
                one_op_close(&t);
            }
        }
        close_sample(&p);
    }
}

/* Keys in front of those that both queries see are left out, but not one whose mask is NaN. */
TEST(a_mask_of_nan_is_seen)
{
    static const uint32_t levels[] = {0, PITH_CPU_AVX2, PITH_CPU_AVX2 | PITH_CPU_AVX512,
                                      PITH_CPU_NEON};
    enum { KEYS = 40, SEEN = 30 };
    float added[2 * KEYS];
    uint64_t seed = 3;
    struct sample p = {
        .s = {1, 1, 2, KEYS, 4, 4, 0, 1}, .kind = MASK_ADDED, .mask_dim = {1, 1, 2, KEYS}};
    p.q = values(2 * 4, &seed);
    p.k = values(KEYS * 4, &seed);
    p.v = values(KEYS * 4, &seed);
    p.added = added;
    for (uint32_t i = 0; i < 2 * KEYS; i++)
        added[i] = i % KEYS < SEEN ? -INFINITY : 0.0f;
    added[0] = NAN;
    for (size_t level = 0; level < sizeof levels / sizeof *levels; level++) {
        struct pith_kernels kernels;
        struct one_op t;
        if ((pith_cpu_features() & levels[level]) != levels[level])
            continue;
        pith_kernels_fill(&kernels, levels[level]);
        set_up(&t, &p);
        t.kernels = &kernels;
        assert_int_equal(one_op_shape(&t), PITH_OK);
        one_op_run(&t, 0);
        const float *y = t.out[0].data;
        for (uint32_t i = 0; i < 4; i++)
            assert_true(isnan(y[i]) && isfinite(y[4 + i]));
        one_op_close(&t);
    }
    free(p.q);
    free(p.k);
    free(p.v);
}

static enum pith_status refused(uint32_t input, uint32_t axis, uint32_t dim, enum pith_type type)
{
    uint64_t seed = 9;
    struct sample p;
    struct one_op t;
    bool fits;
    do {
        open_sample(&p, &seed);
        p.s.layout = 0;
        fits = p.kind != MASK_NONE && p.mask_dim[3] > 1 && p.s.shared > 1 && p.s.h > p.s.shared;
        if (!fits)
            close_sample(&p);
    } while (!fits);
    set_up(&t, &p);
    t.in[input].type = type;
    if (axis < 4)
        t.in[input].shape.dim[axis] += dim;
    else
        t.in[input].shape.rank = dim;
    enum pith_status st = one_op_shape(&t);
    one_op_close(&t);
    close_sample(&p);
    return st;
}

TEST(test_refused)
{
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(refused(i, 0, 1, PITH_F32), PITH_ERR_CORRUPT);
        assert_int_equal(refused(i, 1, 1, PITH_F32), PITH_ERR_CORRUPT);
        assert_int_equal(refused(i, 4, 3, PITH_F32), PITH_ERR_CORRUPT);
        assert_int_equal(refused(i, 0, 0, PITH_I32), PITH_ERR_UNSUPPORTED);
    }
    /* heads of k that do not divide those of q, or are not those of v */
    assert_int_equal(refused(0, 3, 1, PITH_F32), PITH_ERR_CORRUPT);
    assert_int_equal(refused(1, 2, 1, PITH_F32), PITH_ERR_CORRUPT);
    assert_int_equal(refused(2, 2, 1, PITH_F32), PITH_ERR_CORRUPT);
    assert_int_equal(refused(3, 3, 1, PITH_BOOL), PITH_ERR_CORRUPT);
    assert_int_equal(refused(3, 4, 5, PITH_BOOL), PITH_ERR_CORRUPT);
    assert_int_equal(refused(3, 0, 0, PITH_I64), PITH_ERR_UNSUPPORTED);
}

RUN_TESTS
