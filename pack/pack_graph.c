/* SPDX-License-Identifier: MIT */
/* pack_graph.c - writes the graph, tables and data chunks of a parsed graph: the mirror image of
 * runtime/validate/graph_parse.c, weight_head.c and weight_read.c, in the same order
 * (docs/format.md, sections 4 to 6). */
#include "pack.h"
#include "core/op_number.h"

struct graph_pack {
    const struct graph *g;
    bool compact;
    struct byte_out *out, *tables;
    struct pack_pieces *data;
    struct huff_table *written; /* those written, oldest first */
    uint32_t n_written;
    const struct shape *prev;
    uint32_t prev_centroids[2];                       /* of vectors, of others */
    const struct graph_node *attributes[PITH_OP_END]; /* whose attributes were written last */
    uint32_t n_introduced;
    uint32_t chain;
};

static bool ends_square(const struct shape *s, uint32_t first)
{
    return s->rank >= first + 2 && s->dim[s->rank - 1] == s->dim[s->rank - 2];
}

static void write_dims(struct byte_out *o, const struct shape *s, uint32_t first, bool square)
{
    for (uint32_t i = first; i < s->rank - (square ? 1u : 0u); i++)
        pith_out_varint(o, s->dim[i]);
}

/* ---- inputs and tensors ---------------------------------------------------------------------- */

static bool outputs_are_default(const struct graph *g)
{
    return g->n_nodes > 0 && g->n_outputs == 1 &&
           g->outputs[0] == g->nodes[g->n_nodes - 1].first_out;
}

static void write_inputs(struct graph_pack *p)
{
    const struct graph *g = p->g;
    uint32_t open = g->inputs[0].batch_open ? GRAPH_BATCH_OPEN : 0;
    pith_out_varint(p->out, (uint64_t)(g->n_inputs - 1) << 2 | open |
                                (outputs_are_default(g) ? 0 : GRAPH_OUTPUTS));
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const struct graph_input *in = &g->inputs[i];
        uint32_t first = in->batch_open ? 1 : 0;
        bool square = ends_square(&in->shape, first);
        pith_out_u8(p->out, in->shape.rank | (in->type != PITH_F32 ? INPUT_TYPE : 0) |
                                (square ? INPUT_SQUARE : 0));
        if (in->type != PITH_F32)
            pith_out_u8(p->out, in->type);
        write_dims(p->out, &in->shape, first, square);
    }
}

static void write_shape(struct byte_out *o, const struct shape *s, uint32_t code)
{
    if (code == SHAPE_RANK)
        pith_out_varint(o, s->rank);
    if (code != SHAPE_PREV_FIRST && code != SHAPE_PREV)
        write_dims(o, s, 0, code == SHAPE_RANK4_SQUARE);
}

static void write_scales(struct byte_out *o, const struct weight *w)
{
    const bool blocks = w->group_elems > 0, zeros = w->codebook.n_bytes > 4 * w->n_groups;
    const uint32_t place = w->n_groups > 1 ? 1 + 2 * w->index_bits + (blocks ? 1 : 0) : 0;
    pith_out_varint(o, place << 1 | (zeros ? SCALES_ZERO_POINTS : 0));
    if (blocks)
        pith_out_varint(o, w->group_elems);
}

static void write_head(struct graph_pack *p, const struct weight *w)
{
    bool coded = w->grid == GRID_CODEBOOK;
    bool same = coded && w->n_centroids == p->prev_centroids[w->shape.rank >= 2];
    uint32_t code = pith_shape_code(&w->shape, p->prev);
    uint8_t head = pith_weight_common_head(w, code, same);
    if (w->type != PITH_F32 || w->scaled) {
        pith_out_u8(p->out, HEAD_TYPE);
        pith_out_u8(p->out, w->scaled ? w->scaled : w->type);
    }
    if (w->scaled)
        pith_out_u8(p->out, HEAD_SCALED);
    if (w->trellis)
        pith_out_u8(p->out, w->trellis == 16 ? HEAD_TRELLIS_16 : HEAD_TRELLIS_8);
    if (w->code == CODE_PLANES || w->code == CODE_RANS || w->code == CODE_CLASSES)
        pith_out_u8(p->out, HEAD_OTHER_CODE);
    if (w->code == CODE_ADAPTIVE)
        pith_out_u8(p->out, pith_weight_adaptive_head(w, code, same));
    if (w->code != CODE_ADAPTIVE || pith_weight_adaptive_head(w, code, same) == HEAD_ADAPTIVE)
        pith_out_u8(p->out, head);
    write_shape(p->out, &w->shape, code);
    if (w->scaled)
        write_scales(p->out, w);
    if (coded && !same)
        pith_out_u8(p->out, w->n_centroids - 1);
    if (coded && w->n_groups > 1)
        pith_out_varint(p->out, w->n_groups);
    if (w->support == SUPPORT_GAPS || w->support == SUPPORT_ADAPTIVE)
        pith_out_varint(p->out, w->nnz);
}

/* 0: written now for the first time; else distance back from the newest. */
static uint32_t table_ref(struct graph_pack *p, const struct huff_table *t)
{
    for (uint32_t back = 1; back <= p->n_written; back++)
        if (p->written[p->n_written - back].bytes == t->bytes)
            return back;
    p->written[p->n_written++] = *t;
    pith_out_varint(p->tables, t->n_bytes);
    pith_out_bytes(p->tables, t->bytes, t->n_bytes);
    return 0;
}

static void write_tables(struct graph_pack *p, const struct weight *w)
{
    bool gaps = w->gap_table.n_bytes > 0, index = w->index_table.n_bytes > 0;
    if (!gaps && !index)
        return;
    uint32_t gap_ref = gaps ? table_ref(p, &w->gap_table) : 0;
    uint32_t index_ref = index ? table_ref(p, &w->index_table) : 0;
    uint32_t low = gap_ref < TABLE_FAR ? gap_ref : TABLE_FAR;
    uint32_t high = index_ref < TABLE_FAR ? index_ref : TABLE_FAR;
    pith_out_u8(p->out, low | high << 4);
    if (low == TABLE_FAR)
        pith_out_varint(p->out, gap_ref);
    if (high == TABLE_FAR)
        pith_out_varint(p->out, index_ref);
}

static void write_data(struct graph_pack *p, const struct weight *w)
{
    pith_pieces_add(p->data, w->codebook.bytes, w->codebook.n_bytes);
    pith_pieces_add(p->data, w->support_stream.bytes, w->support_stream.n_bytes);
    size_t align = w->index_stream.n_bytes < FULL_ALIGN ? pith_type_bytes(w->type) : FULL_ALIGN;
    if (w->grid == GRID_PLAIN && w->code == CODE_PLAIN && !p->compact &&
        w->index_stream.n_bytes > 0)
        pith_pieces_zeros(p->data, (align - p->data->bytes % align) % align);
    pith_pieces_add(p->data, w->index_stream.bytes, w->index_stream.n_bytes);
}

static void write_weight(struct graph_pack *p, const struct weight *w)
{
    bool sparse_floats = w->grid == GRID_PLAIN && w->support != SUPPORT_DENSE;
    bool adaptive = (w->code == CODE_ADAPTIVE && !sparse_floats) || w->code == CODE_PLANES;
    write_head(p, w);
    if (adaptive && w + 1 < p->g->weights + p->g->n_weights)
        pith_out_varint(p->out, w->codebook.n_bytes + w->index_stream.n_bytes);
    if (!adaptive && w->grid == GRID_CODEBOOK)
        pith_out_varint(p->out, w->codebook.n_bytes);
    write_tables(p, w);
    if (w->support == SUPPORT_GAPS && w->nnz > 0)
        pith_out_varint(p->out, w->support_stream.n_bytes);
    bool coded = w->code == CODE_HUFFMAN || w->code == CODE_RANS || w->code == CODE_CLASSES;
    if (w->grid == GRID_CODEBOOK && coded && w->nnz > 0)
        pith_out_varint(p->out, w->index_stream.n_bytes);
    if (w->code == CODE_ADAPTIVE && sparse_floats)
        pith_out_varint(p->out, w->index_stream.n_bytes);
    write_data(p, w);
    p->prev = &w->shape;
    if (w->grid == GRID_CODEBOOK)
        p->prev_centroids[w->shape.rank >= 2] = w->n_centroids;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* before: the list written before in this node, or NULL */
static void write_list(struct byte_out *o, const int32_t *list, const int32_t *before)
{
    if (before && pith_list_equal(list, before)) {
        pith_out_varint(o, LIST_AGAIN);
        return;
    }
    bool even = pith_list_is_even(list);
    pith_out_varint(o, (uint64_t)list[0] << 1 | (even ? 1 : 0));
    for (int32_t i = 1; i <= (even ? 1 : list[0]); i++)
        pith_out_svarint(o, list[i]);
}

static uint64_t present_fields(const struct graph_node *node)
{
    uint64_t present = 0;
    for (uint32_t i = 0; i < node->info->n_fields; i++)
        if (!pith_field_is_default(&node->info->fields[i], node->attr))
            present |= UINT64_C(1) << i;
    return present;
}

static void write_attributes(struct byte_out *o, const struct graph_node *node, uint64_t present)
{
    const int32_t *list = NULL;
    pith_out_varint(o, present);
    for (uint32_t i = 0; i < node->info->n_fields; i++) {
        const struct attr_field *f = &node->info->fields[i];
        if (!(present >> i & 1))
            continue;
        if (f->kind == ATTR_LIST) {
            write_list(o, node->attr + f->slot, list);
            list = node->attr + f->slot;
        } else if (f->kind == ATTR_INT) {
            pith_out_svarint(o, node->attr[f->slot]);
        } else {
            pith_out_le32(o, (uint32_t)node->attr[f->slot]);
        }
    }
}

static bool same_attributes(const struct graph_node *a, const struct graph_node *b)
{
    for (uint32_t i = 0; i < a->info->n_fields; i++) {
        const struct attr_field *f = &a->info->fields[i];
        const int32_t *x = a->attr + f->slot, *y = b->attr + f->slot;
        if (f->kind == ATTR_LIST ? !pith_list_equal(x, y) : *x != *y)
            return false;
    }
    return true;
}

/* Those of this operator that were written last need not be written again. */
static void write_new_attributes(struct graph_pack *p, const struct graph_node *node,
                                 uint64_t present)
{
    const struct graph_node **last = &p->attributes[node->info->op];
    if (*last && same_attributes(*last, node)) {
        pith_out_varint(p->out, 0);
        return;
    }
    write_attributes(p->out, node, present);
    *last = node;
}

static bool wiring_is_default(const struct graph_pack *p, const struct graph_node *node)
{
    uint32_t n = pith_default_inputs(node->info);
    if (n == 0 || node->n_in != n || node->n_out != node->info->n_out_min ||
        node->in[0] != p->chain || n - 1 > p->g->n_weights - p->n_introduced)
        return false;
    for (uint32_t i = 1; i < n; i++)
        if (node->in[i] != p->g->n_inputs + p->n_introduced + (i - 1))
            return false;
    return true;
}

static void write_ref(struct graph_pack *p, uint32_t base, uint32_t value)
{
    uint64_t ref = 0;
    if (value != PITH_NO_VALUE) {
        ref = (uint64_t)(base - value) + 1;
        if (p->n_introduced < p->g->n_weights && value == p->g->n_inputs + p->n_introduced) {
            ref = 1;
            p->n_introduced++;
        }
    }
    pith_out_varint(p->out, ref);
}

static void write_wiring(struct graph_pack *p, const struct graph_node *node)
{
    pith_out_varint(p->out, node->n_in);
    if (node->info->n_out_min != node->info->n_out_max)
        pith_out_varint(p->out, node->n_out);
    for (uint32_t i = 0; i < node->n_in; i++)
        write_ref(p, node->first_out, node->in[i]);
}

static void write_node(struct graph_pack *p, const struct graph_node *node)
{
    uint64_t present = present_fields(node);
    bool wired = !wiring_is_default(p, node);
    uint32_t op = (uint32_t)node->info->op, low = op < NODE_OP ? op : NODE_OP;
    pith_out_u8(p->out, low | (present ? NODE_ATTR : 0) | (wired ? NODE_WIRED : 0));
    if (low == NODE_OP)
        pith_out_varint(p->out, op - NODE_OP);
    if (present)
        write_new_attributes(p, node, present);
    if (wired)
        write_wiring(p, node);
    else
        p->n_introduced += node->n_in - 1;
    if (node->n_out > 0)
        p->chain = node->first_out;
}

static void write_graph(struct graph_pack *p)
{
    const struct graph *g = p->g;
    write_inputs(p);
    pith_out_varint(p->out, g->n_weights);
    for (uint32_t i = 0; i < g->n_weights; i++)
        write_weight(p, &g->weights[i]);
    bool lists_outputs = !outputs_are_default(g);
    if (lists_outputs)
        pith_out_varint(p->out, g->n_nodes);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        write_node(p, &g->nodes[i]);
    if (!lists_outputs)
        return;
    pith_out_varint(p->out, g->n_outputs);
    for (uint32_t i = 0; i < g->n_outputs; i++)
        write_ref(p, g->n_values, g->outputs[i]);
}

enum pith_status pith_pack_graph(const struct graph *g, struct pack_file *f)
{
    struct byte_out written = {0};
    struct graph_pack p = {.g = g,
                           .compact = f->compact,
                           .out = &f->chunk[CHUNK_GRAPH],
                           .tables = &f->chunk[CHUNK_TABLES],
                           .data = &f->data};
    p.written = (void *)pith_out_room(&written, 2 * (size_t)g->n_weights * sizeof *p.written);
    if (p.written || g->n_weights == 0)
        write_graph(&p);
    bool failed = written.failed || p.out->failed || p.tables->failed || pith_pieces_failed(p.data);
    pith_out_clear(&written);
    return failed ? PITH_ERR_MEMORY : PITH_OK;
}
