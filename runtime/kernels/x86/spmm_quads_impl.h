/* SPDX-License-Identifier: MIT */
/* spmm_quads_impl.h - template of spmm_quads (pith_kernel_quads.h). Parameters: the vector
 * operations; 4 NV sums, a weight and the address live in registers.
 *
 * A nonzero costs a broadcast and for each vector of x one multiply-add with an operand in memory:
 * loads limit, so places and indices of a quad are one load each, and streams are left to the
 * hardware's prefetch. Loops are unrolled by hand as sums have to stay in registers (gcc keeps
 * arrays that it has not unrolled in memory). */
#include "pith_kernel_sparse.h"
#include "simd_act.h"

#define NV QUAD_VECTORS_MAX /* of a row of x at once */
#define UNROLL _Pragma("GCC unroll 4")

/* What a slot's rows of x and entries are read by. */
struct stream {
    const uint16_t *place;
    const uint8_t *index; /* or value */
    const float *value;
    const float *codebook;
};

/* Where a strip of columns lies, and how it ends. */
struct strip {
    uint32_t j, nv;
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

static inline __attribute__((always_inline)) vec load_y(const struct strip *s, const float *y,
                                                        int v, int nv)
{
    return v < nv - 1 ? vec_load(y + v * LANES) : load_last(s, y + v * LANES);
}

/* Sum q takes the q-th nonzero of each quad: four chains of additions, so that none waits for the
 * result of the multiply-add right before it. */
static inline __attribute__((always_inline)) void
quad_add(const struct stream *at, const char *x, vec sum[4][NV], const int nv, const bool codebook)
{
    uint64_t place = load_le64(at->place);
    uint32_t index = codebook ? load_le32(at->index) : 0;
    UNROLL for (int q = 0; q < 4; q++, place >>= 16, index >>= 8)
    {
        vec w = vec_set1(codebook ? at->codebook[index & 255] : at->value[q]);
        const float *row = (const float *)(const void *)(x + (place & 65535) * 8);
        UNROLL for (int v = 0; v < nv; v++) sum[q][v] =
            vec_fma(w, vec_load(row + v * LANES), sum[q][v]);
    }
}

/* Between blocks the sums of a row are kept in y: a block's rows of x then stay in cache for all
 * rows of the unit. Bias, residual and clamp follow at the last block. */
static inline __attribute__((always_inline)) void
block_run(const struct quads_job *job, const struct strip *s, const struct clamp *clamp,
          struct stream *at, uint32_t unit, uint32_t block, const int nv, const bool codebook)
{
    const struct quad_form *f = job->form;
    const struct quad_slot *slot = quad_slots(f, unit, block);
    const struct quad_slot *end = slot + quad_unit_rows(f, unit);
    const char *x = (const char *)(job->x + (size_t)block * f->block_cols * f->width + s->j);
    const bool last = block + 1 == f->n_blocks;
    for (; slot < end; slot++) {
        size_t row = (size_t)(unit - job->unit_begin) * QUAD_UNIT_ROWS + slot->row;
        size_t from = row * job->ldy + s->j;
        float *y = job->y + from;
        vec sum[4][NV];
        UNROLL for (int v = 0; v < nv; v++)
        {
            sum[0][v] = block ? load_y(s, y, v, nv) : vec_zero();
            sum[1][v] = sum[2][v] = sum[3][v] = vec_zero();
        }
        for (uint32_t q = slot->quads; q > 0; q--) {
            quad_add(at, x, sum, nv, codebook);
            at->place += 4, at->index += 4, at->value += 4;
        }
        const vec bias = last && job->bias ? vec_set1(job->bias[row]) : vec_zero();
        UNROLL for (int v = 0; v < nv; v++)
        {
            vec all = vec_add(vec_add(sum[0][v], sum[1][v]), vec_add(sum[2][v], sum[3][v]));
            if (last) {
                all = vec_add(all, bias);
                if (job->residual)
                    all = vec_add(all, load_y(s, job->residual + from, v, nv));
                all = clamp_apply(clamp, all);
            }
            if (v < nv - 1)
                vec_store(y + v * LANES, all);
            else
                store_last(s, y + v * LANES, all);
        }
    }
}

static inline __attribute__((always_inline)) void unit_run(const struct quads_job *job,
                                                           const struct strip *s,
                                                           const struct clamp *clamp, uint32_t unit,
                                                           const int nv, const bool codebook)
{
    const struct quad_form *f = job->form;
    const uint8_t *base = (const uint8_t *)f;
    const uint32_t first = ((const uint32_t *)(const void *)(base + f->ptr))[unit];
    const void *weight = base + f->weight;
    struct stream at = {.place =
                            (const uint16_t *)(const void *)(base + f->place) + 4 * (size_t)first,
                        .index = (const uint8_t *)weight + 4 * (size_t)first,
                        .value = (const float *)weight + (codebook ? 0 : 4 * (size_t)first),
                        .codebook = (const float *)(const void *)(base + f->codebook)};
    for (uint32_t b = 0; b < f->n_blocks; b++)
        block_run(job, s, clamp, &at, unit, b, nv, codebook);
}

/* A function for each number of vectors, so that its sums are registers. */
#define UNIT(nv)                                                                                   \
    static void unit_run##nv(const struct quads_job *job, const struct strip *s,                   \
                             const struct clamp *clamp, uint32_t unit)                             \
    {                                                                                              \
        if (job->form->codebook_floats)                                                            \
            unit_run(job, s, clamp, unit, nv, true);                                               \
        else                                                                                       \
            unit_run(job, s, clamp, unit, nv, false);                                              \
    }
UNIT(1)
UNIT(2)
UNIT(3)

typedef void unit_fn(const struct quads_job *job, const struct strip *s, const struct clamp *clamp,
                     uint32_t unit);

/* Vectors are split evenly among as few strips as hold them. i < strips <= all, so every strip has
 * a vector; and none has more than NV, as all <= NV * strips. */
static struct strip strip_of(const struct quads_job *job, uint32_t i, uint32_t strips)
{
    uint32_t all = (job->n + LANES - 1) / LANES, begin = all * i / strips;
    struct strip s = {.j = begin * LANES, .nv = all * (i + 1) / strips - begin};
    uint32_t left = job->n - s.j - (s.nv - 1) * LANES;
    s.whole = left >= LANES;
    s.last = vmask_range(0, s.whole ? LANES : (int)left);
    return s;
}

/* Activations that are no clamp go over the unit's rows when they are complete and still in
 * cache. */
void ISA(pith_spmm_quads)(const struct quads_job *job)
{
    static unit_fn *const units[NV + 1] = {NULL, unit_run1, unit_run2, unit_run3};
    const struct clamp clamp = clamp_of(&job->act);
    uint32_t strips = (job->n + NV * LANES - 1) / (NV * LANES);
    for (uint32_t u = job->unit_begin; u < job->unit_end; u++) {
        for (uint32_t i = 0; i < strips; i++) {
            const struct strip s = strip_of(job, i, strips);
            units[s.nv](job, &s, &clamp, u);
        }
        size_t row = (size_t)(u - job->unit_begin) * QUAD_UNIT_ROWS;
        for (uint32_t r = 0; clamp.second_pass && r < quad_unit_rows(job->form, u); r++)
            act_row(&job->act, job->y + (row + r) * job->ldy, job->n);
    }
}
