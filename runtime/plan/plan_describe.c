/* SPDX-License-Identifier: MIT */
/* plan_describe.c - queries of a plan: its inputs and outputs, its steps, and where what
 * a step reads and writes lies.
 *
 * What is reported here is what run() reads: views of values, steps and addresses, not a second
 * record of decisions. `pith info --plan`, observers and tests stand on it. */
#include "plan/run_pair.h"

/* Words of activations, in the order of enum act_kind. */
static const char *activation_of(const struct step *s)
{
    static const char *const names[] = {NULL,      "relu",      "clip",         "leaky-relu",
                                        "sigmoid", "tanh",      "hard-sigmoid", "hard-swish",
                                        "gelu",    "gelu-tanh", "swish"};
    return names[s->args.fuse.act];
}

/* Names point into the image and end where name_bytes says. */
void pith_describe_layer(const struct pith_plan *plan, const struct step *s,
                         struct pith_layer *layer)
{
    const struct segment *segment = plan_segment(plan, s);
    *layer = (struct pith_layer){
        .name = s->node->name.bytes ? s->node->name.text : "",
        .name_bytes = s->node->name.bytes,
        .op = (uint32_t)s->node->info->op,
        .kernel = s->kernel,
        .macs = s->macs,
        .weight_bytes = s->weight_bytes,
        .file_bytes = s->file_bytes,
        .ns = s->ns,
        .step = (uint32_t)(s - plan->step),
        .activation = activation_of(s),
        .choice = s->choice,
        .segment = s->segment,
        .group = segment ? segment->group : 0,
        .lanes = segment    ? segment->lanes
                 : s->pairs ? plan_threads(&plan->opts)
                            : 0,
        .band_rows = s->pairs ? s->band_rows : 0,
        .decodes = s->reads_rows,
    };
}

/* scale 1 and zero point 0 stand for a tensor that is no quantized value. */
void pith_describe_tensor(const struct tview *t, const struct graph_name *name,
                          struct pith_tensor *out)
{
    *out = (struct pith_tensor){
        .name = name->bytes ? name->text : "",
        .name_bytes = name->bytes,
        .type = t->type,
        .rank = t->shape.rank,
        .bytes = (uint64_t)shape_elems(&t->shape) * pith_type_bytes(t->type),
        .data = t->data,
        .scale = 1.0f,
    };
    memcpy(out->dim, t->shape.dim, sizeof out->dim);
}

/* The accessors are thin so that callers need not know struct pith_plan. */
uint32_t pith_plan_input_count(const struct pith_plan *plan)
{
    if (!plan)
        return 0;
    return plan->graph.n_inputs;
}

uint32_t pith_plan_output_count(const struct pith_plan *plan)
{
    if (!plan)
        return 0;
    return plan->graph.n_outputs;
}

enum pith_status pith_plan_input(const struct pith_plan *plan, uint32_t i, struct pith_tensor *t)
{
    if (!plan || !t)
        return PITH_ERR_ARGUMENT;
    if (i >= plan->graph.n_inputs)
        return PITH_ERR_ARGUMENT;
    pith_describe_tensor(&plan->value[i], &plan->graph.inputs[i].name, t);
    return PITH_OK;
}

enum pith_status pith_plan_output(const struct pith_plan *plan, uint32_t i, struct pith_tensor *t)
{
    if (!plan || !t)
        return PITH_ERR_ARGUMENT;
    if (i >= plan->graph.n_outputs)
        return PITH_ERR_ARGUMENT;
    pith_describe_tensor(&plan->value[plan->graph.outputs[i]], &plan->graph.output_names[i], t);
    return PITH_OK;
}

void *pith_plan_input_data(struct pith_plan *plan, uint32_t i)
{
    if (!plan)
        return NULL;
    return i < plan->graph.n_inputs ? plan->value[i].data : NULL;
}

const void *pith_plan_output_data(const struct pith_plan *plan, uint32_t i)
{
    if (!plan)
        return NULL;
    return i < plan->graph.n_outputs ? plan->value[plan->graph.outputs[i]].data : NULL;
}

uint32_t pith_plan_layer_count(const struct pith_plan *plan)
{
    if (!plan)
        return 0;
    return plan->n_steps;
}

enum pith_status pith_plan_layer(const struct pith_plan *plan, uint32_t i, struct pith_layer *layer)
{
    if (!plan || !layer)
        return PITH_ERR_ARGUMENT;
    if (i >= plan->n_steps)
        return PITH_ERR_ARGUMENT;
    pith_describe_layer(plan, &plan->step[i], layer);
    return PITH_OK;
}

/* ---- operands ------------------------------------------------------------------------------- */

/* By address: operands are pointers into the array of values, or views of their own. */
uint32_t pith_plan_value_of(const struct pith_plan *plan, const struct tview *t)
{
    uint32_t i;
    if (plan_lane_view(plan, t, &i))
        return plan->view[i].value;
    uintptr_t at = (uintptr_t)t, first = (uintptr_t)plan->value;
    uintptr_t bytes = (uintptr_t)plan->graph.n_values * sizeof *plan->value;
    return at >= first && at - first < bytes ? (uint32_t)((at - first) / sizeof *plan->value)
                                             : PLAN_NONE;
}

/* Of inputs and constants, which have names of their own, and of what a node gives: the node's.
 * Linear, since only people and tests use it. The unsigned differences are below the
 * counts just for numbers in range. */
static struct graph_name name_of(const struct pith_plan *plan, uint32_t v)
{
    const struct graph *g = &plan->graph;
    if (v < g->n_inputs)
        return g->inputs[v].name;
    if (v - g->n_inputs < g->n_weights)
        return g->weight_names[v - g->n_inputs];
    for (uint32_t n = 0; n < g->n_nodes && v != PLAN_NONE; n++)
        if (v - g->nodes[n].first_out < g->nodes[n].n_out)
            return g->nodes[n].name;
    return (struct graph_name){0};
}

/* Is p one of the n bytes at `first`? *offset: which. As integers: comparing pointers into
 * different objects is undefined in C. */
static bool lies_in(const void *p, const void *first, uint64_t n, uint64_t *offset)
{
    uintptr_t at = (uintptr_t)p - (uintptr_t)first;
    if (!p || (uintptr_t)p < (uintptr_t)first || at >= n)
        return false;
    *offset = at;
    return true;
}

/* The image may lie inside of other memory, so the arena is tested first. */
static void find_place(const struct pith_plan *plan, const void *p, struct pith_operand *o)
{
    const struct {
        enum pith_place place;
        const uint8_t *at;
        uint64_t bytes;
    } region[] = {{PITH_PLACE_ARENA, plan->arena, plan->arena_bytes},
                  {PITH_PLACE_IMAGE, plan->image, plan->image_bytes},
                  {PITH_PLACE_WEIGHTS, plan->weights, plan->weights_bytes}};
    o->place = PITH_PLACE_NONE;
    o->offset = 0;
    for (uint32_t i = 0; i < sizeof region / sizeof *region && !o->place; i++)
        if (lies_in(p, region[i].at, region[i].bytes, &o->offset))
            o->place = region[i].place;
}

static void describe_view(const struct pith_plan *plan, const struct tview *t,
                          struct pith_operand *o)
{
    struct graph_name name = name_of(plan, pith_plan_value_of(plan, t));
    pith_describe_tensor(t, &name, &o->tensor);
    find_place(plan, plan_data_of(plan, t), o);
}

/* Memory without a shape: what a kernel made of a weight, and scratch. It has an address and a
 * size, nothing more to say. */
static void describe_memory(const struct pith_plan *plan, const void *p, uint64_t bytes,
                            struct pith_operand *o)
{
    o->tensor = (struct pith_tensor){.name = "", .bytes = bytes, .scale = 1.0f};
    find_place(plan, p, o);
}

/* Scale (place 0) or zero point (1) of grid `grid`; false: it has none. Of a chain on bytes
 * grids are numbered by inputs, then the output; of a product by what was fused (enum
 * product_grid). */
static bool describe_grid(const struct pith_plan *plan, const struct step *s, uint32_t grid,
                          uint32_t place, struct pith_operand *o)
{
    static const char *const of_product[] = {"result", "summand", "residual", "sum"};
    const struct grid_operand *g = &s->args.grid[grid];
    const struct tview *t = place ? g->zero : g->scale;
    if (!t)
        return false;
    o->role = place ? PITH_ROLE_ZERO_POINT : PITH_ROLE_SCALE;
    o->index = s->args.inner && grid < s->args.n_in ? grid : 0;
    o->of = !s->args.inner ? of_product[grid] : grid < s->args.n_in ? "input" : "output";
    describe_view(plan, t, o);
    return true;
}

/* Operands are numbered in one row: inputs, grids, residual, packed weight, scratch, outputs. i
 * is counted down along it, so no list has to be kept. */
enum pith_status pith_plan_operand(const struct pith_plan *plan, uint32_t step, uint32_t i,
                                   struct pith_operand *operand)
{
    if (!plan || !operand)
        return PITH_ERR_ARGUMENT;
    if (step >= plan->n_steps)
        return PITH_ERR_ARGUMENT;
    const struct step *s = &plan->step[step];
    struct pith_operand o = {.role = PITH_ROLE_INPUT, .index = i};
    for (uint32_t k = 0; k < s->args.n_in; k++)
        if (s->args.in[k] && i-- == 0) {
            o.index = k;
            o.channels_last = s->args.x_last && pith_type_bytes(s->args.in[k]->type) == 1;
            describe_view(plan, s->args.in[k], &o);
            *operand = o;
            return PITH_OK;
        }
    for (uint32_t k = 0; k < 2 * s->args.n_grids; k++)
        if (describe_grid(plan, s, k / 2, k % 2, &o) && i-- == 0) {
            *operand = o;
            return PITH_OK;
        }
    o = (struct pith_operand){.role = PITH_ROLE_INPUT};
    if (s->args.fuse.residual && i-- == 0) {
        o.role = PITH_ROLE_RESIDUAL;
        o.channels_last = s->args.fuse.residual_last;
        describe_view(plan, s->args.fuse.residual, &o);
    } else if (s->packed_bytes && i-- == 0) {
        o.role = PITH_ROLE_PACKED;
        describe_memory(plan, s->args.prep, s->packed_bytes, &o);
    } else if (s->scratch_bytes && i-- == 0) {
        o.role = PITH_ROLE_SCRATCH;
        describe_memory(plan, s->scratch, s->scratch_bytes, &o);
    } else if (i < s->args.n_out) {
        o.role = PITH_ROLE_OUTPUT;
        o.index = i;
        o.channels_last = i == 0 && s->args.y_step != 0;
        describe_view(plan, s->args.out[i], &o);
    } else {
        return PITH_ERR_ARGUMENT;
    }
    *operand = o;
    return PITH_OK;
}
