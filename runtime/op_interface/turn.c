/* SPDX-License-Identifier: MIT */
/* turn.c - see turn.h. */
#include "op_interface/turn.h"
#include <string.h>

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

#ifdef TURNS
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
#ifdef TURNS
    for (; i + 4 < n; i += 4) {
        const four *from = (const four *)(src + 2 * i);
        *(four *)(dst + i) = PICK(from[0], from[1], 0, 2, 4, 6);
    }
#endif
    gather_uint32_t(src + 2 * i, 2, dst + i, 1, n - i);
}

#define MANY 64u

/* One element MANY times or more: what is written already is copied. */
static void repeat(const void *src, uint8_t *dst, size_t n, size_t bytes)
{
    size_t done = bytes, piece;
    memcpy(dst, src, bytes);
    for (; done < n * bytes; done += piece) {
        piece = done < n * bytes - done ? done : n * bytes - done;
        memcpy(dst + done, dst, piece);
    }
}

/* n elements, `step` apart in the source and `apart` in the destination. */
void pith_copy_row(const void *src, ptrdiff_t step, void *dst, size_t apart, size_t n,
                   uint32_t bytes)
{
    if (step == 1 && apart == 1)
        pith_copy_bytes(dst, src, n * bytes);
    else if (step == 0 && apart == 1 && n >= MANY)
        repeat(src, dst, n, bytes);
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

#ifdef TURNS
/* 4 x 4 elements in registers, of which the first `rows` are read and the first `columns` written;
 * both are constants, 2 at least. */
static inline __attribute__((always_inline)) void turn_four(const uint32_t *src, ptrdiff_t step,
                                                            uint32_t *dst, size_t apart,
                                                            const size_t rows, const size_t columns)
{
    const four a = *(const four *)src, b = *(const four *)(src + step);
    const four c = rows > 2 ? *(const four *)(src + 2 * step) : a;
    const four d = rows > 3 ? *(const four *)(src + 3 * step) : b;
    const four ab = PICK(a, b, 0, 4, 1, 5), cd = PICK(c, d, 0, 4, 1, 5);
    const four ab_high = PICK(a, b, 2, 6, 3, 7), cd_high = PICK(c, d, 2, 6, 3, 7);
    *(four *)dst = PICK(ab, cd, 0, 1, 4, 5);
    *(four *)(dst + apart) = PICK(ab, cd, 2, 3, 6, 7);
    if (columns > 2)
        *(four *)(dst + 2 * apart) = PICK(ab_high, cd_high, 0, 1, 4, 5);
    if (columns > 3)
        *(four *)(dst + 3 * apart) = PICK(ab_high, cd_high, 2, 3, 6, 7);
}

/* Blocks of four columns of `rows` rows, 2 or 3: a store reaches into the columns that follow and
 * are written then, so a block has one behind it. Returns the number of columns that are done. */
static inline size_t turn_flat(const uint32_t *src, ptrdiff_t step, uint32_t *dst, size_t columns,
                               const size_t rows)
{
    size_t c = 0;
    for (; c + 4 < columns; c += 4)
        turn_four(src + c, step, dst + c * rows, rows, rows, 4);
    return c;
}

/* Blocks of four rows of `columns` columns, 2 or 3: a load reaches into the row that follows. */
static inline size_t turn_thin(const uint32_t *src, ptrdiff_t step, uint32_t *dst, size_t apart,
                               size_t rows, const size_t columns)
{
    size_t r = 0;
    for (; r + 4 < rows; r += 4)
        turn_four(src + (ptrdiff_t)r * step, step, dst + r, apart, 4, columns);
    return r;
}

/* Elements of 4 bytes, as pith_turn(). What is left of either axis is one by one. */
static void turn_words(const struct turned *t, const uint32_t *src, uint32_t *dst)
{
    const size_t rows = t->rows, columns = t->columns;
    const bool dense = t->apart == rows, spaced = t->step >= (ptrdiff_t)columns;
    size_t r = 0, c = 0;
    if (rows >= 4 && columns >= 4)
        /* The last block of either axis ends with it, and writes again what the one before it did.
         */
        for (; r < rows; r = r + 8 <= rows || r + 4 == rows ? r + 4 : rows - 4)
            for (c = 0; c < columns; c = c + 8 <= columns || c + 4 == columns ? c + 4 : columns - 4)
                turn_four(src + (ptrdiff_t)r * t->step + c, t->step, dst + c * t->apart + r,
                          t->apart, 4, 4);
    else if (rows == 2 && dense)
        c = turn_flat(src, t->step, dst, columns, 2);
    else if (rows == 3 && dense)
        c = turn_flat(src, t->step, dst, columns, 3);
    else if (columns == 2 && spaced)
        r = turn_thin(src, t->step, dst, t->apart, rows, 2);
    else if (columns == 3 && spaced)
        r = turn_thin(src, t->step, dst, t->apart, rows, 3);
    for (size_t first = c; r < rows; r++)
        for (c = first; c < columns; c++)
            dst[c * t->apart + r] = src[(ptrdiff_t)r * t->step + (ptrdiff_t)c];
}

#define SIDE 16u /* bytes of a row, and rows, that are turned in registers */

/* Pairs of rows that lie SIDE / 2 apart are interleaved: four times, and rows are columns. */
static inline __attribute__((always_inline)) void zip(const sixteen *x, sixteen *y)
{
#pragma GCC unroll 8
    for (uint32_t i = 0; i < SIDE / 2; i++) {
        const sixteen a = x[i], b = x[i + SIDE / 2];
        y[2 * i] = PICK_AS(sixteen, a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        y[2 * i + 1] =
            PICK_AS(sixteen, a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
}

static void turn_square(const uint8_t *src, ptrdiff_t step, uint8_t *dst, size_t apart)
{
    sixteen a[SIDE], b[SIDE];
#pragma GCC unroll 16
    for (uint32_t r = 0; r < SIDE; r++)
        a[r] = *(const sixteen *)(src + r * step);
    zip(a, b);
    zip(b, a);
    zip(a, b);
    zip(b, a);
#pragma GCC unroll 16
    for (uint32_t c = 0; c < SIDE; c++)
        *(sixteen *)(dst + c * apart) = a[c];
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

static inline void copy_some(uint8_t *to, const uint8_t *from, size_t n)
{
    if (n == SIDE)
        memcpy(to, from, SIDE);
    else
        pith_copy_bytes(to, from, n);
}

/* By way of a square. */
static void turn_some(const struct byte_block *block, const struct turned *t)
{
    uint8_t square[2][SIDE * SIDE] = {{0}};
    const uint8_t *src = block->src;
    uint8_t *dst = block->dst;
    uint32_t begun = block->begun;
    for (size_t r = 0; r < block->rows; r++) {
        copy_some(square[0] + r * SIDE, src, block->columns);
        if (++begun == t->times) {
            begun = 0;
            src += t->step;
        }
    }
    if (block->rows == SIDE && block->columns == SIDE) {
        turn_square(square[0], SIDE, dst, t->apart);
        return;
    }
    turn_square(square[0], SIDE, square[1], SIDE);
    for (size_t c = 0; c < block->columns; c++, dst += t->apart)
        copy_some(dst, square[1] + c * SIDE,
                  c * t->apart + SIDE <= block->room ? SIDE : block->rows);
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
                turn_square(block.src, t->step, block.dst, t->apart);
            else
                turn_some(&block, t);
        }
}
#endif

/* Rows of bytes, which become columns without a gap, as the planes of a picture do. Compilers make
 * vectors of it where the number of rows is a constant. */
static inline __attribute__((always_inline)) void
interleave(const struct turned *t, const uint8_t *src, uint8_t *dst, const uint32_t rows)
{
    const uint8_t *const a = src, *const b = a + t->step;
    const uint8_t *const c = rows > 2 ? b + t->step : b, *const d = rows > 3 ? c + t->step : c;
    for (size_t i = 0, n = t->columns; i < n; i++, dst += rows) {
        dst[0] = a[i], dst[1] = b[i];
        if (rows > 2)
            dst[2] = c[i];
        if (rows > 3)
            dst[3] = d[i];
    }
}

/* Fewer rows or columns are copied one by one. */
#define FEWEST 8u

void pith_turn(const struct turned *t, const void *from, void *to)
{
    const uint8_t *src = from;
    uint8_t *dst = to;
    const ptrdiff_t step = t->step * (ptrdiff_t)t->bytes;
    const bool dense = t->apart == t->rows;
    if (t->bytes == 1 && t->times == 1 && dense && t->rows > 1 && t->rows <= 4) {
        if (t->rows == 2)
            interleave(t, src, dst, 2);
        else if (t->rows == 3)
            interleave(t, src, dst, 3);
        else
            interleave(t, src, dst, 4);
        return;
    }
#ifdef TURNS
    const bool many = t->rows >= FEWEST || (t->rows > 2 && dense);
    if (t->bytes == 1 && many && t->columns >= FEWEST) {
        turn_blocks(t, src, dst);
        return;
    }
    if (t->bytes == 4 && t->times == 1) {
        turn_words(t, from, to);
        return;
    }
#endif
    if (t->columns < FEWEST && t->times == 1)
        for (size_t c = 0; c < t->columns; c++)
            pith_copy_row(src + c * t->bytes, t->step, dst + c * t->apart * t->bytes, 1, t->rows,
                          t->bytes);
    else
        for (size_t r = 0; r < t->rows; r++)
            pith_copy_row(src + (ptrdiff_t)(r / t->times) * step, 1, dst + r * t->bytes, t->apart,
                          t->columns, t->bytes);
}
