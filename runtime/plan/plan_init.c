/* SPDX-License-Identifier: MIT */
/* From an image to a plan. pith_plan_need and pith_plan_init run the same code, build(), over a
 * block of memory filled from both ends (plan.h): the first in working memory, for the
 * sizes; the second in the plan's own. So the sizes agree by construction. Only pith_plan_init
 * goes on to write weights (plan_fill.c).
 *
 * The order of phases is a chain of needs: what is fused decides which values exist, layout how
 * they lie, aliasing which share storage, steps what else is needed, and only then can anything
 * be placed. Costs that the caller measured (opts.costs) replace those of the machine's class
 * before anything is chosen. */
#include "core/build_choice.h"
#include "products/byte_table.h"
#include "products/integer_chain.h"
#include "products/integer_conv.h"
#include "kernels/kernel_ordered.h"
#include "op_interface/op_empty.h"
#include "plan/plan_build.h"

/* ---- phases --------------------------------------------------------------------------------- */

/* The graph's memory lies between two that are aligned differently. */
static enum pith_status read_graph(struct builder *b, const void *blob, size_t bytes,
                                   const struct pith_opts *opts)
{
    uint64_t at;
    if (sizeof *b->plan > opts->max_bytes)
        return PITH_ERR_LIMIT;
    /* The plan is the first thing in its block, so its address is the block's. */
    struct pith_plan *plan = pith_block_low(&b->block, 1, sizeof *plan);
    if (!plan || !align_ok(b->block.low, PLAN_ALIGN, &at) || at > b->block.high)
        return PITH_ERR_SPACE;
    b->graph_at = at;
    b->plan = plan;
    plan->opts = *opts;
    plan->image = blob;
    plan->image_bytes = bytes;
    const struct pith_plan *other = BUILT_PART(SIZES) ? opts->weights_of : NULL;
    const bool again = other && other->image == blob && other->image_bytes == bytes;
    const uint32_t flags = opts->flags | (again ? GRAPH_AGAIN : 0);
    enum pith_status st =
        pith_graph_read((struct graph_bytes){blob, bytes, flags}, opts,
                        (struct graph_room){b->block.mem + at, b->block.high - at}, &plan->graph,
                        &plan->value, NULL);
    if (plan->graph.bytes > opts->max_bytes) /* whether there is room for it or not */
        return PITH_ERR_LIMIT;
    if (st)
        return st;
    if (!align_ok(at + plan->graph.bytes, 8, &b->block.low) || b->block.low > b->block.high)
        return PITH_ERR_SPACE;
    block_moved(&b->block);
    return PITH_OK;
}

/* Kinds of values, of which later passes take away those that vanish. */
static enum pith_status describe_value(struct builder *b, uint32_t v)
{
    const struct graph *g = &b->plan->graph;
    struct tview *t = &b->plan->value[v];
    struct value_plan *p = &b->vp[v];
    p->kind = v < g->n_inputs ? VALUE_INPUT : VALUE_TEMP;
    p->parent = v;
    p->consumer = PLAN_NONE;
    t->data = NULL;
    if (pith_plan_is_constant(g, v))
        p->kind = VALUE_CONST;
    if (BUILT_PART(SIZES) && tensor_is_empty(t)) { /* no node reads it (graph_read.c) */
        p->kind = v < g->n_inputs ? VALUE_INPUT : VALUE_GONE;
        return PITH_OK;
    }
    return pith_shape_bytes(&t->shape, t->type, &p->bytes);
}

/* States are written in place by LoopEnd, so they are never temporary. */
static void describe_states(struct builder *b, const struct graph_node *loop)
{
    for (uint32_t i = 0; i < loop->n_out; i++)
        b->vp[loop->first_out + i].kind = VALUE_STATE;
}

/* One pass sets what later passes read: who makes, who reads last, how often. */
static enum pith_status describe_values(struct builder *b)
{
    const struct graph *g = &b->plan->graph;
    for (uint32_t v = 0; v < g->n_values; v++) {
        enum pith_status st = describe_value(b, v);
        if (st)
            return st;
    }
    for (uint32_t n = 0; n < g->n_nodes; n++) {
        const struct graph_node *node = &g->nodes[n];
        b->node[n] = (struct node_plan){.bias = PLAN_NONE,
                                        .residual = PLAN_NONE,
                                        .add = PLAN_NONE,
                                        .requantize = PLAN_NONE,
                                        .quantize = PLAN_NONE,
                                        .out = node->first_out};
        if (node->info->op == PITH_OP_LOOP)
            describe_states(b, node);
        for (uint32_t i = 0; i < node->n_in; i++)
            if (node->in[i] != PITH_NO_VALUE) {
                b->vp[node->in[i]].n_uses++;
                b->vp[node->in[i]].consumer = n;
            }
    }
    /* An output counts as a use by somebody who is no node. */
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        struct value_plan *p = &b->vp[g->outputs[i]];
        p->n_uses++;
        p->consumer = PLAN_NONE;
        p->is_output = true;
    }
    return PITH_OK;
}

/* Storage that some step touches; of one segment, or (0) of the whole batch. */
static bool has_item(const struct builder *b, uint32_t v, uint32_t segment)
{
    const struct value_plan *p = &b->vp[v];
    return p->segment == segment && p->parent == v && p->kind != VALUE_CONST &&
           p->kind != VALUE_CACHE && p->first <= p->last;
}

/* An item for every root that some step touches. An item is a piece of the arena. */
static void add_value_items(struct builder *b, uint32_t segment)
{
    for (uint32_t v = 0; v < b->plan->graph.n_values; v++) {
        struct value_plan *p = &b->vp[v];
        if (p->segment != segment)
            continue;
        bool has = has_item(b, v, segment);
        p->item = has ? b->n_items : PLAN_NONE;
        if (!has)
            continue;
        uint32_t flags = (p->kind == VALUE_INPUT ? PLACE_INPUT : 0u) |
                         (p->is_output ? PLACE_OUTPUT : 0u) | (p->late ? PLACE_LATE : 0u);
        b->item[b->n_items++] = (struct place_item){
            .bytes = p->bytes, .first = p->first, .last = p->last, .flags = flags};
    }
}

/* Scratch lives while its step runs; of a pair's first one, until both have run. */
static void add_scratch_items(struct builder *b, uint32_t segment)
{
    for (uint32_t i = 0; i < b->plan->n_steps; i++) {
        const struct step *s = &b->plan->step[i];
        uint32_t time = node_time((uint32_t)(s->node - b->plan->graph.nodes));
        uint32_t last = node_time((uint32_t)(s[s->pairs].node - b->plan->graph.nodes));
        if (s->scratch_bytes == 0 || s->segment != segment)
            continue;
        b->step_need[i].scratch_item = b->n_items;
        b->item[b->n_items++] =
            (struct place_item){.bytes = s->scratch_bytes, .first = time, .last = last};
    }
}

/* Places the items of one segment, or (0) all others and the segments' blocks, each of which is
 * there for its lanes from its first node to its last. */
static bool place_items(struct builder *b, uint32_t segment, uint32_t *order, uint32_t *placed,
                        uint64_t *bytes)
{
    uint32_t first = b->n_items;
    add_value_items(b, segment);
    add_scratch_items(b, segment);
    for (uint32_t i = 0; PLAN_SEGMENTS && segment == 0 && i < b->plan->n_segments; i++) {
        const struct segment *s = &b->plan->segment[i];
        struct place_item block = {.first = node_time(s->first_node),
                                   .last = node_time(s->last_node)};
        if (!mul_ok(s->lane_bytes, s->lanes, &block.bytes))
            return false;
        b->item[b->n_items++] = block;
    }
    /* Of plans for several sizes, one that fits in the arena of another is small enough. */
    const struct pith_plan *other =
        BUILT_PART(SIZES) && segment == 0 ? b->plan->opts.weights_of : NULL;
    uint64_t enough = 0;
    for (; other; other = other->opts.weights_of)
        enough = other->arena_bytes > enough ? other->arena_bytes : enough;
    return pith_place(b->item + first, b->n_items - first, order, placed, enough, bytes);
}

static uint64_t count_items(const struct builder *b)
{
    uint64_t n = b->plan->n_segments;
    for (uint32_t v = 0; v < b->plan->graph.n_values; v++)
        n += has_item(b, v, b->vp[v].segment);
    for (uint32_t i = 0; i < b->plan->n_steps; i++)
        n += b->plan->step[i].scratch_bytes != 0;
    return n;
}

/* After this b->item[].offset is final: items of segments stand first, then what holds them. */
static enum pith_status place_values(struct builder *b)
{
    struct pith_plan *plan = b->plan;
    const uint32_t n = PLAN_SEGMENTS ? plan->n_segments : 0;
    uint64_t n_items = count_items(b);
    b->item = pith_block_high(&b->block, n_items, sizeof *b->item);
    uint32_t *order = pith_block_high(&b->block, n_items, sizeof *order);
    uint32_t *placed = pith_block_high(&b->block, n_items, sizeof *placed);
    uint32_t *end = pith_block_high(&b->block, n, sizeof *end);
    if (!b->item || !order || !placed || !end)
        return PITH_ERR_SPACE;
    for (uint32_t i = 0; i < n; i++) {
        if (!place_items(b, i + 1, order, placed, &plan->segment[i].lane_bytes))
            return PITH_ERR_LIMIT;
        end[i] = b->n_items;
    }
    if (!place_items(b, 0, order, placed, &b->arena_bytes) ||
        !align_ok(b->fill_bytes, PLAN_ALIGN, &b->fill_bytes))
        return PITH_ERR_LIMIT;
    const struct place_item *block = b->item + b->n_items - n;
    for (uint32_t i = 0, at = 0; i < n; i++)
        for (; at < end[i]; at++)
            b->item[at].offset += block[i].offset;
    return PITH_OK;
}

/* Kernels of one order, chosen by the costs of no machine: choices are the same everywhere, too. */
static void order_sums(struct pith_plan *plan)
{
    IF_DENSE_TILES(if (plan->opts.ordered) {
        plan->opts.ordered->fill(&plan->kernels.dense, plan->opts.cpu_mask);
        pith_costs_of(0, &plan->kernels.sparse.costs, NULL);
    })
    (void)plan;
}

/* Forms of weights are numbers of what is made of them, but for these. */
static bool may_share_weights(const struct pith_plan *plan)
{
    const struct pith_plan *other = plan->opts.weights_of;
    const uint32_t flags = PITH_FLAG_NO_CHECKSUM | PITH_FLAG_INIT_APART | PITH_OPEN_READ;
    if (!BUILT_PART(SIZES))
        return !other;
    return !other || (other->image == plan->image && other->image_bytes == plan->image_bytes &&
                      other->opts.cpu_mask == plan->opts.cpu_mask &&
                      other->opts.ordered == plan->opts.ordered &&
                      plan_threads(&other->opts) == plan_threads(&plan->opts) &&
                      ((other->opts.flags ^ plan->opts.flags) & ~flags) == 0 &&
                      !(plan->opts.flags & PITH_FLAG_OUTLINE));
}

/* NO_FUSION runs every node as it stands: what tests compare with. Observed plans alias in place
 * only, because observers see each value. */
static enum pith_status build(struct builder *b, const void *blob, size_t bytes,
                              const struct pith_opts *opts)
{
    enum pith_status st = read_graph(b, blob, bytes, opts);
    if (!st && !may_share_weights(b->plan))
        st = PITH_ERR_ARGUMENT;
    if (!st)
        st = pith_build_weights(b);
    if (st)
        return st;
    const struct graph *g = &b->plan->graph;
    bool in_place = !(opts->flags & PITH_FLAG_NO_FUSION), share = in_place && !opts->observe;
    pith_kernels_fill(&b->plan->kernels, opts->cpu_mask);
    /* Costs of sparse kernels are the only ones that depend on the machine so far. */
    if (opts->costs)
        b->plan->kernels.sparse.costs = *opts->costs;
    order_sums(b->plan);
    b->vp = pith_block_high(&b->block, g->n_values, sizeof *b->vp);
    b->node = pith_block_high(&b->block, g->n_nodes, sizeof *b->node);
    if (!b->node || !b->vp)
        return PITH_ERR_SPACE;
    b->last_row = PLAN_NONE;
    if (BUILT_PART(SIZES))
        pith_plan_last_row(b);
    st = describe_values(b);
    if (st)
        return st;
    if (share) {
        pith_plan_fuse(g, b->plan->value, b->node, b->vp);
        pith_plan_layout(g, b->plan->value, b->node, b->vp);
    }
    if (BUILT_PART(SIZES))
        st = pith_plan_caches(b, share);
    if (!st && share && PLAN_SEGMENTS && opts->batch > 1 && !(opts->flags & PITH_FLAG_WHOLE_BATCH))
        st = pith_plan_segments(b);
    if (st)
        return st;
    pith_plan_alias(b, share, in_place);
    st = pith_build_steps(b);
    return st ? st : place_values(b);
}

/* ---- sizes ---------------------------------------------------------------------------------- */

/* Weights behind the tables, the arena behind the weights. */
struct layout {
    uint64_t weights_at, arena_at, total;
};

/* The block must hold the larger of what planning and what running needs; decoding may use the
 * arena, or memory apart. */
static enum pith_status lay_out(const struct builder *b, uint64_t block_bytes, struct layout *l)
{
    uint64_t planning = block_bytes - b->block.gap;
    bool apart = b->plan->opts.flags & PITH_FLAG_INIT_APART;
    uint64_t behind = apart || b->fill_bytes < b->arena_bytes ? b->arena_bytes : b->fill_bytes;
    bool fits = align_ok(b->block.low, PLAN_ALIGN, &l->weights_at) &&
                add_ok(l->weights_at, b->weights_bytes, &l->arena_at) &&
                add_ok(l->arena_at, behind, &l->total) &&
                (l->total >= planning || align_ok(planning, PLAN_ALIGN, &l->total));
    return fits && l->total <= b->plan->opts.max_bytes && l->total <= SIZE_MAX ? PITH_OK
                                                                               : PITH_ERR_LIMIT;
}

/* The block rounded down to whole lines, so that both ends are aligned. mem is aligned by its
 * caller, bytes need not be. */
static struct block block_of(void *mem, size_t bytes)
{
    uint64_t lines = bytes & ~(uint64_t)(PLAN_ALIGN - 1);
    return (struct block){mem, 0, lines, lines};
}

/* What planning takes beside the graph, for each of its parts. node_plan is there until there are
 * steps, step_need and what is placed afterwards. */
#define WORK_PER_VALUE sizeof(struct value_plan)
#define WORK_PER_RESULT sizeof(void *) /* values but inputs and weights */
#define WORK_PER_PLACED (sizeof(struct place_item) + 2 * sizeof(uint32_t)) /* not weights */
#define WORK_PER_NODE (sizeof(struct step) + WORK_PADDING)
#define WORK_PER_STEP (sizeof(struct step_need) + WORK_PER_PLACED)
#define WORK_PADDING 24u /* tables of a step, each aligned to 8; the head of a chain's struct */
#define WORK_PER_INPUT (sizeof(void *) + sizeof(bool)) /* or a state of a loop */
#define WORK_PER_WEIGHTED sizeof(struct extra_view)
#define WORK_PER_WEIGHT (sizeof(uint64_t) + sizeof(uint32_t))
#define WORK_PER_CACHE (sizeof(struct pith_cache) + sizeof(uint32_t)) /* and room of operands */
#define WORK_PER_KEPT (sizeof(struct weight) + 2 * sizeof(uint32_t))
/* A QuantizeLinear that ends a table reads a DequantizeLinear, which may stay. */
#define WORK_PER_CHANGING (2 * (sizeof(struct table_op) + sizeof(void *)))
/* A node that another's step takes over has no step of its own. That pays for what it adds there:
 * an activation nothing; a bias, grids of a product and of what it adds; in a table its operation,
 * and with each operand a DequantizeLinear, its scale and zero point; a chain's struct. */
_Static_assert(sizeof(struct step) >=
                   sizeof(struct extra_view) + (INTEGER_BIAS + 1) * sizeof(void *),
               "a bias");
_Static_assert(sizeof(struct step) >= PRODUCT_ADD_GRIDS * sizeof(struct grid_operand), "grids");
_Static_assert(sizeof(struct step) >= (TABLE_OPERANDS + 1) * sizeof(struct table_op) +
                                          2 * TABLE_OPERANDS * sizeof(void *),
               "a node in a table");
_Static_assert(sizeof(struct step) >= CHAIN_LOWERED_MAX, "a chain");
/* For each lane of a batch: views of operands, and what segments are found with. At most this many
 * bytes for each byte of the graph, which holds a struct graph_node for each node and 4 bytes for
 * each input of a node. */
#define LANE_PER_GRAPH_BYTE 22u
#define LANE_PER_NODE                                                                              \
    (sizeof(struct op_args) + 2 * sizeof(void *) + 2 * sizeof(struct lane_view) +                  \
     sizeof(struct segment) + sizeof(struct place_item) + 3 * sizeof(uint32_t) + SEGMENT_GROUPS +  \
     sizeof(struct lane_operation))
#define LANE_PER_OPERAND (sizeof(void *) + sizeof(struct lane_view))
_Static_assert(LANE_PER_NODE <= LANE_PER_GRAPH_BYTE * sizeof(struct graph_node), "lanes");
_Static_assert(LANE_PER_OPERAND <= LANE_PER_GRAPH_BYTE * sizeof(uint32_t), "operands");

/* Adds n * each. A product of a count, below 2^32, and a size cannot overflow. */
static bool add_all(uint64_t n, uint64_t each, uint64_t *sum)
{
    return add_ok(*sum, n * each, sum);
}

/* Without reading the graph's nodes: who plans on a microcontroller wants one number to reserve.
 * Constants are there with all that reading takes, or only the kept ones with the tables. */
enum pith_status pith_plan_work_bytes(const void *blob, size_t bytes, const struct pith_opts *given,
                                      uint64_t *work_bytes)
{
    if (!blob || !work_bytes)
        return PITH_ERR_ARGUMENT;
    struct pith_opts opts;
    struct graph_counts c;
    enum pith_status st = pith_opts_resolve(given, &opts);
    if (!st)
        st = pith_graph_count(blob, bytes, opts.flags, &c, NULL);
    if (st)
        return st;
    uint32_t lanes = opts.batch == 1 || !PLAN_SEGMENTS ? 0 : opts.threads > 1 ? opts.threads : 1;
    uint64_t all = sizeof(struct pith_plan) + (size_t)5 * PLAN_ALIGN, tables = c.kept_bytes, more;
    uint64_t fused = c.n_nodes * (uint64_t)sizeof(struct node_plan), stepped = 0;
    bool ok = add_all(c.n_nodes, WORK_PER_STEP, &stepped) &&
              add_all(c.n_values - c.n_weights, WORK_PER_PLACED, &stepped) &&
              add_ok(stepped, c.lowered_bytes, &stepped) &&
              add_all(1, fused > stepped ? fused : stepped, &tables) &&
              add_all(c.n_values, WORK_PER_VALUE, &tables) &&
              add_all(c.n_values - c.n_weights, WORK_PER_RESULT, &tables) &&
              add_all(c.n_nodes, WORK_PER_NODE, &tables) &&
              add_all(c.n_grids, sizeof(struct grid_operand), &tables) &&
              add_all(c.n_changing, WORK_PER_CHANGING, &tables) &&
              add_all(c.n_weighted + (opts.last_row_of != 0), WORK_PER_WEIGHTED, &tables) &&
              add_all(c.n_refs, WORK_PER_INPUT, &tables) &&
              add_all(c.n_kept, WORK_PER_KEPT, &tables) &&
              add_all(opts.n_caches, WORK_PER_CACHE, &tables) &&
              (!opts.n_caches || (add_all(c.n_refs, sizeof(uint32_t), &tables) &&
                                  add_all(c.n_nodes, WORK_PADDING, &tables))) &&
              add_all(1, tables > c.bytes ? tables : c.bytes, &all) &&
              add_all(c.n_weights, WORK_PER_WEIGHT, &all) && mul_ok(c.bytes, lanes, &more) &&
              mul_ok(more, LANE_PER_GRAPH_BYTE, &more) && add_ok(all, more, &all) &&
              align_ok(all, PLAN_ALIGN, &all);
    if (!ok || all > SIZE_MAX || c.bytes > opts.max_bytes)
        return PITH_ERR_LIMIT;
    *work_bytes = all;
    return PITH_OK;
}

static enum pith_status build_in(struct builder *b, const struct block *mem, const void *blob,
                                 size_t bytes, const struct pith_opts *opts, struct layout *l)
{
    *b = (struct builder){.block = *mem};
    enum pith_status st = build(b, blob, bytes, opts);
    return st ? st : lay_out(b, mem->high, l);
}

/* Where coded weights would be read at each run, a caller who says how much memory there is gets
 * them decoded once, if that fits. */
static enum pith_status build_within(struct builder *b, const struct block *mem, const void *blob,
                                     size_t bytes, struct pith_opts *opts, struct layout *l)
{
    const uint32_t other = PITH_FLAG_DECODE_ONCE | PITH_FLAG_DENSE_ONLY;
    const bool tries = opts->max_bytes < UINT32_MAX && opts->cpu_mask == 0 && !opts->parallel_for &&
                       !(opts->flags & other);
    if (tries)
        opts->flags |= PITH_FLAG_DECODE_ONCE;
    enum pith_status st = build_in(b, mem, blob, bytes, opts, l);
    if (!tries || (st != PITH_ERR_LIMIT && st != PITH_ERR_SPACE))
        return st;
    opts->flags &= ~(uint32_t)PITH_FLAG_DECODE_ONCE;
    return build_in(b, mem, blob, bytes, opts, l);
}

/* build() in the caller's working memory: sizes without weights. */
enum pith_status pith_plan_need(const void *blob, size_t bytes, const struct pith_opts *given,
                                void *work, size_t work_bytes, struct pith_need *need)
{
    if (!blob || !need)
        return PITH_ERR_ARGUMENT;
    struct pith_opts opts;
    struct layout l;
    struct builder b;
    const struct block block = block_of(work, work_bytes);
    if (!work || (uintptr_t)work % PLAN_ALIGN)
        return PITH_ERR_ARGUMENT;
    enum pith_status st = pith_opts_resolve(given, &opts);
    if (!st)
        st = build_within(&b, &block, blob, bytes, &opts, &l);
    if (st)
        return st;
    *need = (struct pith_need){.bytes = l.total,
                               .align = PLAN_ALIGN,
                               .arena_bytes = b.arena_bytes,
                               .weights_bytes = b.weights_bytes,
                               .scratch_bytes = b.scratch_bytes,
                               .init_bytes = b.fill_bytes};
    return PITH_OK;
}

/* ---- addresses ------------------------------------------------------------------------------ */

/* Where the elements of value v are; NULL: nowhere (vanished, or only ever a weight). Everything
 * but roots has an offset in one. */
static void *address_of(struct builder *b, uint32_t v, uint8_t *weights, uint8_t *arena)
{
    uint64_t offset;
    uint32_t root = pith_plan_root(b->vp, v, &offset);
    if (BUILT_PART(SIZES) && b->vp[root].kind == VALUE_CACHE)
        return (uint8_t *)pith_plan_cache_of(b->plan, root)->data + offset;
    if (b->vp[root].kind != VALUE_CONST)
        return b->vp[root].item == PLAN_NONE ? NULL
                                             : arena + b->item[b->vp[root].item].offset + offset;
    uint32_t c = root - b->plan->graph.n_inputs;
    if (b->const_at[c] == NOT_STORED)
        return NULL;
    if (BUILT_PART(SIZES) && b->const_at[c] == IN_OTHER_PLAN)
        return (uint8_t *)pith_build_data_elsewhere(b, root) + offset;
    /* C has no way to say that a struct's pointer is only read by its reader; the cast takes
     * const away from what no step writes. */
    if (b->const_at[c] >= IN_IMAGE)
        return (uint8_t *)(uintptr_t)b->plan->image + (b->const_at[c] - IN_IMAGE) + offset;
    return weights + b->const_at[c] + offset;
}

/* After this the planning tables are no longer needed. From here on addresses are facts. */
static void set_addresses(struct builder *b, uint8_t *weights, uint8_t *arena)
{
    struct pith_plan *plan = b->plan;
    for (uint32_t v = 0; v < plan->graph.n_values; v++)
        plan->value[v].data = address_of(b, v, weights, arena);
    for (uint32_t i = 0; i < plan->n_extra; i++) {
        struct extra_view *x = &plan->extra[i];
        const struct tview *of = x->value == PLAN_NONE ? NULL : &plan->value[x->value];
        if (of && of->data)
            x->view.data =
                (uint8_t *)of->data +
                (shape_elems(&of->shape) - shape_elems(&x->view.shape)) * pith_type_bytes(of->type);
    }
    for (uint32_t i = 0; i < plan->n_steps; i++) {
        const struct step_need *sn = &b->step_need[i];
        if (sn->prep_bytes)
            plan->step[i].args.prep = weights + sn->prep_at;
        if (plan->step[i].scratch_bytes)
            plan->step[i].scratch = arena + b->item[sn->scratch_item].offset;
    }
    if (PLAN_SEGMENTS)
        pith_lanes_place(b);
}

/* The status of plan_fill() is that of the weights' decoders; until then no weight has been
 * looked at. */
enum pith_status pith_plan_init(void *mem, size_t mem_bytes, const void *blob, size_t bytes,
                                const struct pith_opts *given, struct pith_plan **plan)
{
    if (!blob)
        return PITH_ERR_ARGUMENT;
    struct pith_opts opts;
    struct layout l;
    struct builder b;
    const struct block block = block_of(mem, mem_bytes);
    if (!mem || (uintptr_t)mem % PLAN_ALIGN || !plan)
        return PITH_ERR_ARGUMENT;
    enum pith_status st = pith_opts_resolve(given, &opts);
    if (!st)
        st = build_within(&b, &block, blob, bytes, &opts, &l);
    if (st)
        return st;
    bool apart = opts.flags & PITH_FLAG_INIT_APART;
    /* Checked by pith_plan_need(), but the caller may have passed other options there. */
    if (l.total > mem_bytes || (apart && opts.init_memory_bytes < b.fill_bytes))
        return PITH_ERR_SPACE;
    if (apart && b.fill_bytes && (!opts.init_memory || (uintptr_t)opts.init_memory % PLAN_ALIGN))
        return PITH_ERR_ARGUMENT;
    uint8_t *weights = (uint8_t *)mem + l.weights_at, *arena = (uint8_t *)mem + l.arena_at;
    set_addresses(&b, weights, arena);
    b.plan->arena = arena;
    b.plan->arena_bytes = b.arena_bytes;
    b.plan->weights = weights;
    b.plan->weights_bytes = b.weights_bytes;
    struct fill_memory fill = {arena, mem_bytes - l.arena_at, b.fill_bytes};
    if (apart)
        fill = (struct fill_memory){opts.init_memory, opts.init_memory_bytes, b.fill_bytes};
    if (!(opts.flags & PITH_FLAG_OUTLINE))
        st = pith_plan_fill(b.plan, weights, arena, &fill);
    if (!st)
        *plan = b.plan;
    return st;
}
