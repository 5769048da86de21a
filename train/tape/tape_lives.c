/* SPDX-License-Identifier: MIT */
#include "tape_lives.h"

#include <stdlib.h>

/* ---- what a step touches --------------------------------------------------------------------- */

uint32_t pith_tensor_number(const struct tape *t, uint32_t value, enum tape_layout layout)
{
    const struct tape_tensor *twin = tape_at(t, 0, value, TAPE_ROW_MAJOR);
    if (layout != TAPE_ROW_MAJOR && twin->type && tape_layouts_agree(&twin->shape))
        layout = TAPE_ROW_MAJOR;
    return value * TAPE_LAYOUTS + (uint32_t)layout;
}

/* visit(arg, tensor, written) of all that a step reads, then of all that it writes, but for
 * constants: these have their memory from the beginning, in both layouts. */
static void visit_step(const struct tape *t, const struct tape_step *step,
                       void (*visit)(void *arg, uint32_t tensor, bool written), void *arg)
{
    const struct pith_value *values = t->m->values;
    if (step->converts && values[step->value].constant)
        return;
    if (step->converts) {
        visit(arg, pith_tensor_number(t, step->value, (enum tape_layout)(1 - (int)step->to)),
              false);
        visit(arg, pith_tensor_number(t, step->value, step->to), true);
        return;
    }
    const struct pith_node *node = &t->m->nodes[step->at];
    for (uint32_t i = 0; i < node->n_in; i++)
        if (node->in[i] != PITH_VALUE_NONE && !values[node->in[i]].constant)
            visit(arg, pith_tensor_number(t, node->in[i], pith_tape_reads(t, step, i)), false);
    for (uint32_t i = 0; i < node->n_out; i++)
        visit(arg, pith_tensor_number(t, node->out[i], t->primary[node->out[i]]), true);
}

struct lives {
    struct tensor_life *life;
    uint32_t step;
};

static void note_life(void *arg, uint32_t tensor, bool written)
{
    const struct lives *l = arg;
    struct tensor_life *life = &l->life[tensor];
    if (written) {
        life->made = l->step;
        return;
    }
    life->read = true;
    life->last = l->step;
}

struct tensor_life *pith_tape_lives(const struct tape *t)
{
    struct lives l = {.life = calloc((size_t)t->n_values * TAPE_LAYOUTS + 1, sizeof *l.life)};
    if (!l.life)
        return NULL;
    for (uint32_t i = 0; i < t->m->n_inputs; i++)
        l.life[pith_tensor_number(t, t->m->inputs[i], TAPE_ROW_MAJOR)].made = LIFE_INPUT;
    for (l.step = 0; l.step < t->n_steps; l.step++)
        visit_step(t, &t->step[l.step], note_life, &l);
    return l.life;
}

uint64_t pith_tensor_bytes(const struct tape *t, uint32_t tensor)
{
    const struct tape_tensor *x = &t->tensor[tensor];
    return shape_elems(&x->shape) * pith_type_bytes(x->type);
}
