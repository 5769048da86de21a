/* SPDX-License-Identifier: MIT */
/* Nodes to steps: arguments wired to values, and operators' needs computed.
 *
 * A constant that only serves as weight (in[1] of OP_WEIGHT operators) is never expanded here:
 * its operator turns the file form into a run form of its own. So is a table that is looked up
 * where it lies. All other constants are data: used in the image where they can be, else
 * expanded once.
 *
 * A step is struct op_args with every pointer set: run() computes nothing that could have been
 * computed here. Two counts come before the arrays (needs_step, count_extras) because memory is
 * taken once. */
#include "core/build_choice.h"
#include "products/byte_table.h"
#include "products/integer_chain.h"
#include "plan/plan_build.h"
#include "decode/weight_rows.h"
#include "op_interface/op_attr.h"

/* A Gather along an axis decodes row after row, of 2^32 - 1 elements at most. Only where there
 * is no memory for decoded tables (pith_weight_rows_wanted). */
static bool is_table(const struct builder *b, const struct graph_node *node)
{
    const struct graph *g = &b->plan->graph;
    if (!(node->info->flags & OP_TABLE) || node->attr[ATTR_GATHER_KIND] != 0 ||
        !pith_plan_is_constant(g, node->in[0]))
        return false;
    struct op_env env = plan_env(b->plan, NULL);
    const struct weight *w = kept_weight(b, node->in[0] - g->n_inputs);
    enum pith_type type = b->plan->value[node->in[0]].type;
    return (type == PITH_F32 || type == PITH_I8) && w && w->count <= UINT32_MAX &&
           pith_weight_rows_wanted(&env, w);
}

/* Both inputs that an operator may take in file form. */
static bool is_weight_input(const struct builder *b, const struct graph_node *node, uint32_t i)
{
    if (i == 0 && is_table(b, node))
        return true;
    return i == 1 && (node->info->flags & OP_WEIGHT) &&
           pith_plan_is_constant(&b->plan->graph, node->in[i]);
}

/* Reserves a place in the weights region. PITH_ERR_LIMIT. Places rise; nothing is given back.
 * Whether all of a plan is too much is tested at its end. */
static enum pith_status reserve(struct builder *b, uint64_t bytes, uint64_t *at)
{
    *at = b->weights_bytes;
    if (!add_ok(b->weights_bytes, bytes, &b->weights_bytes) ||
        !align_ok(b->weights_bytes, PLAN_ALIGN, &b->weights_bytes))
        return PITH_ERR_LIMIT;
    return PITH_OK;
}

/* Scratch is shared by all steps, so the largest counts. */
static void raise(uint64_t *max, uint64_t bytes)
{
    if (bytes > *max)
        *max = bytes;
}

/* ---- constants ------------------------------------------------------------------------------ */

static const struct pith_plan *weights_elsewhere(const struct pith_plan *plan)
{
    return BUILT_PART(SIZES) ? plan->opts.weights_of : NULL;
}

void *pith_build_data_elsewhere(const struct builder *b, uint32_t v)
{
    const struct pith_plan *other = weights_elsewhere(b->plan);
    while (other && !other->value[v].data)
        other = other->opts.weights_of;
    return other ? other->value[v].data : NULL;
}

/* Value v is read as data: if a constant is behind it, find a place for its elements. By the
 * root: a view of a constant is the constant. */
static enum pith_status store_constant(struct builder *b, uint32_t v)
{
    uint64_t unused;
    if (v == PITH_NO_VALUE)
        return PITH_OK;
    v = pith_plan_root(b->vp, v, &unused);
    if (b->vp[v].kind != VALUE_CONST)
        return PITH_OK;
    uint32_t c = v - b->plan->graph.n_inputs;
    if (b->const_at[c] != NOT_STORED)
        return PITH_OK;
    /* Plain elements of the right type and alignment need no copy. */
    const struct weight *w = kept_weight(b, c);
    const uint8_t *lies = pith_weight_borrow(w);
    if (lies) {
        b->const_at[c] = IN_IMAGE + (uint64_t)(lies - b->plan->image);
        return PITH_OK;
    }
    if (pith_build_data_elsewhere(b, v)) {
        b->const_at[c] = IN_OTHER_PLAN;
        return PITH_OK;
    }
    raise(&b->fill_bytes, pith_weight_scratch_bytes(w));
    return reserve(b, b->vp[v].bytes, &b->const_at[c]);
}

/* Grids and residuals are data, too. */
static enum pith_status store_node_constants(struct builder *b, uint32_t n)
{
    const struct graph *g = &b->plan->graph;
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < pith_step_inputs(g, b->node, n) && !st; i++)
        if (!is_weight_input(b, &g->nodes[n], i))
            st = store_constant(b, pith_step_input(g, b->node, n, i));
    return st ? st : store_constant(b, b->node[n].residual);
}

/* A constant that is an output of the graph is read by the caller. */
static enum pith_status store_constants(struct builder *b)
{
    const struct graph *g = &b->plan->graph;
    enum pith_status st = PITH_OK;
    for (uint32_t n = 0; n < g->n_nodes && !st; n++)
        if (b->node[n].action != NODE_GONE)
            st = store_node_constants(b, n);
    for (uint32_t i = 0; i < g->n_outputs && !st; i++)
        st = store_constant(b, g->outputs[i]);
    return st;
}

/* What `info` prints as a layer's size in the file. One that is not kept lies there as it is. */
static uint64_t file_bytes(const struct builder *b, uint32_t v)
{
    const struct weight *w = kept_weight(b, v - b->plan->graph.n_inputs);
    if (!w)
        return b->vp[v].bytes;
    return (uint64_t)w->support_stream.n_bytes + w->index_stream.n_bytes + w->codebook.n_bytes;
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* v's storage begins where the output's piece `at` does. */
static bool in_place(struct builder *b, uint32_t v, uint32_t out, uint64_t at)
{
    uint64_t v_at, out_at;
    return pith_plan_root(b->vp, v, &v_at) == pith_plan_root(b->vp, out, &out_at) &&
           v_at == out_at + at;
}

/* A concat whose inputs are all in place has nothing left to do but to be observed. Observers
 * are shown a Concat's output by its step. */
static bool needs_step(struct builder *b, uint32_t n)
{
    const struct graph_node *node = &b->plan->graph.nodes[n];
    uint64_t at = 0;
    if (b->node[n].action != NODE_PLACED || b->plan->opts.observe)
        return b->node[n].action != NODE_GONE;
    for (uint32_t i = 0; i < node->n_in; i++) {
        if (!in_place(b, node->in[i], node->first_out, at))
            return true;
        at += pith_plan_piece_bytes(b->plan->value, b->vp, node->in[i], node->first_out);
    }
    return false;
}

/* The value v as a view that differs from the value's own. Extra views exist where an operator must
 * see it otherwise than others do: as [O], as a weight without data, the last row alone. */
static struct tview *add_extra(struct pith_plan *plan, uint32_t v, const struct shape *shape,
                               uint32_t data_of)
{
    struct extra_view *x = &plan->extra[plan->n_extra++];
    x->view = (struct tview){plan->value[v].type, *shape, NULL};
    x->value = data_of;
    return &x->view;
}

/* A weight input that is read as data elsewhere. The same tensor as a weight here and as data
 * elsewhere: here data must be NULL. */
static bool is_read_as_data(const struct builder *b, const struct graph_node *node, uint32_t i)
{
    return is_weight_input(b, node, i) &&
           b->const_at[node->in[i] - b->plan->graph.n_inputs] != NOT_STORED;
}

/* Conv's bias is one-dimensional; what Add had may have been [1, O, 1, 1]. */
static bool takes_conv_bias(const struct builder *b, uint32_t n)
{
    return b->node[n].bias != PLAN_NONE && b->plan->graph.nodes[n].info->op == PITH_OP_CONV;
}

/* Views that wire_inputs will add. The same conditions, counted before there is room. */
static uint32_t count_extras(const struct builder *b, uint32_t n)
{
    const struct graph_node *node = &b->plan->graph.nodes[n];
    return (uint32_t)(node->n_in > 0 && is_read_as_data(b, node, 0)) +
           (uint32_t)(node->n_in > 1 && is_read_as_data(b, node, 1)) +
           (uint32_t)takes_conv_bias(b, n) + (uint32_t)(n == b->last_row);
}

static const struct tview *add_last_row(struct pith_plan *plan, uint32_t v)
{
    struct shape row = plan->value[v].shape;
    row.dim[row.rank - 2] = 1;
    return add_extra(plan, v, &row, v);
}

/* args.weight is set where the operator prepares; in[i] then has a shape and no data. */
static void wire_inputs(struct builder *b, uint32_t n, const struct tview **in, struct step *s)
{
    struct pith_plan *plan = b->plan;
    const struct graph_node *node = &plan->graph.nodes[n];
    for (uint32_t i = 0; i < s->args.n_in; i++) {
        uint32_t v = pith_step_input(&plan->graph, b->node, n, i);
        in[i] = v == PITH_NO_VALUE ? NULL : &plan->value[v];
        if (!is_weight_input(b, node, i))
            continue;
        s->args.weight = kept_weight(b, v - plan->graph.n_inputs);
        if (is_read_as_data(b, node, i))
            in[i] = add_extra(plan, v, &plan->value[v].shape, PLAN_NONE);
    }
    if (n == b->last_row)
        in[0] = add_last_row(plan, node->in[0]);
    if (takes_conv_bias(b, n)) {
        uint32_t bias = b->node[n].bias;
        struct shape per_channel = {.rank = 1, .dim = {plan->value[node->first_out].shape.dim[1]}};
        in[2] = add_extra(plan, bias, &per_channel, bias);
    }
}

static const struct tview *view_of(const struct builder *b, uint32_t v)
{
    return v == PITH_NO_VALUE ? NULL : &b->plan->value[v];
}

/* Scale and zero point of each grid stand behind the operator's own inputs (step_inputs.c). */
static void wire_grids(struct builder *b, uint32_t n, struct grid_operand *grid, struct step *s)
{
    const struct graph *g = &b->plan->graph;
    for (uint32_t i = 0; i < s->args.n_grids; i++) {
        uint32_t at = s->args.n_in + 2 * i;
        grid[i].scale = view_of(b, pith_step_input(g, b->node, n, at));
        grid[i].zero = view_of(b, pith_step_input(g, b->node, n, at + 1));
    }
}

static bool is_channels_last(const struct builder *b, uint32_t v)
{
    return v != PITH_NO_VALUE && b->vp[v].channels_last;
}

/* What layout.c decided becomes x_last and y_step, the two numbers that kernels of integers
 * read. */
static void set_layout(const struct builder *b, uint32_t n, struct step *s)
{
    const struct pith_plan *plan = b->plan;
    uint32_t y = b->node[n].out;
    struct op_args *args = &s->args;
    bool y_last = is_channels_last(b, y);
    if (b->node[n].chain != CHAIN_NONE) {
        bool table = is_byte_table(&b->node[n]);
        args->info = table ? &pith_byte_table : &pith_integer_chain;
        args->inner = table ? NULL : s->node->info;
        args->x_last = y_last;
        for (uint32_t i = 0; i < args->n_in; i++)
            args->x_last |= is_channels_last(b, pith_step_input(&plan->graph, b->node, n, i));
    } else if (s->node->info->op == PITH_OP_CONV_INTEGER && b->node[n].requantize != PLAN_NONE) {
        uint32_t x = s->node->in[0];
        args->x_last = is_channels_last(b, x) || pith_layout_is_one(&plan->value[x].shape);
        y_last |= pith_layout_is_one(&plan->value[y].shape);
    }
    args->fuse.residual_last = is_channels_last(b, b->node[n].residual);
    /* Channels from one pixel to the next; more where the pixel lies in a larger one. */
    args->y_step = y_last ? plan->value[y].shape.dim[1] : 0;
    if (b->vp[y].pixel_step)
        args->y_step = b->vp[y].pixel_step;
}

/* A next value in the storage of a state - another one - must be read before any state is
 * written: LoopEnd has the list. A state that is its own next value needs no move. */
static enum pith_status mark_moving_states(struct builder *b, struct step *s)
{
    const struct graph_node *end = s->node;
    uint32_t n = (uint32_t)end->attr[ATTR_LOOP_STATES];
    const uint32_t *state = end->in + (end->attr[ATTR_LOOP_HAS_COND] != 0);
    bool *through_scratch = pith_block_low(&b->block, n, sizeof *through_scratch);
    if (!through_scratch)
        return PITH_ERR_SPACE;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t at;
        uint32_t root = pith_plan_root(b->vp, state[n + i], &at);
        through_scratch[i] = b->vp[root].kind == VALUE_STATE && root != state[i];
    }
    s->args.prep = through_scratch;
    return PITH_OK;
}

/* The operators of a table. PITH_ERR_SPACE. */
static enum pith_status wire_table(struct builder *b, uint32_t n, struct step *s)
{
    const struct graph *g = &b->plan->graph;
    if (!is_byte_table(&b->node[n]))
        return PITH_OK;
    s->args.n_table = (uint8_t)pith_table_ops(g, b->node, n, NULL);
    struct table_op *op = pith_block_low(&b->block, s->args.n_table, sizeof *op);
    s->args.table = op;
    if (!op)
        return PITH_ERR_SPACE;
    pith_table_ops(g, b->node, n, op);
    return PITH_OK;
}

/* Value v lies in a cache in several rows, farther apart than its shape says. */
static bool lies_apart(const struct builder *b, uint32_t v)
{
    return v != PITH_NO_VALUE && b->vp[v].kind == VALUE_CACHE &&
           shape_product(&b->plan->value[v].shape, 0, pith_plan_cache_of(b->plan, v)->axis) > 1;
}

/* How far apart rows of operands are. PITH_ERR_SPACE. */
static enum pith_status wire_room(struct builder *b, struct step *s)
{
    const struct graph_node *node = s->node;
    bool any = false;
    for (uint32_t i = 0; i <= node->n_in; i++) {
        const uint32_t v = i < node->n_in ? node->in[i] : node->first_out;
        any |= lies_apart(b, v);
    }
    if (!any || (node->info->op != PITH_OP_ATTENTION && node->info->op != PITH_OP_CONCAT))
        return PITH_OK;
    uint32_t *room = pith_block_low(&b->block, node->n_in + 1u, sizeof *room);
    if (!room)
        return PITH_ERR_SPACE;
    for (uint32_t i = 0; i <= node->n_in; i++) {
        const uint32_t v = i < node->n_in ? node->in[i] : node->first_out;
        if (lies_apart(b, v))
            room[i] = pith_plan_cache_of(b->plan, v)->room;
    }
    s->args.room = room;
    return PITH_OK;
}

/* info and attr may be another operator's (a MatMul that is a Gemm); node stays what the file
 * has, for its name. */
static enum pith_status add_step(struct builder *b, uint32_t n)
{
    struct pith_plan *plan = b->plan;
    const struct graph_node *node = &plan->graph.nodes[n];
    const struct node_plan *np = &b->node[n];
    struct step *s = &plan->step[plan->n_steps++];
    uint32_t n_in = pith_step_own_inputs(&plan->graph, b->node, n);
    uint32_t n_grids = pith_step_grids(&plan->graph, b->node, n);
    const struct tview **in = pith_block_low(&b->block, n_in, sizeof *in);
    struct grid_operand *grid = pith_block_low(&b->block, n_grids, sizeof *grid);
    struct tview **out = pith_block_low(&b->block, node->n_out, sizeof *out);
    if (!in || !grid || !out)
        return PITH_ERR_SPACE;
    s->node = node;
    s->args = (struct op_args){.info = node->info,
                               .attr = node->attr,
                               .n_in = n_in,
                               .n_out = node->n_out,
                               .in = in,
                               .out = out,
                               .grid = grid,
                               .n_grids = n_grids};
    if (np->as_gemm) {
        s->args.info = pith_op_get(PITH_OP_GEMM);
        s->args.attr = pith_plan_gemm_attr(node);
    }
    s->copies = np->action == NODE_PLACED;
    wire_inputs(b, n, in, s);
    wire_grids(b, n, grid, s);
    set_layout(b, n, s);
    for (uint32_t i = 0; i < node->n_out; i++)
        out[i] = &plan->value[i == 0 ? np->out : node->first_out + i];
    s->args.fuse.act = np->act;
    s->args.fuse.a = np->a;
    s->args.fuse.b = np->b;
    if (np->residual != PLAN_NONE)
        s->args.fuse.residual = &plan->value[np->residual];
    if (PLAN_SEGMENTS && np->segment)
        pith_lanes_split(b, s, in, out);
    if (node->info->op == PITH_OP_LOOP_END)
        return mark_moving_states(b, s);
    if (BUILT_PART(SIZES) && plan->n_caches && wire_room(b, s))
        return PITH_ERR_SPACE;
    return wire_table(b, n, s);
}

/* Partners as steps. They were matched when the graph was read: the stack holds what is open.
 * Depth is bounded by the gate (PITH_MAX_DEPTH). */
static void set_jumps(struct pith_plan *plan)
{
    uint32_t open[PITH_MAX_DEPTH], depth = 0;
    for (uint32_t i = 0; i < plan->n_steps; i++) {
        enum pith_op op = plan->step[i].node->info->op;
        bool closes =
            op == PITH_OP_LOOP_END || op == PITH_OP_BRANCH_ELSE || op == PITH_OP_BRANCH_END;
        if (closes) {
            plan->step[i].jump = open[--depth];
            plan->step[open[depth]].jump = i;
        }
        if (op == PITH_OP_LOOP || op == PITH_OP_BRANCH || op == PITH_OP_BRANCH_ELSE)
            open[depth++] = i;
    }
}

/* ---- needs ---------------------------------------------------------------------------------- */

/* Bytes of constants as this step reads them, and as the file has them. As run() reads them:
 * packed, or as they are. */
static void count_weight_bytes(const struct builder *b, struct step *s, uint64_t prep_bytes)
{
    const struct pith_plan *plan = b->plan;
    const struct graph_node *node = s->node;
    for (uint32_t i = 0; i < node->n_in; i++) {
        if (node->in[i] == PITH_NO_VALUE || !pith_plan_is_constant(&plan->graph, node->in[i]))
            continue;
        s->file_bytes += file_bytes(b, node->in[i]);
        s->weight_bytes +=
            s->args.weight && i == 1 && prep_bytes ? prep_bytes : b->vp[node->in[i]].bytes;
    }
}

/* Bytes of states that go through scratch, all at once. */
static uint64_t moving_bytes(const struct step *s)
{
    const bool *through_scratch = s->args.prep;
    uint32_t n = (uint32_t)s->args.attr[ATTR_LOOP_STATES];
    const struct tview *const *state = s->args.in + (s->args.attr[ATTR_LOOP_HAS_COND] != 0);
    uint64_t bytes = 0; /* n <= MAX_VALUES of 2^43 bytes */
    for (uint32_t i = 0; i < n; i++)
        if (through_scratch[i])
            bytes += shape_elems(&state[i]->shape) * pith_type_bytes(state[i]->type);
    return bytes;
}

/* So that no sum over the steps of a plan overflows. */
#define MAX_MACS (UINT64_C(1) << 47)

/* Of all iterations. A loop that nothing but data ends is counted as one. For reports and for
 * pith bench only. */
static uint64_t macs_of_run(const struct graph *g, const struct graph_node *node, uint64_t macs)
{
    macs = macs > MAX_MACS ? MAX_MACS : macs;
    for (uint32_t o = node->region; o != PITH_NO_NODE; o = g->nodes[o].region) {
        if (g->nodes[o].info->op != PITH_OP_LOOP)
            continue;
        uint32_t trips = (uint32_t)g->nodes[o].attr[ATTR_LOOP_TRIPS];
        if (trips == INT32_MAX)
            continue;
        macs = macs > MAX_MACS / trips ? MAX_MACS : macs * trips;
    }
    return macs;
}

/* A weight has few forms; a file that needs more gets some of them several times. */
#define MAX_FORMS 8u

/* The step that prepares what step i, which needs `form`, would; PLAN_NONE: none yet. Forms are
 * numbers of what is made, so equal forms of equal size of one weight are equal bytes. */
static uint32_t find_prepared(const struct builder *b, uint32_t i, uint64_t form)
{
    const struct weight *w = b->plan->step[i].args.weight;
    uint32_t at = form && w ? b->prep_of[w - b->plan->weight] : 0;
    for (uint32_t n = 0; at != 0 && n < MAX_FORMS; n++) {
        const struct step_need *sn = &b->step_need[at - 1];
        if (b->plan->step[at - 1].prep_form == form && sn->prep_bytes == b->step_need[i].prep_bytes)
            return at - 1;
        at = sn->prep_before;
    }
    return PLAN_NONE;
}

/* Whether step o of another plan prepared what step s needs. */
static bool is_prepared(const struct pith_plan *plan, const struct step *s,
                        const struct pith_plan *other, const struct step *o)
{
    return o->prep_form == s->prep_form && o->packed_bytes == s->packed_bytes && o->args.weight &&
           other->weight_value[o->args.weight - other->weight] ==
               plan->weight_value[s->args.weight - plan->weight];
}

/* What opts.weights_of has made of the weight of step i; NULL: nothing of this form. Plans for
 * other sizes have mostly the same steps, so step i is tried first. */
static void *prepared_there(const struct pith_plan *plan, uint32_t i)
{
    const struct step *s = &plan->step[i];
    const struct pith_plan *other = s->args.weight && s->prep_form ? weights_elsewhere(plan) : NULL;
    for (; other; other = other->opts.weights_of) {
        if (i < other->n_steps && is_prepared(plan, s, other, &other->step[i]))
            return other->step[i].args.prep;
        for (uint32_t k = 0; k < other->n_steps; k++)
            if (is_prepared(plan, s, other, &other->step[k]))
                return other->step[k].args.prep;
    }
    return NULL;
}

/* A place for what step i prepares, or that of the same. Steps that read one weight form a list
 * through prep_before, newest first. */
static enum pith_status place_prep(struct builder *b, uint32_t i)
{
    struct step_need *sn = &b->step_need[i];
    struct step *s = &b->plan->step[i];
    const struct weight *w = s->args.weight;
    void *there = prepared_there(b->plan, i);
    if (there) {
        s->args.prep = there;
        s->shares_prep = true;
        sn->prep_bytes = 0;
        return PITH_OK;
    }
    uint32_t same = find_prepared(b, i, s->prep_form);
    if (same != PLAN_NONE) {
        sn->prep_at = b->step_need[same].prep_at;
        s->shares_prep = true;
        return PITH_OK;
    }
    if (w) {
        uint32_t *last = &b->prep_of[w - b->plan->weight];
        sn->prep_before = *last;
        *last = i + 1;
    }
    return reserve(b, sn->prep_bytes, &sn->prep_at);
}

/* Fills args.lowered and what the step needs. choices come from a plan file: 0 where
 * there is none, and an operator may refuse one. */
static enum pith_status lower(struct builder *b, struct step *s, const struct op_env *env,
                              struct op_need *need)
{
    const struct pith_opts *o = &b->plan->opts;
    uint32_t bytes = op_lowered_bytes(&s->args, env), i = (uint32_t)(s - b->plan->step);
    const struct op_need before = *need;
    s->args.choice = i < o->n_choices ? o->choices[i] : 0;
    if (bytes)
        s->args.lowered = pith_block_low(&b->block, 1, bytes);
    if (bytes && !s->args.lowered)
        return PITH_ERR_SPACE;
    if (!s->args.info->need)
        return PITH_OK;
    enum pith_status st = s->args.info->need(&s->args, env, need);
    if (st != PITH_ERR_CORRUPT || !s->args.choice || !(o->flags & PITH_FLAG_TRY_CHOICES))
        return st;
    s->args.choice = 0;
    *need = before;
    if (bytes)
        memset(s->args.lowered, 0, bytes);
    return s->args.info->need(&s->args, env, need);
}

/* Constants, and what is left out. Views of their own are of constants (struct extra_view). */
static bool is_constant_view(const struct builder *b, const struct tview *t)
{
    uint64_t unused;
    uint32_t v = t ? pith_plan_value_of(b->plan, t) : PLAN_NONE;
    return v == PLAN_NONE || b->vp[pith_plan_root(b->vp, v, &unused)].kind == VALUE_CONST;
}

/* Output 0 may lie over input 0 where that dies: all else that the step reads is constant. */
static void write_late(struct builder *b, const struct step *s)
{
    const struct op_args *args = &s->args;
    uint32_t out = pith_plan_value_of(b->plan, args->out[0]);
    struct value_plan *p = &b->vp[out];
    bool alone = !args->fuse.residual && !b->plan->opts.observe;
    for (uint32_t i = 1; i < args->n_in; i++)
        alone &= is_constant_view(b, args->in[i]);
    for (uint32_t i = 0; i < args->n_grids; i++)
        alone &=
            is_constant_view(b, args->grid[i].scale) && is_constant_view(b, args->grid[i].zero);
    p->late = alone && p->kind == VALUE_TEMP && p->parent == out &&
              p->first == node_time((uint32_t)(s->node - b->plan->graph.nodes));
}

/* need() is called once, when all pointers but data are set; its result is kept in the step. */
static enum pith_status query_need(struct builder *b, uint32_t i)
{
    struct step *s = &b->plan->step[i];
    const struct segment *segment = plan_segment(b->plan, s);
    struct op_env env = plan_env(b->plan, NULL);
    if (segment && segment->lanes > 1)
        env.parallel_for = NULL; /* a lane is one thread's */
    struct op_need need = {.kernel = s->copies ? "copy" : "ref"};
    enum pith_status st = PITH_OK;
    if (!s->copies)
        st = lower(b, s, &env, &need);
    if (st)
        return st;
    s->kernel = need.kernel;
    s->reads_rows = need.reads_rows;
    s->choice = need.choice;
    s->macs = macs_of_run(&b->plan->graph, s->node, need.macs);
    if (segment)
        s->macs = s->macs > MAX_MACS / segment->n_groups ? MAX_MACS : s->macs * segment->n_groups;
    if (s->node->info->op == PITH_OP_LOOP_END)
        need.scratch_bytes = moving_bytes(s);
    count_weight_bytes(b, s, need.prep_bytes);
    struct step_need *sn = &b->step_need[i];
    sn->prep_bytes = s->packed_bytes = need.prep_bytes;
    s->scratch_bytes = need.scratch_bytes;
    s->prep_form = need.prep_form;
    raise(&b->scratch_bytes, need.scratch_bytes);
    if (need.writes_last)
        write_late(b, s);
    enum pith_status placed = need.prep_bytes ? place_prep(b, i) : PITH_OK;
    if (!s->shares_prep)
        raise(&b->fill_bytes, need.prep_scratch_bytes);
    return placed;
}

/* Where the table of nodes was, whose content the steps now hold: it is the last that was taken
 * from above. */
static enum pith_status take_step_need(struct builder *b)
{
    b->block.high = (uint64_t)((uint8_t *)b->vp - b->block.mem);
    b->node = NULL;
    b->step_need = pith_block_high(&b->block, b->plan->n_steps, sizeof *b->step_need);
    return b->step_need ? PITH_OK : PITH_ERR_SPACE;
}

/* Tables from below outlive planning, step_need and what comes behind it from above do not. */
enum pith_status pith_build_steps(struct builder *b)
{
    struct pith_plan *plan = b->plan;
    const struct graph *g = &plan->graph;
    enum pith_status st = store_constants(b);
    if (st)
        return st;
    uint32_t n_steps = 0, n_extra = 0;
    for (uint32_t n = 0; n < g->n_nodes; n++)
        if (needs_step(b, n)) {
            n_steps++;
            n_extra += count_extras(b, n);
        }
    plan->step = pith_block_low(&b->block, n_steps, sizeof *plan->step);
    plan->extra = pith_block_low(&b->block, n_extra, sizeof *plan->extra);
    if (!plan->step || !plan->extra)
        return PITH_ERR_SPACE;
    st = PLAN_SEGMENTS ? pith_lanes_reserve(b) : PITH_OK;
    for (uint32_t n = 0; n < g->n_nodes && !st; n++)
        if (needs_step(b, n))
            st = add_step(b, n);
    if (!st)
        st = take_step_need(b);
    for (uint32_t i = 0; i < plan->n_steps && !st; i++)
        st = query_need(b, i);
    if (!st)
        set_jumps(plan);
    if (!st && PLAN_SEGMENTS)
        pith_plan_pairs(b);
    return st || !PLAN_SEGMENTS ? st : pith_lanes_copy(b);
}
