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

/* Pairs that lie together everywhere become one element of twice the size. */
static struct strided_copy join_pairs(const struct strided_copy *box, const void *src, void *dst,
                                      uint32_t *bytes)
{
    struct strided_copy m = merge_axes(box);
    while (*bytes < 8) {
        const uint32_t last = m.rank - 1;
        bool even = m.step[last] == 1 && m.dim[last] % 2 == 0 &&
                    ((uintptr_t)src | (uintptr_t)dst) % (2 * *bytes) == 0;
        for (uint32_t i = 0; i < last; i++)
            even = even && m.step[i] % 2 == 0;
        if (!even)
            break;
        for (uint32_t i = 0; i < last; i++)
            m.step[i] /= 2;
        m.dim[last] /= 2;
        *bytes *= 2;
        m = merge_axes(&m);
    }
    return m;
}

/* Shared by all threads, which only read it. */
struct copy_job {
    struct strided_copy box;
    const uint8_t *src;
    uint8_t *dst;
    uint32_t bytes;
    uint32_t across; /* axis of the planes that are turned */
};

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
                pith_copy_row(src + (ptrdiff_t)i * step, box->step[last - 1], dst + i * j->bytes, n,
                              count, j->bytes);
            o.at[last - 1] += count - 1;
            o.offset += (ptrdiff_t)(count - 1) * box->step[last - 1];
        } else {
            pith_copy_row(src, box->step[last], dst, 1, n, j->bytes);
        }
        odometer_step(&o, box);
    }
}

/* ---- planes that are turned ----------------------------------------------------------------- */

#ifdef TURNS
/* Where another axis than the last is dense in the source, `across`, both make planes, of which
 * the source has the rows along `across` and the destination those along the last axis. They are
 * turned in strips: of the lines of the destination, each written in several passes, as many as the
 * first-level cache holds. */
#define STRIP 64u /* elements of `across` */

/* The axis of step 1; the last one: no plane is turned. */
static uint32_t dense_axis(const struct strided_copy *box)
{
    const uint32_t last = box->rank - 1;
    uint32_t i = 0;
    while (i < last && (box->step[i] != 1 || box->step[last] == 1))
        i++;
    return i;
}

/* Items are strips of planes. */
static void turn_range(void *arg, size_t begin, size_t end)
{
    const struct copy_job *j = arg;
    const struct strided_copy *box = &j->box;
    const uint32_t last = box->rank - 1;
    const size_t across = box->dim[j->across], strips = (across + STRIP - 1) / STRIP;
    for (size_t item = begin; item < end; item++) {
        const size_t first = item % strips * STRIP;
        const size_t width = across - first < STRIP ? across - first : STRIP;
        size_t rest = item / strips, apart = 1, step = box->dim[last], to = 0;
        ptrdiff_t from = (ptrdiff_t)first;
        for (uint32_t i = last; i-- > 0; step *= box->dim[i]) {
            if (i == j->across) {
                apart = step;
                continue;
            }
            from += (ptrdiff_t)(rest % box->dim[i]) * box->step[i];
            to += rest % box->dim[i] * step;
            rest /= box->dim[i];
        }
        pith_turn(&(struct turned){box->step[last], apart, box->dim[last], width, j->bytes, 1},
                  j->src + from * (ptrdiff_t)j->bytes, j->dst + (to + first * apart) * j->bytes);
    }
}

#endif

/* Rows of y are disjoint, so threads may share them in any order. */
void pith_strided_copy(const struct strided_copy *box, const struct op_env *env,
                       uint32_t elem_bytes, const void *src, void *dst)
{
    struct copy_job job = {.src = src, .dst = dst, .bytes = elem_bytes};
    job.box = join_pairs(box, src, dst, &job.bytes);
    const uint32_t last = job.box.rank - 1;
    size_t rows = 1;
    for (uint32_t i = 0; i < last; i++)
        rows *= job.box.dim[i];
#ifdef TURNS
    job.across = dense_axis(&job.box);
    if (job.across != last) {
        const size_t across = job.box.dim[job.across], strips = (across + STRIP - 1) / STRIP;
        pith_op_range(env, rows / across * strips,
                      job.box.dim[last] * (across < STRIP ? across : STRIP), turn_range, &job);
        return;
    }
#endif
    pith_op_range(env, rows, job.box.dim[last], copy_range, &job);
}
