/* SPDX-License-Identifier: MIT */
/* From file form to run form, once per plan: constants that steps read as data are expanded, and
 * operators pack their weights. The arena, where nothing lives yet, is the scratch, unless the
 * caller has other memory for it. */
#include "plan.h"

static enum pith_status expand(const struct weight *w, const struct tview *t, void *scratch)
{
    if (t->type == PITH_F32)
        return pith_weight_expand_f32(w, t->data, scratch);
    return pith_weight_expand_plain(w, t->data, scratch);
}

/* Constants whose elements lie in plan memory are the ones to expand; borrowed ones lie in the
 * image. */
static enum pith_status expand_constants(struct pith_plan *plan, const uint8_t *weights,
                                         const uint8_t *weights_end, void *scratch)
{
    const struct graph *g = &plan->graph;
    enum pith_status st = PITH_OK;
    for (uint32_t c = 0; c < g->n_weights && !st; c++) {
        const struct tview *t = &plan->value[g->n_inputs + c];
        const uint8_t *data = t->data;
        if (!data || data < weights || data >= weights_end)
            continue;
        st = expand(&g->weights[c], t, scratch);
    }
    return st;
}

enum pith_status pith_plan_fill(struct pith_plan *plan, const uint8_t *weights,
                                const uint8_t *weights_end, void *scratch)
{
    struct op_env env = plan_env(plan, scratch);
    enum pith_status st = expand_constants(plan, weights, weights_end, scratch);
    for (uint32_t i = 0; i < plan->n_steps && !st; i++) {
        const struct step *s = &plan->step[i];
        if (s->args.prep && s->args.info->prepare && !s->shares_prep)
            st = s->args.info->prepare(&s->args, &env);
    }
    return st;
}
