/* SPDX-License-Identifier: MIT */
/* layer_reader.c - three places that a layer's inputs may be in, behind one call: who sums a
 * Hessian need not know which. */
#include "layer_reader.h"

#include <string.h>

#include "pith_kept_values.h"
#include "pith_op_semantics.h"

/* Of a recurrent product the weight meets the state, not input 0; its inputs' part is a MatMul
 * of its own. */
enum { IN_X = 0, IN_LENGTHS = 3, IN_H0 = 4, OUT_Y = 0 }; /* of a recurrent product */

static uint32_t input_of(const struct pith_node *node, uint32_t i)
{
    return i < node->n_in ? node->in[i] : PITH_VALUE_NONE;
}

/* ---- states ---------------------------------------------------------------------------------- */

/* Sequences of different lengths leave states behind their end that no step has seen. */
static enum pith_status open_state(struct layer_reader *r, uint32_t at, struct pith_error *err)
{
    const struct pith_value *gates = &r->m->values[r->node->in[IN_X]];
    const uint32_t width = r->m->values[r->node->in[1]].dim[1],
                   dim[] = {gates->dim[0], gates->dim[1], width};
    const struct record_spec spec = {
        .first = at, .last = at + 1, .node = at, .output = OUT_Y, .rank = 3, .dim = dim};
    if (input_of(r->node, IN_LENGTHS) != PITH_VALUE_NONE)
        return PITH_OK;
    r->is_state = true;
    enum pith_status status = pith_sample_walk_record(r->walk, &spec, &r->record, err);
    r->elems = status ? 0 : r->record.times * r->record.elems;
    return status;
}

/* That before the first step. A given first state may be computed; a constant is the same for
 * every sample; without one it is 0. */
static enum pith_status read_first(const struct layer_reader *r, uint64_t sample, uint64_t elems,
                                   float *x, struct pith_error *err)
{
    const uint32_t h0 = input_of(r->node, IN_H0);
    if (h0 != PITH_VALUE_NONE && !r->m->values[h0].constant)
        return pith_sample_walk_read(r->walk, h0, sample, x, err);
    if (h0 == PITH_VALUE_NONE)
        memset(x, 0, (size_t)elems * sizeof *x);
    else
        memcpy(x, r->m->values[h0].constant->data, (size_t)elems * sizeof *x);
    return PITH_OK;
}

/* y is [T, N, H]; step t multiplies the state that step t - 1 left, so the states are y one step
 * later, with the first in front (reverse: at the end). */
static enum pith_status read_states(const struct layer_reader *r, uint64_t sample, float *x,
                                    struct pith_error *err)
{
    const uint64_t steps = r->m->values[r->node->in[IN_X]].dim[0], each = r->elems / steps;
    const bool reverse = r->node->attr[ATTR_RECURRENT_REVERSE];
    const uint64_t at = sample * r->elems + (reverse ? each : 0);
    enum pith_status status =
        read_first(r, sample, each, x + (reverse ? (steps - 1) * each : 0), err);
    if (!status && steps > 1)
        status = pith_kept_read(r->record.kept, 0, at * sizeof *x, x + (reverse ? 0 : each),
                                (size_t)((steps - 1) * each) * sizeof *x, err);
    return status;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

/* False: x is not made in the body. A body may be many nodes; only the one that makes x is
 * watched. */
static bool find_maker(const struct layer_reader *r, struct body_span body,
                       struct record_spec *spec)
{
    for (uint32_t i = body.begin; i < body.end; i++)
        for (uint32_t k = 0; k < r->m->nodes[i].n_out; k++)
            if (r->m->nodes[i].out[k] == r->node->in[IN_X]) {
                *spec = (struct record_spec){
                    .first = body.begin, .last = body.end, .node = i, .output = k};
                return true;
            }
    return false;
}

/* `elems` says whether there is anything to read; a layer without inputs is rounded data-free. */
enum pith_status pith_layer_reader_open(struct sample_walk *walk, const struct pith_model *m,
                                        uint32_t node, struct body_span body,
                                        struct layer_reader *r, struct pith_error *err)
{
    struct record_spec spec;
    *r = (struct layer_reader){.walk = walk, .m = m, .node = &m->nodes[node]};
    const bool recurs = pith_op_is(r->node->op, TRAIT_RECURS), in_body = body.begin < body.end;
    if (recurs)
        return in_body ? PITH_OK : open_state(r, node, err);
    if (!in_body || !find_maker(r, body, &spec)) {
        r->elems = pith_sample_walk_elems(walk, r->node->in[IN_X]);
        return PITH_OK;
    }
    enum pith_status status = pith_sample_walk_record(walk, &spec, &r->record, err);
    r->elems = status ? 0 : r->record.times * r->record.elems;
    return status;
}

void pith_layer_reader_close(struct layer_reader *r)
{
    pith_value_record_end(&r->record);
}

/* Samples one by one: who reads decides how many are in memory. */
enum pith_status pith_layer_reader_read(const struct layer_reader *r, uint64_t sample, float *x,
                                        struct pith_error *err)
{
    const uint64_t bytes = r->elems * sizeof *x;
    if (r->is_state)
        return read_states(r, sample, x, err);
    return r->record.kept ? pith_kept_read(r->record.kept, 0, sample * bytes, x, (size_t)bytes, err)
                          : pith_sample_walk_read(r->walk, r->node->in[IN_X], sample, x, err);
}
