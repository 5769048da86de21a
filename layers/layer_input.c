/* SPDX-License-Identifier: MIT */
/* layer_input.c - three places that a layer's inputs may be in, behind one call: who sums a
 * Hessian need not know which. */
#include "value_record.h"

#include <string.h>

#include "base/kept_values.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_traits.h"

/* Of a recurrent product the weight meets the state, not input 0; its inputs' part is a MatMul
 * of its own. */
enum { IN_X = 0, IN_LENGTHS = 3, IN_H0 = 4, OUT_Y = 0 }; /* of a recurrent product */

static uint32_t input_of(const struct pith_node *node, uint32_t i)
{
    return i < node->n_in ? node->in[i] : PITH_VALUE_NONE;
}

/* ---- states ---------------------------------------------------------------------------------- */

/* Sequences of different lengths leave states behind their end that no step has made. */
static enum pith_status open_state(struct layer_input *in, uint32_t at, struct value_record *r,
                                   struct pith_error *err)
{
    const struct pith_model *m = pith_layer_walk_model(in->walk);
    const struct pith_value *gates = &m->values[in->node->in[IN_X]];
    const uint32_t width = m->values[in->node->in[1]].dim[1],
                   dim[] = {gates->dim[0], gates->dim[1], width};
    const struct record_spec spec = {
        .first = at, .last = at + 1, .node = at, .output = OUT_Y, .rank = 3, .dim = dim};
    if (input_of(in->node, IN_LENGTHS) != PITH_VALUE_NONE)
        return PITH_OK;
    in->is_state = true;
    return pith_layer_walk_record(in->walk, &spec, r, err);
}

/* That before the first step. A given first state may be computed; a constant is the same for
 * every sample; without one it is 0. */
static enum pith_status read_first(const struct layer_input *in, uint64_t sample, uint64_t elems,
                                   float *x, struct pith_error *err)
{
    const uint32_t h0 = input_of(in->node, IN_H0);
    const struct pith_const *c =
        h0 == PITH_VALUE_NONE ? NULL : pith_layer_walk_model(in->walk)->values[h0].constant;
    if (h0 != PITH_VALUE_NONE && !c)
        return pith_layer_walk_read(in->walk, h0, sample, x, err);
    if (c)
        memcpy(x, c->data, (size_t)elems * sizeof *x);
    else
        memset(x, 0, (size_t)elems * sizeof *x);
    return PITH_OK;
}

/* y is [T, N, H]; step t multiplies the state that step t - 1 left, so the states are y one step
 * later, with the first in front (reverse: at the end). */
static enum pith_status read_states(const struct layer_input *in, uint64_t sample, float *x,
                                    struct pith_error *err)
{
    const struct pith_model *m = pith_layer_walk_model(in->walk);
    const uint64_t steps = m->values[in->node->in[IN_X]].dim[0], each = in->elems / steps;
    const bool reverse = in->node->attr[ATTR_RECURRENT_REVERSE];
    const uint64_t at = sample * in->elems + (reverse ? each : 0);
    enum pith_status status =
        read_first(in, sample, each, x + (reverse ? (steps - 1) * each : 0), err);
    if (!status && steps > 1)
        status = pith_kept_read(in->record, 0, at * sizeof *x, x + (reverse ? 0 : each),
                                (size_t)((steps - 1) * each) * sizeof *x, err);
    return status;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

/* False: x is not made in the body. A body may be many nodes; only the one that makes x is
 * watched. */
static bool find_maker(const struct pith_model *m, uint32_t x, struct body_span body,
                       struct record_spec *spec)
{
    for (uint32_t i = body.begin; i < body.end; i++)
        for (uint32_t k = 0; k < m->nodes[i].n_out; k++)
            if (m->nodes[i].out[k] == x) {
                *spec = (struct record_spec){
                    .first = body.begin, .last = body.end, .node = i, .output = k};
                return true;
            }
    return false;
}

/* `elems` says whether there is anything to read; a layer without inputs is rounded data-free. */
enum pith_status pith_layer_input_open(struct layer_walk *walk, uint32_t node,
                                       struct body_span body, struct layer_input *in,
                                       struct pith_error *err)
{
    const struct pith_model *m = pith_layer_walk_model(walk);
    struct record_spec spec;
    struct value_record r = {0};
    *in = (struct layer_input){.walk = walk, .node = &m->nodes[node]};
    const bool recurs = pith_op_is(in->node->op, TRAIT_RECURS), in_body = body.begin < body.end;
    enum pith_status status = PITH_OK;
    if (recurs && in_body)
        return PITH_OK;
    if (recurs)
        status = open_state(in, node, &r, err);
    else if (in_body && find_maker(m, in->node->in[IN_X], body, &spec))
        status = pith_layer_walk_record(walk, &spec, &r, err);
    else
        in->elems = pith_value_elems(&m->values[in->node->in[IN_X]]);
    if (r.kept) {
        in->record = r.kept;
        in->n_records = r.n;
        in->elems = r.times * r.elems;
    }
    return status;
}

void pith_layer_input_close(struct layer_input *in)
{
    pith_kept_free(in->record);
    *in = (struct layer_input){0};
}

/* Samples one by one: who reads decides how many are in memory. */
enum pith_status pith_layer_input_read(const struct layer_input *in, uint64_t sample, float *x,
                                       struct pith_error *err)
{
    const uint64_t bytes = in->elems * sizeof *x;
    if (in->is_state)
        return read_states(in, sample, x, err);
    return in->record ? pith_kept_read(in->record, 0, sample * bytes, x, (size_t)bytes, err)
                      : pith_layer_walk_read(in->walk, in->node->in[IN_X], sample, x, err);
}

enum pith_status pith_layer_input_map(const struct layer_input *in, const void **data, uint64_t *n,
                                      struct pith_error *err)
{
    *n = in->record ? in->n_records : pith_layer_walk_samples(in->walk);
    *data = NULL;
    if (in->record)
        return *n ? pith_kept_map(in->record, 0, data, err) : PITH_OK;
    return pith_layer_walk_map(in->walk, in->node->in[IN_X], data, err);
}
