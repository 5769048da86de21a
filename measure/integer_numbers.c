/* SPDX-License-Identifier: MIT */
/* integer_numbers.c - from integers to numbers, and the error that rounding to them makes by
 * itself. */
#include "integer_numbers.h"

#include <math.h>
#include <stdlib.h>

#include "core/integer_at.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

/* ---- the grid -------------------------------------------------------------------------------- */

static uint8_t bits_of(enum pith_type type)
{
    return type == PITH_I16 || type == PITH_U16 ? 16 : 8;
}

static bool is_integer(enum pith_type type)
{
    return type == PITH_U8 || type == PITH_I8 || type == PITH_U16 || type == PITH_I16;
}

/* scale and zero of a QuantizeLinear or DequantizeLinear; blocks are not known here. */
static const struct pith_grid *grid_of_node(const struct pith_model *m,
                                            const struct pith_node *node, enum pith_type type,
                                            struct pith_grid *room)
{
    const struct pith_value *scale = &m->values[node->in[1]];
    const struct pith_value *zero =
        node->n_in > 2 && node->in[2] != PITH_VALUE_NONE ? &m->values[node->in[2]] : NULL;
    if (!scale->constant || scale->type != PITH_F32 || scale->rank > 1 ||
        (zero && (!zero->constant || zero->type != type)))
        return NULL;
    *room = (struct pith_grid){.type = type,
                               .bits = bits_of(type),
                               .zero_point = zero ? integer_at(type, zero->constant->data, 0) : 0,
                               .n = (uint32_t)scale->constant->count,
                               .axis = (uint32_t)node->attr[ATTR_QUANTIZE_AXIS],
                               .scale = scale->constant->data};
    return room;
}

const struct pith_grid *pith_find_grid(const struct pith_model *m, uint32_t value,
                                       struct pith_grid *room)
{
    const struct pith_value *v = &m->values[value];
    if (!is_integer(v->type))
        return NULL;
    if (v->grid)
        return v->grid;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *node = &m->nodes[i];
        if ((node->op == PITH_OP_QUANTIZE && node->out[0] == value) ||
            (node->op == PITH_OP_DEQUANTIZE && node->in[0] == value))
            return grid_of_node(m, node, v->type, room);
    }
    return NULL;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static uint64_t elements(const struct pith_tensor *t)
{
    return t->bytes / pith_type_bytes(t->type);
}

/* Elements that follow each other with one scale. */
static uint64_t inner_of(const struct pith_grid *g, const struct pith_tensor *t)
{
    uint64_t inner = 1;
    for (uint32_t i = g->axis + 1; i < t->rank && g->n > 1; i++)
        inner *= t->dim[i];
    return g->n > 1 ? inner : elements(t);
}

static double integer_as_number(enum pith_type type, const void *p, uint64_t i)
{
    return type == PITH_I64    ? (double)((const int64_t *)p)[i]
           : type == PITH_BOOL ? ((const uint8_t *)p)[i]
                               : integer_at(type, p, i);
}

void pith_integers_to_floats(const struct pith_grid *g, const struct pith_tensor *t, float *x)
{
    uint64_t n = elements(t), inner = inner_of(g, t);
    for (uint64_t i = 0; i < n; i++)
        x[i] = (float)(integer_as_number(t->type, t->data, i) - g->zero_point) *
               g->scale[i / inner % g->n];
}

/* ---- what a grid does ------------------------------------------------------------------------ */

static void add_numbers(struct grid_error *e, const struct pith_grid *g,
                        const struct pith_tensor *t, const float *was)
{
    uint64_t n = elements(t), inner = inner_of(g, t);
    double low = pith_grid_lowest(g) - g->zero_point, high = pith_grid_highest(g) - g->zero_point;
    for (uint64_t i = 0; i < n; i++) {
        double scale = (double)g->scale[i / inner % g->n], x = (double)was[i] / scale;
        double q = fmin(fmax(nearbyint(x), low), high), d = (q - x) * scale;
        bool beyond = x < low - 0.5 || x > high + 0.5;
        e->clipped += beyond;
        *(beyond ? &e->clipping : &e->rounding) += d * d;
    }
    e->n += n;
    for (uint32_t i = 0; i < g->n; i++) {
        double scale = (double)g->scale[i];
        e->step = fmax(e->step, scale);
        e->low = fmin(e->low, low * scale);
        e->high = fmax(e->high, high * scale);
    }
}

static void mark_alive(struct grid_error *e, const struct pith_tensor *t, const float *was,
                       const float *is)
{
    uint64_t n = elements(t), inner = 1;
    for (uint32_t i = 2; i < t->rank; i++)
        inner *= t->dim[i];
    for (uint64_t i = 0; i < n; i++) {
        uint8_t *alive = &e->alive[i / inner % e->n_channels];
        *alive = (uint8_t)(*alive | (was[i] != 0) | (is[i] != 0) << 1);
    }
}

bool pith_grid_error_add(struct grid_error *e, const struct pith_grid *g,
                         const struct pith_tensor *t, const float *was, const float *is)
{
    if (e->n == 0 && t->rank > 1 && t->dim[1] > 0) {
        e->alive = calloc(t->dim[1], 1);
        if (!e->alive)
            return false;
        e->n_channels = t->dim[1];
    }
    add_numbers(e, g, t, was);
    if (e->n_channels && t->rank > 1 && t->dim[1] == e->n_channels)
        mark_alive(e, t, was, is);
    return true;
}

uint32_t pith_grid_error_dead(const struct grid_error *e)
{
    uint32_t dead = 0;
    for (uint32_t c = 0; c < e->n_channels; c++)
        dead += e->alive[c] == 1;
    return dead;
}
