/* SPDX-License-Identifier: MIT */
/* graph_read.c - a file's graph in memory: parsed twice, once to count and once to fill, then
 * names, regions and shapes. Everything lives in one block of the caller's: no allocation, no
 * failure half way. */
#include "core/build_choice.h"
#include "core/op_number.h"
#include "op_interface/op_empty.h"
#include "validate/graph_parse.h"
#include "validate/region.h"
#include "pith_runtime.h"

/* ---- memory --------------------------------------------------------------------------------- */

struct bump {
    uint8_t *mem; /* NULL: only count */
    uint64_t used;
};

/* Aligned to 8, which is enough for every array here. */
static void *take(struct bump *b, uint64_t n, size_t each)
{
    uint64_t at = (b->used + 7) & ~UINT64_C(7);
    b->used = at + n * each; /* counts are bounded by MAX_*: far below 2^64 */
    return b->mem ? b->mem + at : NULL;
}

/* All arrays of a graph whose counting pass is `c`. Filled by lay_out() twice: with a NULL block
 * to count, with the real one to place. */
struct graph_memory {
    struct graph g;
    struct huff_table *table;
    int32_t *slots;
    uint32_t *refs, *order;
    struct names names;
    struct tview *values;
    const struct tview **in;
    struct tview **out;
};

/* weight_names and output_names are arrays beside what they name, because compact files have
 * none and pass NULL texts. What the graph keeps stands first, weights last of it (kept_bytes);
 * behind it is what only reading uses. */
static void lay_out(const struct graph_parse *c, struct bump *b, struct graph_memory *m)
{
    const struct graph *g = &c->g;
    m->g.inputs = take(b, g->n_inputs, sizeof *m->g.inputs);
    m->g.nodes = take(b, g->n_nodes, sizeof *m->g.nodes);
    m->g.weight_names = take(b, g->n_weights, sizeof *m->g.weight_names);
    m->g.outputs = take(b, g->n_outputs, sizeof *m->g.outputs);
    m->g.output_names = take(b, g->n_outputs, sizeof *m->g.output_names);
    m->slots = take(b, c->n_slots, sizeof *m->slots);
    m->refs = take(b, c->counts.n_refs, sizeof *m->refs);
    m->values = take(b, g->n_values, sizeof *m->values);
    m->g.weights = take(b, g->n_weights, sizeof *m->g.weights);
    m->g.kept_bytes = b->used - g->n_weights * sizeof *m->g.weights;
    m->table = take(b, c->n_tables, sizeof *m->table);
    m->order = take(b, g->n_values, sizeof *m->order);
    m->names.value = take(b, g->n_values, sizeof *m->names.value);
    m->names.node = take(b, g->n_nodes, sizeof *m->names.node);
    m->in = take(b, c->max_in, sizeof *m->in);
    m->out = take(b, c->max_out, sizeof *m->out);
    m->g.bytes = b->used;
}

/* Opens the image and runs the first pass. */
static enum pith_status count_graph(const void *blob, size_t bytes, uint32_t flags,
                                    struct image *im, struct graph_parse *c, struct pith_error *err)
{
    memset(c, 0, sizeof *c);
    enum pith_status st = pith_image_open(blob, bytes, flags, im, err);
    if (st)
        return st;
    c->im = im;
    c->err = err;
    return pith_parse_graph(c);
}

/* In and out are as large as the largest node's: they are scratch of the walk over shapes. */
enum pith_status pith_graph_count(const void *blob, size_t bytes, uint32_t flags,
                                  struct graph_counts *counts, struct pith_error *err)
{
    struct image im;
    struct graph_parse c;
    struct graph_memory m;
    struct bump b = {NULL, 0};
    enum pith_status st = count_graph(blob, bytes, flags, &im, &c, err);
    if (st)
        return st;
    lay_out(&c, &b, &m);
    *counts = c.counts;
    counts->bytes = b.used;
    counts->kept_bytes = m.g.kept_bytes;
    counts->n_values = c.g.n_values;
    counts->n_nodes = c.g.n_nodes;
    counts->n_weights = c.g.n_weights;
    counts->n_kept = c.n_coded + c.counts.n_weighted;
    return PITH_OK;
}

enum pith_status pith_graph_need(const void *blob, size_t bytes, uint32_t flags,
                                 uint64_t *mem_bytes, struct pith_error *err)
{
    struct graph_counts c;
    enum pith_status st = pith_graph_count(blob, bytes, flags, &c, err);
    if (!st)
        *mem_bytes = c.bytes;
    return st;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* Names are optional as a whole (compact files) and one by one. */
static enum pith_status read_names(const struct image *im, struct graph *g, struct graph_memory *m,
                                   struct pith_error *err)
{
    struct names *names = &m->names;
    names->n_values = g->n_values;
    names->n_nodes = g->n_nodes;
    enum pith_status st = pith_validate_names(im, names, m->order, err);
    if (st)
        return st;
    for (uint32_t i = 0; i < g->n_inputs; i++)
        g->inputs[i].name = names->value[i];
    for (uint32_t i = 0; i < g->n_weights; i++)
        g->weight_names[i] = names->value[g->n_inputs + i];
    for (uint32_t i = 0; i < g->n_nodes; i++)
        g->nodes[i].name = names->node[i];
    for (uint32_t i = 0; i < g->n_outputs; i++)
        g->output_names[i] = names->value[g->outputs[i]];
    return PITH_OK;
}

/* What operators see of a constant: every float grid is computed in f32, so shapes and types
 * behind it follow from f32. The decoder converts; no operator has a path for f16. */
static enum pith_type computed_type(enum pith_type stored)
{
    bool narrow = stored == PITH_F16 || stored == PITH_BF16 || stored == PITH_F64;
    return narrow ? PITH_F32 : stored;
}

/* Shapes of inputs and constants; all others follow by shape rules. */
static void shape_constants(const struct graph *g, uint32_t batch, struct tview *values)
{
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        values[i] = (struct tview){g->inputs[i].type, g->inputs[i].shape, NULL};
        if (g->inputs[i].batch_open && batch > 0)
            values[i].shape.dim[0] = batch;
    }
    for (uint32_t i = 0; i < g->n_weights; i++)
        values[g->n_inputs + i] =
            (struct tview){computed_type(g->weights[i].type), g->weights[i].shape, NULL};
}

/* A repeat of 0 is another input's first dimension in the file: no number of the caller's. */
static bool is_rows_of_reference(const struct graph_node *node, const struct pith_change *c)
{
    return c->value == 0 && node->info->op == PITH_OP_TILE && node->n_in > 1;
}

/* Numbers of the caller for those of the file. Attributes keep to their ranges; that they fit is
 * for the shape rules to say. An input's dimension may be 0. */
static enum pith_status change_numbers(struct graph *g, const struct pith_opts *opts,
                                       int32_t *slots, struct pith_error *err)
{
    if (!BUILT_PART(SIZES))
        return opts->n_changes ? pith_fail(err, PITH_ERR_UNSUPPORTED, TAG_GRAPH, 0) : PITH_OK;
    for (uint32_t i = 0; i < opts->n_changes; i++) {
        const struct pith_change *c = &opts->changes[i];
        enum pith_status st = PITH_ERR_CORRUPT;
        if (c->node == PITH_CHANGE_INPUT) {
            uint32_t input = c->slot / PITH_MAX_RANK, dim = c->slot % PITH_MAX_RANK;
            if (input < g->n_inputs && dim < g->inputs[input].shape.rank && c->value >= 0) {
                g->inputs[input].shape.dim[dim] = (uint32_t)c->value;
                st = PITH_OK;
            }
        } else if (c->node < g->n_nodes && c->slot < g->nodes[c->node].info->n_slots) {
            const struct graph_node *node = &g->nodes[c->node];
            slots[node->attr - slots + c->slot] = c->value;
            st = is_rows_of_reference(node, c)
                     ? PITH_ERR_UNSUPPORTED
                     : pith_op_check(node->info, node->attr, node->n_in, node->n_out);
        }
        if (st)
            return pith_fail(err, st, TAG_GRAPH, 0);
    }
    return PITH_OK;
}

/* One place for all bracket errors: region.c has no image to point into. */
static enum pith_status match_regions(const struct image *im, struct graph *g,
                                      struct pith_error *err)
{
    enum pith_status st = pith_graph_regions(g);
    return st ? pith_fail(err, st, TAG_GRAPH, (uint64_t)(im->chunk[CHUNK_GRAPH].bytes - im->blob))
              : PITH_OK;
}

/* Whether the value is what NonMaxSuppression selects. Its output's first dim is set by run(),
 * so no shape that was planned would hold. */
static bool is_selection(const struct graph *g, uint32_t value)
{
    uint32_t n = pith_graph_producer(g, value);
    return n != PITH_NO_NODE && g->nodes[n].info->op == PITH_OP_NON_MAX_SUPPRESSION;
}

/* How much is selected is known at run time alone, to the caller. */
static bool reads_selection(const struct graph *g, const struct graph_node *node)
{
    for (uint32_t i = 0; i < node->n_in; i++)
        if (node->in[i] != PITH_NO_VALUE && is_selection(g, node->in[i]))
            return true;
    return false;
}

static void drop_empty_inputs(const struct graph_memory *m, struct graph_node *node)
{
    uint32_t *in = m->refs + (node->in - m->refs), n = 0;
    for (uint32_t i = 0; i < node->n_in; i++)
        if (!tensor_is_empty(&m->values[in[i]]))
            in[n++] = in[i];
    node->n_in = n;
}

/* With sizes of the caller: what there is to do for values without elements, before the node's
 * shape rule. *gone: nothing, and its outputs have none either. */
static enum pith_status look_for_empty(const struct graph_memory *m, struct graph_node *node,
                                       bool *gone)
{
    for (uint32_t i = 0; i < node->n_in; i++)
        m->in[i] = node->in[i] == PITH_NO_VALUE ? NULL : &m->values[node->in[i]];
    const struct op_args args = node_args(node, m->in, m->out);
    switch (pith_op_empty(&args)) {
    case OP_HAS_ELEMENTS:
        return PITH_OK;
    case OP_NEEDS_ELEMENTS:
        return PITH_ERR_UNSUPPORTED;
    case OP_JOINS_OTHERS:
        drop_empty_inputs(m, node);
        return PITH_OK;
    case OP_GIVES_EMPTY:
        break;
    }
    for (uint32_t i = 0; i < node->n_out; i++)
        m->values[node->first_out + i] = empty_tensor(PITH_U8);
    *gone = true;
    return PITH_OK;
}

/* An output is not read by a node, so that nothing would refuse it. */
static bool has_empty_output(const struct graph *g, const struct tview *values)
{
    for (uint32_t i = 0; i < g->n_outputs; i++)
        if (tensor_is_empty(&values[g->outputs[i]]))
            return true;
    return false;
}

/* Node by node in file order: inputs of a node have smaller numbers, so their shapes are known.
 * Nodes that have nothing to do are taken out. */
static enum pith_status shape_nodes(struct graph *g, const struct pith_opts *opts,
                                    const struct graph_memory *m)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        struct graph_node *node = &g->nodes[i];
        bool gone = false;
        enum pith_status st = PITH_OK;
        if (BUILT_PART(SIZES) && opts && opts->n_changes)
            st = look_for_empty(m, node, &gone);
        if (!st && !gone)
            st = pith_validate_node(node, m->values, m->in, m->out);
        if (!st && reads_selection(g, node))
            st = PITH_ERR_UNSUPPORTED;
        if (st)
            return st;
        if (!gone)
            g->nodes[n++] = *node;
    }
    if (!BUILT_PART(SIZES) || n == g->n_nodes)
        return PITH_OK;
    g->n_nodes = n;
    return has_empty_output(g, m->values) ? PITH_ERR_UNSUPPORTED : pith_graph_regions(g);
}

static enum pith_status shape_all(const struct image *im, struct graph *g,
                                  const struct pith_opts *opts, struct graph_memory *m,
                                  struct pith_error *err)
{
    uint64_t count;
    shape_constants(g, opts ? opts->batch : 0, m->values);
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < g->n_inputs && !st; i++)
        if (!BUILT_PART(SIZES) || !tensor_is_empty(&m->values[i]))
            st = pith_shape_count(&m->values[i].shape, &count);
    st = st ? st : shape_nodes(g, opts, m);
    return st ? pith_fail(err, st, TAG_GRAPH, (uint64_t)(im->chunk[CHUNK_GRAPH].bytes - im->blob))
              : PITH_OK;
}

/* Chunks that no step reads. A build without their part refuses a file that has them. */
static enum pith_status read_extras(const struct image *im, uint32_t n_values,
                                    struct pith_error *err)
{
    static const struct {
        enum chunk_kind chunk;
        bool built;
    } extra[] = {{CHUNK_NAMES, BUILT_PART(TEXTS)},
                 {CHUNK_META, BUILT_PART(TEXTS)},
                 {CHUNK_HISTORY, BUILT_PART(TEXTS)},
                 {CHUNK_STATS, BUILT_PART(RANGES)}};
    for (uint32_t i = 0; i < sizeof extra / sizeof *extra; i++) {
        const struct stream *s = &im->chunk[extra[i].chunk];
        if (!extra[i].built && s->bytes)
            return pith_fail(err, PITH_ERR_UNSUPPORTED, pith_chunk_tag(extra[i].chunk),
                             (uint64_t)(s->bytes - im->blob));
    }
    enum pith_status st = BUILT_PART(TEXTS) ? pith_validate_texts(im, err) : PITH_OK;
    return st || !BUILT_PART(RANGES) ? st : pith_validate_stats(im, n_values, err);
}

/* Two passes over the same bytes. Between them the image must not change: it is the caller's. */
enum pith_status pith_graph_read(struct graph_bytes file, const struct pith_opts *opts,
                                 struct graph_room room, struct graph *g,
                                 struct tview **value_shapes, struct pith_error *err)
{
    struct image im;
    struct graph_parse p;
    struct graph_memory m;
    struct bump b = {room.mem, 0};
    enum pith_status st = count_graph(file.blob, file.bytes, file.flags, &im, &p, err);
    if (st)
        return st;
    lay_out(&p, &b, &m);
    g->bytes = b.used;
    if (b.used > room.bytes)
        return pith_fail(err, PITH_ERR_SPACE, 0, 0);
    memset(&p, 0, sizeof p);
    p.im = &im;
    p.err = err;
    p.fill = true;
    p.g = m.g;
    p.table = m.table;
    p.slots = m.slots;
    p.refs = m.refs;
    m.names.checked = file.flags & GRAPH_AGAIN;
    if ((st = pith_parse_graph(&p)) ||
        (BUILT_PART(TEXTS) && (st = read_names(&im, &p.g, &m, err))) ||
        (!m.names.checked && (st = read_extras(&im, p.g.n_values, err))) ||
        (st = match_regions(&im, &p.g, err)) ||
        (opts && (st = change_numbers(&p.g, opts, m.slots, err))) ||
        (st = shape_all(&im, &p.g, opts, &m, err)))
        return st;
    *g = p.g;
    *value_shapes = m.values;
    return PITH_OK;
}

/* Checks that need no memory: everything but shapes and names. */
enum pith_status pith_blob_check(const void *blob, size_t bytes, uint32_t flags,
                                 struct pith_error *err)
{
    struct image im;
    struct graph_parse c;
    if (!blob)
        return pith_fail(err, PITH_ERR_ARGUMENT, 0, 0);
    enum pith_status st = count_graph(blob, bytes, flags, &im, &c, err);
    if (st)
        return st;
    st = read_extras(&im, c.g.n_values, err);
    return st ? st : pith_fail(err, PITH_OK, 0, 0);
}
