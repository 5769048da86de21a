/* SPDX-License-Identifier: MIT */
/* class_model.h - classes of elements for static rANS tables: what surrounds an element, and
 * the class that follows from it (docs/format-streams.md, section 11). The decoder
 * (class_decode.c) and the encoder walk through a tensor by the same functions.
 *
 *     averages of row and column, elements beside and above -> score -> class: a table of levels
 *     signed elements beside and above                      -> lean  -> a probability of the sign
 *
 * A row is decoded in lanes: runs of columns side by side, each with a state of its own, so that
 * the chains of dependent operations overlap. Integers only: the same bits on every machine.
 * Shifts of negative numbers round down. */
#ifndef CLASS_MODEL_H
#define CLASS_MODEL_H

#include <string.h>
#include "core/bytes.h"
#include "decode/rans_table.h"
#include "decode/trellis.h"
#include "decode/weight.h"

#define CLASS_LANES 4u
#define CLASS_MOST 24u /* classes of both quantizers together */
#define CLASS_SCORES 1024u
#define CLASS_TABLE_MAX 4096u /* bytes of a model in a file */
#define CLASS_SYMBOLS 30u     /* levels to 396 */
#define CLASS_LARGEST 255     /* |q| */
#define CLASS_LEANS 8u
#define CLASS_SIZES 5u                               /* level 0, which has no sign; 1, 2, 3, more */
#define CLASS_ODDS (CLASS_LEANS * (CLASS_SIZES - 1)) /* that a model has */
#define CLASS_ONE 256 /* averages have 8 fraction bits, and a little for 0 */
#define CLASS_NONE 32
#define CLASS_MOST_WEIGHT 31

/* Weights of the score. */
enum { OF_ROW, OF_COLUMN, OF_NEAR, BY_LEFT, BY_ABOVE, BY_LINE, BY_RUN, BY_LEAN, CLASS_WEIGHTS };
/* Weights of the lean, in 1/32 of a natural logarithm of odds. */
enum { LEAN_LEFT, LEAN_UP, LEAN_CORNER, LEAN_ABOVE, LEAN_COLUMN, LEAN_ROW, CLASS_LEAN_WEIGHTS };

struct class_model {
    int32_t weight[CLASS_WEIGHTS], lean_weight[CLASS_LEAN_WEIGHTS];
    uint16_t agrees[CLASS_LEANS * CLASS_SIZES]; /* probability in 1/256, 1..255; of 0: 256 */
    uint8_t n_classes[2];                       /* of each quantizer; the second has those behind */
    uint16_t start[CLASS_MOST][CLASS_SYMBOLS + 1];
    uint8_t class_of[2][CLASS_SCORES];
};

/* What is known of the columns of a row before it is decoded, and the row as far as it is. */
struct class_columns {
    int16_t *q;           /* [cols], behind a 0: of this row or, further on, of the row above */
    uint16_t *mean;       /* of |q|; these two are averages of all rows above */
    int8_t *sign;         /* 6 fraction bits */
    uint16_t *score;      /* parts of the sums that class_look makes, which do not depend on q of */
    int32_t *lean, *near; /* this row */
};

struct class_walk {
    struct class_columns column;
    uint64_t rows, cols;
    uint32_t place, line; /* elements of a kernel, of its lines; UINT32_MAX of a matrix */
    uint32_t trellis;     /* states; 0: none */
    uint32_t lanes, run;  /* run: columns of a lane */
    uint64_t row;
    int32_t mean, row_mean, balance; /* of the tensor, of the row; of its signs */
    uint32_t n_read;                 /* elements of the row so far */
    uint32_t state;                  /* of the trellis */
    struct class_lane {
        uint32_t at, x; /* in the kernel, in its line */
        int32_t before; /* average of |q|, 3 fraction bits */
    } lane[CLASS_LANES];
};

/* What surrounds an element. */
struct class_around {
    int32_t above;                    /* q */
    int32_t column, sign;             /* the logarithm of its column's mean; the column's average */
    int32_t left, up, corner, before; /* in the row: q, 0 outside of the kernel; but left */
    int32_t beside;                   /* left, 0 outside of the kernel */
    int32_t row, balance;             /* the logarithm of the row's mean */
};

static inline int32_t class_abs(int32_t v)
{
    return v < 0 ? -v : v;
}

/* Logarithm to the base 2 in eighths, of x >= 1. */
static inline int32_t class_log(uint32_t x)
{
    uint32_t e = 31u - (uint32_t)__builtin_clz(x);
    return (int32_t)(8 * e + ((uint32_t)((uint64_t)x << 3 >> e) & 7));
}

/* 65536 / n, rounded down. */
static const uint16_t class_part[45] = {
    0,    0,    32768, 21845, 16384, 13107, 10922, 9362, 8192, 7281, 6553, 5957, 5461, 5041, 4681,
    4369, 4096, 3855,  3640,  3449,  3276,  3120,  2978, 2849, 2730, 2621, 2520, 2427, 2340, 2259,
    2184, 2114, 2048,  1985,  1927,  1872,  1820,  1771, 1724, 1680, 1638, 1598, 1560, 1524, 1489};

/* A step of an average toward v, of 1/n. */
static inline int32_t class_follow(int32_t mean, int32_t v, uint32_t n)
{
    return mean + (int32_t)(((int64_t)(v - mean) * class_part[n]) >> 16);
}

static inline uint32_t class_least(uint64_t a, uint32_t b)
{
    return a < b ? (uint32_t)a : b;
}

/* Parts of sums: what the row above and the column say, ... */
static inline int32_t class_lean_before(const struct class_model *m, int32_t above, int32_t sign)
{
    return m->lean_weight[LEAN_ABOVE] * above + ((m->lean_weight[LEAN_COLUMN] * sign) >> 5);
}

static inline int32_t class_near_before(const struct class_model *m, int32_t above)
{
    return 4 + 4 * m->weight[BY_ABOVE] * class_abs(above);
}

/* ... and all. */
static inline int32_t class_lean(const struct class_model *m, int32_t before,
                                 const struct class_around *a)
{
    const int32_t *w = m->lean_weight;
    return before + w[LEAN_LEFT] * a->beside + w[LEAN_UP] * a->up + w[LEAN_CORNER] * a->corner +
           ((w[LEAN_ROW] * a->balance) >> 7);
}

/* before: class_near_before(); column: OF_COLUMN times the logarithm of its mean. */
static inline uint32_t class_score(const struct class_model *m, int32_t before, uint32_t column,
                                   const struct class_around *a, int32_t lean)
{
    const int32_t *w = m->weight;
    int32_t near = before + 4 * (w[BY_LEFT] * class_abs(a->left) + w[BY_LINE] * class_abs(a->up)) +
                   w[BY_RUN] * a->before + w[BY_LEAN] * (class_abs(lean) >> 2);
    uint32_t score =
        (column + (uint32_t)(w[OF_ROW] * a->row + w[OF_NEAR] * class_log((uint32_t)near))) >> 4;
    return score < CLASS_SCORES ? score : CLASS_SCORES - 1;
}

/* What surrounds column c in its row. row: of the row's mean. */
static inline struct class_around
class_look(const struct class_walk *w, const struct class_lane *lane, const int16_t *q, int32_t row)
{
    struct class_around a = {
        .left = q[-1], .before = lane->before, .row = row, .balance = w->balance};
    int32_t in = -(int32_t)(lane->x > 0), below = -(int32_t)(lane->at >= w->line);
    const int16_t *up = q - (w->line & (uint32_t)below);
    a.beside = a.left & in;
    a.up = *up & below;
    a.corner = up[-1] & in & below;
    return a;
}

/* The same, and what its column says. */
static inline struct class_around class_look_all(const struct class_walk *w, uint32_t lane,
                                                 size_t i)
{
    struct class_around a =
        class_look(w, &w->lane[lane], w->column.q + i, class_log((uint32_t)w->row_mean));
    a.above = w->column.q[i];
    a.column = class_log(w->column.mean[i]);
    a.sign = w->column.sign[i];
    return a;
}

/* In the trellis of w, if it has one. */
static inline uint32_t class_level_of(const struct class_walk *w, int32_t q)
{
    uint32_t size = (uint32_t)class_abs(q);
    return w->trellis ? (size + (w->state & 1)) / 2 * (q != 0) : size;
}

/* Odds for the sign that the lean has. */
static inline const uint16_t *class_agrees(const struct class_model *m, int32_t lean,
                                           uint32_t symbol)
{
    uint32_t far = (uint32_t)class_abs(lean) * 5 >> 6;
    return &m->agrees[(far < CLASS_LEANS ? far : CLASS_LEANS - 1) * CLASS_SIZES +
                      (symbol < CLASS_SIZES ? symbol : CLASS_SIZES - 1)];
}

/* A symbol is a level from `level` on, in so many raw bits. */
static const struct class_symbol {
    uint16_t level, raw_bits;
} class_symbols[CLASS_SYMBOLS] = {
    {0, 0},  {1, 0},  {2, 0},  {3, 0},  {4, 0},  {5, 0},  {6, 0},   {7, 0},   {8, 0},   {9, 0},
    {10, 0}, {11, 0}, {12, 0}, {13, 0}, {14, 0}, {15, 0}, {16, 0},  {17, 1},  {19, 1},  {21, 2},
    {25, 2}, {29, 3}, {37, 3}, {45, 4}, {61, 4}, {77, 5}, {109, 5}, {141, 6}, {205, 6}, {269, 7}};

/* Behind the n elements that the lanes have at once. */
static inline void class_learn(struct class_walk *w, const int32_t *q, uint32_t n)
{
    int32_t sizes = 0, signs = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct class_lane *l = &w->lane[i];
        int32_t size = class_abs(q[i]);
        sizes += CLASS_ONE * size + CLASS_NONE - w->row_mean;
        signs += q[i] < 0 ? -1 : q[i] > 0;
        l->before = (l->before + 8 * size) >> 1;
        l->x = l->x + 1 == w->line ? 0 : l->x + 1;
        l->at = l->at + 1 == w->place ? 0 : l->at + 1;
    }
    w->row_mean += (int32_t)(((int64_t)sizes * class_part[4 + class_least(w->n_read, 40)]) >> 16);
    w->balance += 64 * signs - (int32_t)n * (w->balance >> 4);
    w->n_read += n;
}

/* The same for one lane: its next element. */
static inline void class_take(struct class_walk *w, int32_t q)
{
    w->column.q[w->n_read] = (int16_t)q;
    class_learn(w, &q, 1);
    if (w->trellis)
        w->state = pith_trellis_after(w->trellis, w->state, q);
}

/* Loops of their own over all columns, which have vectors. */
static inline void class_learn_columns(struct class_walk *w)
{
    int32_t part = class_part[3 + class_least(w->row, 40)];
    const struct class_columns *c = &w->column;
    for (uint64_t i = 0; i < w->cols; i++) {
        int32_t v = CLASS_ONE * class_abs(c->q[i]) + CLASS_NONE;
        c->mean[i] = (uint16_t)(c->mean[i] + (((v - c->mean[i]) * (part >> 1)) >> 15));
        int32_t sign = (c->q[i] > 0) - (c->q[i] < 0);
        c->sign[i] = (int8_t)(c->sign[i] + ((64 * sign - c->sign[i]) >> 3));
    }
}

static inline void class_begin_row(struct class_walk *w)
{
    w->row_mean = w->mean;
    w->balance = 0;
    w->state = 0;
    w->n_read = 0;
    for (uint32_t i = 0; i < w->lanes; i++) {
        uint64_t c = (uint64_t)i * w->run;
        w->lane[i].at = (uint32_t)(c % w->place);
        w->lane[i].x = w->lane[i].at % w->line;
        w->lane[i].before = 0;
    }
}

static inline void class_end_row(struct class_walk *w)
{
    class_learn_columns(w);
    w->mean = class_follow(w->mean, w->row_mean, 2 + class_least(w->row, 14));
    w->row++;
}

/* Integers of a codebook. */
static inline bool pith_classes_allow(const struct weight *w)
{
    return (w->type == PITH_F32 || w->type == PITH_I8) && w->grid == GRID_CODEBOOK &&
           w->count < UINT32_C(1) << 28 && w->nnz > 0;
}

static inline uint64_t class_cols(const struct weight *w)
{
    return w->count / (w->shape.rank < 2 ? 1 : w->shape.dim[0]);
}

static inline size_t class_column_bytes(const struct weight *w)
{
    return ((size_t)(class_cols(w) + 4) * (2 * sizeof(int32_t) + 3 * sizeof(int16_t) + 1) + 7) &
           ~(size_t)7;
}

/* memory: class_column_bytes(), which must be 0. */
static inline void class_begin(struct class_walk *w, const struct weight *of, void *memory,
                               uint32_t lanes)
{
    memset(w, 0, sizeof *w);
    w->cols = class_cols(of);
    w->rows = of->count / w->cols;
    w->place = 1;
    for (uint32_t i = 2; i < of->shape.rank; i++)
        w->place *= of->shape.dim[i];
    w->line = w->place > 1 ? of->shape.dim[of->shape.rank - 1] : UINT32_MAX;
    w->place = w->place > 1 ? w->place : UINT32_MAX;
    w->trellis = of->trellis;
    w->lanes = lanes;
    w->run = (uint32_t)((w->cols + lanes - 1) / lanes);
    w->mean = CLASS_ONE;
    struct class_columns *c = &w->column;
    c->lean = memory;
    c->near = c->lean + w->cols;
    c->q = (int16_t *)(c->near + w->cols) + 1;
    c->mean = (uint16_t *)(c->q + w->cols);
    c->score = c->mean + w->cols;
    c->sign = (int8_t *)(c->score + w->cols);
    for (uint64_t i = 0; i < w->cols; i++)
        c->mean[i] = CLASS_ONE;
    class_begin_row(w);
}

#endif
