/* SPDX-License-Identifier: MIT */
#include "tape_stretch.h"

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

/* ---- a stretch's tensors --------------------------------------------------------------------- */

uint64_t pith_tensor_bytes(const struct tape *t, uint32_t tensor)
{
    const struct tape_tensor *x = &t->tensor[tensor];
    return shape_elems(&x->shape) * pith_type_bytes(x->type);
}

void *pith_tensor_data(const struct tape *t, uint32_t slice, uint32_t tensor)
{
    return t->tensor[(size_t)slice * t->n_values * TAPE_LAYOUTS + tensor].data;
}

struct touched {
    const struct tape *t;
    struct tensor_life *life;
    struct tape_stretch *s;
    uint32_t mark;
    uint64_t bytes;
};

static bool made_before(const struct tensor_life *life, uint32_t step)
{
    return life->made == LIFE_INPUT || life->made < step;
}

static void note_touched(void *arg, uint32_t tensor, bool written)
{
    struct touched *k = arg;
    struct tape_stretch *s = k->s;
    struct tensor_life *life = &k->life[tensor];
    if (life->mark == k->mark)
        return;
    life->mark = k->mark;
    k->bytes += pith_tensor_bytes(k->t, tensor);
    if (!s->all)
        return;
    s->all[s->n_all++] = tensor;
    if (!written && made_before(life, s->from))
        s->in[s->n_in++] = tensor;
    else if (made_before(life, s->cut) && life->read && life->last >= s->cut)
        s->out[s->n_out++] = tensor;
}

/* No mark is used twice. */
static uint64_t touch(const struct tape *t, struct tensor_life *life, struct tape_stretch *s)
{
    struct touched k = {.t = t, .life = life, .s = s, .mark = ++life[0].marks};
    for (uint32_t i = s->from; i < s->to; i++)
        visit_step(t, &t->step[i], note_touched, &k);
    return k.bytes;
}

uint64_t pith_stretch_bytes(const struct tape *t, struct tensor_life *life, uint32_t from,
                            uint32_t to)
{
    struct tape_stretch s = {.from = from, .cut = to, .to = to};
    return touch(t, life, &s);
}

static void count_tensor(void *arg, uint32_t tensor, bool written)
{
    (void)tensor;
    (void)written;
    ++*(size_t *)arg;
}

/* Both layouts: the second one may be the same bytes as the first. */
static enum pith_status place(struct tape *t, uint32_t tensor)
{
    const uint32_t value = tensor / TAPE_LAYOUTS;
    enum pith_status status = PITH_OK;
    for (uint32_t s = 0; s < t->n_slices && !status; s++) {
        status = pith_tape_place(t, s, value, (enum tape_layout)(tensor % TAPE_LAYOUTS));
        if (!status && tensor % TAPE_LAYOUTS == TAPE_ROW_MAJOR &&
            pith_tensor_number(t, value, TAPE_CHANNELS_LAST) == tensor)
            status = pith_tape_place(t, s, value, TAPE_CHANNELS_LAST);
    }
    return status;
}

static void forget(const struct tape *t, uint32_t tensor)
{
    for (uint32_t s = 0; s < t->n_slices; s++)
        for (int layout = 0; layout < TAPE_LAYOUTS; layout++)
            tape_at(t, s, tensor / TAPE_LAYOUTS, (enum tape_layout)layout)->data = NULL;
}

static enum pith_status open_tensors(struct tape *t, struct tensor_life *life,
                                     struct tape_stretch *s)
{
    size_t most = 1;
    for (uint32_t i = s->from; i < s->to; i++)
        visit_step(t, &t->step[i], count_tensor, &most);
    s->in = pith_tape_take(t, most, sizeof *s->in);
    s->out = pith_tape_take(t, most, sizeof *s->out);
    s->all = pith_tape_take(t, most, sizeof *s->all);
    if (!s->in || !s->out || !s->all)
        return PITH_ERR_MEMORY;
    touch(t, life, s);
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < s->n_all && !status; i++)
        status = place(t, s->all[i]);
    return status;
}

/* ---- calls ----------------------------------------------------------------------------------- */

enum pith_status pith_stretch_open(struct tape *t, struct tensor_life *life, uint32_t from,
                                   uint32_t cut, uint32_t to, struct tape_stretch *s,
                                   struct pith_error *err)
{
    *s = (struct tape_stretch){.from = from, .cut = cut, .to = to, .n_memory = t->n_memory};
    enum pith_status status = open_tensors(t, life, s) ? pith_tape_no_memory(err) : PITH_OK;
    if (!status)
        status = pith_tape_prepare(t, from, to, err);
    if (!status)
        pith_tape_renew(t, from, to);
    else
        pith_stretch_close(t, s);
    return status;
}

void pith_stretch_close(struct tape *t, struct tape_stretch *s)
{
    for (uint32_t i = s->from; i < s->to; i++) {
        struct tape_step *step = &t->step[i];
        for (uint32_t k = 0; k < t->n_slices && step->node; k++) {
            if (step->node[k].state && step->op->release)
                step->op->release(&step->node[k]);
            step->node[k].state = NULL;
        }
        step->run = NULL;
        step->shared = NULL;
    }
    for (uint32_t i = 0; i < s->n_all; i++)
        forget(t, s->all[i]);
    while (s->to > s->from && t->n_memory > s->n_memory)
        free(t->memory[--t->n_memory]);
    *s = (struct tape_stretch){0};
}
