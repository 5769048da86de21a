/* SPDX-License-Identifier: MIT */
/* device_attention.c - attention, as one launch. */
#include "device_product.h"
#include "op_interface/op_attr.h"

/* Axis 1 and 2 may be exchanged: steps along batch, head and row. */
static void set_steps(uint32_t step[3], const struct tview *t, bool rows_first)
{
    uint32_t d = t->shape.dim[3], outer = t->shape.dim[2] * d;
    step[0] = t->shape.dim[1] * outer;
    step[1] = rows_first ? d : outer;
    step[2] = rows_first ? outer : d;
}

static void set_mask(struct lowering *l, struct attention_args *a, const struct tview *mask)
{
    const struct shape *s = &mask->shape;
    a->mask = pith_device_as(l, mask, VALUE_F32);
    a->mask_is_f32 = mask->type == PITH_F32;
    a->mask_batch = s->rank == 4 ? s->dim[0] : 1;
    for (uint32_t i = 0; i < s->rank; i++)
        if (s->dim[i] > 1)
            a->mask_step[4 - s->rank + i] = (uint32_t)shape_product(s, i + 1, s->rank);
}

/* Heads that are wider than what a block keeps of them stay on the CPU. */
bool pith_device_attention(struct lowering *l, const struct step *s)
{
    const struct op_args *args = &s->args;
    uint32_t layout = (uint32_t)args->attr[ATTR_ATTENTION_LAYOUT];
    const struct shape *q = &args->in[0]->shape, *k = &args->in[1]->shape;
    const struct tview *mask = args->n_in > 3 ? args->in[3] : NULL;
    struct attention_args a = {.m = q->dim[layout & 1u ? 1 : 2],
                               .n = k->dim[layout & 2u ? 1 : 2],
                               .d = q->dim[3],
                               .e = args->in[2]->shape.dim[3],
                               .scale = attr_f32(args->attr, ATTR_ATTENTION_SCALE),
                               .fill = attr_f32(args->attr, ATTR_ATTENTION_FILL),
                               .mask_batch = 1,
                               .keep = args->attr[ATTR_ATTENTION_KEEP] != 0};
    const uint32_t heads = q->dim[layout & 1u ? 2 : 1], per_block = LAUNCH_THREADS / 32u;
    const uint32_t grid[3] = {(a.m + per_block - 1) / per_block, heads, q->dim[0]};
    if (a.d > ATTENTION_WIDEST || a.e > ATTENTION_WIDEST || heads > GRID_LIMIT ||
        grid[2] > GRID_LIMIT)
        return false;
    a.shared = heads / k->dim[layout & 2u ? 2 : 1];
    a.q = pith_device_data(l, args->in[0]);
    a.k = pith_device_data(l, args->in[1]);
    a.v = pith_device_data(l, args->in[2]);
    a.y = pith_device_data(l, args->out[0]);
    a.q_type = pith_device_type(l, args->in[0]);
    a.k_type = pith_device_type(l, args->in[1]);
    a.v_type = pith_device_type(l, args->in[2]);
    a.y_type = pith_device_type(l, args->out[0]);
    set_steps(a.q_step, args->in[0], layout & 1u);
    set_steps(a.k_step, args->in[1], layout & 2u);
    set_steps(a.v_step, args->in[2], layout & 4u);
    set_steps(a.y_step, args->out[0], layout & 8u);
    if (mask)
        set_mask(l, &a, mask);
    pith_device_grid(l, LAUNCH_attention, grid, &a, sizeof a);
    return true;
}
