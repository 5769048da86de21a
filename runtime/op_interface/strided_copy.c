/* SPDX-License-Identifier: MIT */
/* Axes of 1 are dropped and neighbours that lie behind one another in the source are merged, so a
 * copy of whole trailing axes becomes few long rows. */
#include "op_interface/strided_copy.h"
#include "op_interface/op_range.h"

/* The destination is dense, so merging depends on the source alone: two axes are one when a step
 * along the outer is as far as the whole inner axis. */
static struct strided_copy merge_axes(const struct strided_copy *box)
{
    struct strided_copy m = {.rank = 0};
    for (uint32_t i = 0; i < box->rank; i++) {
        size_t dim = box->dim[i];
        ptrdiff_t step = box->step[i];
        if (dim == 1)
            continue;
        if (m.rank > 0 && m.step[m.rank - 1] == step * (ptrdiff_t)dim) {
            m.dim[m.rank - 1] *= dim;
            m.step[m.rank - 1] = step;
            continue;
        }
        m.dim[m.rank] = dim;
        m.step[m.rank++] = step;
    }
    if (m.rank == 0) {
        m.rank = 1;
        m.dim[0] = 1;
        m.step[0] = 1;
    }
    return m;
}

/* Shared by all threads, which only read it. */
struct copy_job {
    struct strided_copy box;
    const uint8_t *src;
    uint8_t *dst;
    uint32_t bytes;
};

/* Elements are moved as unsigned integers of their size; the type behind does not matter. A
 * function for each size, as the compiler then has a load and a store of that size. */
#define GATHER(T)                                                                                  \
    static void gather_##T(const void *src, ptrdiff_t step, void *dst, size_t apart, size_t n)     \
    {                                                                                              \
        const T *from = src;                                                                       \
        T *to = dst;                                                                               \
        for (size_t i = 0; i < n; i++)                                                             \
            to[i * apart] = from[(ptrdiff_t)i * step];                                             \
    }

GATHER(uint8_t)
GATHER(uint16_t)
GATHER(uint32_t)
GATHER(uint64_t)

/* n elements, `step` apart in the source and `apart` in the destination. They have 1, 2, 4 or 8
 * bytes (strided_copy.h). */
static void copy_row(const void *src, ptrdiff_t step, void *dst, size_t apart, size_t n,
                     uint32_t bytes)
{
    if (step == 1 && apart == 1)
        memcpy(dst, src, n * bytes);
    else if (bytes == 1)
        gather_uint8_t(src, step, dst, apart, n);
    else if (bytes == 2)
        gather_uint16_t(src, step, dst, apart, n);
    else if (bytes == 4)
        gather_uint32_t(src, step, dst, apart, n);
    else
        gather_uint64_t(src, step, dst, apart, n);
}

/* Which row, axis by axis, and where it begins in the source. */
struct odometer {
    size_t at[PITH_MAX_RANK];
    ptrdiff_t offset;
};

static void odometer_set(struct odometer *o, const struct strided_copy *box, size_t row)
{
    o->offset = 0;
    for (uint32_t i = box->rank - 1; i-- > 0;) {
        o->at[i] = row % box->dim[i];
        o->offset += (ptrdiff_t)o->at[i] * box->step[i];
        row /= box->dim[i];
    }
}

/* To the next row: divisions would cost more than a short row does. */
static inline void odometer_step(struct odometer *o, const struct strided_copy *box)
{
    for (uint32_t i = box->rank - 1; i-- > 0;) {
        o->offset += box->step[i];
        if (++o->at[i] < box->dim[i])
            return;
        o->offset -= (ptrdiff_t)box->dim[i] * box->step[i];
        o->at[i] = 0;
    }
}

#define SHORT 8u

/* Items are rows along the last axis. Short ones are copied column by column, as many as follow
 * along the axis before: one after the other, most of the time would go to starting a row. */
static void copy_range(void *arg, size_t begin, size_t end)
{
    const struct copy_job *j = arg;
    const struct strided_copy *box = &j->box;
    const uint32_t last = box->rank - 1;
    const size_t n = box->dim[last];
    const ptrdiff_t step = box->step[last] * (ptrdiff_t)j->bytes;
    uint8_t *dst = j->dst + begin * n * j->bytes;
    struct odometer o;
    odometer_set(&o, box, begin);
    for (size_t row = begin, count = 1; row < end; row += count, dst += count * n * j->bytes) {
        const uint8_t *src = j->src + o.offset * (ptrdiff_t)j->bytes;
        if (last > 0 && n < SHORT && n < box->dim[last - 1]) {
            const size_t left = box->dim[last - 1] - o.at[last - 1];
            count = end - row < left ? end - row : left;
            for (size_t i = 0; i < n; i++)
                copy_row(src + (ptrdiff_t)i * step, box->step[last - 1], dst + i * j->bytes, n,
                         count, j->bytes);
            o.at[last - 1] += count - 1;
            o.offset += (ptrdiff_t)(count - 1) * box->step[last - 1];
        } else {
            copy_row(src, box->step[last], dst, 1, n, j->bytes);
        }
        odometer_step(&o, box);
    }
}

/* Rows of y are disjoint, so threads may share them in any order. */
void pith_strided_copy(const struct strided_copy *box, const struct op_env *env,
                       uint32_t elem_bytes, const void *src, void *dst)
{
    struct copy_job job = {merge_axes(box), src, dst, elem_bytes};
    size_t rows = 1;
    for (uint32_t i = 0; i + 1 < job.box.rank; i++)
        rows *= job.box.dim[i];
    pith_op_range(env, rows, job.box.dim[job.box.rank - 1], copy_range, &job);
}
