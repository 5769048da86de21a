/* SPDX-License-Identifier: MIT */
#include "float_walk.h"

#include "pith_integer_plan.h"

static void cut(float *x, uint64_t n, float low, float high)
{
    for (uint64_t i = 0; i < n; i++)
        x[i] = x[i] < low ? low : x[i] > high ? high : x[i];
}

void pith_cut_value(struct walk_state *s, uint32_t v)
{
    const struct pith_value *value = &s->m->values[v];
    const struct kept_value *k = &s->kept[v];
    const struct pith_grid *g = pith_plan_grid(s->walk->plan, v);
    if (!k->data || !s->walk->plan->value[v].whole)
        return;
    uint64_t all = k->bytes / sizeof(float) * s->n_samples, block = all;
    for (uint32_t i = 0; i < 2 && g->n > 1; i++) /* scales are of axis 1 */
        block /= i ? value->dim[1] : s->n_samples * value->dim[0];
    for (uint64_t i = 0; i < all; i += block) {
        float scale = g->scale[g->n > 1 ? i / block % g->n : 0];
        cut((float *)(void *)k->data + i, block,
            (float)(pith_grid_lowest(g) - g->zero_point) * scale,
            (float)(pith_grid_highest(g) - g->zero_point) * scale);
    }
}

static bool is_whole(const struct pith_model *m, const struct piece *p)
{
    uint32_t opened = 0, closed = 0;
    for (uint32_t i = p->first; i < p->last; i++) {
        uint32_t op = m->nodes[i].op;
        opened += pith_opens_body(op);
        closed += pith_closes_body(op);
    }
    return opened == closed;
}

/* A node, or a loop or branch. */
static enum pith_status run_next_of_original(struct walk_state *s)
{
    struct piece p = {.first = s->done, .last = s->done + 1};
    while (!is_whole(s->m, &p))
        p.last++;
    enum pith_status st = pith_run_piece(s, &p);
    for (uint32_t i = p.first; i < p.last && !st; i++)
        for (uint32_t o = 0; o < s->m->nodes[i].n_out; o++)
            pith_cut_value(s, s->m->nodes[i].out[o]);
    s->done = p.last;
    return st;
}

enum pith_status pith_run_original(struct walk_state *s, uint32_t last)
{
    enum pith_status st = PITH_OK;
    while (s->done < last && !st)
        st = run_next_of_original(s);
    return st;
}
