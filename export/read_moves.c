/* SPDX-License-Identifier: MIT */
/* read_moves.c - operators that move elements, and loops, whose states are moves at the end of each
 * iteration.
 *
 * A piece that lies in one run is no step: what is cut out is a part of the store that it is cut
 * from, and what is put together is written to its part of the whole by the layer that computes
 * it. */
#include "reading.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#include <string.h>
#include "ops/resize_tap.h"

#define AXES PITH_MAX_RANK

/* A move before its axes are joined; axes of x, elements. */
struct move {
    uint32_t n[AXES];
    int64_t from[AXES], to[AXES];
    struct copy_shape c;
    bool pads;    /* y has other elements beside */
    int64_t done; /* places of the axis of a Concat or Split that were moved before */
};

/* Elements from one place of a value to the next, as they lie in store s. false: its order is
 * another. */
static bool axis_steps(const struct pith_value *x, const struct store *s, int64_t step[AXES])
{
    int64_t at = 1;
    for (uint32_t i = x->rank; i-- > 0;) {
        step[i] = at;
        at *= x->dim[i];
    }
    if (s->channels > 1) {
        if (x->rank < 3 || x->dim[1] != s->channels || x->dim[0] != 1)
            return false;
        for (uint32_t i = 2; i < x->rank; i++)
            step[i] *= (int64_t)s->channels;
        step[1] = 1;
    }
    return true;
}

/* Channels that lie side by side in x and y are copied at once. */
static void put_run_last(struct copy_shape *c)
{
    const uint32_t last = COPY_AXES - 1, n = c->n[last];
    const int32_t from = c->from[last], to = c->to[last];
    if (c->n[last - 1] == 1 || c->from[last - 1] != 1 || c->to[last - 1] != 1)
        return;
    c->n[last] = c->n[last - 1];
    c->from[last] = c->to[last] = 1;
    c->n[last - 1] = n;
    c->from[last - 1] = from;
    c->to[last - 1] = to;
}

/* false: more axes than a step has. */
static bool join_axes(struct move *v)
{
    uint32_t at = COPY_AXES;
    for (uint32_t i = 0; i < COPY_AXES; i++) {
        v->c.n[i] = 1;
        v->c.from[i] = v->c.to[i] = 0;
    }
    for (uint32_t i = AXES; i-- > 0;) {
        struct copy_shape *c = &v->c;
        if (v->n[i] == 1)
            continue;
        if (at < COPY_AXES && v->from[i] == (int64_t)c->n[at] * c->from[at] &&
            v->to[i] == (int64_t)c->n[at] * c->to[at]) {
            c->n[at] *= v->n[i];
            continue;
        }
        if (at == 0)
            return false;
        at--;
        c->n[at] = v->n[i];
        c->from[at] = (int32_t)v->from[i];
        c->to[at] = (int32_t)v->to[i];
    }
    put_run_last(&v->c);
    return true;
}

static bool is_one_run(const struct copy_shape *c)
{
    const uint32_t last = COPY_AXES - 1;
    return c->n[last - 1] == 1 && (c->n[last] == 1 || (c->from[last] == 1 && c->to[last] == 1));
}

/* The elements of a constant of integers, or of an index, are first + by * i. */
static bool progression(const struct reading *r, uint32_t v, int64_t *first, int64_t *by)
{
    const struct pith_const *c = constant_of(r->m, v);
    const enum pith_type type = r->m->values[v].type;
    *by = 0;
    if (!c || (type != PITH_I64 && type != PITH_I32))
        return false;
    for (uint64_t i = 0; i < c->count; i++) {
        const int64_t at =
            type == PITH_I64 ? ((const int64_t *)c->data)[i] : ((const int32_t *)c->data)[i];
        if (i == 0)
            *first = at;
        else if (i == 1)
            *by = at - *first;
        else if (at != *first + (int64_t)i * *by)
            return false;
    }
    return c->count > 0;
}

/* What one index names: places of the axis in x, from the first on; y has the axes of the indices
 * there. */
static bool gather_of(const struct reading *r, const struct pith_node *n, const int64_t *to,
                      struct move *v)
{
    const struct pith_value *x = &r->m->values[n->in[0]], *index = &r->m->values[n->in[1]];
    const uint32_t axis = (uint32_t)n->attr[ATTR_GATHER_AXIS];
    const uint64_t count = elems(r->m, n->in[1]);
    const struct value *i = &r->value[n->in[1]];
    const int64_t dim = x->dim[axis];
    int64_t first = i->first, by = i->by, last;
    if (n->attr[ATTR_GATHER_KIND] || (index->rank > 1 && count != 1))
        return false;
    if (i->form == FORM_INDEX) {
        const struct step *loop = &r->net->step[i->node];
        last = first + by * ((int64_t)loop->rows - 1);
        v->c.x_by = by * v->from[axis];
        v->c.loop = i->node;
        by = 0;
    } else {
        if (!progression(r, n->in[1], &first, &by))
            return false;
        last = first + by * ((int64_t)count - 1);
        if (first < 0 && last < 0) {
            first += dim;
            last += dim;
        }
    }
    if (first < 0 || last < 0 || first >= dim || last >= dim)
        return false;
    v->c.x_at = first * v->from[axis];
    v->from[axis] *= by;
    v->n[axis] = (uint32_t)count;
    for (uint32_t k = 0; k < x->rank; k++)
        v->to[k] = k < axis                   ? to[k]
                   : k > axis                 ? to[k - 1 + index->rank]
                   : index->rank && count > 1 ? to[axis]
                                              : 0;
    return true;
}

/* How n moves input i to its output j. false: in another way. */
static bool move_of(const struct reading *r, const struct pith_node *n, uint32_t i, uint32_t j,
                    const int64_t *to, struct move *v)
{
    const struct pith_value *x = &r->m->values[n->in[i]], *y = &r->m->values[n->out[j]];
    const int32_t *a = n->attr;
    const uint32_t axis = (uint32_t)a[ATTR_AXIS];
    int64_t from[AXES];
    memcpy(from, v->from, sizeof from);
    for (uint32_t k = 0; k < AXES; k++) {
        v->n[k] = k < x->rank ? x->dim[k] : 1;
        v->to[k] = k < y->rank ? to[k] : 0;
    }
    switch (n->op) {
    case PITH_OP_CONCAT:
        v->c.y_at = v->done * to[axis];
        v->done += x->dim[axis];
        return true;
    case PITH_OP_SPLIT:
        v->n[axis] = y->dim[axis];
        v->c.x_at = v->done * from[axis];
        v->done += y->dim[axis];
        return true;
    case PITH_OP_TRANSPOSE:
        for (uint32_t k = 0; k < y->rank; k++) {
            v->n[k] = y->dim[k];
            v->from[k] = from[attr_item(a, ATTR_PERM, k, (int32_t)(y->rank - 1 - k))];
        }
        return true;
    case PITH_OP_GATHER:
        return gather_of(r, n, to, v);
    case PITH_OP_SLICE:
        for (uint32_t k = 0; k < (uint32_t)attr_count(a, ATTR_SLICE_AXES); k++) {
            const uint32_t along = (uint32_t)a[ATTR_SLICE_AXES + 1 + k];
            int64_t start = a[ATTR_SLICE_STARTS + 1 + k];
            const int64_t dim = x->dim[along];
            start += start < 0 ? dim : 0;
            start = start < 0 ? 0 : start;
            start = start > dim - 1 ? dim - 1 : start;
            v->n[along] = y->dim[along];
            v->c.x_at += start * from[along];
            v->from[along] = from[along] * attr_item(a, ATTR_SLICE_STEPS, k, 1);
        }
        return true;
    default: /* Pad */
        v->pads = true;
        for (uint32_t k = 0; k < y->rank; k++) {
            const int32_t begin = attr_item(a, ATTR_PAD_BEGIN, k, 0),
                          end = attr_item(a, ATTR_PAD_END, k, 0);
            if (begin < 0 || end < 0)
                return false;
            v->c.y_at += (int64_t)begin * to[k];
        }
        return true;
    }
}

static uint32_t root_of(const struct network *net, uint32_t store)
{
    while (net->store[store].part_of != STORE_NONE)
        store = net->store[store].part_of;
    return store;
}

static void make_part(struct network *net, uint32_t part, uint32_t whole, int64_t at)
{
    net->store[part].part_of = whole;
    net->store[part].part_at = (uint64_t)at * net->store[part].element;
}

/* The step that does v; none where what it moves may as well lie there from the start. */
static enum pith_status piece(struct reading *r, const struct pith_node *n, const struct move *v,
                              uint32_t x, uint32_t y)
{
    struct network *net = r->net;
    const struct store *from = &net->store[x], *to = &net->store[y];
    if (is_one_run(&v->c) && !v->c.loop && !v->pads) {
        if (n->op != PITH_OP_CONCAT) {
            make_part(net, y, x, v->c.x_at);
            return PITH_OK;
        }
        if (!from->constant && from->input == STORE_NONE && from->part_of == STORE_NONE) {
            make_part(net, x, y, v->c.y_at);
            return PITH_OK;
        }
    }
    const uint32_t size = to->element;
    struct step *s = pith_export_new_step(r, STEP_COPY, n, x, y);
    s->copy = v->c;
    s->size = size;
    return r->no_memory ? PITH_ERR_MEMORY : PITH_OK;
}

static bool reads(const struct step *s, uint32_t store)
{
    for (uint32_t i = 0; i < STEP_INPUTS; i++)
        if (s->x[i] == store)
            return true;
    return false;
}

/* The only step that writes the store of copy i, where nothing but the copy reads it and the step
 * can write elsewhere; NULL: there is none. */
static struct step *only_producer(const struct network *net, uint32_t i)
{
    const uint32_t x = net->step[i].x[0];
    struct step *from = NULL;
    for (uint32_t j = 0; j < net->n_steps; j++) {
        struct step *s = &net->step[j];
        const bool between = from && j < i;
        if (j != i && (reads(s, x)))
            return NULL;
        if (between && (s->kind == STEP_LOOP || s->kind == STEP_LOOP_END ||
                        (s->kind == STEP_FILL && s->y == net->step[i].y)))
            return NULL;
        if (s->y == x && (from || j > i))
            return NULL;
        from = s->y == x ? s : from;
    }
    for (uint32_t v = 0; v < net->n_stores; v++)
        if (net->store[v].part_of == x)
            return NULL;
    return from && !from->out.stride &&
                   (from->kind == STEP_CONV || from->kind == STEP_POINTWISE ||
                    from->kind == STEP_DEPTHWISE || from->kind == STEP_GROUPED)
               ? from
               : NULL;
}

void pith_export_join_channels(struct network *net)
{
    for (uint32_t i = 0; i < net->n_steps; i++) {
        struct step *s = &net->step[i];
        const struct copy_shape *c = &s->copy;
        if (s->kind != STEP_COPY || c->x_by || c->y_by || c->x_at || c->n[0] != 1 || c->n[1] != 1 ||
            c->from[2] != (int32_t)c->n[3] || c->from[3] != 1 || c->to[3] != 1 ||
            c->to[2] <= c->from[2] || c->to[2] > UINT16_MAX)
            continue;
        const struct store *x = &net->store[s->x[0]];
        struct step *from = x->input == STORE_NONE && x->output == STORE_NONE && !x->constant &&
                                    x->part_of == STORE_NONE
                                ? only_producer(net, i)
                                : NULL;
        if (!from || from->outputs != c->n[3] || from->g.oh * from->g.ow != c->n[2])
            continue;
        from->y = s->y;
        from->out.at = (uint32_t)c->y_at;
        from->out.stride = (uint32_t)c->to[2];
        s->kind = STEP_NOTHING;
        memset(s->x, 0xff, sizeof s->x); /* STORE_NONE */
        s->y = STORE_NONE;
    }
}

/* Input i of a node, which lies in store x, to its output j, in store y. */
struct ends {
    uint32_t i, j, x, y;
};

/* The steps of both ends; x becomes the store that has the elements in the order of the file. */
static void steps_of(struct reading *r, const struct pith_node *n, struct ends *e,
                     int64_t from[AXES], int64_t to[AXES])
{
    const struct pith_value *in = &r->m->values[n->in[e->i]];
    memset(from, 0, AXES * sizeof *from);
    memset(to, 0, AXES * sizeof *to);
    if (!axis_steps(in, &r->net->store[e->x], from)) {
        e->x = pith_export_in_file_order(r, n, e->x);
        if (!r->no_memory)
            axis_steps(in, &r->net->store[e->x], from);
    }
    axis_steps(&r->m->values[n->out[e->j]], &r->net->store[e->y], to);
}

static enum pith_status move(struct reading *r, const struct pith_node *n, struct ends e,
                             struct move *v)
{
    int64_t step[AXES];
    v->c = (struct copy_shape){0};
    steps_of(r, n, &e, v->from, step);
    if (r->no_memory)
        return PITH_ERR_MEMORY;
    if (!move_of(r, n, e.i, e.j, step, v))
        return pith_export_refuse(r, n, "of this kind has no C kernel");
    if (!join_axes(v))
        return pith_export_refuse(r, n, "moves more than four axes");
    return piece(r, n, v, e.x, e.y);
}

/* Not more is mirrored along an axis of `size` elements than there is, and nothing is cut off. */
static bool pads_fit(const int32_t *attr, uint32_t axis, uint32_t size)
{
    const int32_t begin = attr_item(attr, ATTR_PAD_BEGIN, axis, 0),
                  end = attr_item(attr, ATTR_PAD_END, axis, 0);
    const bool mirrors = attr[ATTR_PAD_MODE] == 1;
    return begin >= 0 && end >= 0 && (!mirrors || (begin < (int32_t)size && end < (int32_t)size));
}

/* Along an axis of `size` elements the piece in the middle of a Pad, the one before or the one
 * behind. false: it is empty. */
static bool pad_piece(const int32_t *attr, uint32_t axis, uint32_t which, uint32_t size,
                      struct move *v, const int64_t step[AXES])
{
    const int32_t begin = attr_item(attr, ATTR_PAD_BEGIN, axis, 0),
                  end = attr_item(attr, ATTR_PAD_END, axis, 0);
    const bool mirrors = attr[ATTR_PAD_MODE] == 1;
    const int64_t from = v->from[axis];
    v->n[axis] = which == 0 ? size : (uint32_t)(which == 1 ? begin : end);
    v->to[axis] = step[axis];
    if (which == 0) {
        v->c.y_at += begin * step[axis];
        return true;
    }
    v->from[axis] = mirrors ? -from : 0;
    v->c.x_at += (which == 1 ? mirrors ? begin : 0 : (int64_t)size - 1 - mirrors) * from;
    v->c.y_at += which == 1 ? 0 : (begin + (int64_t)size) * step[axis];
    return v->n[axis] > 0;
}

/* A Pad that repeats its edge or mirrors what is behind it: a move for each side, corner and the
 * middle. */
static enum pith_status mirrored(struct reading *r, const struct pith_node *n, uint32_t x,
                                 uint32_t y)
{
    const struct pith_value *in = &r->m->values[n->in[0]];
    struct ends e = {.x = x, .y = y};
    int64_t from[AXES], to[AXES];
    uint32_t pieces = 1;
    steps_of(r, n, &e, from, to);
    if (r->no_memory)
        return PITH_ERR_MEMORY;
    for (uint32_t k = 0; k < in->rank; k++) {
        if (!pads_fit(n->attr, k, in->dim[k]))
            return pith_export_refuse(r, n, "mirrors more than there is, or cuts off");
        pieces *= 3;
    }
    for (uint32_t p = 0; p < pieces; p++) {
        struct move v = {.pads = true};
        bool there = true;
        memcpy(v.from, from, sizeof from);
        for (uint32_t k = 0; k < AXES; k++)
            v.n[k] = 1;
        for (uint32_t k = 0, which = p; k < in->rank; k++, which /= 3)
            there = pad_piece(n->attr, k, which % 3, in->dim[k], &v, to) && there;
        if (there && !join_axes(&v))
            return pith_export_refuse(r, n, "moves more than four axes");
        enum pith_status st = there ? piece(r, n, &v, e.x, e.y) : PITH_OK;
        if (st)
            return st;
    }
    return PITH_OK;
}

/* DepthToSpace and SpaceToDepth, a move for each row of a block: `deep` has b x b times the
 * channels, `wide` b times the rows and columns. */
static enum pith_status blocks(struct reading *r, const struct pith_node *n, uint32_t x, uint32_t y)
{
    const struct pith_value *in = &r->m->values[n->in[0]], *out = &r->m->values[n->out[0]];
    const bool to_depth = n->attr[ATTR_DEPTH_SPACE_KIND] == 2,
               crd = n->attr[ATTR_DEPTH_SPACE_KIND] == 1;
    const uint32_t b = (uint32_t)n->attr[ATTR_DEPTH_SPACE_BLOCK],
                   *small = to_depth ? out->dim : in->dim, c = to_depth ? in->dim[1] : out->dim[1];
    const int64_t of_channel = crd ? (int64_t)b * b : 1, of_column = crd ? 1 : c;
    struct ends e = {.x = x, .y = y};
    int64_t from[AXES], to[AXES];
    const int64_t *deep = to_depth ? to : from, *wide = to_depth ? from : to;
    if (in->dim[0] != 1)
        return pith_export_refuse(r, n, "is of a batch");
    steps_of(r, n, &e, from, to);
    if (r->no_memory)
        return PITH_ERR_MEMORY;
    for (uint32_t i = 0; i < b; i++) {
        struct move v = {.pads = true};
        int64_t *in_deep = to_depth ? v.to : v.from, *in_wide = to_depth ? v.from : v.to;
        const uint32_t size[4] = {c, small[2], b, small[3]};
        for (uint32_t k = 0; k < AXES; k++)
            v.n[k] = k < 4 ? size[k] : 1;
        memcpy(in_deep,
               (const int64_t[4]){of_channel * deep[1], deep[2], of_column * deep[1], deep[3]},
               4 * sizeof *in_deep);
        memcpy(in_wide, (const int64_t[4]){wide[1], b * wide[2], wide[3], b * wide[3]},
               4 * sizeof *in_wide);
        *(to_depth ? &v.c.y_at : &v.c.x_at) = i * b * of_column * deep[1];
        *(to_depth ? &v.c.x_at : &v.c.y_at) = i * wide[2];
        join_axes(&v); /* four */
        enum pith_status st = piece(r, n, &v, e.x, e.y);
        if (st)
            return st;
    }
    return PITH_OK;
}

/* An input that is moved: what comes out has its form. */
static enum pith_status moved_input(struct reading *r, const struct pith_node *n, struct value *x)
{
    *x = r->value[n->in[0]];
    if (x->form != FORM_STORED && !(x->form == FORM_BYTE_FUNCTION && x->pure)) {
        *x = (struct value){.form = FORM_STORED};
        return pith_export_floats_of(r, n, n->in[0], &x->store);
    }
    x->floats = STORE_NONE;
    return PITH_OK;
}

static enum pith_status cut(struct reading *r, const struct pith_node *n)
{
    struct value x;
    struct move v = {0};
    enum pith_status st = moved_input(r, n, &x);
    if (st)
        return st;
    for (uint32_t j = 0; j < n->n_out; j++) {
        const uint32_t from = x.store;
        if (n->out[j] == PITH_VALUE_NONE)
            continue;
        struct value y = x;
        y.store = pith_export_store_for(r, n->out[j], r->net->store[from].element);
        if (r->no_memory)
            return PITH_ERR_MEMORY;
        st = n->op == PITH_OP_DEPTH_SPACE ? blocks(r, n, from, y.store)
                                          : move(r, n, (struct ends){0, j, from, y.store}, &v);
        if (st)
            return st;
        r->value[n->out[j]] = y;
    }
    return PITH_OK;
}

/* Concat, Pad. */
enum pith_status pith_export_move(struct reading *r, const struct pith_node *n)
{
    struct pith_model *m = r->m;
    struct move v = {0};
    struct grid to;
    uint32_t y = n->out[0];
    bool bytes = true;
    const uint32_t n_in = n->op == PITH_OP_CONCAT ? n->n_in : 1;
    if (n->op != PITH_OP_CONCAT && n->op != PITH_OP_PAD)
        return cut(r, n);
    for (uint32_t i = 0; i < n_in; i++)
        bytes = bytes && pith_export_byte_input(r, n->in[i]);
    if (bytes) {
        y = pith_export_byte_output(r, n, &to, NULL);
        bytes = y != PITH_VALUE_NONE;
        y = bytes ? y : n->out[0];
    }
    const uint32_t store = pith_export_store_for(r, y, bytes ? ELEMENT_U8 : ELEMENT_F32);
    const float value = n->op == PITH_OP_PAD ? attr_f32(n->attr, ATTR_PAD_VALUE) : 0.0f;
    if (r->no_memory)
        return PITH_ERR_MEMORY;
    const bool mirrors = n->op == PITH_OP_PAD && n->attr[ATTR_PAD_MODE] != 0;
    if (n->op == PITH_OP_PAD && !mirrors) {
        const bool real = r->value[n->in[0]].form == FORM_BYTE_FUNCTION;
        if (!bytes && value != 0.0f)
            return pith_export_refuse(r, n, "pads with another number than 0");
        struct step *f = pith_export_new_step(r, STEP_FILL, n, STORE_NONE, store);
        if (bytes)
            f->fill = real ? pith_export_quantized_byte(value, &to)
                           : (uint8_t)((int32_t)value + (m->values[y].type == PITH_I8 ? 128 : 0));
    }
    for (uint32_t i = 0; i < n_in; i++) {
        uint32_t x = r->value[n->in[i]].store;
        enum pith_status st = PITH_OK;
        if (!bytes)
            st = pith_export_floats_of(r, n, n->in[i], &x);
        else if (r->value[n->in[i]].form == FORM_BYTE_FUNCTION)
            x = pith_export_through_table(r, n, x, pith_export_grid_in(r, n->in[i]), &to);
        st = st        ? st
             : mirrors ? mirrored(r, n, x, store)
                       : move(r, n, (struct ends){i, 0, x, store}, &v);
        if (st || r->no_memory)
            return st ? st : PITH_ERR_MEMORY;
    }
    if (bytes)
        pith_export_set_stored(r, y, store);
    else
        pith_export_set_floats(r, y, store);
    return PITH_OK;
}

/* ---- resize ------------------------------------------------------------------------------------
 */

/* The taps of rows, then of columns: index and factor of a step. *rows: they are sampled. false:
 * other axes are, too. */
static bool taps_of(struct reading *r, const struct pith_node *n, struct step *s, bool *rows)
{
    const struct pith_value *v[2] = {&r->m->values[n->in[0]], &r->m->values[n->out[0]]};
    struct tview view[2] = {{.type = PITH_F32}, {.type = PITH_F32}};
    const struct tview *in[1] = {&view[0]};
    struct tview *out[1] = {&view[1]};
    const struct op_args args = {.attr = n->attr, .n_in = 1, .n_out = 1, .in = in, .out = out};
    uint32_t at = v[1]->rank == 3; /* one row */
    for (uint32_t i = 0; i < 2; i++) {
        view[i].shape.rank = v[i]->rank;
        memcpy(view[i].shape.dim, v[i]->dim, sizeof view[i].shape.dim);
    }
    for (uint32_t i = 0; i < v[1]->rank; i++) {
        const uint32_t size = v[1]->dim[i];
        struct resize_tap *tap = pith_model_alloc(r->m, size, sizeof *tap);
        const bool sampled = tap && pith_resize_taps(&args, i, tap);
        if (!tap || (i < 2 && sampled))
            return false;
        *rows = i == 2 && v[1]->rank == 4 ? sampled : *rows;
        for (uint32_t o = 0; o < size && i >= 2; o++, at++) {
            s->index[2 * at] = tap[o].low;
            s->index[2 * at + 1] = tap[o].high;
            ((float *)(uintptr_t)s->product.factor)[at] = tap[o].w;
        }
    }
    return true;
}

enum pith_status pith_export_resized(struct reading *r, const struct pith_node *n)
{
    const struct pith_value *v = &r->m->values[n->in[0]], *to = &r->m->values[n->out[0]];
    const int32_t mode = n->attr[ATTR_RESIZE_MODE];
    struct window_shape g = {.c = v->dim[1],
                             .h = v->rank == 4 ? v->dim[2] : 1,
                             .w = v->dim[v->rank - 1],
                             .oh = v->rank == 4 ? to->dim[2] : 1,
                             .ow = to->dim[v->rank - 1]};
    struct value x = {.form = FORM_STORED};
    if (mode > 1 || (v->rank != 3 && v->rank != 4) || v->dim[0] != 1 || !pith_export_is_small(&g))
        return pith_export_refuse(r, n, "is neither nearest nor linear along one axis or two");
    enum pith_status st =
        mode ? pith_export_floats_of(r, n, n->in[0], &x.store) : moved_input(r, n, &x);
    if (st)
        return st;
    const enum element element = r->net->store[x.store].element;
    const bool f32 = element != ELEMENT_U8;
    const uint32_t from = f32 ? x.store : pith_export_by_pixels(r, n, x.store, g.c);
    x.store = pith_export_store_for(r, n->out[0], element);
    struct step *s =
        pith_export_new_step(r, mode ? STEP_RESIZE_LINEAR : STEP_RESIZE_NEAREST, n, from, x.store);
    s->outputs = g.oh + g.ow;
    s->index = pith_model_alloc(r->m, 2ull * s->outputs, sizeof *s->index);
    s->product.factor = pith_model_alloc(r->m, s->outputs, sizeof *s->product.factor);
    if (!s->index || !s->product.factor || r->no_memory)
        return PITH_ERR_MEMORY;
    if (!taps_of(r, n, s, &s->resizes_rows))
        return pith_export_refuse(r, n, "samples more than rows and columns");
    s->g = g;
    s->rows = f32 ? g.c : 1;
    s->size = f32 ? element : g.c;
    s->product.factor = mode ? s->product.factor : NULL;
    if (r->value[n->out[0]].form == FORM_BYTE_FUNCTION)
        pith_export_set_floats(r, n->out[0], x.store);
    else
        r->value[n->out[0]] = x;
    return PITH_OK;
}

/* ---- loops ------------------------------------------------------------------------------------
 */

bool pith_export_index(struct reading *r, const struct pith_node *n)
{
    struct value y = {.form = FORM_NONE};
    int64_t first = 0, by;
    uint32_t at = 0;
    if (n->n_in && n->in[0] != PITH_VALUE_NONE && r->value[n->in[0]].form != FORM_INDEX)
        at = 1;
    if (n->n_in <= at || n->n_in > 2 || n->in[at] == PITH_VALUE_NONE ||
        r->value[n->in[at]].form != FORM_INDEX)
        return false;
    y = r->value[n->in[at]];
    if (n->n_in == 2 &&
        (!progression(r, n->in[1 - at], &first, &by) || elems(r->m, n->in[1 - at]) != 1))
        return false;
    switch (n->op) {
    case PITH_OP_CAST:
        if (r->m->values[n->out[0]].type == PITH_F32)
            return false;
        break;
    case PITH_OP_ADD:
        y.first += first;
        break;
    case PITH_OP_SUB:
        y.first = at ? first - y.first : y.first - first;
        y.by = at ? -y.by : y.by;
        break;
    case PITH_OP_MUL:
        y.first *= first;
        y.by *= first;
        break;
    default:
        return false;
    }
    r->value[n->out[0]] = y;
    return true;
}

/* Floats, or bytes in the order of the file. */
static enum pith_status whole(struct reading *r, const struct pith_node *n, uint32_t v, uint32_t *x)
{
    if (r->m->values[v].type == PITH_F32)
        return pith_export_floats_of(r, n, v, x);
    if (!is_byte_type(r->m->values[v].type) || r->value[v].form != FORM_STORED)
        return pith_export_refuse(r, n, "has a state that is neither floats nor quantized");
    *x = pith_export_in_file_order(r, n, r->value[v].store);
    return r->no_memory ? PITH_ERR_MEMORY : PITH_OK;
}

static uint32_t state_store(struct reading *r, uint32_t v)
{
    return pith_export_new_store(r, r->m->values[v].type == PITH_F32 ? ELEMENT_F32 : ELEMENT_U8, 1,
                                 (uint32_t)elems(r->m, v));
}

/* A constant count or condition gives the number of iterations, or needs no test. */
static bool trips(const struct reading *r, const struct pith_node *n, uint32_t *times)
{
    const bool counts = n->attr[ATTR_LOOP_HAS_COUNT] != 0;
    *times = (uint32_t)n->attr[ATTR_LOOP_TRIPS];
    for (uint32_t i = 0; i < (uint32_t)(n->attr[ATTR_LOOP_HAS_COND] + counts); i++) {
        const struct pith_const *c = constant_of(r->m, n->in[i]);
        int64_t most;
        if (!c)
            return false;
        if (counts && i == 0) {
            most = *(const int64_t *)c->data;
            *times = most < (int64_t)*times ? (uint32_t)(most < 0 ? 0 : most) : *times;
        } else if (!*(const uint8_t *)c->data) {
            return false;
        }
    }
    return *times > 0;
}

enum pith_status pith_export_loop(struct reading *r, const struct pith_node *n)
{
    const uint32_t first = (uint32_t)(n->attr[ATTR_LOOP_HAS_COUNT] + n->attr[ATTR_LOOP_HAS_COND]);
    uint32_t times;
    if (!trips(r, n, &times) || r->n_loops == MOST_LOOPS)
        return pith_export_refuse(r, n, "runs as often as is computed");
    for (uint32_t i = first; i < n->n_in; i++) {
        uint32_t x;
        enum pith_status st = whole(r, n, n->in[i], &x);
        if (st)
            return st;
        const uint32_t state = state_store(r, n->in[i]);
        pith_export_copy(r, n, x, state);
        if (r->no_memory)
            return PITH_ERR_MEMORY;
        pith_export_set_stored(r, n->out[1 + i - first], state);
    }
    const uint32_t at = r->net->n_steps;
    pith_export_new_step(r, STEP_LOOP, n, STORE_NONE, STORE_NONE)->rows = times;
    r->loop[r->n_loops++] = at;
    r->value[n->out[0]] = (struct value){.form = FORM_INDEX, .node = at, .by = 1};
    return r->no_memory ? PITH_ERR_MEMORY : PITH_OK;
}

/* Nothing is written to a state or to what is collected before all that it may come from is there:
 * a next value that lies in a state is copied first. */
enum pith_status pith_export_loop_end(struct reading *r, const struct pith_node *n)
{
    struct network *net = r->net;
    const uint32_t has_cond = (uint32_t)n->attr[ATTR_LOOP_HAS_COND],
                   states = (uint32_t)n->attr[ATTR_LOOP_STATES], begin = r->loop[--r->n_loops];
    const uint32_t *state = n->in + has_cond, *next = state + states,
                   n_next = n->n_in - has_cond - states;
    uint32_t *x = pith_model_alloc(r->m, n_next + 1u, sizeof *x);
    if (!x)
        return PITH_ERR_MEMORY;
    if (has_cond &&
        !(constant_of(r->m, n->in[0]) && *(const uint8_t *)constant_of(r->m, n->in[0])->data))
        return pith_export_refuse(r, n, "ends when a condition is computed");
    for (uint32_t i = 0; i < n_next; i++) {
        enum pith_status st = whole(r, n, next[i], &x[i]);
        if (st)
            return st;
        for (uint32_t j = 0; j < states && i < states; j++)
            if (root_of(net, x[i]) == root_of(net, r->value[state[j]].store) &&
                x[i] != r->value[state[i]].store) {
                x[i] = pith_export_copied(r, n, x[i]);
                break;
            }
    }
    for (uint32_t i = states; i < n_next; i++) {
        const uint32_t v = n->out[i], y = state_store(r, v);
        struct step *s = pith_export_copy(r, n, x[i], y);
        s->copy.y_by = s->copy.n[3];
        s->copy.loop = begin;
        if (r->no_memory)
            return PITH_ERR_MEMORY;
        pith_export_set_stored(r, v, y);
    }
    for (uint32_t i = 0; i < states; i++) {
        if (x[i] != r->value[state[i]].store)
            pith_export_copy(r, n, x[i], r->value[state[i]].store);
        pith_export_set_stored(r, n->out[i], r->value[state[i]].store);
    }
    pith_export_new_step(r, STEP_LOOP_END, n, STORE_NONE, STORE_NONE)->rows = begin;
    return r->no_memory ? PITH_ERR_MEMORY : PITH_OK;
}
