/* SPDX-License-Identifier: MIT */
/* device_join.c - a product of integers and steps behind it become one kernel: the Requantize, so
 * that sums stay in registers and a fourth of the bytes is written; and where that is a residual's
 * end, the addition of the other branch in f32, whose steps read and write some 35 bytes an
 * element. The planner joins them for the CPU alone (device_integer.c), so they are found here,
 * from the finished steps. Values have the bits that the steps would give one by one. */
#include "device_lower.h"
#include "op_interface/op_attr.h"

bool pith_device_reads(const struct op_args *args, const struct tview *t)
{
    bool found = args->fuse.residual == t;
    for (uint32_t i = 0; i < args->n_in; i++)
        found = found || args->in[i] == t;
    for (uint32_t i = 0; i < args->n_grids; i++)
        found = found || args->grid[i].scale == t || args->grid[i].zero == t;
    return found;
}

/* Outputs of the graph are read by the caller. */
bool pith_device_is_end(const struct pith_plan *plan, const struct tview *t)
{
    for (uint32_t k = 0; k < plan->graph.n_outputs; k++)
        if (&plan->value[plan->graph.outputs[k]] == t)
            return true;
    for (uint32_t k = 0; k < plan->n_extra; k++)
        if (plan->extra[k].value < plan->graph.n_values && &plan->value[plan->extra[k].value] == t)
            return true;
    return false;
}

bool pith_device_is_its_own(const struct pith_plan *plan, const struct step *reader,
                            const struct tview *t)
{
    if (pith_device_is_end(plan, t))
        return false;
    for (uint32_t k = 0; k < plan->n_steps; k++)
        if (&plan->step[k] != reader && pith_device_reads(&plan->step[k].args, t))
            return false;
    return true;
}

bool pith_device_overlap(const struct tview *a, const struct tview *b)
{
    uintptr_t at = (uintptr_t)a->data, other = (uintptr_t)b->data;
    return at < other + shape_elems(&b->shape) * pith_type_bytes(b->type) &&
           other < at + shape_elems(&a->shape) * pith_type_bytes(a->type);
}

static bool is_within(const struct op_args *args, uint32_t first, const struct tview *y)
{
    for (uint32_t i = first; i < args->n_in; i++)
        if (args->in[i] && args->in[i]->data && pith_device_overlap(args->in[i], y))
            return true;
    return false;
}

/* An element of the other branch may lie where its sum goes: the thread that writes has read it. */
bool pith_device_is_apart(const struct op_args *product, const struct device_join *j)
{
    const struct tview *y = j->last->args.out[0];
    const struct tview *x = j->own ? j->other->args.in[0] : NULL;
    return !is_within(product, 0, y) && (!x || x->data == y->data || !pith_device_overlap(x, y));
}

bool pith_device_is_byte(const struct tview *t)
{
    return t->type == PITH_I8 || t->type == PITH_U8;
}

bool pith_device_is_op(const struct step *s, enum pith_op op)
{
    return s->args.info->op == op && !s->copies;
}

/* With one scale, from or to bytes. */
static bool is_plain_scale(const struct step *s, enum pith_op op, const struct tview *bytes)
{
    return pith_device_is_op(s, op) && pith_device_is_byte(bytes) &&
           s->args.attr[ATTR_QUANTIZE_BLOCK] == 0 && shape_elems(&s->args.in[1]->shape) == 1;
}

static bool is_short_act(const struct step *s)
{
    return pith_device_is_op(s, PITH_OP_RELU) || pith_device_is_op(s, PITH_OP_CLIP) ||
           pith_device_is_op(s, PITH_OP_LEAKY_RELU);
}

static bool same_size(const struct tview *a, const struct tview *b)
{
    return shape_elems(&a->shape) == shape_elems(&b->shape);
}

/* The steps from `s` on, up to `end`, that add something to bytes v. n 0: they do not. */
static struct device_join residual_of(const struct pith_plan *plan, const struct step *s,
                                      const struct step *end, const struct tview *v)
{
    struct device_join j = {.n = 0}, none = {.n = 0};
    if (end - s < 4)
        return none;
    const struct step *add = s + 2;
    j.own = s[0].args.in[0] == v ? s : s + 1;
    j.other = j.own == s ? s + 1 : s;
    j.act = is_short_act(s + 3) ? s + 3 : NULL;
    j.last = j.quantize = j.act ? s + 4 : s + 3;
    if (j.quantize >= end || !pith_device_is_op(add, PITH_OP_ADD) ||
        add->args.fuse.act != ACT_NONE || add->args.fuse.residual ||
        !is_plain_scale(s, PITH_OP_DEQUANTIZE, s->args.in[0]) ||
        !is_plain_scale(s + 1, PITH_OP_DEQUANTIZE, s[1].args.in[0]) ||
        !is_plain_scale(j.quantize, PITH_OP_QUANTIZE, j.quantize->args.out[0]))
        return none;
    const struct tview *a = j.own->args.out[0], *b = j.other->args.out[0];
    const struct tview *sum = add->args.out[0], *y = j.last->args.out[0];
    const struct tview *mapped = j.act ? j.act->args.out[0] : sum;
    bool added = (add->args.in[0] == a && add->args.in[1] == b) ||
                 (add->args.in[0] == b && add->args.in[1] == a);
    bool chained = j.own->args.in[0] == v && j.other->args.in[0] != v && added &&
                   (!j.act || j.act->args.in[0] == sum) && j.quantize->args.in[0] == mapped &&
                   pith_device_is_its_own(plan, j.own, v) && pith_device_is_its_own(plan, add, a) &&
                   pith_device_is_its_own(plan, add, b) &&
                   pith_device_is_its_own(plan, s + 3, sum) &&
                   pith_device_is_its_own(plan, j.quantize, mapped);
    bool sized = same_size(a, v) && same_size(b, v) && same_size(sum, v) && same_size(y, v);
    bool apart = !is_within(&j.own->args, 1, y) && !is_within(&j.other->args, 1, y) &&
                 !is_within(&j.quantize->args, 1, y);
    j.n = chained && sized && apart ? (uint32_t)(j.last - s) + 1 : 0;
    return j.n ? j : none;
}

/* Where the bytes written last would overwrite what the product reads, they must not go where the
 * sums are either. */
static bool has_place(const struct step *product, const struct device_join *j)
{
    return pith_device_is_apart(&product->args, j) ||
           !pith_device_overlap(product->args.out[0], j->last->args.out[0]);
}

struct device_join pith_device_behind(const struct pith_plan *plan, uint32_t i)
{
    const struct step *s = &plan->step[i], *next = s + 1, *end = plan->step + plan->n_steps;
    struct device_join none = {.n = 0};
    if ((!pith_device_is_op(s, PITH_OP_CONV_INTEGER) &&
         !pith_device_is_op(s, PITH_OP_MATMUL_INTEGER)) ||
        next == end || !pith_device_is_op(next, PITH_OP_REQUANTIZE))
        return none;
    const struct tview *sums = s->args.out[0], *v = next->args.out[0];
    if (next->args.in[0] != sums || sums->type != PITH_I32 || !pith_device_is_byte(v) ||
        !pith_device_is_its_own(plan, next, sums))
        return none;
    struct device_join j = residual_of(plan, next + 1, end, v);
    j.requantize = next;
    j.n++;
    if (j.n > 1 && has_place(s, &j) && !is_within(&next->args, 1, j.last->args.out[0]))
        return j;
    j = (struct device_join){.requantize = next, .last = next, .n = 1};
    return has_place(s, &j) ? j : none;
}
