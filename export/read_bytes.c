/* SPDX-License-Identifier: MIT */
/* read_bytes.c - operators from bytes to bytes. */
#include "reading.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#include <string.h>

/* ---- bytes to bytes ----------------------------------------------------------------------------
 */

bool pith_export_byte_input(const struct reading *r, uint32_t v)
{
    return v != PITH_VALUE_NONE && !constant_of(r->m, v) &&
           ((r->value[v].form == FORM_BYTE_FUNCTION && r->value[v].pure) ||
            (r->value[v].form == FORM_STORED && is_byte_type(r->m->values[v].type)));
}

static const struct grid no_grid = {1.0f, 0};

const struct grid *pith_export_grid_in(const struct reading *r, uint32_t v)
{
    return r->value[v].form == FORM_BYTE_FUNCTION ? &r->value[v].grid : &no_grid;
}

uint32_t pith_export_byte_output(struct reading *r, const struct pith_node *n, struct grid *g,
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
    if (!pith_export_byte_input(r, a) || !pith_export_byte_input(r, b) ||
        r->value[a].form != FORM_BYTE_FUNCTION || r->value[b].form != FORM_BYTE_FUNCTION)
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
                      elems(m, b) == few->dim[1] && many->dim[0] == 1)))
        return PITH_OK;
    struct grid g;
    bool relu = false;
    const uint32_t y = pith_export_byte_output(r, n, &g, &relu);
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
    const uint32_t to = pith_export_new_store(r, ELEMENT_U8, like.channels, like.pixels);
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

bool pith_export_is_whole(const struct window_shape *g)
{
    return g->kh == g->h && g->kw == g->w && g->oh == 1 && g->ow == 1 && g->pad_top == 0 &&
           g->pad_left == 0 && !g->pads_end;
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
    const struct window_slots slots = {ATTR_POOL_STRIDES, ATTR_POOL_DILATIONS, ATTR_POOL_PADS};
    return pith_export_window_of(m, n, slots, kernel, g) && pith_export_is_small(g) &&
           g->dil_h == 1 && g->dil_w == 1 && g->kw <= 160;
}

/* Pools of bytes. */
enum pith_status pith_export_pool(struct reading *r, const struct pith_node *n, bool *taken)
{
    struct pith_model *m = r->m;
    const bool is_max = n->op == PITH_OP_MAX_POOL || n->op == PITH_OP_GLOBAL_MAX_POOL;
    struct window_shape g;
    struct grid to;
    *taken = false;
    if (!pith_export_byte_input(r, n->in[0]) || !pith_export_pool_window(m, n, &g) ||
        (!is_max && r->value[n->in[0]].form != FORM_BYTE_FUNCTION))
        return PITH_OK;
    const struct grid from = *pith_export_grid_in(r, n->in[0]);
    const bool mean = !is_max && pith_export_is_whole(&g);
    const uint32_t y = pith_export_byte_output(r, n, &to, NULL);
    if (y == PITH_VALUE_NONE)
        return PITH_OK;
    const uint32_t x = pith_export_by_pixels(r, n, r->value[n->in[0]].store, g.c);
    uint32_t store = pith_export_new_store(r, ELEMENT_U8, g.c, g.oh * g.ow);
    struct step *s = pith_export_new_step(r,
                                          is_max ? STEP_MAX_POOL
                                          : mean ? STEP_MEAN
                                                 : STEP_AVERAGE_POOL,
                                          n, x, store);
    s->g = g;
    s->grid[0] = from;
    s->grid[2] = to;
    s->pool.smallest = from.scale < 0.0f;
    s->pool.include_pad = !is_max && !mean && n->attr[ATTR_POOL_INCLUDE_PAD];
    if (s->pool.include_pad && n->attr[ATTR_POOL_CEIL])
        return pith_export_refuse(r, n, "counts its padding in windows of ceil mode");
    if (is_max && r->value[n->in[0]].form == FORM_BYTE_FUNCTION)
        store = pith_export_through_table(r, n, store, &from, &to);
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
    if (!pith_export_byte_input(r, n->in[0]) || n->attr[ATTR_SOFTMAX_FLAT] ||
        (uint32_t)n->attr[ATTR_SOFTMAX_AXIS] + 1 != x->rank)
        return PITH_OK;
    const uint32_t y = pith_export_byte_output(r, n, &to, NULL);
    if (y == PITH_VALUE_NONE)
        return PITH_OK;
    const uint32_t from = pith_export_in_file_order(r, n, r->value[n->in[0]].store);
    const uint32_t store = pith_export_new_store(r, ELEMENT_U8, 1, (uint32_t)elems(m, y));
    struct step *s = pith_export_new_step(r, STEP_SOFTMAX_BYTES, n, from, store);
    s->grid[0] = r->value[n->in[0]].grid;
    s->grid[2] = to;
    s->product.k = x->dim[x->rank - 1];
    s->rows = (uint32_t)(elems(m, y) / s->product.k);
    s->scratch.bytes = 4ull * s->product.k;
    if (r->no_memory)
        return PITH_ERR_MEMORY;
    pith_export_set_stored(r, y, store);
    *taken = true;
    return PITH_OK;
}
