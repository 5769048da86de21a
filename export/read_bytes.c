/* SPDX-License-Identifier: MIT */
/* read_bytes.c - operators from bytes to bytes. */
#include "reading.h"

#include <string.h>

/* ---- bytes to bytes ----------------------------------------------------------------------------
 */

/* An input of an operator on bytes: what a DequantizeLinear gives, or bytes as they are (moved
 * alone). */
static bool byte_input(const struct reading *r, uint32_t v)
{
    return v != PITH_VALUE_NONE && !constant_of(r->m, v) &&
           ((r->value[v].form == FORM_BYTE_FUNCTION && r->value[v].pure) ||
            (r->value[v].form == FORM_STORED && is_byte_type(r->m->values[v].type)));
}

static const struct grid no_grid = {1.0f, 0};

static const struct grid *grid_in(const struct reading *r, uint32_t v)
{
    return r->value[v].form == FORM_BYTE_FUNCTION ? &r->value[v].grid : &no_grid;
}

/* What a byte step that ends node n writes: of bytes as they are, n's output; of reals, that of the
 * QuantizeLinear which alone reads it, behind a Relu if `relu` is not NULL. PITH_VALUE_NONE: there
 * is none. */
static uint32_t byte_output(struct reading *r, const struct pith_node *n, struct grid *g,
                            bool *relu)
{
    const struct pith_model *m = r->m;
    if (is_byte_type(m->values[n->out[0]].type)) {
        *g = no_grid;
        return n->out[0];
    }
    struct pith_node *next = pith_export_only_reader(r, n->out[0]), *rectifier = NULL;
    if (next && relu && next->op == PITH_OP_RELU) {
        rectifier = next;
        next = pith_export_only_reader(r, next->out[0]);
    }
    if (!next || next->op != PITH_OP_QUANTIZE || !is_byte_type(m->values[next->out[0]].type) ||
        !pith_export_grid_of(r, next, m->values[next->out[0]].type, g))
        return PITH_VALUE_NONE;
    if (relu)
        *relu = rectifier != NULL;
    if (rectifier)
        r->done[rectifier - m->nodes] = true;
    r->done[next - m->nodes] = true;
    return next->out[0];
}

static bool same_order(const struct store *a, const struct store *b)
{
    return a->channels == b->channels && a->pixels == b->pixels;
}

/* Add and Mul of two tensors of bytes, the second maybe one byte a channel. */
enum pith_status pith_export_combine(struct reading *r, const struct pith_node *n, bool *taken)
{
    struct pith_model *m = r->m;
    uint32_t a = n->in[0], b = n->in[1];
    *taken = false;
    if (!byte_input(r, a) || !byte_input(r, b) || r->value[a].form != FORM_BYTE_FUNCTION ||
        r->value[b].form != FORM_BYTE_FUNCTION)
        return PITH_OK;
    const uint64_t na = elems(m, a), nb = elems(m, b), ny = elems(m, n->out[0]);
    if (na < nb) {
        const uint32_t t = a;
        a = b;
        b = t;
    }
    const struct pith_value *few = &m->values[b], *many = &m->values[a];
    const bool spreads = na != nb;
    if (elems(m, a) != ny ||
        (spreads && !(few->rank == many->rank && many->rank > 2 && few->dim[1] == many->dim[1] &&
                      elems(m, b) == few->dim[1])))
        return PITH_OK;
    struct grid g;
    bool relu = false;
    const uint32_t y = byte_output(r, n, &g, &relu);
    if (y == PITH_VALUE_NONE)
        return PITH_OK;
    uint32_t sa = r->value[a].store, sb = r->value[b].store;
    if (spreads)
        sa = pith_export_by_pixels(r, n, sa, many->dim[1]);
    else if (!same_order(&r->net->store[sa], &r->net->store[sb])) {
        sa = pith_export_in_file_order(r, n, sa);
        sb = pith_export_in_file_order(r, n, sb);
    }
    if (r->no_memory)
        return PITH_ERR_MEMORY;
    const struct store like = r->net->store[sa];
    const uint32_t to = pith_export_new_store(r, false, like.channels, like.pixels);
    struct step *s = pith_export_new_step(r, STEP_COMBINE, n, sa, to);
    s->x[1] = sb;
    s->grid[0] = r->value[a].grid;
    s->grid[1] = r->value[b].grid;
    s->grid[2] = g;
    s->multiply = n->op == PITH_OP_MUL;
    s->relu = relu;
    s->spread = spreads ? few->dim[1] : 0;
    pith_export_set_stored(r, y, to);
    *taken = true;
    return r->no_memory ? PITH_ERR_MEMORY : PITH_OK;
}

/* A table behind a step that left bytes of grid `from` in `store`. */
static uint32_t through_table(struct reading *r, const struct pith_node *n, uint32_t store,
                              const struct grid *from, const struct grid *to)
{
    uint8_t *table = pith_export_regrid(r, from, to);
    if (!table)
        return store;
    const struct store s = r->net->store[store];
    const uint32_t y = pith_export_new_store(r, false, s.channels, s.pixels);
    pith_export_new_step(r, STEP_TABLE, n, store, y)->table = table;
    return y;
}

bool pith_export_is_whole(const struct window_shape *g)
{
    return g->kh == g->h && g->kw == g->w && g->oh == 1 && g->ow == 1 && g->pad_top == 0 &&
           g->pad_left == 0 && g->pad_right == 0;
}

bool pith_export_pool_window(const struct pith_model *m, const struct pith_node *n,
                             struct window_shape *g)
{
    const struct pith_value *x = &m->values[n->in[0]];
    uint32_t kernel[2];
    if (n->op == PITH_OP_GLOBAL_AVERAGE_POOL || n->op == PITH_OP_GLOBAL_MAX_POOL) {
        if (x->rank != 3 && x->rank != 4)
            return false;
        *g = (struct window_shape){.c = x->dim[1],
                                   .oc = x->dim[1],
                                   .h = x->rank == 4 ? x->dim[2] : 1,
                                   .w = x->dim[x->rank - 1],
                                   .oh = 1,
                                   .ow = 1,
                                   .stride_h = 1,
                                   .stride_w = 1,
                                   .dil_h = 1,
                                   .dil_w = 1,
                                   .groups = 1};
        g->kh = g->h;
        g->kw = g->w;
        return pith_export_is_small(g);
    }
    kernel[0] = (uint32_t)attr_item(n->attr, ATTR_POOL_KERNEL, 0, 1);
    kernel[1] = (uint32_t)attr_item(n->attr, ATTR_POOL_KERNEL, 1, 1);
    return pith_export_window_of(m, n, ATTR_POOL_STRIDES, ATTR_POOL_DILATIONS, ATTR_POOL_PADS,
                                 kernel, g) &&
           pith_export_is_small(g) && g->dil_h == 1 && g->dil_w == 1 && g->kw <= 160;
}

/* Pools of bytes. */
enum pith_status pith_export_pool(struct reading *r, const struct pith_node *n, bool *taken)
{
    struct pith_model *m = r->m;
    const bool is_max = n->op == PITH_OP_MAX_POOL || n->op == PITH_OP_GLOBAL_MAX_POOL;
    struct window_shape g;
    struct grid to;
    *taken = false;
    if (!byte_input(r, n->in[0]) || !pith_export_pool_window(m, n, &g) ||
        (!is_max && r->value[n->in[0]].form != FORM_BYTE_FUNCTION))
        return PITH_OK;
    const struct grid from = *grid_in(r, n->in[0]);
    const bool mean = !is_max && pith_export_is_whole(&g);
    const uint32_t y = byte_output(r, n, &to, NULL);
    if (y == PITH_VALUE_NONE)
        return PITH_OK;
    const uint32_t x = pith_export_by_pixels(r, n, r->value[n->in[0]].store, g.c);
    uint32_t store = pith_export_new_store(r, false, g.c, g.oh * g.ow);
    struct step *s = pith_export_new_step(r,
                                          is_max ? STEP_MAX_POOL
                                          : mean ? STEP_MEAN
                                                 : STEP_AVERAGE_POOL,
                                          n, x, store);
    s->g = g;
    s->grid[0] = from;
    s->grid[2] = to;
    s->smallest = from.scale < 0.0f;
    s->include_pad = !is_max && !mean && n->attr[ATTR_POOL_INCLUDE_PAD];
    if (s->include_pad && n->attr[ATTR_POOL_CEIL])
        return pith_export_refuse(r, n, "counts its padding in windows of ceil mode");
    if (is_max && r->value[n->in[0]].form == FORM_BYTE_FUNCTION)
        store = through_table(r, n, store, &from, &to);
    if (r->no_memory)
        return PITH_ERR_MEMORY;
    pith_export_set_stored(r, y, store);
    *taken = true;
    return PITH_OK;
}

bool pith_export_axis_steps(const struct reading *r, uint32_t v, const struct store *s,
                            int32_t step[4], uint32_t n[4])
{
    const struct pith_value *x = &r->m->values[v];
    if (x->rank > 4)
        return false;
    int64_t at = 1;
    for (uint32_t i = 4; i-- > 0;) {
        n[i] = 1;
        step[i] = 0;
    }
    for (uint32_t i = x->rank; i-- > 0;) {
        n[i] = x->dim[i];
        step[i] = (int32_t)at;
        at *= x->dim[i];
    }
    if (s->channels > 1) {
        if (x->rank < 3 || x->dim[1] != s->channels || x->dim[0] != 1)
            return false;
        for (uint32_t i = 2; i < x->rank; i++)
            step[i] *= (int32_t)s->channels;
        step[1] = 1;
        step[0] = 0;
    }
    return true;
}

bool pith_export_move_of(const struct pith_model *m, const struct pith_node *n, uint32_t i,
                         const int32_t from[4], const int32_t to[4], uint32_t *at,
                         struct copy_shape *c, bool *pads)
{
    const struct pith_value *x = &m->values[n->in[i]], *y = &m->values[n->out[0]];
    const int32_t *a = n->attr;
    *c = (struct copy_shape){.n = {1, 1, 1, 1}};
    *pads = false;
    for (uint32_t k = 0; k < y->rank; k++) {
        c->n[k] = y->dim[k];
        c->from[k] = from[k];
        c->to[k] = to[k];
    }
    switch (n->op) {
    case PITH_OP_CONCAT: {
        const uint32_t axis = (uint32_t)a[ATTR_AXIS];
        c->n[axis] = x->dim[axis];
        c->y_at = (int64_t)*at * to[axis];
        *at += x->dim[axis];
        return true;
    }
    case PITH_OP_TRANSPOSE:
        for (uint32_t k = 0; k < y->rank; k++)
            c->from[k] = from[attr_item(a, ATTR_PERM, k, (int32_t)(y->rank - 1 - k))];
        return true;
    case PITH_OP_SLICE:
        for (uint32_t k = 0; k < (uint32_t)attr_count(a, ATTR_SLICE_AXES); k++) {
            const uint32_t axis = (uint32_t)a[ATTR_SLICE_AXES + 1 + k];
            int64_t start = a[ATTR_SLICE_STARTS + 1 + k];
            const int64_t dim = x->dim[axis];
            const int32_t step = attr_item(a, ATTR_SLICE_STEPS, k, 1);
            start += start < 0 ? dim : 0;
            start = start < 0 ? 0 : start;
            start = start > dim - 1 ? dim - 1 : start;
            c->x_at += start * from[axis];
            c->from[axis] = from[axis] * step;
        }
        return true;
    case PITH_OP_PAD:
        if (a[ATTR_PAD_MODE] != 0)
            return false;
        *pads = true;
        for (uint32_t k = 0; k < y->rank; k++) {
            const int32_t begin = attr_item(a, ATTR_PAD_BEGIN, k, 0),
                          end = attr_item(a, ATTR_PAD_END, k, 0);
            if (begin < 0 || end < 0)
                return false;
            c->n[k] = x->dim[k];
            c->y_at += (int64_t)begin * to[k];
        }
        return true;
    default:
        return false;
    }
}

/* Slice, Pad, Transpose, Concat of bytes. */
enum pith_status pith_export_move(struct reading *r, const struct pith_node *n, bool *taken)
{
    struct pith_model *m = r->m;
    struct grid to;
    *taken = false;
    for (uint32_t i = 0; i < n->n_in && (i == 0 || n->op == PITH_OP_CONCAT); i++)
        if (!byte_input(r, n->in[i]))
            return PITH_OK;
    const uint32_t y = byte_output(r, n, &to, NULL);
    if (y == PITH_VALUE_NONE)
        return PITH_OK;
    const uint32_t store = pith_export_store_for(r, y, false);
    int32_t from[4], step[4];
    uint32_t dim[4];
    if (r->no_memory)
        return PITH_ERR_MEMORY;
    r->net->store[store].flip = m->values[y].type == PITH_I8;
    if (!pith_export_axis_steps(r, n->out[0], &r->net->store[store], step, dim))
        return pith_export_refuse(r, n, "moves more than four axes");
    uint32_t at = 0;
    for (uint32_t i = 0; i < n->n_in && (i == 0 || n->op == PITH_OP_CONCAT); i++) {
        const uint32_t v = n->in[i];
        struct grid g = *grid_in(r, v);
        const bool real = r->value[v].form == FORM_BYTE_FUNCTION;
        uint32_t x = r->value[v].store;
        if (!pith_export_axis_steps(r, v, &r->net->store[x], from, dim)) {
            x = pith_export_in_file_order(r, n, x);
            if (r->no_memory || !pith_export_axis_steps(r, v, &r->net->store[x], from, dim))
                return r->no_memory ? PITH_ERR_MEMORY
                                    : pith_export_refuse(r, n, "moves more than four axes");
        }
        if (real)
            x = through_table(r, n, x, &g, &to);
        struct copy_shape c;
        bool pads;
        if (!pith_export_move_of(m, n, i, from, step, &at, &c, &pads))
            return pith_export_refuse(r, n, "of this kind has no C kernel");
        if (pads) {
            struct step *f = pith_export_new_step(r, STEP_FILL, n, STORE_NONE, store);
            const float value = attr_f32(n->attr, ATTR_PAD_VALUE);
            f->size = 1;
            f->fill = real ? pith_export_quantized_byte(value, &to)
                           : (uint8_t)((int32_t)value + (m->values[y].type == PITH_I8 ? 128 : 0));
        }
        struct step *s = pith_export_new_step(r, STEP_COPY, n, x, store);
        s->copy = c;
        s->size = 1;
    }
    if (r->no_memory)
        return PITH_ERR_MEMORY;
    pith_export_set_stored(r, y, store);
    *taken = true;
    return PITH_OK;
}

enum pith_status pith_export_softmax_of_bytes(struct reading *r, const struct pith_node *n,
                                              bool *taken)
{
    struct pith_model *m = r->m;
    const struct pith_value *x = &m->values[n->in[0]];
    struct grid to;
    *taken = false;
    if (!byte_input(r, n->in[0]) || n->attr[ATTR_SOFTMAX_FLAT] ||
        (uint32_t)n->attr[ATTR_SOFTMAX_AXIS] + 1 != x->rank)
        return PITH_OK;
    const uint32_t y = byte_output(r, n, &to, NULL);
    if (y == PITH_VALUE_NONE)
        return PITH_OK;
    const uint32_t from = pith_export_in_file_order(r, n, r->value[n->in[0]].store);
    const uint32_t store = pith_export_new_store(r, false, 1, (uint32_t)elems(m, y));
    struct step *s = pith_export_new_step(r, STEP_SOFTMAX_BYTES, n, from, store);
    s->grid[0] = r->value[n->in[0]].grid;
    s->grid[2] = to;
    s->k = x->dim[x->rank - 1];
    s->rows = (uint32_t)(elems(m, y) / s->k);
    s->scratch = 4ull * s->k;
    if (r->no_memory)
        return PITH_ERR_MEMORY;
    pith_export_set_stored(r, y, store);
    *taken = true;
    return PITH_OK;
}
