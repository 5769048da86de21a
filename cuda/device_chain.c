/* SPDX-License-Identifier: MIT */
/* device_chain.c - functions of one element and of two, step behind step, in one launch.
 *
 * A thread has element i of all of them, one behind the other, and each result still goes to
 * memory. So no thread may read what another one writes: a range that a step writes is either apart
 * from what the others read or write, or is the same elements in the same order. */
#include "device_plan.h"

/* Bytes that a step of a chain touches; in_order: thread i touches element i. */
struct range {
    device_address begin, end;
    uint32_t each;
    bool in_order, is_written;
};

/* Of a link of n elements. */
static struct range range_of(const void *at, uint32_t elements, uint32_t n, uint32_t type,
                             bool is_written)
{
    const uint32_t each = type == VALUE_F32 ? 4 : 2;
    const device_address begin = (uintptr_t)at, end = begin + (uint64_t)elements * each;
    return (struct range){begin, end, each, elements == n, is_written};
}

static bool is_safe(const struct range *a, const struct range *b)
{
    const bool same = a->in_order && b->in_order && a->begin == b->begin && a->each == b->each;
    return same || a->end <= b->begin || b->end <= a->begin || !(a->is_written || b->is_written);
}

struct chain {
    struct chain_args arg;
    struct range range[3 * CHAIN_MOST];
    uint32_t n_ranges;
    struct device_step *first; /* whose launch it becomes */
};

/* Elements after which an operand of y's axes begins anew; 0: it does in another way. */
static uint32_t period_of(const struct zip_args *z, const uint32_t *step)
{
    uint32_t period = 1, k = z->rank;
    for (; k > 0 && (z->dim[k - 1] == 1 || step[k - 1] == period); k--)
        period *= z->dim[k - 1];
    for (; k > 0; k--)
        if (z->dim[k - 1] != 1 && step[k - 1] != 0)
            return 0;
    return period;
}

/* The launch as a step of a chain of n elements; false: it is none. */
static bool link_of(const struct lowering *l, const struct action *a, struct chain_link *link,
                    uint32_t *n)
{
    const struct map_args *m = (const void *)(l->args + a->arg);
    const struct zip_args *z = (const void *)(l->args + a->arg);
    if (a->kind != ACTION_LAUNCH || (a->kernel != LAUNCH_map_f32 && a->kernel != LAUNCH_zip))
        return false;
    if (a->kernel == LAUNCH_map_f32) {
        *n = m->n;
        *link = (struct chain_link){m->x, NULL,      m->y,      m->n,    0,    m->x_type,
                                    0,    m->y_type, CHAIN_MAP, m->kind, m->a, m->b};
        return true;
    }
    const uint32_t a_period = period_of(z, z->a_step), b_period = period_of(z, z->b_step);
    *n = z->n;
    *link = (struct chain_link){z->a,      z->b,      z->y,  a_period, b_period, z->a_type,
                                z->b_type, z->y_type, z->op, z->act,   z->act_a, z->act_b};
    return z->type == PITH_F32 && a_period && b_period;
}

/* Adds it, where all ranges allow that. What the step before has just written in f32 is not read.
 */
static bool add_link(struct chain *c, const struct chain_link *link)
{
    const uint32_t n = c->arg.n, count = c->arg.count;
    uint32_t end = c->n_ranges;
    if (count == CHAIN_MOST)
        return false;
    c->range[end++] = range_of(link->y, n, n, link->y_type, true);
    c->range[end++] = range_of(link->a, link->a_period, n, link->a_type, false);
    if (link->zip != CHAIN_MAP)
        c->range[end++] = range_of(link->b, link->b_period, n, link->b_type, false);
    for (uint32_t i = c->n_ranges; i < end; i++)
        for (uint32_t k = 0; k < i; k++)
            if (!is_safe(&c->range[i], &c->range[k]))
                return false;
    const struct chain_link *before = c->arg.link + (count ? count - 1 : 0);
    const void *known = count && before->y_type == VALUE_F32 ? before->y : NULL;
    struct chain_link *own = &c->arg.link[c->arg.count++];
    *own = *link;
    own->a = link->a == known ? NULL : link->a;
    own->b = link->b == known ? NULL : link->b;
    c->n_ranges = end;
    return true;
}

/* Its launch takes the place of its first step's. */
static void end_chain(struct lowering *l, struct chain *c)
{
    const uint32_t last = l->n_actions;
    if (c->arg.count > 1)
        pith_device_launch(l, LAUNCH_chain, c->arg.n, &c->arg, sizeof c->arg);
    if (l->n_actions > last)
        l->action[c->first->first] = l->action[--l->n_actions];
    c->arg.count = c->n_ranges = 0;
}

/* A step that begins or continues a chain; false: it ends the one before. */
static bool chain_step(struct lowering *l, struct chain *c, struct device_step *d)
{
    struct chain_link link;
    uint32_t n;
    if (d->n != 1 || !link_of(l, &l->action[d->first], &link, &n))
        return false;
    if (c->arg.count == 0 || c->arg.n != n || !add_link(c, &link)) {
        end_chain(l, c);
        c->arg.n = n;
        c->first = d;
        return add_link(c, &link);
    }
    c->first->bytes += d->bytes;
    d->n = 0;
    d->bytes = 0;
    return true;
}

void pith_device_chain(struct lowering *l, struct device_step *step)
{
    struct chain c = {.n_ranges = 0};
    for (uint32_t i = 0; i < l->plan->n_steps; i++) {
        const bool stays = l->plan->step[i].args.info->flags & OP_CONTROL || step[i].on_cpu;
        if (stays || (step[i].n && !chain_step(l, &c, &step[i])))
            end_chain(l, &c);
    }
    end_chain(l, &c);
}
