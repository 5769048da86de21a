/* SPDX-License-Identifier: MIT */
/* device_place.c - convolutions write their channels where a Concat would copy them. The planner
 * does that where the parts of a whole lie one behind the other, which those of several images do
 * not: kernels go from image to image by a step of their own (conv_args.y_image).
 *
 * The whole is then written earlier than the planner thought, maybe where something else still is
 * of use. If so, it lies in one of two areas behind the arena, where no step reads it as
 * another value. */
#include <stdlib.h>
#include "device_product.h"
#include "op_interface/op_attr.h"

static bool is_tiled(const struct op_args *args)
{
    struct conv_args c;
    uint32_t grid[3];
    return pith_device_conv_shape(&c, args) && pith_device_count(args->out[0]) &&
           pith_device_conv_tiles(&c, args->in[0]->shape.dim[0], grid);
}

/* Steps that may lie between a convolution and the Concat. */
static bool is_between(const struct step *s)
{
    return pith_device_is_op(s, PITH_OP_CONV) || pith_device_is_op(s, PITH_OP_MAX_POOL) ||
           pith_device_is_op(s, PITH_OP_AVERAGE_POOL);
}

static bool touches(const struct op_args *args, const struct tview *whole)
{
    bool found = args->fuse.residual && pith_device_overlap(args->fuse.residual, whole);
    for (uint32_t i = 0; i < args->n_in; i++)
        found |= args->in[i] && args->in[i]->data && pith_device_overlap(args->in[i], whole);
    for (uint32_t i = 0; i < args->n_out; i++)
        found |= pith_device_overlap(args->out[i], whole);
    return found;
}

/* The convolution among the steps from `first` on that makes t for the Concat alone; or NULL. */
static const struct step *maker_of(const struct lowering *l, const struct step *first,
                                   const struct step *concat, const struct tview *t)
{
    uint32_t times = 0;
    for (uint32_t i = 0; i < concat->args.n_in; i++)
        times += concat->args.in[i] == t;
    for (const struct step *s = first; s < concat; s++)
        if (s->args.out[0] == t)
            return pith_device_is_op(s, PITH_OP_CONV) && !s->args.fuse.residual &&
                           is_tiled(&s->args) && times == 1 &&
                           pith_device_is_its_own(l->plan, concat, t)
                       ? s
                       : NULL;
    return NULL;
}

/* Its last reader; NULL: it cannot be moved, as the caller has it, or another value is a part of
 * it. */
static const struct step *last_reader(const struct lowering *l, const struct step *concat)
{
    const struct tview *whole = concat->args.out[0];
    const struct step *last = NULL, *end = l->plan->step + l->plan->n_steps;
    for (const struct step *s = concat + 1; s < end; s++) {
        if (!pith_device_reads(&s->args, whole))
            continue;
        for (uint32_t i = 0; i < s->args.n_out; i++)
            if (pith_device_overlap(s->args.out[i], whole))
                return NULL;
        last = s;
    }
    return last && !pith_device_is_end(l->plan, whole) ? last : NULL;
}

/* Into an area that is free from step `first` on. false: there is none. */
static bool move(struct lowering *l, const struct step *first, const struct step *concat)
{
    struct device_places *p = &l->places;
    const struct tview *whole = concat->args.out[0];
    const struct step *last = last_reader(l, concat);
    const uint64_t bytes = shape_elems(&whole->shape) * pith_type_bytes(whole->type);
    for (uint32_t i = 0; last && i < PLACE_AREAS; i++) {
        if (p->until[i] && p->until[i] >= first)
            continue;
        p->until[i] = last;
        p->moved[p->n_moved++] = (struct device_moved){whole, i};
        p->area_bytes[i] =
            bytes > p->area_bytes[i] ? (bytes + 255) & ~UINT64_C(255) : p->area_bytes[i];
        return true;
    }
    return false;
}

static void place_parts(struct lowering *l, const struct step *concat)
{
    struct device_places *p = &l->places;
    const struct step *run = concat, *first = NULL;
    const uint32_t before = p->n;
    uint64_t channel = 0;
    bool is_free = true;
    while (run > l->plan->step && is_between(run - 1))
        run--;
    for (uint32_t i = 0; i < concat->args.n_in; i++) {
        const struct tview *t = concat->args.in[i];
        const struct step *s = maker_of(l, run, concat, t);
        if (s)
            p->place[p->n++] = (struct device_place){t, concat->args.out[0], channel};
        first = s && (!first || s < first) ? s : first;
        channel += t->shape.dim[1];
    }
    for (const struct step *s = first; s && s < concat; s++)
        is_free = is_free && !touches(&s->args, concat->args.out[0]);
    if (first && !is_free && !move(l, first, concat))
        p->n = before;
}

/* Without loops and branches: there steps run in another order, or not at all. */
bool pith_device_find_places(struct lowering *l)
{
    struct device_places *p = &l->places;
    uint32_t parts = 0, wholes = 0;
    for (uint32_t i = 0; i < l->plan->n_steps; i++) {
        const struct step *s = &l->plan->step[i];
        if (s->args.info->flags & OP_CONTROL)
            return true;
        parts += pith_device_is_op(s, PITH_OP_CONCAT) ? s->args.n_in : 0;
        wholes += pith_device_is_op(s, PITH_OP_CONCAT);
    }
    p->place = calloc(parts + 1u, sizeof *p->place);
    p->moved = calloc(wholes + 1u, sizeof *p->moved);
    if (!p->place || !p->moved)
        return false;
    for (uint32_t i = 0; i < l->plan->n_steps; i++) {
        const struct step *s = &l->plan->step[i];
        if (pith_device_is_op(s, PITH_OP_CONCAT) && s->args.attr[ATTR_AXIS] == 1 &&
            pith_device_count(s->args.out[0]))
            place_parts(l, s);
    }
    return true;
}
