/* SPDX-License-Identifier: MIT */
/* network.c - see network.h. Nodes are taken in order. What stands between two quantized values is
 * put off until it is known what reads it:
 *
 *     ConvInteger, MatMulInteger    wait for the Requantize or DequantizeLinear that reads the sums
 *     DequantizeLinear, functions   a function of one stored byte, for which there is a table once
 *     of one element                it is quantized again
 *     Add, Mul, pools, moves        run on bytes where all inputs are such and the result is
 *                                   quantized; else on floats, for which inputs are stored first
 *
 * Neither changes a bit: a step is the runtime's operators one after the other. */
#include "reading.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#include <string.h>

/* ---- node by node ------------------------------------------------------------------------------
 */

/* A scale and zero point for each channel, as some layers want of their inputs. */
static enum pith_status quantize_channels(struct reading *r, const struct pith_node *n)
{
    struct pith_model *m = r->m;
    const struct pith_value *v = &m->values[n->out[0]];
    const struct pith_const *scale = constant_of(m, input_of(n, 1)),
                            *zero = constant_of(m, input_of(n, 2));
    uint32_t from;
    if (!scale || (input_of(n, 2) != PITH_VALUE_NONE && !zero) || n->attr[ATTR_QUANTIZE_BLOCK] ||
        n->attr[ATTR_QUANTIZE_AXIS] != 1 || v->rank < 2 || v->dim[0] != 1 ||
        scale->count != v->dim[1])
        return pith_export_refuse(r, n, "has scales that are none of its channels");
    enum pith_status st = pith_export_floats_of(r, n, n->in[0], &from);
    if (st)
        return st;
    const uint32_t store = pith_export_store_for(r, n->out[0], ELEMENT_U8);
    uint8_t *zeros = pith_model_alloc(m, scale->count, 1);
    struct step *s = pith_export_new_step(r, STEP_QUANTIZE_CHANNELS, n, from, store);
    if (!zeros || r->no_memory)
        return PITH_ERR_MEMORY;
    for (uint64_t c = 0; c < scale->count; c++)
        zeros[c] =
            (uint8_t)((zero ? integer_at(v->type, zero->data, zero->count == 1 ? 0 : c) : 0) +
                      (v->type == PITH_I8 ? 128 : 0));
    s->product.factor = scale->data;
    s->table = zeros;
    s->outputs = v->dim[1];
    s->product.k = (uint32_t)(elems(m, n->out[0]) / v->dim[1]);
    pith_export_set_stored(r, n->out[0], store);
    return PITH_OK;
}

static enum pith_status quantize(struct reading *r, const struct pith_node *n)
{
    struct pith_model *m = r->m;
    const uint32_t x = n->in[0], y = n->out[0];
    struct grid g;
    if (!is_byte_type(m->values[y].type))
        return pith_export_refuse(r, n, "gives integers of 16 bits");
    if (!pith_export_grid_of(r, n, m->values[y].type, &g))
        return quantize_channels(r, n);
    if (r->value[x].form == FORM_BYTE_FUNCTION && r->value[x].pure) {
        pith_export_set_stored(
            r, y, pith_export_through_table(r, n, r->value[x].store, &r->value[x].grid, &g));
        return r->no_memory ? PITH_ERR_MEMORY : PITH_OK;
    }
    if (r->value[x].form == FORM_BYTE_FUNCTION && r->value[x].floats == STORE_NONE) {
        const struct store from = r->net->store[r->value[x].store];
        const uint32_t store = pith_export_new_store(r, ELEMENT_U8, from.channels, from.pixels);
        struct step *s = pith_export_new_step(r, STEP_TABLE, n, r->value[x].store, store);
        float real[256];
        s->table = pith_model_alloc(m, 256, 1);
        if (!s->table || r->no_memory)
            return PITH_ERR_MEMORY;
        pith_export_function_of(r, x, real);
        for (uint32_t q = 0; q < 256; q++)
            s->table[q] = pith_export_quantized_byte(real[q], &g);
        pith_export_set_stored(r, y, store);
        return PITH_OK;
    }
    uint32_t from;
    enum pith_status st = pith_export_floats_of(r, n, x, &from);
    if (st)
        return st;
    const bool rows =
        r->reader[y] != UINT32_MAX && r->m->nodes[r->reader[y]].op == PITH_OP_MATMUL_INTEGER;
    const uint32_t store = rows ? pith_export_new_store(r, ELEMENT_U8, 1, (uint32_t)elems(r->m, y))
                                : pith_export_store_for(r, y, ELEMENT_U8);
    if (r->no_memory)
        return PITH_ERR_MEMORY;
    pith_export_set_stored(r, y, store);
    pith_export_new_step(r, STEP_QUANTIZE, n, from, store)->grid[2] = g;
    if (r->net->store[from].input == 0 && r->uses[x] == 1 &&
        r->net->opts->input != PITH_EXPORT_F32) {
        /* the caller gives what this step would make */
        r->net->input_grid = g;
        r->net->n_steps--;
        r->net->store[from].input = STORE_NONE;
        uint32_t given = store;
        if (r->net->opts->input == PITH_EXPORT_I8) {
            const struct store s = r->net->store[store];
            given = pith_export_new_store(r, ELEMENT_U8, s.channels, s.pixels);
            pith_export_new_step(r, STEP_FLIP, n, given, store);
            if (r->no_memory)
                return PITH_ERR_MEMORY;
        }
        r->net->store[given].input = 0;
        r->net->input[0] = given;
    }
    return r->no_memory ? PITH_ERR_MEMORY : PITH_OK;
}

static enum pith_status dequantize(struct reading *r, const struct pith_node *n)
{
    const uint32_t x = n->in[0], y = n->out[0];
    struct value v = {.form = FORM_BYTE_FUNCTION, .floats = STORE_NONE, .pure = true};
    if (r->value[x].form == FORM_SUMS)
        return pith_export_product(r, &r->value[x], n);
    if (r->value[x].form != FORM_STORED || !is_byte_type(r->m->values[x].type))
        return pith_export_refuse(r, n, "reads a value that no exported layer gives");
    if (!pith_export_grid_of(r, n, r->m->values[x].type, &v.grid))
        return pith_export_refuse(r, n, "has more than one scale");
    v.store = r->value[x].store;
    r->value[y] = v;
    return PITH_OK;
}

static enum pith_status take(struct reading *r, const struct pith_node *n)
{
    struct pith_model *m = r->m;
    const uint32_t number = (uint32_t)(n - m->nodes);
    uint32_t store;
    bool taken = false;
    enum pith_status st = PITH_OK;
    if (r->done[number])
        return PITH_OK;
    switch (n->op) {
    case PITH_OP_CONV_INTEGER:
    case PITH_OP_MATMUL_INTEGER: {
        const struct pith_node *next = pith_export_only_reader(r, n->out[0]);
        struct value sums = {.form = FORM_SUMS, .node = number, .bias = input_of(n, 4)};
        uint32_t last = n->out[0];
        if (next && next->op == PITH_OP_ADD && sums.bias == PITH_VALUE_NONE) {
            sums.bias = next->in[next->in[0] == last];
            last = next->out[0];
            r->done[next - m->nodes] = true;
            next = pith_export_only_reader(r, last);
        }
        if (!next || (next->op != PITH_OP_REQUANTIZE && next->op != PITH_OP_DEQUANTIZE))
            return pith_export_refuse(r, n,
                                      "leaves sums that are neither requantized nor dequantized");
        r->value[last] = sums;
        return PITH_OK;
    }
    case PITH_OP_REQUANTIZE:
        if (r->value[n->in[0]].form != FORM_SUMS || !is_byte_type(m->values[n->out[0]].type))
            return pith_export_refuse(r, n, "is of integers of 16 bits");
        return pith_export_product(r, &r->value[n->in[0]], n);
    case PITH_OP_DEQUANTIZE:
        return dequantize(r, n);
    case PITH_OP_QUANTIZE:
        return quantize(r, n);
    case PITH_OP_ADD:
    case PITH_OP_MUL:
        st = pith_export_combine(r, n, &taken);
        break;
    case PITH_OP_MAX_POOL:
    case PITH_OP_AVERAGE_POOL:
    case PITH_OP_GLOBAL_MAX_POOL:
    case PITH_OP_GLOBAL_AVERAGE_POOL:
        st = pith_export_pool(r, n, &taken);
        break;
    case PITH_OP_CONCAT:
    case PITH_OP_SLICE:
    case PITH_OP_PAD:
    case PITH_OP_DEPTH_SPACE:
    case PITH_OP_TRANSPOSE:
    case PITH_OP_SPLIT:
    case PITH_OP_GATHER:
        return pith_export_move(r, n);
    case PITH_OP_RESIZE:
        return pith_export_resized(r, n);
    case PITH_OP_LOOP:
        return pith_export_loop(r, n);
    case PITH_OP_LOOP_END:
        return pith_export_loop_end(r, n);
    case PITH_OP_SOFTMAX:
        st = pith_export_softmax_of_bytes(r, n, &taken);
        break;
    default:
        break;
    }
    if (st || taken)
        return st;
    if (pith_export_index(r, n))
        return PITH_OK;
    if (is_view(n->op) && r->value[n->in[0]].form != FORM_NONE) {
        r->value[n->out[0]] = r->value[n->in[0]];
        return PITH_OK;
    }
    if (pith_export_one_byte(r, n, &store)) {
        r->value[n->out[0]] = (struct value){
            .form = FORM_BYTE_FUNCTION, .store = store, .floats = STORE_NONE, .node = number};
        return PITH_OK;
    }
    return pith_export_float_step(r, n);
}

static enum pith_status take_ends(struct reading *r)
{
    struct network *net = r->net;
    struct pith_model *m = r->m;
    net->input = pith_model_alloc(m, m->n_inputs + 1u, sizeof *net->input);
    net->output = pith_model_alloc(m, m->n_outputs + 1u, sizeof *net->output);
    if (!net->input || !net->output)
        return PITH_ERR_MEMORY;
    for (uint32_t i = 0; i < m->n_inputs; i++) {
        const struct pith_value *v = &m->values[m->inputs[i]];
        if (v->type != PITH_F32)
            return pith_error_fill(r->err, PITH_ERR_UNSUPPORTED, "input '%s': export takes floats",
                                   v->name);
        net->input[i] = pith_export_store_for(r, m->inputs[i], ELEMENT_F32);
        if (r->no_memory)
            return PITH_ERR_MEMORY;
        pith_export_set_stored(r, m->inputs[i], net->input[i]);
        net->store[net->input[i]].input = i;
    }
    return PITH_OK;
}

/* Every output has a store of its own, of floats or of bytes in the order of the file. */
static enum pith_status give_outputs(struct reading *r)
{
    struct network *net = r->net;
    struct pith_model *m = r->m;
    for (uint32_t i = 0; i < m->n_outputs; i++) {
        const uint32_t v = m->outputs[i];
        const struct pith_node *n = r->producer[v] == UINT32_MAX ? NULL : &m->nodes[r->producer[v]];
        uint32_t store;
        if (!n || (m->values[v].type != PITH_F32 && r->value[v].form != FORM_STORED))
            return pith_error_fill(r->err, PITH_ERR_UNSUPPORTED,
                                   "output '%s': no exported layer gives it", m->values[v].name);
        if (m->values[v].type == PITH_F32) {
            enum pith_status st = pith_export_floats_of(r, n, v, &store);
            if (st)
                return st;
        } else {
            store = pith_export_in_file_order(r, n, r->value[v].store);
        }
        if (r->no_memory)
            return PITH_ERR_MEMORY;
        const struct store *s = &net->store[store];
        const bool flip = m->values[v].type == PITH_I8;
        if (s->input != STORE_NONE || s->output != STORE_NONE || s->constant ||
            s->part_of != STORE_NONE || flip) {
            const struct store old = *s;
            if (flip) {
                const uint32_t y = pith_export_new_store(r, ELEMENT_U8, old.channels, old.pixels);
                struct step *t = pith_export_new_step(r, STEP_TABLE, n, store, y);
                t->table = pith_model_alloc(m, 256, 1);
                for (uint32_t q = 0; t->table && q < 256; q++)
                    t->table[q] = (uint8_t)(q ^ 128u);
                r->no_memory = r->no_memory || !t->table;
                store = y;
            } else {
                store = pith_export_copied(r, n, store);
            }
            if (r->no_memory)
                return PITH_ERR_MEMORY;
        }
        net->store[store].output = i;
        net->output[i] = store;
    }
    return PITH_OK;
}

enum pith_status pith_export_network(struct network *net, struct pith_error *err)
{
    struct pith_model *m = net->m;
    struct reading r = {.net = net, .m = m, .err = err};
    enum pith_status st;
    r.value = pith_model_alloc(m, m->n_values, sizeof *r.value);
    r.uses = pith_model_alloc(m, m->n_values, sizeof *r.uses);
    r.producer = pith_model_alloc(m, m->n_values, sizeof *r.producer);
    r.reader = pith_model_alloc(m, m->n_values, sizeof *r.reader);
    r.done = pith_model_alloc(m, m->n_nodes + 1u, sizeof *r.done);
    if (!r.value || !r.uses || !r.producer || !r.reader || !r.done)
        return pith_error_no_memory(err);
    pith_kernels_fill(&r.kernels, 0);
    pith_model_count_uses(m, m->n_values, r.uses, r.producer);
    for (uint32_t v = 0; v < m->n_values; v++)
        r.reader[v] = UINT32_MAX;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        for (uint32_t j = 0; j < m->nodes[i].n_in; j++)
            if (m->nodes[i].in[j] != PITH_VALUE_NONE)
                r.reader[m->nodes[i].in[j]] = i;
    st = take_ends(&r);
    for (uint32_t i = 0; i < m->n_nodes && !st; i++)
        st = take(&r, &m->nodes[i]);
    if (!st)
        st = give_outputs(&r);
    if (!st && net->opts->input != PITH_EXPORT_F32 &&
        net->store[net->input[0]].element != ELEMENT_U8)
        return pith_error_fill(
            err, PITH_ERR_ARGUMENT,
            "input '%s': the network does not quantize it, so it cannot be given as bytes",
            m->values[m->inputs[0]].name);
    return st == PITH_ERR_MEMORY ? pith_error_no_memory(err) : st;
}
