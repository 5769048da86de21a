/* SPDX-License-Identifier: MIT */
/* graph_parse.c - the graph chunk: inputs, tensors, nodes, outputs (docs/format.md, section 4).
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
#include "validate/graph_parse.h"

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
static enum pith_status parse_inputs(struct graph_parse *p, bool *lists_outputs)
{
    uint64_t head = rd_varint(&p->r, (uint64_t)MAX_INPUTS * 4 - 1);
    p->batch_open = (head & GRAPH_BATCH_OPEN) != 0;
    *lists_outputs = (head & GRAPH_OUTPUTS) != 0;
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

/* Streams are cut while tensors are read: their lengths stand in the graph. */
static enum pith_status parse_weights(struct graph_parse *p)
{
    p->g.n_weights = (uint32_t)rd_varint(&p->r, MAX_WEIGHTS);
    for (uint32_t i = 0; i < p->g.n_weights; i++) {
        struct weight w;
        p->weight_at = i;
        enum pith_status st = pith_parse_weight(p, &w);
        if (st)
            return st;
        p->n_coded += pith_weight_borrow(&w) == NULL;
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

/* *ref_code: the stored number; 1 is the next constant. base: what distances count from.
 * Distances count back from the node's first output, so most are small and fit one byte. */
static enum pith_status parse_ref(struct graph_parse *p, uint32_t base, uint32_t *value,
                                  uint64_t *ref_code)
{
    uint64_t ref = rd_varint(&p->r, (uint64_t)base + 1);
    *ref_code = ref;
    *value = PITH_NO_VALUE;
    if (p->r.bad)
        return pith_parse_corrupt(p);
    if (ref == 0)
        return PITH_OK;
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
        p->refs[p->counts.n_refs + i] = value;
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
static enum pith_status explicit_wiring(struct graph_parse *p, struct graph_node *node)
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
        uint64_t ref_code;
        enum pith_status st = parse_ref(p, node->first_out, &value, &ref_code);
        if (st)
            return st;
        /* An optional input may be absent, but not in a list of any length, where it would mean
         * nothing. */
        if (value == PITH_NO_VALUE && (i < info->n_in_min || info->n_in_max == OP_ANY))
            return pith_parse_corrupt(p);
        by_default &= i == 0 ? value == p->chain : ref_code == 1;
        store_ref(p, i, value);
    }
    return by_default ? pith_parse_corrupt(p) : PITH_OK;
}

/* at: the node's own place, where an unknown operator is reported. */
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
    st = head & NODE_WIRED ? explicit_wiring(p, node) : default_wiring(p, node);
    if (st)
        return st;
    /* Type-independent limits here, shapes later, when all types are known. */
    if (pith_op_check(node->info, attr, node->n_in, node->n_out) ||
        node->n_out > MAX_VALUES - p->g.n_values)
        return pith_parse_corrupt(p);
    if (p->fill) {
        memcpy(p->slots + p->n_slots, attr, node->info->n_slots * sizeof *attr);
        node->attr = p->slots + p->n_slots;
        node->in = p->refs + p->counts.n_refs;
    }
    p->n_slots += node->info->n_slots;
    graph_count_node(&p->counts, node->info, node->n_in);
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
static enum pith_status parse_nodes(struct graph_parse *p, bool lists_outputs)
{
    uint32_t n = lists_outputs ? (uint32_t)rd_varint(&p->r, MAX_NODES) : MAX_NODES;
    p->g.n_values = p->g.n_inputs + p->g.n_weights;
    p->g.n_nodes = 0;
    for (uint32_t i = 0; i < n && (lists_outputs || p->r.left > 0); i++) {
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
static enum pith_status parse_outputs(struct graph_parse *p, bool listed)
{
    p->g.n_outputs = 1;
    if (!listed) {
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
enum pith_status pith_parse_graph(struct graph_parse *p)
{
    bool lists_outputs;
    const struct stream *graph = &p->im->chunk[CHUNK_GRAPH];
    const struct stream *tables = &p->im->chunk[CHUNK_TABLES];
    p->r = reader_of(graph->bytes, graph->n_bytes);
    p->tables = reader_of(tables->bytes, tables->n_bytes);
    p->g.compact = p->im->compact;
    enum pith_status st = parse_inputs(p, &lists_outputs);
    if (!st)
        st = parse_weights(p);
    if (!st)
        st = parse_nodes(p, lists_outputs);
    if (!st)
        st = parse_outputs(p, lists_outputs);
    if (st)
        return st;
    if (p->r.left != 0 || p->n_introduced != p->g.n_weights)
        return pith_parse_corrupt(p);
    return PITH_OK;
}
