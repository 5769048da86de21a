/* SPDX-License-Identifier: MIT */
/* spmm_quads_impl.h - template of spmm_quads (kernel_quads.h). Parameters: the vector
 * operations, NV, vectors of a row of x at once, and what a tail is: struct tail_sums, tail_begin,
 * tail_add, tail_end. 4 NV sums, a weight and the address live in registers.
 *
 * A nonzero costs a broadcast and for each vector of x one multiply-add with an operand in memory:
 * loads limit, so places and indices of a quad are one load each, and streams are left to the
 * hardware's prefetch. Loops are unrolled by hand as sums have to stay in registers (gcc keeps
 * arrays that it has not unrolled in memory).
 *
 * A tail is half a vector or a quarter: it costs its loads, which are less of both bandwidth and
 * first-level cache than those of a whole vector. */
#include "kernels/kernel_sparse.h"
#include "kernels/ref/simd_act.h"

#define UNROLL _Pragma("GCC unroll 4")

/* What a slot's rows of x and entries are read by. */
struct stream {
    const uint16_t *place;
    const uint8_t *index; /* or value */
    const float *value;
    const float *codebook;
};

/* Where a strip of columns lies, and how it ends: vectors at their distances in bytes, which are
 * the same for every row of x, then `tail` columns of a panel of their own (0, 4 or 8; half
 * a vector at most). */
struct strip {
    uint32_t j, nv, tail;
    size_t at[NV];
    vmask last;
    bool whole;
};

/* The last vector of a strip may be a part of one, as y and the residual have nothing behind n that
 * may be touched. x has: rows of the panel are as wide as whole vectors. */
static inline vec load_last(const struct strip *s, const float *p)
{
    return s->whole ? vec_load(p) : vec_load_some(p, s->last);
}

static inline void store_last(const struct strip *s, float *p, vec v)
{
    if (s->whole)
        vec_store(p, v);
    else
        vec_store_some(p, s->last, v);
}

/* before: vectors in front of the one that may be a part. */
static inline __attribute__((always_inline)) vec load_y(const struct strip *s, const float *y,
                                                        int v, int before)
{
    return v < before ? vec_load(y + v * LANES) : load_last(s, y + v * LANES);
}

/* The sums of a row: sum q takes the q-th nonzero of each quad, so that there are four chains of
 * additions, and none waits for the result of the multiply-add right before it. */
struct sums {
    vec v[4][NV];
    struct tail_sums tail;
};

/* Rows of x in a block: of a strip's vectors, and of the tail. */
struct rows {
    const char *v[NV];
    const char *tail;
};

static inline __attribute__((always_inline)) void quad_add(const struct stream *at,
                                                           const struct rows *x, struct sums *sum,
                                                           const int nv, const int tail,
                                                           const bool codebook)
{
    uint64_t place = load_le64(at->place);
    uint32_t index = codebook ? load_le32(at->index) : 0;
    UNROLL for (int q = 0; q < 4; q++, place >>= 16, index >>= 8)
    {
        const vec w = vec_set1(codebook ? at->codebook[index & 255] : at->value[q]);
        const size_t row = place & 65535;
        UNROLL for (int v = 0; v < nv; v++) sum->v[q][v] =
            vec_fma(w, vec_load((const float *)(const void *)(x->v[v] + row * 8)), sum->v[q][v]);
        const char *t = tail ? x->tail + row * (tail == 8 ? 4 : 2) : NULL;
        tail_add(&sum->tail, q, w, (const float *)(const void *)t, tail);
    }
}

/* Bias, residual and clamp, of a vector of a row whose sums are complete. residual: of the row's
 * strip, or NULL. */
struct finish {
    float bias;
    const float *residual;
    const struct clamp *clamp;
};

static inline __attribute__((always_inline)) vec
finish_at(const struct strip *s, const struct finish *to, vec sum, int v, int before)
{
    vec all = vec_add(sum, vec_set1(to->bias));
    if (to->residual)
        all = vec_add(all, load_y(s, to->residual, v, before));
    return clamp_apply(to->clamp, all);
}

/* Between blocks the sums of a row are kept in y: a block's rows of x then stay in cache for all
 * rows of the unit. to: NULL where it is not the last block, or nothing is to be done behind it. */
static inline __attribute__((always_inline)) void row_run(const struct strip *s, struct stream *at,
                                                          const struct rows *x, uint32_t quads,
                                                          float *y, const struct finish *to,
                                                          const bool first, const int nv,
                                                          const int tail, const bool codebook)
{
    const int before = tail ? nv : nv - 1; /* a tail stands behind whole vectors */
    struct sums sum;
    float *yt = y + nv * LANES;
    UNROLL for (int v = 0; v < nv; v++)
    {
        sum.v[0][v] = first ? vec_zero() : load_y(s, y, v, before);
        sum.v[1][v] = sum.v[2][v] = sum.v[3][v] = vec_zero();
    }
    tail_begin(&sum.tail, first ? NULL : yt, tail);
    for (; quads > 0; quads--) {
        quad_add(at, x, &sum, nv, tail, codebook);
        at->place += 4, at->index += 4, at->value += 4;
    }
    UNROLL for (int v = 0; v < nv; v++)
    {
        vec all = vec_add(vec_add(sum.v[0][v], sum.v[1][v]), vec_add(sum.v[2][v], sum.v[3][v]));
        if (to)
            all = finish_at(s, to, all, v, before);
        if (v < before)
            vec_store(y + v * LANES, all);
        else
            store_last(s, y + v * LANES, all);
    }
    tail_end(&sum.tail, yt, tail);
}

static inline __attribute__((always_inline)) void
unit_run(const struct quads_job *job, const struct strip *s, const struct clamp *clamp,
         uint32_t unit, const int nv, const int tail, const bool codebook)
{
    const struct quad_form *f = job->form;
    const uint8_t *base = (const uint8_t *)f;
    const uint32_t first = ((const uint32_t *)(const void *)(base + f->ptr))[unit];
    const void *weight = base + f->weight;
    const size_t row = (size_t)(unit - job->unit_begin) * QUAD_UNIT_ROWS;
    const bool plain = !job->bias && !job->residual && job->act.kind == ACT_NONE;
    struct stream at = {.place =
                            (const uint16_t *)(const void *)(base + f->place) + 4 * (size_t)first,
                        .index = (const uint8_t *)weight + 4 * (size_t)first,
                        .value = (const float *)weight + (codebook ? 0 : 4 * (size_t)first),
                        .codebook = (const float *)(const void *)(base + f->codebook)};
    for (uint32_t b = 0; b < f->n_blocks; b++) {
        const struct quad_slot *slot = quad_slots(f, unit, b);
        const struct quad_slot *end = slot + quad_unit_rows(f, unit);
        const size_t block = (size_t)b * f->block_cols;
        struct rows x = {.tail = tail ? (const char *)(job->tail + block * (uint32_t)tail) : NULL};
        UNROLL for (int v = 0; v < nv; v++) x.v[v] =
            (const char *)(job->x + block * f->width) + s->at[v];
        /* Pointers as they are: gcc would add up two parts of each for every nonzero. */
        UNROLL for (int v = 0; v < nv; v++) __asm__("" : "+r"(x.v[v]));
        __asm__("" : "+r"(x.tail), "+r"(at.codebook));
        const bool last = !plain && b + 1 == f->n_blocks;
        for (; slot < end; slot++) {
            const size_t r = row + slot->row, to = r * job->ldy + s->j;
            const struct finish finish = {job->bias ? job->bias[r] : 0.0f,
                                          job->residual ? job->residual + to : NULL, clamp};
            row_run(s, &at, &x, slot->quads, job->y + to, last ? &finish : NULL, b == 0, nv, tail,
                    codebook);
        }
    }
}

/* A function for each number of vectors, so that its sums are registers. */
#define UNIT(name, nv, tail, codebook)                                                             \
    static void name(const struct quads_job *job, const struct strip *s,                           \
                     const struct clamp *clamp, uint32_t unit)                                     \
    {                                                                                              \
        unit_run(job, s, clamp, unit, nv, tail, codebook);                                         \
    }
UNIT(values1, 1, 0, false)
UNIT(values2, 2, 0, false)
UNIT(values3, 3, 0, false)
UNIT(indices1, 1, 0, true)
UNIT(indices2, 2, 0, true)
UNIT(indices3, 3, 0, true)
#if NV > 3
UNIT(values4, 4, 0, false)
UNIT(indices4, 4, 0, true)
#else
#define values4
#define indices4
#endif
#if LANES > 4
UNIT(four1, 1, 4, true)
UNIT(four2, 2, 4, true)
#else /* a whole vector: no tail */
#define four1 NULL
#define four2 NULL
#endif
#if LANES > 8
UNIT(eight1, 1, 8, true)
UNIT(eight2, 2, 8, true)
#else
#define eight1 NULL
#define eight2 NULL
#endif

typedef void unit_fn(const struct quads_job *job, const struct strip *s, const struct clamp *clamp,
                     uint32_t unit);

/* Columns that are in whole panels. */
static uint32_t panel_columns(const struct quads_job *job)
{
    return job->tail ? job->n / QUAD_WIDTH_STEP * QUAD_WIDTH_STEP : job->n;
}

/* Vectors are split evenly among as few strips as hold them, the last one with the tail. i < strips
 * <= all, so every strip has a vector; and none has more than NV, as all <= NV * strips. */
static struct strip strip_of(const struct quads_job *job, uint32_t i, uint32_t strips)
{
    uint32_t n = panel_columns(job), all = (n + LANES - 1) / LANES, begin = all * i / strips;
    struct strip s = {.j = begin * LANES, .nv = all * (i + 1) / strips - begin};
    uint32_t left = n - s.j - (s.nv - 1) * LANES;
    s.whole = left >= LANES;
    s.last = vmask_range(0, s.whole ? LANES : (int)left);
    s.tail = i + 1 < strips || n == job->n ? 0 : job->n - n > 4 ? 8 : 4;
    for (uint32_t v = 0; v < s.nv; v++) {
        uint32_t j = s.j + v * LANES;
        s.at[v] = (j / QUAD_WIDTH_STEP * job->x_step + j % QUAD_WIDTH_STEP) * sizeof(float);
    }
    return s;
}

/* Activations that are no clamp go over the unit's rows when they are complete and still in
 * cache. */
void ISA(pith_spmm_quads)(const struct quads_job *job)
{
    static unit_fn *const units[4][NV + 1] = {{NULL, indices1, indices2, indices3, indices4},
                                              {NULL, four1, four2},
                                              {NULL, eight1, eight2},
                                              {NULL, values1, values2, values3, values4}};
    const bool codebook = job->form->codebook_floats != 0;
    const struct clamp clamp = clamp_of(&job->act);
    const uint32_t n = panel_columns(job), most = (n == job->n ? NV : NV - 1) * LANES;
    const uint32_t strips = (n + most - 1) / most;
    for (uint32_t u = job->unit_begin; u < job->unit_end; u++) {
        for (uint32_t i = 0; i < strips; i++) {
            const struct strip s = strip_of(job, i, strips);
            units[codebook ? s.tail / 4 : 3][s.nv](job, &s, &clamp, u);
        }
        size_t row = (size_t)(u - job->unit_begin) * QUAD_UNIT_ROWS;
        for (uint32_t r = 0; clamp.second_pass && r < quad_unit_rows(job->form, u); r++)
            ISA(pith_act_row_f32)(&job->act, job->y + (row + r) * job->ldy, job->n);
    }
}
