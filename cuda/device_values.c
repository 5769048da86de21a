/* SPDX-License-Identifier: MIT */
/* device_values.c - values of 16 bits between steps.
 *
 * A value in 16 bits lies in memory of its own kind, at half the offset that it has in the arena:
 * what shares memory on the host shares it there, and f32 and 16 bits never do. Kernels that move
 * bytes, and those whose struct has types, take either; for others values are converted before and
 * behind the step. Values of such a step, inputs and outputs of the network stay f32 where no view
 * of them exists: the planner drops steps that would only rename memory, so that nothing could
 * convert between a value and its view. */
#include <stdlib.h>
#include "device_product.h"
#include "op_interface/op_attr.h"

static bool is_float(const struct lowering *l, const struct tview *t)
{
    return t && t->data && t->type == PITH_F32 && !pith_device_is_constant(l, t);
}

/* ---- which values -----------------------------------------------------------------------------
 */

/* One type for all weights of a network: tensor cores multiply numbers of one type. Integers, loops
 * and branches go with f32 as before. */
static uint32_t type_of_values(const struct pith_plan *plan)
{
    uint32_t bf16 = 0, others = 0;
    for (uint32_t i = 0; i < plan->n_steps; i++) {
        const struct step *s = &plan->step[i];
        if (s->args.info->flags & OP_CONTROL || pith_device_is_op(s, PITH_OP_CONV_INTEGER) ||
            pith_device_is_op(s, PITH_OP_MATMUL_INTEGER))
            return VALUE_F32;
        bf16 += s->args.weight && s->args.weight->type == PITH_BF16;
        others += s->args.weight && s->args.weight->type != PITH_BF16;
    }
    return bf16 && others ? VALUE_F32 : bf16 ? VALUE_BF16 : others ? VALUE_F16 : VALUE_F32;
}

static bool is_written(const struct pith_plan *plan, const struct tview *t)
{
    for (uint32_t i = 0; i < plan->n_steps; i++)
        for (uint32_t k = 0; k < plan->step[i].args.n_out; k++)
            if (plan->step[i].args.out[k] == t)
                return true;
    return (uintptr_t)t >= (uintptr_t)plan->value && t < plan->value + plan->graph.n_inputs;
}

/* What no step writes is a view of what it overlaps. */
static bool has_views(const struct lowering *l, const struct tview *t)
{
    const struct pith_plan *plan = l->plan;
    bool found = !is_written(plan, t);
    for (uint32_t i = 0; i < plan->graph.n_values && !found; i++) {
        const struct tview *other = &plan->value[i];
        found = other != t && other->data && !pith_device_is_constant(l, other) &&
                pith_device_overlap(other, t) && !is_written(plan, other);
    }
    for (uint32_t i = 0; i < plan->n_extra && !found; i++)
        found = plan->extra[i].view.data && pith_device_overlap(&plan->extra[i].view, t);
    return found;
}

static bool stays_f32(const struct lowering *l, const struct tview *t)
{
    for (uint32_t i = 0; i < l->n_floats; i++)
        if (l->floats[i] == t)
            return true;
    return false;
}

static void keep_f32(struct lowering *l, const struct tview *t)
{
    if (is_float(l, t) && !stays_f32(l, t) && !has_views(l, t))
        l->floats[l->n_floats++] = t;
}

bool pith_device_find_values(struct lowering *l)
{
    const struct pith_plan *plan = l->plan;
    const struct graph *g = &plan->graph;
    l->values = l->half ? type_of_values(plan) : VALUE_F32;
    if (l->values == VALUE_F32)
        return true;
    l->floats = calloc(g->n_values + 1u, sizeof *l->floats);
    if (!l->floats)
        return false;
    for (uint32_t i = 0; i < g->n_inputs; i++)
        keep_f32(l, &plan->value[i]);
    for (uint32_t i = 0; i < g->n_outputs; i++)
        keep_f32(l, &plan->value[g->outputs[i]]);
    for (uint32_t i = 0; i < plan->n_steps; i++) {
        const struct op_args *args = &plan->step[i].args;
        if (!pith_device_needs_f32(&plan->step[i]))
            continue;
        for (uint32_t k = 0; k < args->n_in; k++)
            keep_f32(l, args->in[k]);
        for (uint32_t k = 0; k < args->n_out; k++)
            keep_f32(l, args->out[k]);
    }
    return true;
}

/* ---- conversions -------------------------------------------------------------------------------
 */

uint32_t pith_device_type(const struct lowering *l, const struct tview *t)
{
    const struct device_converted *converted = pith_device_converted(l, t);
    if (converted)
        return converted->type;
    const struct device_place *place = pith_device_place(l, t);
    t = place ? place->whole : t;
    return l->values && is_float(l, t) && !stays_f32(l, t) ? l->values : VALUE_F32;
}

uint32_t pith_device_each(const struct lowering *l, const struct tview *t)
{
    return pith_device_type(l, t) == VALUE_F32 ? pith_type_bytes(t->type) : 2u;
}

static void convert(struct lowering *l, uint32_t n, const void *x, uint32_t x_type, void *y,
                    uint32_t y_type)
{
    const struct map_args m = {
        .x = x, .y = y, .x_type = x_type, .y_type = y_type, .n = n, .kind = ACT_NONE};
    pith_device_launch(l, LAUNCH_map_f32, n, &m, sizeof m);
}

static void *room_for(struct lowering *l, const struct tview *t, uint32_t type)
{
    const uint64_t bytes = (uint64_t)pith_device_count(t) * (type == VALUE_F32 ? 4u : 2u);
    void *at = pith_device_work(l, 0, bytes);
    l->converted_bytes += (bytes + 255) & ~UINT64_C(255);
    return at;
}

void *pith_device_as(struct lowering *l, const struct tview *t, uint32_t type)
{
    const uint32_t own = pith_device_type(l, t);
    if (own == type || t->type != PITH_F32)
        return pith_device_data(l, t);
    if (pith_device_is_constant(l, t))
        return pith_device_rounded(l, t, type);
    const void *from = pith_device_data(l, t);
    void *to = room_for(l, t, type);
    convert(l, pith_device_count(t), from, own, to, type);
    return to;
}

static void convert_for_step(struct lowering *l, const struct tview *t, uint32_t type, bool is_read)
{
    if (!t || !t->data || t->type != PITH_F32 || pith_device_type(l, t) == type)
        return;
    void *at = is_read ? pith_device_as(l, t, type) : room_for(l, t, type);
    pith_device_add_converted(l, &(struct device_converted){t, at, type});
}

bool pith_device_in(struct lowering *l, const struct step *s, lower_fn *lower, uint32_t type)
{
    const struct op_args *args = &s->args;
    const uint32_t before = l->n_converted;
    for (uint32_t i = 0; i < args->n_in; i++)
        convert_for_step(l, args->in[i], type, true);
    convert_for_step(l, args->fuse.residual, type, true);
    const uint32_t outputs = l->n_converted;
    for (uint32_t i = 0; i < args->n_out; i++)
        convert_for_step(l, args->out[i], type, false);
    const uint32_t end = l->n_converted;
    const bool done = lower(l, s);
    l->n_converted = before;
    for (uint32_t i = outputs; done && i < end; i++) {
        const struct device_converted o = l->converted[i];
        convert(l, pith_device_count(o.t), o.at, type, pith_device_data(l, o.t),
                pith_device_type(l, o.t));
    }
    return done;
}

/* An end in 16 bits has its floats in the arena. */
void pith_device_convert_ends(struct lowering *l, bool outputs)
{
    const struct graph *g = &l->plan->graph;
    for (uint32_t i = 0; i < (outputs ? g->n_outputs : g->n_inputs); i++) {
        const struct tview *t = &l->plan->value[outputs ? g->outputs[i] : i];
        const uint32_t type = pith_device_type(l, t);
        if (type == VALUE_F32)
            continue;
        void *own = pith_device_data(l, t), *end = pith_device_in_arena(l, t);
        convert(l, pith_device_count(t), outputs ? own : end, outputs ? type : VALUE_F32,
                outputs ? end : own, outputs ? VALUE_F32 : type);
    }
}
