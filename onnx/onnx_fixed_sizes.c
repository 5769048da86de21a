/* SPDX-License-Identifier: MIT */
/* onnx_fixed_sizes.c - sizes that a file leaves open though its weights take one number alone, such
 * as the features of a recurrent layer.
 *
 * An import with other numbers stops at a node. Two numbers for a size show which dimension there
 * follows it, and how; the dimensions of the node's weights are those that it may have to be. A
 * number is taken if import goes on with it, but stops there with half and with twice as much. */
#include "onnx/onnx_open.h"

#include <stdlib.h>

#define INPUTS 4u
#define STEP                                                                                       \
    240u /* a multiple of most strides, so what follows the size differs by a whole number */

/* Where an import stops, and what the node there reads. */
struct stop {
    uint32_t place; /* in the order of execution; UINT32_MAX: nowhere */
    uint32_t n;
    bool constant[INPUTS];
    struct shape shape[INPUTS];
};

static void note_stop(const struct onnx_import *im, struct stop *s)
{
    if (im->stopped >= im->n_order)
        return;
    const struct onnx_flat *flat = &im->flat[im->order[im->stopped]];
    s->place = im->stopped;
    for (uint32_t i = 0; i < flat->n_in && i < INPUTS; i++) {
        const uint32_t v = pith_onnx_alias(im, flat->in[i]);
        if (v == ONNX_VALUE_NONE || !im->values[v].known)
            continue;
        s->constant[s->n] = im->values[v].constant || im->values[v].tensor;
        s->shape[s->n++] = im->values[v].shape;
    }
}

/* PITH_OK wherever it stops. */
static enum pith_status find_stop(struct open_import *o, const uint32_t *value, struct stop *s)
{
    struct pith_import_opts opts;
    struct onnx_import im;
    struct pith_input_shape *shape = calloc(o->n_inputs + 1u, sizeof *shape);
    *s = (struct stop){.place = UINT32_MAX};
    if (!shape)
        return PITH_ERR_MEMORY;
    enum pith_status status = pith_onnx_begin_pass(o, value, shape, &opts, &im);
    if (!status) {
        status = pith_onnx_to_nodes(&im, o->bytes, o->n);
        if (status)
            note_stop(&im, s);
        pith_onnx_close(&im);
    }
    free(shape);
    return status == PITH_ERR_MEMORY || status == PITH_ERR_LIMIT ? status : PITH_OK;
}

/* *goes_on: with v for size i, import comes further than `place`. */
static enum pith_status try_value(struct open_import *o, uint32_t *value, uint32_t i, uint32_t v,
                                  uint32_t place, bool *goes_on)
{
    struct stop s;
    const uint32_t before = value[i];
    value[i] = v;
    enum pith_status status = find_stop(o, value, &s);
    value[i] = before;
    *goes_on = s.place > place;
    return status;
}

/* The smallest number of size i near v that weights take, but no number much smaller or larger: it
 * is fixed. */
static enum pith_status fix_as(struct open_import *o, uint32_t *value, uint32_t i, uint32_t v,
                               uint32_t place, bool *found)
{
    const uint32_t others[] = {1, v / 2 ? v / 2 : 1, 2 * v + 1}; /* 1: repeated along the axis */
    bool right, other = false;
    enum pith_status status = try_value(o, value, i, v, place, &right);
    for (uint32_t k = 0; k < 3 && !status && right && !other; k++)
        if (others[k] != v)
            status = try_value(o, value, i, others[k], place, &other);
    if (status || !right || other)
        return status;
    for (; v > 1 && !status && right; v -= right)
        status = try_value(o, value, i, v - 1, place, &right);
    value[i] = v;
    struct fixed_size *f = &o->fixed[o->n_fixed++];
    memcpy(f->name, o->names.name[i], sizeof f->name);
    f->value = v;
    *found = true;
    return status;
}

/* Size i, which the dimension `dim` of the node at hand follows: as what makes it one of a
 * weight's. Where two numbers do, neither has to be it: x [1, 6] and x [1, 1] are both added to a
 * weight. */
static enum pith_status fix_dim(struct open_import *o, uint32_t *value, uint32_t i,
                                const struct stop *at, uint32_t dim, uint32_t after, bool *found)
{
    enum pith_status status = PITH_OK;
    const int64_t slope = (int64_t)after - dim;
    uint32_t right = 0;
    for (uint32_t k = 0; k < at->n; k++)
        for (uint32_t d = 0; at->constant[k] && d < at->shape[k].rank; d++) {
            const int64_t v =
                value[i] + ((int64_t)at->shape[k].dim[d] - dim) * (int64_t)STEP / slope;
            bool goes_on = false;
            if (v < 1 || v > INT16_MAX || v == value[i] || v == right)
                continue;
            status = try_value(o, value, i, (uint32_t)v, at->place, &goes_on);
            if (status || (goes_on && right))
                return status;
            right = goes_on ? (uint32_t)v : right;
        }
    return right ? fix_as(o, value, i, right, at->place, found) : status;
}

static enum pith_status fix_size(struct open_import *o, uint32_t *value, uint32_t i,
                                 const struct stop *at, bool *found)
{
    struct stop other;
    value[i] += STEP;
    enum pith_status status = find_stop(o, value, &other);
    value[i] -= STEP;
    if (status || other.place != at->place || other.n != at->n)
        return status;
    for (uint32_t k = 0; k < at->n && !*found && !status; k++)
        for (uint32_t d = 0; d < at->shape[k].rank && !*found && !status; d++)
            if (!at->constant[k] && at->shape[k].dim[d] != other.shape[k].dim[d])
                status =
                    fix_dim(o, value, i, at, at->shape[k].dim[d], other.shape[k].dim[d], found);
    return status;
}

enum pith_status pith_onnx_fix_sizes(struct open_import *o, uint32_t *value, bool *found)
{
    bool again = true;
    enum pith_status status = PITH_OK;
    *found = false;
    while (again && !status && o->n_fixed < o->names.n) {
        struct stop at;
        again = false;
        status = find_stop(o, value, &at);
        if (status || at.place == UINT32_MAX)
            break;
        for (uint32_t i = 0; i < o->names.n && !again && !status; i++)
            status = fix_size(o, value, i, &at, &again);
        *found = *found || again;
    }
    return status;
}
