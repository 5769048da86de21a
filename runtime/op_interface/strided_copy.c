/* SPDX-License-Identifier: MIT */
/* Axes of 1 are dropped and neighbours that lie behind one another in the source are merged, so a
 * copy of whole trailing axes becomes few long rows. */
#include "op_interface/strided_copy.h"
#include "op_interface/op_range.h"

/* The 16 bytes from `at` on and the 16 before `end`. */
static inline void copy_ends(uint8_t *y, const uint8_t *x, size_t at, size_t end)
{
    uint64_t a[2], b[2];
    memcpy(a, x + at, sizeof a), memcpy(b, x + end - sizeof b, sizeof b);
    memcpy(y + at, a, sizeof a), memcpy(y + end - sizeof b, b, sizeof b);
}

/* Pieces that overlap. */
void pith_copy_bytes(void *to, const void *from, size_t n)
{
    uint8_t *y = to;
    const uint8_t *x = from;
    uint64_t a, b;
    uint32_t c, d;
    if (n > 64) {
        memcpy(to, from, n);
    } else if (n > 32) {
        copy_ends(y, x, 0, 32);
        copy_ends(y, x, n - 32, n);
    } else if (n >= 16) {
        copy_ends(y, x, 0, n);
    } else if (n >= 8) {
        memcpy(&a, x, 8), memcpy(&b, x + n - 8, 8);
        memcpy(y, &a, 8), memcpy(y + n - 8, &b, 8);
    } else if (n >= 4) {
        memcpy(&c, x, 4), memcpy(&d, x + n - 4, 4);
        memcpy(y, &c, 4), memcpy(y + n - 4, &d, 4);
    } else {
        for (; n > 0; n--)
            *y++ = *x++;
    }
}

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
    uint32_t across; /* axis of the planes that are turned */
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

#if defined(__SSE2__) || defined(__aarch64__)
#define FOURS
typedef uint32_t four __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint8_t sixteen __attribute__((vector_size(16), aligned(1), may_alias));
#ifdef __clang__
#define PICK_AS(type, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define PICK_AS(type, a, b, ...) __builtin_shuffle(a, b, (type){__VA_ARGS__})
#endif
#define PICK(a, b, ...) PICK_AS(four, a, b, __VA_ARGS__)
#endif

/* What lies behind the last element is not read. */
static void every_second(const uint32_t *src, uint32_t *dst, size_t n)
{
    size_t i = 0;
#ifdef FOURS
    for (; i + 4 < n; i += 4) {
        const four *from = (const four *)(src + 2 * i);
        *(four *)(dst + i) = PICK(from[0], from[1], 0, 2, 4, 6);
    }
#endif
    gather_uint32_t(src + 2 * i, 2, dst + i, 1, n - i);
}

/* n elements, `step` apart in the source and `apart` in the destination. They have 1, 2, 4 or 8
 * bytes (strided_copy.h). */
static void copy_row(const void *src, ptrdiff_t step, void *dst, size_t apart, size_t n,
                     uint32_t bytes)
{
    if (step == 1 && apart == 1)
        pith_copy_bytes(dst, src, n * bytes);
    else if (bytes == 1)
        gather_uint8_t(src, step, dst, apart, n);
    else if (bytes == 2)
        gather_uint16_t(src, step, dst, apart, n);
    else if (bytes == 8)
        gather_uint64_t(src, step, dst, apart, n);
    else if (step == 2 && apart == 1)
        every_second(src, dst, n);
    else
        gather_uint32_t(src, step, dst, apart, n);
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

/* ---- planes that are turned ----------------------------------------------------------------- */

#ifdef FOURS
/* Where another axis than the last is dense in the source, `across`, both make planes, of which
 * the source has the rows along `across` and the destination those along the last axis. They are
 * turned in strips: of the lines of the destination, each written in several passes, as many as the
 * first-level cache holds. */
#define STRIP 64u /* elements of `across` */

/* 4 x 4 elements in registers. */
static inline void turn_four(const uint32_t *src, ptrdiff_t step, uint32_t *dst, size_t apart)
{
    const four a = *(const four *)src, b = *(const four *)(src + step);
    const four c = *(const four *)(src + 2 * step), d = *(const four *)(src + 3 * step);
    const four ab = PICK(a, b, 0, 4, 1, 5), cd = PICK(c, d, 0, 4, 1, 5);
    const four ab_high = PICK(a, b, 2, 6, 3, 7), cd_high = PICK(c, d, 2, 6, 3, 7);
    *(four *)dst = PICK(ab, cd, 0, 1, 4, 5);
    *(four *)(dst + apart) = PICK(ab, cd, 2, 3, 6, 7);
    *(four *)(dst + 2 * apart) = PICK(ab_high, cd_high, 0, 1, 4, 5);
    *(four *)(dst + 3 * apart) = PICK(ab_high, cd_high, 2, 3, 6, 7);
}

/* dst[c * apart + r] = src[r * step + c], r < rows, c < columns: whole fours. */
static void turn_fours(const uint32_t *src, ptrdiff_t step, uint32_t *dst, size_t apart,
                       size_t rows, size_t columns)
{
    for (size_t r = 0; r < rows; r += 4)
        for (size_t c = 0; c < columns; c += 4)
            turn_four(src + (ptrdiff_t)r * step + c, step, dst + c * apart + r, apart);
}

#define SIDE 16u /* bytes of a row, and rows, that are turned in registers */

/* Pairs of rows that lie SIDE / 2 apart are interleaved: four times, and rows are columns. */
static inline void zip(const sixteen *x, sixteen *y)
{
#pragma GCC unroll 8
    for (uint32_t i = 0; i < SIDE / 2; i++) {
        const sixteen a = x[i], b = x[i + SIDE / 2];
        y[2 * i] = PICK_AS(sixteen, a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        y[2 * i + 1] =
            PICK_AS(sixteen, a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
}

/* Rows and columns of bytes, up to SIDE of each, of pith_turn; nothing beyond them is read. From
 * dst on `room` bytes may be written, of which later columns write those that this one does not
 * have. begun: how many times the first row stood above them. */
struct byte_block {
    const uint8_t *src;
    uint8_t *dst;
    size_t rows, columns, room;
    uint32_t begun;
};

static inline __attribute__((always_inline)) void turn_bytes(const struct byte_block *block,
                                                             const struct turned *t, size_t rows,
                                                             size_t columns, const uint32_t times)
{
    sixteen a[SIDE] = {{0}}, b[SIDE];
    const uint8_t *src = block->src;
    uint32_t begun = block->begun;
    for (size_t r = 0; r < rows; r++) {
        if (columns == SIDE)
            a[r] = *(const sixteen *)src;
        else
            pith_copy_bytes(&a[r], src, columns);
        if (++begun == times) {
            begun = 0;
            src += t->step;
        }
    }
    zip(a, b);
    zip(b, a);
    zip(a, b);
    zip(b, a);
    uint8_t *dst = block->dst;
    for (size_t c = 0; c < columns; c++, dst += t->apart)
        if (rows == SIDE || c * t->apart + SIDE <= block->room)
            *(sixteen *)dst = a[c];
        else
            pith_copy_bytes(dst, &a[c], rows);
}

static __attribute__((noinline)) void turn_some_bytes(const struct byte_block *block,
                                                      const struct turned *t)
{
    turn_bytes(block, t, block->rows, block->columns, t->times);
}

/* The last block of either axis ends with it, and writes again what the one before it wrote. */
static void turn_blocks(const struct turned *t, const uint8_t *src, uint8_t *dst)
{
    struct byte_block block = {.rows = t->rows < SIDE ? t->rows : SIDE,
                               .columns = t->columns < SIDE ? t->columns : SIDE};
    for (size_t column = 0; column < t->columns; column += SIDE)
        for (size_t row = 0; row < t->rows; row += SIDE) {
            const size_t r = row + block.rows < t->rows ? row : t->rows - block.rows;
            const size_t c =
                column + block.columns < t->columns ? column : t->columns - block.columns;
            const size_t above = t->times == 1 ? r : r / t->times;
            block.src = src + (ptrdiff_t)above * t->step + c;
            block.begun = (uint32_t)(r - above * t->times);
            block.dst = dst + c * t->apart + r;
            block.room = t->apart == t->rows ? (t->columns - c) * t->apart - r : 0;
            if (block.rows == SIDE && block.columns == SIDE && t->times == 1)
                turn_bytes(&block, t, SIDE, SIDE, 1);
            else
                turn_some_bytes(&block, t);
        }
}
#endif

/* Fewer rows or columns are copied one by one. */
#define FEWEST 8u

void pith_turn(const struct turned *t, const void *from, void *to)
{
    const uint8_t *src = from;
    uint8_t *dst = to;
    const ptrdiff_t step = t->step * (ptrdiff_t)t->bytes;
    size_t done = 0, fours = 0; /* rows, columns */
#ifdef FOURS
    const bool many = t->rows >= FEWEST || (t->rows > 2 && t->apart == t->rows);
    if (t->bytes == 1 && many && t->columns >= FEWEST) {
        turn_blocks(t, src, dst);
        return;
    }
    if (t->bytes == 4 && t->times == 1) {
        done = t->rows & ~(size_t)3;
        fours = t->columns & ~(size_t)3;
        turn_fours(from, t->step, to, t->apart, done, fours);
    }
#endif
    for (size_t r = 0; fours < t->columns && r < done; r++)
        copy_row(src + (ptrdiff_t)r * step + fours * 4, 1, dst + (fours * t->apart + r) * 4,
                 t->apart, t->columns - fours, 4);
    src += (ptrdiff_t)done * step; /* 0, if there are several times */
    dst += done * t->bytes;
    const size_t rows = t->rows - done;
    if (t->columns < FEWEST && t->times == 1)
        for (size_t c = 0; c < t->columns; c++)
            copy_row(src + c * t->bytes, t->step, dst + c * t->apart * t->bytes, 1, rows, t->bytes);
    else
        for (size_t r = 0; r < rows; r++)
            copy_row(src + (ptrdiff_t)(r / t->times) * step, 1, dst + r * t->bytes, t->apart,
                     t->columns, t->bytes);
}

#ifdef FOURS
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
    struct copy_job job = {merge_axes(box), src, dst, elem_bytes, 0};
    const uint32_t last = job.box.rank - 1;
    size_t rows = 1;
    for (uint32_t i = 0; i < last; i++)
        rows *= job.box.dim[i];
#ifdef FOURS
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
