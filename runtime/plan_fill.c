/* SPDX-License-Identifier: MIT */
/* From file form to run form, once per plan: constants that steps read as data are expanded, and
 * operators pack their weights. The arena, where nothing lives yet, is the scratch. */
#include "plan.h"

static bool is_little_endian(void)
{
    const uint16_t one = 1;
    uint8_t first;
    memcpy(&first, &one, 1);
    return first == 1;
}

bool pith_plan_is_stored_plain(const struct weight *w)
{
    bool converted = w->type == PITH_F16 || w->type == PITH_BF16 || w->type == PITH_F64;
    return w->support == SUPPORT_DENSE && w->grid == GRID_PLAIN && w->code == CODE_PLAIN &&
           !converted && is_little_endian();
}

bool pith_plan_borrows(const struct weight *w)
{
    return pith_plan_is_stored_plain(w) &&
           (uintptr_t)w->index_stream.bytes % pith_type_bytes(w->type) == 0;
}

static enum pith_status expand(const struct weight *w, const struct tview *t, void *scratch)
{
    if (pith_plan_is_stored_plain(w)) {
        memcpy(t->data, w->index_stream.bytes, w->index_stream.n_bytes);
        return PITH_OK;
    }
    if (t->type == PITH_F32)
        return pith_weight_expand_f32(w, t->data, scratch);
    return pith_weight_expand_plain(w, t->data, scratch);
}

/* Constants whose elements lie in plan memory are the ones to expand; borrowed ones lie in the
 * image. */
static enum pith_status expand_constants(struct pith_plan *plan, const uint8_t *weights,
                                         void *scratch)
{
    const struct graph *g = &plan->graph;
    enum pith_status st = PITH_OK;
    for (uint32_t c = 0; c < g->n_weights && !st; c++) {
        const struct tview *t = &plan->value[g->n_inputs + c];
        const uint8_t *data = t->data;
        if (!data || data < weights || data >= (const uint8_t *)scratch)
            continue;
        st = expand(&g->weights[c], t, scratch);
    }
    return st;
}

enum pith_status pith_plan_fill(struct pith_plan *plan, const uint8_t *weights, void *scratch)
{
    struct op_env env = plan_env(plan, scratch);
    enum pith_status st = expand_constants(plan, weights, scratch);
    for (uint32_t i = 0; i < plan->n_steps && !st; i++) {
        const struct step *s = &plan->step[i];
        if (s->args.prep && s->args.info->prepare && !s->shares_prep)
            st = s->args.info->prepare(&s->args, &env);
    }
    return st;
}
