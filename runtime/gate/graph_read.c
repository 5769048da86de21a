/* SPDX-License-Identifier: MIT */
/* graph_read.c - the graph chunk: inputs, tensors, nodes, outputs (docs/format.md, section 4).
 *
 * There is one way to write any graph: what can be left out must be left out, and numbers stand
 * in their shortest form. So the parser refuses every second spelling, and writing a parsed
 * graph again gives the same bytes.
 *
 * A canonical form has two uses. A file's checksum identifies a network, so that a result can
 * name what it was measured on; and there is no slack in which two readers could see two graphs.
 *
 * Numbers are bounded where they are read (rd_varint's max), before anything multiplies or
 * allocates by them. */
#include "graph_parse.h"
#include "region.h"

enum pith_status pith_parse_corrupt(struct graph_parse *p)
{
    return pith_fail(p->err, PITH_ERR_CORRUPT, TAG_GRAPH, (uint64_t)(p->r.p - p->im->blob));
}

enum pith_status pith_parse_unsupported(struct graph_parse *p)
{
    return pith_fail(p->err, PITH_ERR_UNSUPPORTED, TAG_GRAPH, (uint64_t)(p->r.p - p->im->blob));
}

/* The wiring that is not written: the first output of the node before, then constants in order. */
uint32_t pith_default_inputs(const struct op_info *info)
{
    return info->n_in_max == OP_ANY ? 0 : info->n_in_max;
}

uint32_t pith_field_slots(const struct attr_field *field)
{
    return field->kind == ATTR_LIST ? PITH_LIST_SLOTS : 1;
}

/* A list's default is to be empty. */
bool pith_field_is_default(const struct attr_field *field, const int32_t *attr)
{
    int32_t def = field->kind == ATTR_LIST ? 0 : field->def;
    return attr[field->slot] == def;
}

bool pith_list_is_even(const int32_t *list)
{
    for (int32_t i = 2; i <= list[0]; i++)
        if (list[i] != list[1])
            return false;
    return list[0] >= 2;
}

/* Only the entries in use: what is behind them was zeroed when the node began. */
bool pith_list_equal(const int32_t *a, const int32_t *b)
{
    for (int32_t i = 0; i <= a[0]; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

/* ---- inputs --------------------------------------------------------------------------------- */

/* Dims of an open batch are not stored: dim 0 is the caller's. */
static enum pith_status parse_input(struct graph_parse *p, struct graph_input *in)
{
    uint8_t head = rd_u8(&p->r);
    /* Square: height and width of most images. */
    bool square = (head & INPUT_SQUARE) != 0;
    struct shape *s = &in->shape;
    uint32_t first = p->batch_open ? 1 : 0;
    memset(in, 0, sizeof *in);
    in->type = PITH_F32;
    in->batch_open = p->batch_open;
    s->rank = head & INPUT_RANK;
    if (head & INPUT_TYPE) {
        in->type = (enum pith_type)rd_u8(&p->r);
        if (in->type == PITH_F32 || pith_type_bytes(in->type) == 0)
            return pith_parse_corrupt(p);
    }
    /* Flag bits above the known ones are refused, not ignored: a later version gives them a
     * meaning. */
    if (p->r.bad || head > (INPUT_RANK | INPUT_TYPE | INPUT_SQUARE) || s->rank > PITH_MAX_RANK ||
        s->rank < first || (square && s->rank < first + 2))
        return pith_parse_corrupt(p);
    if (first)
        s->dim[0] = 1;
    uint64_t count;
    if (!pith_parse_dims(&p->r, s, first, square) || pith_shape_count(s, &count))
        return pith_parse_corrupt(p);
    /* Two equal dims at the end must use the flag. */
    if (!square && s->rank >= first + 2 && s->dim[s->rank - 1] == s->dim[s->rank - 2])
        return pith_parse_corrupt(p);
    return PITH_OK;
}

/* The count has 2 bits beside it; n_inputs - 1 is stored, because there is at least one. */
static enum pith_status parse_inputs(struct graph_parse *p, bool *outputs_told)
{
    uint64_t head = rd_varint(&p->r, (uint64_t)MAX_INPUTS * 4 - 1);
    p->batch_open = (head & GRAPH_BATCH_OPEN) != 0;
    *outputs_told = (head & GRAPH_OUTPUTS) != 0;
    p->g.n_inputs = p->r.bad ? 0 : (uint32_t)(head >> 2) + 1;
    for (uint32_t i = 0; i < p->g.n_inputs; i++) {
        struct graph_input in;
        enum pith_status st = parse_input(p, &in);
        if (st)
            return st;
        if (p->fill)
            p->g.inputs[i] = in;
    }
    return p->r.bad ? pith_parse_corrupt(p) : PITH_OK;
}

/* Streams are cut while tensors are read: lengths are told in passing. */
static enum pith_status parse_weights(struct graph_parse *p)
{
    p->g.n_weights = (uint32_t)rd_varint(&p->r, MAX_WEIGHTS);
    for (uint32_t i = 0; i < p->g.n_weights; i++) {
        struct weight w;
        p->weight_at = i;
        enum pith_status st = pith_parse_weight(p, &w);
        if (st)
            return st;
        if (p->fill)
            p->g.weights[i] = w;
    }
    return p->r.bad ? pith_parse_corrupt(p) : pith_parse_weights_end(p);
}

/* ---- nodes ---------------------------------------------------------------------------------- */

/* before: the list before it in this node, or NULL Lists come in pairs that are often equal
 * (strides and dilations, pads), hence "again". */
static bool parse_list(struct reader *r, const int32_t *before, int32_t *list)
{
    uint64_t head = rd_varint(r, PITH_MAX_RANK * 2 + 1);
    uint32_t n = (uint32_t)(head >> 1);
    bool even = head & 1;
    /* Only where it saves something is "again" allowed: the last line refuses the same list in
     * words. */
    if (head == LIST_AGAIN && before) {
        memcpy(list, before, PITH_LIST_SLOTS * sizeof *list);
        return !r->bad;
    }
    if (n == 0 || (even && n < 2))
        return false;
    list[0] = (int32_t)n;
    for (uint32_t i = 1; i <= n; i++)
        list[i] = even && i > 1 ? list[1] : (int32_t)rd_svarint(r, INT32_MIN, INT32_MAX);
    /* `even` must be set exactly where it can be. */
    return !r->bad && pith_list_is_even(list) == even && !(before && pith_list_equal(list, before));
}

/* Those that are not the default, as they are written; attr: the defaults. One bit a field; a
 * field that is present but has its default would be a second spelling. */
static bool parse_written(struct reader *r, const struct op_info *info, int32_t *attr)
{
    const int32_t *list = NULL;
    uint64_t present = rd_varint(r, (UINT64_C(1) << info->n_fields) - 1);
    for (uint32_t i = 0; i < info->n_fields; i++) {
        const struct attr_field *f = &info->fields[i];
        if (!(present >> i & 1))
            continue;
        if (f->kind == ATTR_LIST) {
            if (!parse_list(r, list, attr + f->slot))
                return false;
            list = attr + f->slot;
        } else if (f->kind == ATTR_INT) {
            attr[f->slot] = (int32_t)rd_svarint(r, f->min, f->max);
        } else {
            /* Any 32 bits; pith_op_check() refuses NaN and, but where a schema allows it,
             * infinity. */
            attr[f->slot] = (int32_t)rd_le32(r);
        }
        if (r->bad || pith_field_is_default(f, attr))
            return false;
    }
    return !r->bad;
}

/* An empty set stands for the attributes of this operator that were written last, and must where
 * they are the same: since there is one way to write them, where the bytes are the same. Nodes
 * of one kind share attributes in most networks, which then cost one byte each. */
static enum pith_status parse_attributes(struct graph_parse *p, const struct op_info *info,
                                         int32_t *attr)
{
    const uint8_t *at = p->r.p, **last = &p->attributes[info->op];
    if (p->r.left > 0 && *at == 0) {
        rd_u8(&p->r);
        if (!*last)
            return pith_parse_corrupt(p);
        /* Read again from where they stood; that part was accepted before, so it cannot fail. */
        struct reader r = reader_of(*last, (size_t)(at - *last));
        return parse_written(&r, info, attr) ? PITH_OK : pith_parse_corrupt(p);
    }
    if (!parse_written(&p->r, info, attr))
        return pith_parse_corrupt(p);
    size_t n = (size_t)(p->r.p - at);
    /* Not where the new bytes could overlap the old ones. */
    if (*last && n <= (size_t)(at - *last) && memcmp(*last, at, n) == 0)
        return pith_parse_corrupt(p);
    *last = at;
    return PITH_OK;
}

/* *told: how the value was named; 1 is the next constant. base: what distances count from.
 * Distances count back from the node's first output, so most are small and fit one byte. */
static enum pith_status parse_ref(struct graph_parse *p, uint32_t base, uint32_t *value,
                                  uint64_t *told)
{
    uint64_t ref = rd_varint(&p->r, (uint64_t)base + 1);
    *told = ref;
    if (p->r.bad)
        return pith_parse_corrupt(p);
    if (ref == 0) {
        *value = PITH_NO_VALUE;
        return PITH_OK;
    }
    if (ref == 1) {
        if (p->n_introduced == p->g.n_weights)
            /* No constant is left to introduce. */
            return pith_parse_corrupt(p);
        *value = p->g.n_inputs + p->n_introduced++;
        return PITH_OK;
    }
    uint32_t v = base - (uint32_t)(ref - 1);
    if (v >= p->g.n_inputs + p->n_introduced && v < p->g.n_inputs + p->g.n_weights)
        /* v may also be an output of this node or a later one only if base were wrong: ref <=
         * base + 1 keeps v in 0 .. base - 1. */
        return pith_parse_corrupt(p); /* constants are numbered in order of first use */
    *value = v;
    return PITH_OK;
}

/* Counting needs no store. */
static void store_ref(struct graph_parse *p, uint32_t i, uint32_t value)
{
    if (p->fill)
        p->refs[p->n_refs + i] = value;
}

/* The chain: one data input, constants behind it (weights, bias). The first test also covers
 * operators with any number of inputs. */
static enum pith_status default_wiring(struct graph_parse *p, struct graph_node *node)
{
    node->n_in = pith_default_inputs(node->info);
    node->n_out = node->info->n_out_min;
    if (node->n_in == 0 || node->n_in - 1 > p->g.n_weights - p->n_introduced)
        return pith_parse_corrupt(p);
    store_ref(p, 0, p->chain);
    for (uint32_t i = 1; i < node->n_in; i++)
        store_ref(p, i, p->g.n_inputs + p->n_introduced++);
    return PITH_OK;
}

/* n_in_max and n_out_max of OP_ANY are the largest number that the field holds; pith_op_check()
 * has the rule. */
static enum pith_status told_wiring(struct graph_parse *p, struct graph_node *node)
{
    const struct op_info *info = node->info;
    node->n_in = (uint32_t)rd_varint(&p->r, info->n_in_max);
    node->n_out = info->n_out_min;
    if (info->n_out_max != info->n_out_min)
        node->n_out = (uint32_t)rd_varint(&p->r, info->n_out_max);
    if (p->r.bad || node->n_in < info->n_in_min || node->n_out < info->n_out_min)
        return pith_parse_corrupt(p);
    /* Wiring that equals the default must be left out. */
    bool by_default =
        node->n_in == pith_default_inputs(info) && node->n_in > 0 && node->n_out == info->n_out_min;
    for (uint32_t i = 0; i < node->n_in; i++) {
        uint32_t value;
        uint64_t told;
        enum pith_status st = parse_ref(p, node->first_out, &value, &told);
        if (st)
            return st;
        /* An optional input may be absent, but not in a list of any length, where it would mean
         * nothing. */
        if (value == PITH_NO_VALUE && (i < info->n_in_min || info->n_in_max == OP_ANY))
            return pith_parse_corrupt(p);
        by_default &= i == 0 ? value == p->chain : told == 1;
        store_ref(p, i, value);
    }
    return by_default ? pith_parse_corrupt(p) : PITH_OK;
}

/* at: the node's own place, which is where an unknown operator is told. */
static enum pith_status parse_node(struct graph_parse *p, struct graph_node *node)
{
    int32_t attr[PITH_OP_MAX_SLOTS];
    uint64_t at = (uint64_t)(p->r.p - p->im->blob);
    uint8_t head = rd_u8(&p->r);
    if (p->r.bad)
        return pith_parse_corrupt(p);
    memset(node, 0, sizeof *node);
    uint32_t op = head & NODE_OP;
    if (op == NODE_OP)
        op += (uint32_t)rd_varint(&p->r, MAX_OP - NODE_OP);
    if (p->r.bad)
        return pith_parse_corrupt(p);
    node->info = pith_op_get(op);
    if (!node->info)
        return pith_fail(p->err, PITH_ERR_UNSUPPORTED, TAG_GRAPH, at);
    node->first_out = p->g.n_values;
    pith_op_attr_defaults(node->info, attr);
    enum pith_status st;
    if ((head & NODE_ATTR) && (st = parse_attributes(p, node->info, attr)))
        return st;
    st = head & NODE_WIRED ? told_wiring(p, node) : default_wiring(p, node);
    if (st)
        return st;
    /* Type-independent limits here, shapes later, when all types are known. */
    if (pith_op_check(node->info, attr, node->n_in, node->n_out) ||
        node->n_out > MAX_VALUES - p->g.n_values)
        return pith_parse_corrupt(p);
    if (p->fill) {
        memcpy(p->slots + p->n_slots, attr, node->info->n_slots * sizeof *attr);
        node->attr = p->slots + p->n_slots;
        node->in = p->refs + p->n_refs;
    }
    p->n_slots += node->info->n_slots;
    p->n_refs += node->n_in;
    p->g.n_values += node->n_out;
    p->max_in = node->n_in > p->max_in ? node->n_in : p->max_in;
    p->max_out = node->n_out > p->max_out ? node->n_out : p->max_out;
    /* Nodes without outputs (a Branch's end may have none) leave the chain as it is. */
    if (node->n_out > 0)
        p->chain = node->first_out;
    return PITH_OK;
}

/* Without a list of outputs behind them the nodes go on to the end. The common case saves two
 * varints, a list and a count. */
static enum pith_status parse_nodes(struct graph_parse *p, bool outputs_told)
{
    uint32_t n = outputs_told ? (uint32_t)rd_varint(&p->r, MAX_NODES) : MAX_NODES;
    p->g.n_values = p->g.n_inputs + p->g.n_weights;
    p->g.n_nodes = 0;
    for (uint32_t i = 0; i < n && (outputs_told || p->r.left > 0); i++) {
        struct graph_node node;
        enum pith_status st = parse_node(p, &node);
        if (st)
            return st;
        if (p->fill)
            p->g.nodes[i] = node;
        p->g.n_nodes = i + 1;
    }
    return p->r.bad ? pith_parse_corrupt(p) : PITH_OK;
}

/* One output, the chain's, is left out. */
static enum pith_status parse_outputs(struct graph_parse *p, bool told)
{
    p->g.n_outputs = 1;
    if (!told) {
        if (p->g.n_nodes == 0)
            return pith_parse_corrupt(p);
        if (p->fill)
            p->g.outputs[0] = p->chain;
        return PITH_OK;
    }
    p->g.n_outputs = (uint32_t)rd_varint(&p->r, MAX_VALUES);
    bool by_default = p->g.n_outputs == 1 && p->g.n_nodes > 0;
    if (p->r.bad || p->g.n_outputs == 0)
        return pith_parse_corrupt(p);
    for (uint32_t i = 0; i < p->g.n_outputs; i++) {
        uint32_t value;
        uint64_t ref;
        enum pith_status st = parse_ref(p, p->g.n_values, &value, &ref);
        if (st)
            return st;
        if (value == PITH_NO_VALUE || (by_default && value == p->chain))
            return pith_parse_corrupt(p);
        if (p->fill)
            p->g.outputs[i] = value;
    }
    return PITH_OK;
}

/* The order of parsing is the order of the chunk. All of it must be used, and every tensor
 * named: an unused one could hide data. */
static enum pith_status parse_graph(struct graph_parse *p)
{
    bool outputs_told;
    const struct stream *graph = &p->im->chunk[CHUNK_GRAPH];
    const struct stream *tables = &p->im->chunk[CHUNK_TABLES];
    p->r = reader_of(graph->bytes, graph->n_bytes);
    p->tables = reader_of(tables->bytes, tables->n_bytes);
    p->g.compact = p->im->compact;
    enum pith_status st = parse_inputs(p, &outputs_told);
    if (!st)
        st = parse_weights(p);
    if (!st)
        st = parse_nodes(p, outputs_told);
    if (!st)
        st = parse_outputs(p, outputs_told);
    if (st)
        return st;
    if (p->r.left != 0 || p->n_introduced != p->g.n_weights)
        return pith_parse_corrupt(p);
    return PITH_OK;
}

/* Everything lives in one block of the caller's: no allocation, no failure half way. */
/* ---- memory --------------------------------------------------------------------------------- */

struct bump {
    uint8_t *mem; /* NULL: only count */
    uint64_t used;
};

/* Every array at a cache line of its own, whatever type it has. */
static void *take(struct bump *b, uint64_t n, size_t each)
{
    uint64_t at = (b->used + 63) & ~UINT64_C(63);
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
 * none and pass NULL texts. */
static void lay_out(const struct graph_parse *c, struct bump *b, struct graph_memory *m)
{
    const struct graph *g = &c->g;
    m->g.inputs = take(b, g->n_inputs, sizeof *m->g.inputs);
    m->g.weights = take(b, g->n_weights, sizeof *m->g.weights);
    m->g.nodes = take(b, g->n_nodes, sizeof *m->g.nodes);
    m->g.weight_names = take(b, g->n_weights, sizeof *m->g.weight_names);
    m->g.outputs = take(b, g->n_outputs, sizeof *m->g.outputs);
    m->g.output_names = take(b, g->n_outputs, sizeof *m->g.output_names);
    m->table = take(b, c->n_tables, sizeof *m->table);
    m->slots = take(b, c->n_slots, sizeof *m->slots);
    m->refs = take(b, c->n_refs, sizeof *m->refs);
    m->order = take(b, g->n_values, sizeof *m->order);
    m->names.value = take(b, g->n_values, sizeof *m->names.value);
    m->names.node = take(b, g->n_nodes, sizeof *m->names.node);
    m->values = take(b, g->n_values, sizeof *m->values);
    m->in = take(b, c->max_in, sizeof *m->in);
    m->out = take(b, c->max_out, sizeof *m->out);
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
    return parse_graph(c);
}

/* In and out are as large as the largest node's: they are scratch of the walk over shapes. */
enum pith_status pith_graph_need(const void *blob, size_t bytes, uint32_t flags,
                                 uint64_t *mem_bytes, struct pith_error *err)
{
    struct image im;
    struct graph_parse c;
    struct graph_memory m;
    struct bump b = {NULL, 0};
    enum pith_status st = count_graph(blob, bytes, flags, &im, &c, err);
    if (st)
        return st;
    lay_out(&c, &b, &m);
    *mem_bytes = b.used;
    return PITH_OK;
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
 * behind it follow from f32. Whoever decodes converts; no operator has a path for f16. */
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

/* How much is selected is known at run time alone, to nobody but the caller. */
static bool reads_selection(const struct graph *g, const struct graph_node *node)
{
    for (uint32_t i = 0; i < node->n_in; i++)
        if (node->in[i] != PITH_NO_VALUE && is_selection(g, node->in[i]))
            return true;
    return false;
}

/* Node by node in file order: inputs of a node have smaller numbers, so their shapes are known. */
static enum pith_status shape_all(const struct image *im, const struct graph *g, uint32_t batch,
                                  struct graph_memory *m, struct pith_error *err)
{
    uint64_t count;
    uint64_t at = (uint64_t)(im->chunk[CHUNK_GRAPH].bytes - im->blob);
    shape_constants(g, batch, m->values);
    for (uint32_t i = 0; i < g->n_inputs; i++)
        if (pith_shape_count(&m->values[i].shape, &count))
            return pith_fail(err, PITH_ERR_CORRUPT, TAG_GRAPH, at);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        enum pith_status st = pith_validate_node(&g->nodes[i], m->values, m->in, m->out);
        if (!st && reads_selection(g, &g->nodes[i]))
            st = PITH_ERR_UNSUPPORTED;
        if (st)
            return pith_fail(err, st, TAG_GRAPH, at);
    }
    return PITH_OK;
}

/* Two passes over the same bytes. Between them the image must not change: it is the caller's. */
enum pith_status pith_graph_read(const void *blob, size_t bytes, uint32_t flags, uint32_t batch,
                                 void *mem, uint64_t mem_bytes, struct graph *g,
                                 struct tview **value_shapes, struct pith_error *err)
{
    struct image im;
    struct graph_parse p;
    struct graph_memory m;
    struct bump b = {mem, 0};
    enum pith_status st = count_graph(blob, bytes, flags, &im, &p, err);
    if (st)
        return st;
    lay_out(&p, &b, &m);
    if (b.used > mem_bytes)
        return pith_fail(err, PITH_ERR_SPACE, 0, 0);
    memset(&p, 0, sizeof p);
    p.im = &im;
    p.err = err;
    p.fill = true;
    p.g = m.g;
    p.table = m.table;
    p.slots = m.slots;
    p.refs = m.refs;
    if ((st = parse_graph(&p)) || (st = read_names(&im, &p.g, &m, err)) ||
        (st = pith_validate_texts(&im, err)) ||
        (st = pith_validate_stats(&im, p.g.n_values, err)) ||
        (st = match_regions(&im, &p.g, err)) || (st = shape_all(&im, &p.g, batch, &m, err)))
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
    if ((st = pith_validate_texts(&im, err)) || (st = pith_validate_stats(&im, c.g.n_values, err)))
        return st;
    return pith_fail(err, PITH_OK, 0, 0);
}
