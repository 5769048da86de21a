/* SPDX-License-Identifier: MIT */
#include "integer_rows.h"

#include <stdlib.h>

#include "core/op_number.h"

static struct shape shape_of(const struct pith_value *v)
{
    struct shape s = {.rank = v->rank};
    for (uint32_t i = 0; i < v->rank; i++)
        s.dim[i] = v->dim[i];
    return s;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int32_t number_at(enum pith_type type, const void *x, uint64_t i)
{
    switch (type) {
    case PITH_U8:
        return ((const uint8_t *)x)[i];
    case PITH_I8:
        return ((const int8_t *)x)[i];
    case PITH_U16:
        return ((const uint16_t *)x)[i];
    default:
        return ((const int16_t *)x)[i];
    }
}

static enum pith_status read_integers(const void *of, uint64_t sample, float *x,
                                      struct pith_error *err)
{
    const struct integer_rows *r = of;
    const uint8_t *from = r->in->data + sample * r->in->bytes;
    (void)err;
    for (uint64_t i = 0; i < r->x.elems; i++)
        x[i] = (float)(number_at(r->in->x->type, from, i) - r->l->x->zero_point);
    return PITH_OK;
}

static enum pith_status read_goal(const void *of, uint64_t sample, float *y, struct pith_error *err)
{
    const struct integer_rows *r = of;
    const float *from = r->in->goal + sample * r->in->n_goals;
    const uint64_t rows = r->l->shape.rows, each = r->goal.place ? r->goal.out : 1;
    (void)err;
    for (uint64_t i = 0; i < r->goal.elems; i += each) {
        const uint64_t o = i / each % rows;
        const double bias = pith_layer_bias(r->l, o), unit = pith_layer_input_scale(r->l, o);
        for (uint64_t k = i; k < i + each; k++)
            y[k] = (float)(((double)from[k] - bias) / unit);
    }
    return PITH_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* A convolution's results lie as the inputs of one of a single tap. */
static bool lay_out(struct integer_rows *r)
{
    const struct layer_inputs *in = r->in;
    struct shape x = shape_of(in->x), w = shape_of(in->w), y = shape_of(in->y);
    const struct window v = pith_window_conv(in->product->attr, &x, &w, &y);
    r->x.places = (uint64_t)in->x->dim[0] * v.out;
    if (!pith_layer_rows_window(&r->x, &v))
        return false;
    if (!in->goal)
        return true;
    r->goal.taps = 1;
    r->goal.in = r->goal.out = v.out;
    r->goal.place = malloc(v.out * sizeof *r->goal.place);
    for (size_t i = 0; i < v.out && r->goal.place; i++)
        r->goal.place[i] = (int64_t)i;
    return r->goal.place != NULL;
}

enum pith_status pith_integer_rows(const struct layer_inputs *in, const struct integer_layer *l,
                                   struct integer_rows *r)
{
    const uint32_t groups = (uint32_t)l->shape.groups;
    const uint64_t elems = in->bytes / pith_type_bytes(in->x->type);
    *r = (struct integer_rows){
        .in = in,
        .l = l,
        .x = {
            .n = l->shape.cols, .groups = groups, .elems = elems, .read = read_integers, .of = r}};
    r->x.places = elems / l->shape.cols;
    if (in->goal)
        r->goal = (struct layer_rows){.n = l->shape.rows / groups,
                                      .groups = groups,
                                      .elems = in->n_goals,
                                      .read = read_goal,
                                      .of = r};
    if (in->product->op == PITH_OP_CONV_INTEGER && !lay_out(r))
        return PITH_ERR_MEMORY;
    r->goal.places = r->x.places;
    return PITH_OK;
}

void pith_integer_rows_end(struct integer_rows *r)
{
    pith_layer_rows_end(&r->x);
    pith_layer_rows_end(&r->goal);
}

bool pith_row_reader_open(struct row_reader *reader, const struct integer_rows *rows)
{
    *reader = (struct row_reader){.rows = rows,
                                  .x = malloc((size_t)rows->x.elems * sizeof(float)),
                                  .y = malloc((size_t)(rows->goal.elems + 1) * sizeof(float))};
    return reader->x && reader->y;
}

void pith_row_reader_close(struct row_reader *reader)
{
    free(reader->x);
    free(reader->y);
}

void pith_row_reader_sample(struct row_reader *reader, uint64_t sample)
{
    read_integers(reader->rows, sample, reader->x, NULL);
    if (reader->rows->goal.n)
        read_goal(reader->rows, sample, reader->y, NULL);
}
