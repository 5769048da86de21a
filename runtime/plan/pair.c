/* SPDX-License-Identifier: MIT */
/* pair.c - which steps run a band of rows at a time: a convolution and the depthwise one behind it
 * that alone reads it (conv_pair.h). What is between them needs memory for a band of each thread,
 * and each thread reads what it wrote itself.
 *
 * Pairs are found when kernels are chosen, which they do not change. Where the threads are not
 * known there are none: one thread would run what all could. */
#include "products/conv_pair.h"
#include "plan/plan_build.h"
#include "plan/run_pair.h"

/* An observer sees every value whole; executors that know no segments know no pairs. */
static bool allows_pairs(const struct pith_opts *o)
{
    return !(o->flags & (PITH_FLAG_NO_FUSION | PITH_FLAG_WHOLE_BATCH)) && !o->observe &&
           (!o->parallel_for || o->threads > 0);
}

/* Only the next step reads value v, which has storage of its own. */
static bool is_between(const struct builder *b, uint32_t v)
{
    const struct value_plan *p = &b->vp[v];
    return v != PLAN_NONE && p->kind == VALUE_TEMP && p->parent == v && p->n_uses == 1 &&
           !p->is_output && !p->late;
}

static bool are_convolutions(const struct builder *b, const struct step *s)
{
    const struct step *next = s + 1;
    if (s->segment || next->segment || s->copies || next->copies ||
        s->args.info->op != PITH_OP_CONV || next->args.info->op != PITH_OP_CONV)
        return false;
    return next->args.in[0] == s->args.out[0] &&
           is_between(b, pith_plan_value_of(b->plan, s->args.out[0]));
}

/* What the first step reads, until the last band of the second one is written. */
static void keep_input(struct builder *b, const struct step *s)
{
    uint64_t unused;
    uint32_t v = pith_plan_value_of(b->plan, s->args.in[0]);
    struct value_plan *root = &b->vp[pith_plan_root(b->vp, v, &unused)];
    uint32_t end = node_time((uint32_t)(s[1].node - b->plan->graph.nodes));
    if (root->kind != VALUE_CONST && root->last < end)
        root->last = end;
}

/* The value's view becomes that of a band, so that what describes plans needs no other rule; its
 * storage is a band of each lane. */
static void join(struct builder *b, struct step *s, const struct conv_bands *bands, uint32_t lanes)
{
    uint32_t v = pith_plan_value_of(b->plan, s->args.out[0]);
    struct tview *t = &b->plan->value[v];
    t->shape.dim[2] = bands->x_rows;
    b->vp[v].bytes = plan_pair_bytes(t) * lanes;
    s->pairs = true;
    s->band_rows = bands->rows;
    keep_input(b, s);
}

/* A step is in one pair at most: what the second one writes is there whole. */
void pith_plan_pairs(struct builder *b)
{
    struct pith_plan *plan = b->plan;
    const struct op_env env = plan_env(plan, NULL);
    const uint32_t lanes = plan_threads(&plan->opts);
    struct conv_bands bands;
    for (uint32_t i = 0; allows_pairs(&plan->opts) && i + 1 < plan->n_steps; i++) {
        struct step *s = &plan->step[i];
        if (are_convolutions(b, s) && pith_conv_bands(&s->args, &s[1].args, &env, lanes, &bands)) {
            join(b, s, &bands, lanes);
            i++;
        }
    }
}
