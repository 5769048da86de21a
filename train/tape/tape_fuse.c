/* SPDX-License-Identifier: MIT */
/* tape_fuse.c - normalisation, Add and Relu in one step: what a residual network does between two
 * convolutions is then one pass over memory in place of three, and values between them are never
 * stored.
 *
 *     v = BatchNorm(x)   s = v + r   y = Relu(s)   ->   y = Relu(BatchNorm(x) + r)
 *
 * v and s may have no other reader, the loss included. The step takes the place of the last of
 * them, where r is there. */
#include "tape_state.h"
#include "core/op_number.h"

struct readers {
    uint32_t *n;    /* [n_values] nodes, conversions and others that read it */
    uint32_t *step; /* [n_values] a node's among them; UINT32_MAX: none */
    bool *gone;     /* [n_steps] now part of another */
};

static enum pith_status count_readers(struct tape *t, struct readers *r)
{
    r->n = pith_tape_take(t, t->n_values + 1u, sizeof *r->n);
    r->step = pith_tape_take(t, t->n_values + 1u, sizeof *r->step);
    r->gone = pith_tape_take(t, t->n_steps + 1u, sizeof *r->gone);
    if (!r->n || !r->step || !r->gone)
        return PITH_ERR_MEMORY;
    for (uint32_t v = 0; v < t->n_values; v++)
        r->step[v] = UINT32_MAX;
    for (uint32_t i = 0; i < t->n_steps; i++) {
        const struct tape_step *step = &t->step[i];
        const struct pith_node *node = &t->m->nodes[step->at];
        if (step->converts)
            r->n[step->value]++;
        for (uint32_t k = 0; k < node->n_in && !step->converts; k++)
            if (node->in[k] != PITH_VALUE_NONE) {
                r->n[node->in[k]]++;
                r->step[node->in[k]] = i;
            }
    }
    for (uint32_t i = 0; i < t->m->n_outputs; i++)
        r->n[t->m->outputs[i]]++;
    for (uint32_t i = 0; i < t->opts.n_features; i++)
        r->n[t->opts.feature[i]]++;
    return PITH_OK;
}

/* The only reader of a value, if it is such an operator in that layout; NULL: it is not. */
static struct tape_step *only_reader(const struct tape *t, const struct readers *r, uint32_t value,
                                     uint32_t op, enum tape_layout layout)
{
    uint32_t at = r->step[value];
    if (r->n[value] != 1 || at == UINT32_MAX || r->gone[at])
        return NULL;
    struct tape_step *step = &t->step[at];
    if (step->converts || step->rectifies)
        return NULL;
    const struct pith_node *node = &t->m->nodes[step->at];
    bool fits = node->op == op && step->layout == layout && t->primary[node->out[0]] == layout;
    return fits ? step : NULL;
}

/* What is added to `value`, where it has the same shape; UINT32_MAX: nothing of that kind. */
static uint32_t other_term(const struct tape *t, const struct tape_step *add, uint32_t value)
{
    const struct pith_node *node = &t->m->nodes[add->at];
    uint32_t other = node->in[0] == value ? node->in[1] : node->in[0];
    const struct tape_tensor *a = tape_at(t, 0, value, add->layout),
                             *b = tape_at(t, 0, other, add->layout);
    return b->type && pith_shape_equal(&a->shape, &b->shape) ? other : UINT32_MAX;
}

/* A value that nothing reads any more. */
static void drop_value(const struct tape *t, uint32_t value)
{
    for (uint32_t s = 0; s < t->n_slices; s++)
        for (int layout = 0; layout < TAPE_LAYOUTS; layout++)
            tape_at(t, s, value, (enum tape_layout)layout)->type = 0;
}

/* Step i takes its tail in, if it has one. */
static void take_tail(struct tape *t, const struct readers *r, uint32_t i)
{
    struct tape_step *step = &t->step[i];
    uint32_t value = t->m->nodes[step->at].out[0], residual = UINT32_MAX;
    struct tape_step *add = only_reader(t, r, value, PITH_OP_ADD, step->layout);
    if (add)
        residual = other_term(t, add, value);
    if (add && residual == UINT32_MAX)
        return;
    uint32_t sum = add ? t->m->nodes[add->at].out[0] : value;
    struct tape_step *relu = only_reader(t, r, sum, PITH_OP_RELU, step->layout);
    if (!relu)
        return;
    step->rectifies = true;
    step->residual = residual;
    step->result = t->m->nodes[relu->at].out[0];
    drop_value(t, value);
    drop_value(t, sum);
    r->gone[i] = true;
    if (add)
        r->gone[add - t->step] = true;
    *relu = *step;
}

enum pith_status pith_tape_fuse(struct tape *t)
{
    struct readers r;
    if (count_readers(t, &r))
        return PITH_ERR_MEMORY;
    for (uint32_t i = 0; i < t->n_steps; i++)
        if (!r.gone[i] && !t->step[i].rectifies && t->step[i].op && t->step[i].op->takes_tail)
            take_tail(t, &r, i);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < t->n_steps; i++)
        if (!r.gone[i])
            t->step[kept++] = t->step[i];
    t->n_steps = kept;
    return PITH_OK;
}
