/* SPDX-License-Identifier: MIT */
/* reading.c - stores, steps, tables of functions of one byte, and the order of elements. */
#include "reading.h"
#include "core/op_number.h"

#include <string.h>
#include "kernels/ref/integer_range.h"
#include "model/operator_kind.h"

/* ---- what stands in the model -------------------------------------------------------------- */

static const char *layer_name(const struct pith_model *m, const struct pith_node *n)
{
    return n->name[0] ? n->name : m->values[n->out[0]].name;
}

enum pith_status pith_export_refuse(struct reading *r, const struct pith_node *n, const char *why)
{
    return pith_error_fill(r->err, PITH_ERR_UNSUPPORTED, "layer '%s': %s %s", layer_name(r->m, n),
                           pith_node_text(n), why);
}

struct pith_node *pith_export_only_reader(const struct reading *r, uint32_t v)
{
    return r->uses[v] == 1 && r->reader[v] != UINT32_MAX ? &r->m->nodes[r->reader[v]] : NULL;
}

bool pith_export_grid_of(const struct reading *r, const struct pith_node *n, enum pith_type type,
                         struct grid *g)
{
    const struct pith_const *scale = constant_of(r->m, input_of(n, 1));
    const uint32_t z = input_of(n, 2);
    const struct pith_const *zero = constant_of(r->m, z);
    if (!scale || scale->count != 1 || (z != PITH_VALUE_NONE && (!zero || zero->count != 1)))
        return false;
    g->scale = *(const float *)scale->data;
    g->zero = zero ? integer_at(type, zero->data, 0) : 0;
    if (type == PITH_I8)
        g->zero += 128;
    return true;
}

/* ---- stores and steps ------------------------------------------------------------------------ */

static void *grown(struct reading *r, void *old, uint32_t n, uint32_t *room, size_t each)
{
    if (n < *room)
        return old;
    const uint32_t more = *room ? 2 * *room : 32;
    void *p = pith_model_alloc(r->m, more, each);
    if (!p) {
        r->no_memory = true;
        return NULL;
    }
    if (n)
        memcpy(p, old, n * each);
    *room = more;
    return p;
}

uint32_t pith_export_new_store(struct reading *r, enum element element, uint32_t channels,
                               uint32_t pixels)
{
    struct network *net = r->net;
    struct store *s = grown(r, net->store, net->n_stores, &net->room_stores, sizeof *s);
    if (!s)
        return 0;
    net->store = s;
    s[net->n_stores] = (struct store){.element = element,
                                      .channels = pixels == 1 ? 1 : channels,
                                      .pixels = pixels == 1 ? channels : pixels,
                                      .bytes = (uint64_t)channels * pixels * element,
                                      .input = STORE_NONE,
                                      .output = STORE_NONE,
                                      .part_of = STORE_NONE};
    return net->n_stores++;
}

uint32_t pith_export_store_for(struct reading *r, uint32_t v, enum element element)
{
    const struct pith_value *x = &r->m->values[v];
    const uint64_t n = elems(r->m, v);
    if (element != ELEMENT_U8 || x->rank < 3 || x->dim[0] != 1)
        return pith_export_new_store(r, element, 1, (uint32_t)n);
    return pith_export_new_store(r, element, x->dim[1], (uint32_t)(n / x->dim[1]));
}

struct step *pith_export_new_step(struct reading *r, enum step_kind kind, const struct pith_node *n,
                                  uint32_t x, uint32_t y)
{
    struct network *net = r->net;
    struct step *s = grown(r, net->step, net->n_steps, &net->room_steps, sizeof *s);
    if (!s)
        return &r->nowhere;
    net->step = s;
    s += net->n_steps++;
    *s = (struct step){.kind = kind,
                       .name = layer_name(r->m, n),
                       .x = {x, STORE_NONE, STORE_NONE, STORE_NONE},
                       .y = y};
    return s;
}

void pith_export_set_stored(struct reading *r, uint32_t v, uint32_t store)
{
    r->value[v] = (struct value){.form = FORM_STORED, .store = store};
}

/* ---- functions of one byte --------------------------------------------------------------------
 */

#define OPERANDS 3u /* the most of an operator in a table */

static bool is_function(const struct pith_node *n)
{
    switch (n->op) {
    case PITH_OP_RELU:
    case PITH_OP_LEAKY_RELU:
    case PITH_OP_CLIP:
    case PITH_OP_SIGMOID:
    case PITH_OP_TANH:
    case PITH_OP_HARD_SIGMOID:
    case PITH_OP_HARD_SWISH:
    case PITH_OP_UNARY:
    case PITH_OP_ADD:
    case PITH_OP_SUB:
    case PITH_OP_MUL:
    case PITH_OP_DIV:
    case PITH_OP_POWER:
    case PITH_OP_PRELU:
    case PITH_OP_VARIADIC:
        return true;
    default:
        return false;
    }
}

bool pith_export_one_byte(const struct reading *r, const struct pith_node *n, uint32_t *store)
{
    *store = STORE_NONE;
    if (!is_function(n) || n->n_in > OPERANDS)
        return false;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const uint32_t v = n->in[i];
        const struct pith_const *c = constant_of(r->m, v);
        if (v == PITH_VALUE_NONE || (c && c->count == 1 && r->m->values[v].type == PITH_F32))
            continue;
        if (c || r->value[v].form != FORM_BYTE_FUNCTION ||
            (*store != STORE_NONE && *store != r->value[v].store))
            return false;
        *store = r->value[v].store;
    }
    return *store != STORE_NONE;
}

void pith_export_function_of(const struct reading *r, uint32_t v, float real[256])
{
    const struct pith_node *n = &r->m->nodes[r->producer[v]];
    while (is_view(n->op)) {
        v = n->in[0];
        n = &r->m->nodes[r->producer[v]];
    }
    if (r->value[v].pure) {
        const struct grid *g = &r->value[v].grid;
        for (int32_t q = 0; q < 256; q++)
            real[q] = (float)(q - g->zero) * g->scale;
        return;
    }
    float operand[OPERANDS][256];
    struct tview view[OPERANDS], y = {.type = PITH_F32, .shape = {1, {256}}, .data = real};
    const struct tview *in[OPERANDS] = {0};
    struct tview *out[1] = {&y};
    for (uint32_t i = 0; i < n->n_in; i++) {
        const struct pith_const *c = constant_of(r->m, n->in[i]);
        if (n->in[i] == PITH_VALUE_NONE)
            continue;
        view[i] = (struct tview){.type = PITH_F32, .shape = {1, {256}}, .data = operand[i]};
        if (c)
            view[i] = (struct tview){.type = PITH_F32, .data = c->data};
        else
            pith_export_function_of(r, n->in[i], operand[i]);
        in[i] = &view[i];
    }
    const struct op_info *info = pith_op_get(n->op);
    const struct op_args args = {
        .info = info, .attr = n->attr, .n_in = n->n_in, .n_out = 1, .in = in, .out = out};
    const struct op_env env = {.kernels = &r->kernels};
    info->run(&args, &env);
}

uint8_t pith_export_quantized_byte(float v, const struct grid *g)
{
    const struct integer_range range = integer_range_of(PITH_U8, g->zero);
    return (uint8_t)quantized(&range, v / g->scale);
}

uint32_t pith_export_through_table(struct reading *r, const struct pith_node *n, uint32_t store,
                                   const struct grid *from, const struct grid *to)
{
    uint8_t *t = pith_model_alloc(r->m, 256, 1);
    bool same = true;
    if (!t) {
        r->no_memory = true;
        return store;
    }
    for (int32_t q = 0; q < 256; q++) {
        t[q] = pith_export_quantized_byte((float)(q - from->zero) * from->scale, to);
        same = same && t[q] == q;
    }
    if (same)
        return store;
    const struct store s = r->net->store[store];
    const uint32_t y = pith_export_new_store(r, ELEMENT_U8, s.channels, s.pixels);
    pith_export_new_step(r, STEP_TABLE, n, store, y)->table = t;
    return y;
}

/* ---- inputs of steps ------------------------------------------------------------------------- */

enum pith_status pith_export_floats_of(struct reading *r, const struct pith_node *n, uint32_t v,
                                       uint32_t *store)
{
    const struct pith_const *c = constant_of(r->m, v);
    struct value *x = &r->value[v];
    if (r->m->values[v].type != PITH_F32)
        return pith_export_refuse(r, n, "reads integers that are no quantized values");
    if (c) {
        *store = pith_export_new_store(r, ELEMENT_F32, 1, (uint32_t)c->count);
        r->net->store[*store].constant = c->data;
        return PITH_OK;
    }
    if (x->form == FORM_STORED) {
        *store = x->store;
        return PITH_OK;
    }
    if (x->form != FORM_BYTE_FUNCTION)
        return pith_export_refuse(r, n, "reads a value that no exported layer gives");
    if (x->floats == STORE_NONE && x->pure) {
        x->floats = pith_export_store_for(r, v, ELEMENT_F32);
        struct step *s = pith_export_new_step(r, STEP_DEQUANTIZE, n, x->store, x->floats);
        s->grid[0] = x->grid;
    } else if (x->floats == STORE_NONE) {
        const struct pith_node *from = &r->m->nodes[r->producer[v]];
        enum pith_status st = pith_export_float_step(r, from);
        if (st)
            return st;
        x->floats = r->value[v].floats;
    }
    *store = x->floats;
    return r->no_memory ? PITH_ERR_MEMORY : PITH_OK;
}

uint32_t pith_export_in_file_order(struct reading *r, const struct pith_node *n, uint32_t store)
{
    const struct store s = r->net->store[store];
    if (s.channels == 1)
        return store;
    const uint32_t y = pith_export_new_store(r, ELEMENT_U8, 1, s.channels * s.pixels);
    struct step *t = pith_export_new_step(r, STEP_COPY, n, store, y);
    t->size = 1;
    t->copy = (struct copy_shape){.n = {1, 1, s.channels, s.pixels},
                                  .from = {0, 0, 1, (int32_t)s.channels},
                                  .to = {0, 0, (int32_t)s.pixels, 1}};
    return y;
}

uint32_t pith_export_by_pixels(struct reading *r, const struct pith_node *n, uint32_t store,
                               uint32_t channels)
{
    const struct store s = r->net->store[store];
    const uint32_t pixels = (uint32_t)(s.bytes / channels);
    if ((s.channels == channels && s.pixels == pixels) || channels == 1 || pixels == 1)
        return s.channels == 1 || s.channels == channels ? store
                                                         : pith_export_in_file_order(r, n, store);
    store = pith_export_in_file_order(r, n, store);
    const uint32_t y = pith_export_new_store(r, ELEMENT_U8, channels, pixels);
    struct step *t = pith_export_new_step(r, STEP_COPY, n, store, y);
    t->size = 1;
    t->copy = (struct copy_shape){.n = {1, 1, pixels, channels},
                                  .from = {0, 0, 1, (int32_t)pixels},
                                  .to = {0, 0, (int32_t)channels, 1}};
    return y;
}

struct step *pith_export_copy(struct reading *r, const struct pith_node *n, uint32_t x, uint32_t y)
{
    const struct store from = r->net->store[x];
    const uint32_t size = from.element;
    struct step *s = pith_export_new_step(r, STEP_COPY, n, x, y);
    s->size = size;
    s->copy = (struct copy_shape){
        .n = {1, 1, 1, (uint32_t)(from.bytes / size)}, .from = {0, 0, 0, 1}, .to = {0, 0, 0, 1}};
    return s;
}

uint32_t pith_export_copied(struct reading *r, const struct pith_node *n, uint32_t store)
{
    const struct store s = r->net->store[store];
    const uint32_t y = pith_export_new_store(r, s.element, s.channels, s.pixels);
    pith_export_copy(r, n, store, y);
    return y;
}
