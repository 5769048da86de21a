/* SPDX-License-Identifier: MIT */
/* device_join.c - a product of integers and the Requantize behind it become one kernel: sums then
 * stay in registers, and a fourth of the bytes is written. The planner joins them for the CPU alone
 * (device_integer.c), so it is seen here, from the finished steps. */
#include "device_lower.h"

static bool reads(const struct op_args *args, const struct tview *t)
{
    bool found = args->fuse.residual == t;
    for (uint32_t i = 0; i < args->n_in; i++)
        found = found || args->in[i] == t;
    for (uint32_t i = 0; i < args->n_grids; i++)
        found = found || args->grid[i].scale == t || args->grid[i].zero == t;
    return found;
}

/* Whether step i + 1 alone reads t. Outputs of the graph are read by the caller. */
static bool is_its_own(const struct pith_plan *plan, uint32_t i, const struct tview *t)
{
    for (uint32_t k = 0; k < plan->graph.n_outputs; k++)
        if (&plan->value[plan->graph.outputs[k]] == t)
            return false;
    for (uint32_t k = 0; k < plan->n_extra; k++)
        if (plan->extra[k].value < plan->graph.n_values && &plan->value[plan->extra[k].value] == t)
            return false;
    for (uint32_t k = 0; k < plan->n_steps; k++)
        if (k != i + 1 && reads(&plan->step[k].args, t))
            return false;
    return true;
}

static bool overlap(const struct tview *a, const struct tview *b)
{
    uintptr_t at = (uintptr_t)a->data, other = (uintptr_t)b->data;
    return at < other + shape_elems(&b->shape) * pith_type_bytes(b->type) &&
           other < at + shape_elems(&a->shape) * pith_type_bytes(a->type);
}

bool pith_device_is_apart(const struct op_args *product, const struct tview *y)
{
    for (uint32_t i = 0; i < product->n_in; i++)
        if (product->in[i] && product->in[i]->data && overlap(product->in[i], y))
            return false;
    return true;
}

static bool is_byte(const struct tview *t)
{
    return t->type == PITH_I8 || t->type == PITH_U8;
}

const struct step *pith_device_behind(const struct pith_plan *plan, uint32_t i)
{
    const struct step *s = &plan->step[i], *next = s + 1;
    const enum pith_op op = s->args.info->op;
    if ((op != PITH_OP_CONV_INTEGER && op != PITH_OP_MATMUL_INTEGER) || i + 1 == plan->n_steps ||
        next->args.info->op != PITH_OP_REQUANTIZE || next->copies)
        return NULL;
    const struct tview *sums = s->args.out[0], *y = next->args.out[0];
    bool can = next->args.in[0] == sums && sums->type == PITH_I32 && is_byte(y) &&
               is_its_own(plan, i, sums) &&
               (pith_device_is_apart(&s->args, y) || !overlap(sums, y));
    return can ? next : NULL;
}
