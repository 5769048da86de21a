/* SPDX-License-Identifier: MIT */
/* onnx_fixed_sizes.c - sizes of which a network takes one number alone, such as the features of a
 * recurrent layer, or multiples of one, or those of a range, such as the height of a line of text.
 *
 * An import with other numbers stops at a node. Two numbers for a size show which dimension there
 * follows it, and how. What import goes on with is looked for among
 *
 *     dimensions of other operands that do not follow the size: of weights, of states
 *     divisors of numbers that the node is given, such as the shape of a Reshape
 *     numbers that are usual; that with which import comes furthest is kept
 *
 * Those beside a number with which import comes to its end show the range. */
#include "onnx/onnx_open.h"

#include <stdlib.h>

#define STEP                                                                                       \
    240u /* a multiple of most strides, so what follows the size differs by a whole number */
#define MOST_TRIED (1u << 20)
#define LARGE_SQUARE 1024u /* a side of pictures of more patches than tables have positions */
#define NARROW 12u         /* ranges that hold fewer numbers are too small to find formulas in */

static void note_numbers(struct onnx_import *im, uint32_t value, struct stop *s)
{
    if (!im->values[value].constant || im->values[value].type != PITH_I64 ||
        shape_elems(&im->values[value].shape) > ONNX_STOP_NUMBERS || pith_onnx_load(im, value) ||
        im->values[value].empty)
        return;
    const struct onnx_value *v = &im->values[value];
    for (uint64_t i = 0; i < shape_elems(&v->shape) && s->n_numbers < ONNX_STOP_NUMBERS; i++)
        s->number[s->n_numbers++] = ((const int64_t *)v->data)[i];
}

static void note_inputs(struct onnx_import *im, uint32_t place, struct stop *s)
{
    if (place >= im->n_order)
        return;
    const struct onnx_flat *flat = &im->flat[im->order[place]];
    for (uint32_t i = 0; i < flat->n_in && i < ONNX_STOP_INPUTS; i++) {
        const uint32_t v = pith_onnx_alias(im, flat->in[i]);
        if (v == ONNX_VALUE_NONE || !im->values[v].known)
            continue;
        s->shape[s->n++] = im->values[v].shape;
        note_numbers(im, v, s);
    }
}

enum pith_status pith_onnx_find_stop(struct open_import *o, const uint32_t *value, uint32_t of,
                                     struct stop *s)
{
    struct pith_import_opts opts;
    struct onnx_import im;
    struct pith_input_shape *shape = calloc(o->n_inputs + 1u, sizeof *shape);
    *s = (struct stop){.place = 0}; /* where these numbers are no dimensions */
    if (!shape)
        return PITH_ERR_MEMORY;
    enum pith_status status = pith_onnx_begin_pass(o, value, shape, &opts, &im);
    if (!status) {
        status = pith_onnx_to_nodes(&im, o->bytes, o->n);
        s->place = status && im.stopped < im.n_order ? im.stopped : UINT32_MAX;
        note_inputs(&im, of < s->place ? of : s->place, s);
        if (status == PITH_ERR_UNSUPPORTED)
            s->reason = pith_crc32c(1, o->err.text, strlen(o->err.text));
        pith_onnx_close(&im);
    }
    free(shape);
    return status == PITH_ERR_MEMORY || status == PITH_ERR_LIMIT ? status : PITH_OK;
}

static bool is_joined(const struct open_import *o, uint32_t i)
{
    const struct size_range *r = pith_onnx_range_of(o, i);
    return r && *r->same_as;
}

/* Size i, and those that are the same. */
static void set_value(const struct open_import *o, uint32_t *value, uint32_t i, uint32_t v)
{
    value[i] = v;
    for (uint32_t k = 0; k < o->names.n; k++)
        if (is_joined(o, k) && strcmp(pith_onnx_range_of(o, k)->same_as, o->names.name[i]) == 0)
            value[k] = v;
}

/* Where import stops with v for size i. */
static enum pith_status stop_with(struct open_import *o, const uint32_t *value, uint32_t i,
                                  uint32_t v, struct stop *s)
{
    uint32_t with[SIZE_NAMES];
    memcpy(with, value, sizeof with);
    set_value(o, with, i, v);
    return pith_onnx_find_stop(o, with, UINT32_MAX, s);
}

/* *goes_on: with v for size i, import comes further than `place`. */
static enum pith_status try_value(struct open_import *o, const uint32_t *value, uint32_t i,
                                  uint32_t v, uint32_t place, bool *goes_on)
{
    struct stop s;
    enum pith_status status = stop_with(o, value, i, v, &s);
    *goes_on = s.place > place;
    return status;
}

static void add_range(struct open_import *o, uint32_t i, uint32_t low, uint32_t high, uint32_t step)
{
    struct size_range *r = &o->range[o->n_ranges++];
    *r = (struct size_range){.low = low, .high = high, .step = step};
    memcpy(r->name, o->names.name[i], sizeof r->name);
}

/* ---- one number, or multiples of it ---------------------------------------------------------- */

/* The smallest number of size i near v that the node takes, but no number much smaller or larger:
 * it is fixed. 1 may be repeated along any axis; it is a number of samples, but not of features. */
static enum pith_status fix_as(struct open_import *o, uint32_t *value, uint32_t i, uint32_t v,
                               uint32_t place, bool *found)
{
    const uint32_t others[] = {1, v / 2, 2 * v + 1};
    bool right = true, other = false;
    enum pith_status status = PITH_OK;
    for (uint32_t k = 0; k < 3 && !status && !other; k++)
        if (others[k] != v && others[k] > (o->outermost[i] ? 0 : 1))
            status = try_value(o, value, i, others[k], place, &other);
    if (status || other)
        return status;
    for (; v > 1 && !status && right; v -= right)
        status = try_value(o, value, i, v - 1, place, &right);
    set_value(o, value, i, v);
    add_range(o, i, v, v, 1);
    *found = true;
    return status;
}

/* Of a number that the node is given, the smallest divisor that it takes of size i: the size counts
 * it, or is it. */
static enum pith_status fix_divisor(struct open_import *o, uint32_t *value, uint32_t i,
                                    const struct stop *at, bool *found)
{
    bool right = false, twice = false, thrice = false;
    enum pith_status status = PITH_OK;
    uint32_t v = 2;
    for (uint32_t k = 0; k < at->n_numbers && !right && !status; k++)
        for (v = 2; v <= at->number[k] && v <= INT16_MAX && !right && !status; v += !right)
            if (at->number[k] % v == 0)
                status = try_value(o, value, i, v, at->place, &right);
    if (status || !right)
        return status;
    status = try_value(o, value, i, 2 * v, at->place, &twice);
    if (!status)
        status = try_value(o, value, i, 3 * v, at->place, &thrice);
    if (status || !twice || !thrice)
        return status ? status : fix_as(o, value, i, v, at->place, found);
    add_range(o, i, v, UINT32_MAX, v);
    set_value(o, value, i, 3 * v);
    *found = true;
    return PITH_OK;
}

/* Which size a dimension follows at a stop. */
enum { FREE = UINT8_MAX, SEVERAL = UINT8_MAX - 1 };
struct followed {
    uint8_t size[ONNX_STOP_INPUTS][PITH_MAX_RANK];  /* FREE: it follows none */
    int64_t slope[ONNX_STOP_INPUTS][PITH_MAX_RANK]; /* by STEP of that size */
};

/* f: of size i alone, with those before in it; follows[i]: the place of the stop depends on it.
 * What is not supported, whatever the size, follows none. */
static enum pith_status note_followed(struct open_import *o, const uint32_t *value, uint32_t i,
                                      const struct stop *at, struct followed *f, bool *follows)
{
    struct stop other;
    enum pith_status status = stop_with(o, value, i, value[i] + STEP, &other);
    *follows = other.place != at->place || other.n != at->n;
    if (!*follows && at->reason && other.reason == at->reason)
        return status;
    for (uint32_t k = 0; k < at->n && !status && !*follows; k++)
        for (uint32_t d = 0; d < at->shape[k].rank; d++) {
            const int64_t slope = (int64_t)other.shape[k].dim[d] - at->shape[k].dim[d];
            if (slope == 0)
                continue;
            f->size[k][d] = f->size[k][d] == FREE ? (uint8_t)i : SEVERAL;
            f->slope[k][d] = slope;
        }
    return status;
}

/* Sizes i and k, with which import goes on where they are the same, now and with others. */
static enum pith_status join_sizes(struct open_import *o, uint32_t *value, uint32_t i, uint32_t k,
                                   uint32_t place, bool *found)
{
    uint32_t with[SIZE_NAMES];
    memcpy(with, value, sizeof with);
    set_value(o, with, k, value[k] + STEP);
    enum pith_status status = try_value(o, with, i, with[k], place, found);
    if (status || !*found)
        return status;
    set_value(o, value, i, value[k]);
    for (uint32_t r = 0; r < o->n_ranges; r++)
        if (strcmp(o->range[r].same_as, o->names.name[i]) == 0)
            memcpy(o->range[r].same_as, o->names.name[k], SIZE_NAME_BYTES);
    add_range(o, i, 1, UINT32_MAX, 1);
    memcpy(o->range[o->n_ranges - 1].same_as, o->names.name[k], SIZE_NAME_BYTES);
    return PITH_OK;
}

struct operand_dim {
    uint32_t k, d;
};

/* Size i, which dimension d of operand k follows, is what makes it a dimension of another operand.
 * Where two numbers do, neither has to be it, but for 1. */
static enum pith_status fix_dim(struct open_import *o, uint32_t *value, const struct stop *at,
                                const struct followed *f, struct operand_dim of, bool *found)
{
    enum pith_status status = PITH_OK;
    const uint32_t k = of.k, d = of.d;
    const uint32_t i = f->size[k][d];
    uint32_t right = 0;
    for (uint32_t n = 0; n < at->n; n++)
        for (uint32_t e = 0; n != k && e < at->shape[n].rank; e++) {
            const int64_t away = (int64_t)at->shape[n].dim[e] - at->shape[k].dim[d];
            const uint32_t size = f->size[n][e];
            const bool alike = size < SEVERAL && size != i && f->slope[n][e] == f->slope[k][d];
            const int64_t v =
                alike ? value[size] : value[i] + away * (int64_t)STEP / f->slope[k][d];
            bool goes_on = false;
            if (size == SEVERAL || size == i || v < 1 || v > INT16_MAX || v == value[i] ||
                v == right)
                continue;
            status = try_value(o, value, i, (uint32_t)v, at->place, &goes_on);
            if (!status && goes_on && size != FREE && v == value[size])
                return join_sizes(o, value, i, size, at->place, found);
            if (status || (goes_on && right > 1 && v > 1))
                return status;
            right = goes_on && size == FREE && v > right ? (uint32_t)v : right;
        }
    return right ? fix_as(o, value, i, right, at->place, found) : status;
}

/* *with: the numbers that make the last dimensions of operand k those of operand n, which follow no
 * size; size[*count]: those that change. */
static void match_operand(const struct open_import *o, const struct stop *at,
                          const struct followed *f, uint32_t k, uint32_t n, uint32_t *with,
                          uint32_t *size, uint32_t *count)
{
    const struct shape *own = &at->shape[k], *other = &at->shape[n];
    *count = 0;
    for (uint32_t e = 1; e <= own->rank && e <= other->rank; e++) {
        const uint32_t d = own->rank - e, i = f->size[k][d];
        const int64_t away = (int64_t)other->dim[other->rank - e] - own->dim[d];
        if (i >= SEVERAL || f->size[n][other->rank - e] != FREE || pith_onnx_range_of(o, i) ||
            other->dim[other->rank - e] < 2 || away == 0)
            continue;
        const int64_t v = with[i] + away * (int64_t)STEP / f->slope[k][d];
        if (v < 1 || v > INT16_MAX)
            continue;
        set_value(o, with, i, (uint32_t)v);
        size[(*count)++] = i;
    }
}

/* Several sizes of one operand, of which another one takes one number each. */
static enum pith_status fix_together(struct open_import *o, uint32_t *value, const struct stop *at,
                                     const struct followed *f, bool *found)
{
    enum pith_status status = PITH_OK;
    for (uint32_t k = 0; k < at->n && !*found && !status; k++)
        for (uint32_t n = 0; n < at->n && !*found && !status; n++) {
            uint32_t with[SIZE_NAMES], size[PITH_MAX_RANK], count;
            struct stop s;
            memcpy(with, value, sizeof with);
            match_operand(o, at, f, k, n, with, size, &count);
            if (k == n || count < 2)
                continue;
            const enum pith_status tried = pith_onnx_find_stop(o, with, UINT32_MAX, &s);
            if (tried == PITH_ERR_MEMORY)
                return tried;
            if (tried || s.place <= at->place)
                continue;
            memcpy(value, with, sizeof with);
            for (uint32_t i = 0; i < count && !status; i++)
                status = fix_as(o, value, size[i], value[size[i]], at->place, found);
        }
    return status;
}

static enum pith_status fix_size(struct open_import *o, uint32_t *value, uint32_t i,
                                 const struct stop *at, const struct followed *f, bool *found)
{
    enum pith_status status = PITH_OK;
    bool any = false;
    for (uint32_t k = 0; k < at->n && !*found && !status; k++)
        for (uint32_t d = 0; d < at->shape[k].rank && !*found && !status; d++)
            if (f->size[k][d] == i) {
                any = true;
                status = fix_dim(o, value, at, f, (struct operand_dim){k, d}, found);
            }
    return status || *found || !any ? status : fix_divisor(o, value, i, at, found);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* The size that the node follows and the usual number with which import comes furthest. One sample
 * alone is more usual than any. */
static enum pith_status move_size(struct open_import *o, uint32_t *value, const struct stop *at,
                                  const bool *follows, bool *moved, bool *found)
{
    static const uint16_t usual[] = {2,   3,   4,   5,    6,    8,    12,   16,   24,    32,   40,
                                     48,  64,  80,  96,   128,  160,  192,  224,  256,   320,  400,
                                     512, 640, 768, 1024, 1600, 2048, 4096, 8000, 16000, 32000};
    uint32_t furthest = at->place, size = 0, as = 0;
    for (uint32_t i = o->names.n; i-- > 0;) {
        bool alone = false;
        enum pith_status status = PITH_OK;
        if (follows[i] && o->outermost[i])
            status = try_value(o, value, i, 1, at->place, &alone);
        if (status)
            return status;
        for (uint32_t k = 0; follows[i] && !alone && k < sizeof usual / sizeof *usual; k++) {
            struct stop s;
            status = stop_with(o, value, i, usual[k], &s);
            if (status)
                return status;
            if (s.place <= furthest)
                continue;
            furthest = s.place;
            size = i;
            as = usual[k];
        }
    }
    *found = furthest > at->place;
    if (*found)
        set_value(o, value, size, as);
    moved[size] = moved[size] || *found;
    return PITH_OK;
}

/* Between `good`, with which import comes to its end, and `bad`: the last good one. */
static enum pith_status find_end(struct open_import *o, uint32_t *value, uint32_t i, uint32_t *good,
                                 uint32_t bad)
{
    enum pith_status status = PITH_OK;
    while (!status && (bad > *good ? bad - *good : *good - bad) > 1) {
        const uint32_t middle = bad > *good ? *good + (bad - *good) / 2 : bad + (*good - bad) / 2;
        bool right = false;
        status = try_value(o, value, i, middle, UINT32_MAX - 1, &right);
        *(right ? good : &bad) = middle;
    }
    return status;
}

uint32_t pith_onnx_roundest(uint32_t low, uint32_t high)
{
    uint32_t bit = 1u << 30;
    while (high / bit * bit < low)
        bit /= 2;
    return high / bit * bit;
}

/* Import comes to its end with value[i]. */
static enum pith_status find_range(struct open_import *o, uint32_t *value, uint32_t i)
{
    bool right = false;
    uint32_t low = value[i], high = value[i], above = 2 * high;
    enum pith_status status = try_value(o, value, i, low + 1, UINT32_MAX - 1, &right);
    if (!status && !right) {
        status = try_value(o, value, i, 2 * low, UINT32_MAX - 1, &right);
        if (!status && right)
            status = try_value(o, value, i, 3 * low, UINT32_MAX - 1, &right);
        if (!status && right) {
            add_range(o, i, low, UINT32_MAX, low);
            return PITH_OK;
        }
        above = high + 1;
    } else {
        for (bool more = true; more && !status && high < MOST_TRIED; above = 2 * high) {
            status = try_value(o, value, i, 2 * high, UINT32_MAX - 1, &more);
            high = more ? 2 * high : high;
        }
    }
    if (!status)
        status = find_end(o, value, i, &low, 0);
    if (!status && high < MOST_TRIED)
        status = find_end(o, value, i, &high, above);
    high = high < MOST_TRIED ? high : UINT32_MAX;
    if (!status && high - low < NARROW)
        low = high = pith_onnx_roundest(low, high);
    if (!status)
        add_range(o, i, low, high, 1);
    return status;
}

/* At a stop: a size is fixed or joined to another, or else moved. */
static enum pith_status pass_stop(struct open_import *o, uint32_t *value, const struct stop *at,
                                  bool *moved, bool *found)
{
    struct followed f;
    bool follows[SIZE_NAMES], any = false;
    enum pith_status status = PITH_OK;
    memset(f.size, FREE, sizeof f.size);
    for (uint32_t i = 0; i < o->names.n && !status; i++) {
        follows[i] = true;
        if (!is_joined(o, i))
            status = note_followed(o, value, i, at, &f, &follows[i]);
    }
    for (uint32_t i = o->names.n; i-- > 0 && !*found && !status;)
        if (!follows[i] && !pith_onnx_range_of(o, i))
            status = fix_size(o, value, i, at, &f, found);
    if (!status && !*found)
        status = fix_together(o, value, at, &f, found);
    if (status || *found)
        return status;
    for (uint32_t i = 0; i < o->names.n; i++) {
        for (uint32_t k = 0; k < ONNX_STOP_INPUTS * PITH_MAX_RANK; k++)
            follows[i] = follows[i] || f.size[k / PITH_MAX_RANK][k % PITH_MAX_RANK] == i;
        follows[i] = follows[i] && !pith_onnx_range_of(o, i);
        any = any || follows[i];
    }
    return any ? move_size(o, value, at, follows, moved, found) : PITH_OK;
}

/* ---- squares --------------------------------------------------------------------------------- */

/* Where import stops with pictures of v x v, and a dimension of what the node `of` reads. */
struct square {
    struct open_import *o;
    const uint32_t *value;
    uint32_t side[2]; /* the sizes */
    uint32_t of, operand, dim;
};

static enum pith_status stop_of_sides(const struct square *q, uint32_t a, uint32_t b,
                                      struct stop *s)
{
    uint32_t with[SIZE_NAMES];
    memcpy(with, q->value, sizeof with);
    set_value(q->o, with, q->side[0], a);
    set_value(q->o, with, q->side[1], b);
    return pith_onnx_find_stop(q->o, with, q->of, s);
}

static enum pith_status stop_of_square(const struct square *q, uint32_t v, struct stop *s)
{
    return stop_of_sides(q, v, v, s);
}

/* *v: the smallest square, of at most `most`, of which that dimension is at least `least`. */
static enum pith_status smallest_square(const struct square *q, uint32_t least, uint32_t most,
                                        uint32_t *v)
{
    enum pith_status status = PITH_OK;
    uint32_t low = 0;
    for (*v = most; *v - low > 1 && !status;) {
        const uint32_t middle = low + (*v - low) / 2;
        struct stop s;
        status = stop_of_square(q, middle, &s);
        const bool enough = s.place >= q->of && s.n > q->operand &&
                            s.shape[q->operand].rank > q->dim &&
                            s.shape[q->operand].dim[q->dim] >= least;
        *(enough ? v : &low) = middle;
    }
    return status;
}

/* That dimension has to be `number`: both sizes are the roundest number that makes it so, if
 * neither does alone. */
static enum pith_status fix_square(const struct square *q, uint32_t number, uint32_t *value,
                                   bool *found)
{
    uint32_t first = 0, next = 0;
    struct stop s = {0};
    enum pith_status status = smallest_square(q, number, LARGE_SQUARE, &first);
    if (!status)
        status = smallest_square(q, number + 1, LARGE_SQUARE, &next);
    if (status || next <= first)
        return status;
    const uint32_t v = pith_onnx_roundest(first, next - 1);
    status = stop_of_square(q, v, &s);
    *found = !status && s.place > q->of;
    for (uint32_t i = 0; i < 2 && *found; i++) {
        status = stop_of_sides(q, i == 0 ? 2 * v : v, i == 1 ? 2 * v : v, &s);
        *found = status == PITH_ERR_LIMIT || (!status && s.place <= q->of);
        status = *found ? PITH_OK : status;
    }
    for (uint32_t i = 0; i < 2 && *found; i++) {
        set_value(q->o, value, q->side[i], v);
        add_range(q->o, q->side[i], v, v, 1);
    }
    return status;
}

/* Pictures whose patches are as many as positions of a table: the node where large ones stop shows
 * how many, as a dimension that grows with them beside one that does not. A single patch, which
 * goes on everywhere, is none of them. */
static enum pith_status fix_patches(struct open_import *o, uint32_t *value, bool *found)
{
    struct square q = {.o = o, .value = value, .of = UINT32_MAX};
    struct stop at, larger;
    uint32_t n = 0;
    for (uint32_t i = 0; i < o->names.n; i++)
        if (o->picture[i] && !pith_onnx_range_of(o, i) && n++ < 2)
            q.side[n - 1] = i;
    if (n != 2)
        return PITH_OK;
    enum pith_status status = stop_of_square(&q, LARGE_SQUARE / 2, &at);
    q.of = at.place;
    if (!status)
        status = stop_of_square(&q, LARGE_SQUARE, &larger);
    if (status == PITH_ERR_LIMIT) /* such pictures are too large for it */
        return PITH_OK;
    if (status || at.place == UINT32_MAX || larger.place != at.place || larger.n != at.n)
        return status;
    for (uint32_t k = 0; k < at.n; k++)
        for (uint32_t e = 1; e <= at.shape[k].rank; e++)
            for (uint32_t other = 0; other < at.n && !status && !*found; other++) {
                const struct shape *b = &at.shape[other];
                q.operand = k;
                q.dim = at.shape[k].rank - e;
                if (larger.shape[k].dim[q.dim] > at.shape[k].dim[q.dim] && e <= b->rank &&
                    b->dim[b->rank - e] > 1 &&
                    b->dim[b->rank - e] == larger.shape[other].dim[b->rank - e])
                    status = fix_square(&q, b->dim[b->rank - e], value, found);
            }
    return status;
}

enum pith_status pith_onnx_fix_sizes(struct open_import *o, uint32_t *value, bool *found)
{
    bool again = true, fixed = false, moved[SIZE_NAMES] = {false};
    enum pith_status status = fix_patches(o, value, &fixed);
    struct stop at;
    while (again && !status) {
        again = false;
        status = pith_onnx_find_stop(o, value, UINT32_MAX, &at);
        if (status || at.place == UINT32_MAX)
            break;
        status = pass_stop(o, value, &at, moved, &again);
    }
    for (uint32_t i = 0; i < o->names.n && !status && at.place == UINT32_MAX; i++)
        if (moved[i] && !pith_onnx_range_of(o, i))
            status = find_range(o, value, i);
    *found = o->n_ranges > 0;
    return status;
}
