/* SPDX-License-Identifier: MIT */
/* integers.c - constants as integers times scales. The integers are not kept: a quotient x / scale
 * in f64 is nearer to its integer than 2^-7, so rounding gives it back, and multiplying again tests
 * it to the bit. */
#include "integers.h"

#include <math.h>
#include <string.h>

#include "base/narrow_float.h"
#include "core/f32_bits.h"
#include "decode/weight.h"

int32_t pith_integer_lowest(enum pith_type type)
{
    return type == PITH_I8 ? INT8_MIN : type == PITH_I16 ? INT16_MIN : 0;
}

int32_t pith_integer_highest(enum pith_type type)
{
    return type == PITH_I8    ? INT8_MAX
           : type == PITH_U8  ? UINT8_MAX
           : type == PITH_I16 ? INT16_MAX
                              : UINT16_MAX;
}

static struct shape shape_of(const struct pith_value *v)
{
    struct shape s = {.rank = v->rank};
    memcpy(s.dim, v->dim, v->rank * sizeof *s.dim);
    return s;
}

/* As many as the layout has for this shape? */
static bool has_all(const struct shape *s, const struct pith_integers *g)
{
    if (g->n == 1)
        return true;
    if (g->axis >= s->rank || g->block == 1)
        return false;
    uint64_t dim = s->dim[g->axis];
    return g->n == (g->block == 0 ? dim : shape_elems(s) / dim * ((dim + g->block - 1) / g->block));
}

bool pith_integers_hold(const struct pith_value *v, const struct pith_const *k, void *q)
{
    const struct pith_integers *g = k->integers;
    const struct shape s = shape_of(v);
    const float *x = k->data;
    if (!g || v->type != PITH_F32 || !has_all(&s, g))
        return false;
    const double lowest = pith_integer_lowest(g->type), highest = pith_integer_highest(g->type);
    for (uint64_t i = 0; i < k->count; i++) {
        const uint64_t at = scale_number(&s, g->axis, g->block, g->n, i);
        const double scale = (double)g->scale[at], zero = g->zero[at];
        const double is = scale > 0 ? rint((double)x[i] / scale) + zero : zero;
        if (!(is >= lowest && is <= highest) ||
            f32_bits((float)(is - zero) * g->scale[at]) != f32_bits(x[i]))
            return false;
        if (q && pith_type_bytes(g->type) == 1)
            ((uint8_t *)q)[i] = (uint8_t)(int32_t)is;
        else if (q)
            ((uint16_t *)q)[i] = (uint16_t)(int32_t)is;
    }
    return true;
}

/* Of a matrix: the scales of its blocks, [rows, cols] of `from`, the other way round. */
static void turn(const struct pith_integers *from, uint64_t cols, struct pith_integers *g)
{
    const uint64_t rows = from->n / cols;
    for (uint64_t i = 0; i < from->n; i++) {
        g->scale[i % cols * rows + i / cols] = from->scale[i];
        g->zero[i % cols * rows + i / cols] = from->zero[i];
    }
}

/* Along this axis; blocks of a matrix either way round. */
static bool fits_along(struct pith_value *v, const struct pith_integers *from, uint32_t axis)
{
    struct pith_const *k = v->constant;
    struct pith_integers *g = k->integers;
    const struct shape s = shape_of(v);
    g->axis = axis;
    memcpy(g->scale, from->scale, from->n * sizeof *g->scale);
    memcpy(g->zero, from->zero, from->n * sizeof *g->zero);
    if (pith_integers_hold(v, k, NULL))
        return true;
    if (g->block == 0 || v->rank != 2 || !has_all(&s, g))
        return false;
    /* turned, its blocks lie along the other axis: columns of `from` are rows here */
    turn(from, axis == 0 ? from->n / s.dim[1] : s.dim[0], g);
    return pith_integers_hold(v, k, NULL);
}

enum pith_status pith_integers_adopt(struct pith_model *m, struct pith_value *v,
                                     const struct pith_integers *from)
{
    struct pith_integers *g = pith_model_alloc(m, 1, sizeof *g);
    if (!g)
        return PITH_ERR_MEMORY;
    *g = *from;
    g->scale = pith_model_alloc(m, g->n, sizeof *g->scale);
    g->zero = pith_model_alloc(m, g->n, sizeof *g->zero);
    if (!g->scale || !g->zero)
        return PITH_ERR_MEMORY;
    v->constant->integers = g;
    bool fits = fits_along(v, from, from->axis);
    for (uint32_t axis = 0; axis < v->rank && !fits && g->n > 1; axis++)
        fits = axis != from->axis && fits_along(v, from, axis);
    v->constant->integers = fits ? g : NULL;
    return PITH_OK;
}
