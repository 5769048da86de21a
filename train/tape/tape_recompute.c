/* SPDX-License-Identifier: MIT */
/* tape_recompute.c - memory of a tape whose gradients are looked at step by step (tape_opts.after).
 *
 * Steps are cut into segments. What a segment makes and nothing behind it reads shares its memory
 * with that of the other segments; backward runs a segment forward again before it goes back
 * through it (Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016). A gradient has
 * its memory from the last step that reads the value, the first that writes it, to the step that
 * makes the value:
 *
 *     forward     | segment 0 | segment 1 | segment 2 |
 *     backward                              <---------
 *                             | forward <-- |
 *                 | forward <-- |
 */
#include "tape_recompute.h"

#include <stdlib.h>
#include <string.h>

#include "tape_lives.h"

#define SEGMENTS 8u /* that a tape's values make, about */
#define ALIGN 64u

/* A piece of memory that is needed from one step to another, counted in the order of backward. */
struct block {
    uint32_t tensor, parameter; /* one of them, the other UINT32_MAX */
    uint32_t from, to;
    uint64_t bytes, at;
};

struct lean {
    struct tape *t;
    struct tensor_life *life;
    bool *stays;         /* [tensors] has memory of its own */
    bool *set;           /* [tensors] some step sets its gradient */
    struct block *block; /* of gradients */
    size_t n_blocks;
};

static uint64_t rounded(uint64_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static uint32_t n_tensors(const struct tape *t)
{
    return t->n_values * TAPE_LAYOUTS;
}

static bool is_number(const struct tape *t, uint32_t i)
{
    return t->tensor[i].type &&
           pith_tensor_number(t, i / TAPE_LAYOUTS, (enum tape_layout)(i % TAPE_LAYOUTS)) == i;
}

static bool is_constant(const struct tape *t, uint32_t tensor)
{
    return t->m->values[tensor / TAPE_LAYOUTS].constant;
}

/* ---- what stays ------------------------------------------------------------------------------ */

static void stay(const struct lean *l, uint32_t value)
{
    const struct tape *t = l->t;
    for (int layout = 0; layout < TAPE_LAYOUTS; layout++)
        l->stays[pith_tensor_number(t, value, (enum tape_layout)layout)] = true;
}

/* What the caller writes or reads, and constants. */
static void find_staying(const struct lean *l)
{
    const struct tape *t = l->t;
    for (uint32_t i = 0; i < t->m->n_inputs; i++)
        stay(l, t->m->inputs[i]);
    for (uint32_t i = 0; i < t->m->n_outputs; i++)
        stay(l, t->m->outputs[i]);
    for (uint32_t i = 0; i < t->opts.n_features; i++)
        stay(l, t->opts.feature[i]);
    for (uint32_t i = 0; i < n_tensors(t); i++)
        l->stays[i] = l->stays[i] || is_constant(t, i);
}

/* ---- segments -------------------------------------------------------------------------------- */

static uint64_t made_at(const struct lean *l, uint32_t step)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < n_tensors(l->t); i++)
        if (is_number(l->t, i) && !l->stays[i] && l->life[i].made == step)
            bytes += rounded(pith_tensor_bytes(l->t, i));
    return bytes;
}

static enum pith_status cut(const struct lean *l)
{
    struct tape *t = l->t;
    uint64_t all = 0, filled = 0;
    t->segment = pith_tape_take(t, t->n_steps + 2u, sizeof *t->segment);
    if (!t->segment)
        return PITH_ERR_MEMORY;
    for (uint32_t i = 0; i < t->n_steps; i++)
        all += made_at(l, i);
    for (uint32_t i = 0; i < t->n_steps; i++) {
        const uint64_t bytes = made_at(l, i);
        if (filled > 0 && filled + bytes > all / SEGMENTS) {
            t->segment[++t->n_segments] = i;
            filled = 0;
        }
        filled += bytes;
    }
    t->segment[++t->n_segments] = t->n_steps;
    return PITH_OK;
}

static uint32_t segment_of(const struct tape *t, uint32_t step)
{
    uint32_t s = 0;
    while (step >= t->segment[s + 1])
        s++;
    return s;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void point(struct tape *t, uint32_t tensor, void *data)
{
    struct tape_tensor *x = &t->tensor[tensor];
    x->data = data;
    if (tensor % TAPE_LAYOUTS == TAPE_ROW_MAJOR && x[1].type &&
        pith_tensor_number(t, tensor / TAPE_LAYOUTS, TAPE_CHANNELS_LAST) == tensor)
        x[1].data = data;
}

static bool is_inner(const struct lean *l, uint32_t i)
{
    const struct tape *t = l->t;
    const struct tensor_life *life = &l->life[i];
    return is_number(t, i) && !l->stays[i] && life->made != LIFE_INPUT &&
           (!life->read || segment_of(t, life->made) == segment_of(t, life->last));
}

static enum pith_status place_values(const struct lean *l)
{
    struct tape *t = l->t;
    uint64_t most = 0, *filled = calloc(t->n_segments + (size_t)1, sizeof *filled);
    for (int pass = 0; pass < 2 && filled; pass++) {
        char *arena = pass ? pith_tape_take(t, most + 1, 1) : NULL;
        if (pass && !arena)
            break;
        memset(filled, 0, t->n_segments * sizeof *filled);
        for (uint32_t i = 0; i < n_tensors(t); i++) {
            if (!is_inner(l, i))
                continue;
            uint64_t *at = &filled[segment_of(t, l->life[i].made)];
            if (pass)
                point(t, i, arena + *at);
            *at += rounded(pith_tensor_bytes(t, i));
            most = *at > most ? *at : most;
        }
        if (pass) {
            free(filled);
            return PITH_OK;
        }
    }
    free(filled);
    return PITH_ERR_MEMORY;
}

static enum pith_status place_others(const struct lean *l)
{
    struct tape *t = l->t;
    for (uint32_t i = 0; i < n_tensors(t); i++) {
        struct tape_tensor *x = &t->tensor[i];
        if (!is_number(t, i) || x->data)
            continue;
        void *data = pith_tape_take(t, pith_tensor_bytes(t, i), 1);
        if (!data)
            return PITH_ERR_MEMORY;
        point(t, i, data);
    }
    return PITH_OK;
}

/* ---- gradients ------------------------------------------------------------------------------- */

static void point_grad(struct tape *t, const struct block *b, char *arena)
{
    float *grad = (float *)(void *)(arena + b->at);
    if (b->parameter != UINT32_MAX) {
        struct tape_parameter *p = &t->parameter[b->parameter];
        p->grad = t->gradients.of_slice[b->parameter] = grad;
    }
    const uint32_t tensor =
        b->parameter == UINT32_MAX ? b->tensor : t->parameter[b->parameter].value * TAPE_LAYOUTS;
    struct tape_tensor *x = &t->tensor[tensor];
    x->grad = grad;
    if (tensor % TAPE_LAYOUTS == TAPE_ROW_MAJOR && x[1].type &&
        pith_tensor_number(t, tensor / TAPE_LAYOUTS, TAPE_CHANNELS_LAST) == tensor)
        x[1].grad = grad;
}

static bool reads(const struct tape *t, const struct tape_step *step, uint32_t value)
{
    if (step->converts)
        return step->value == value;
    const struct pith_node *node = &t->m->nodes[step->at];
    bool any = false;
    for (uint32_t i = 0; i < node->n_in; i++)
        any = any || node->in[i] == value;
    return any;
}

/* A parameter's gradient is whole when backward is through the first step that reads it. */
static void list_parameters(struct lean *l)
{
    struct tape *t = l->t;
    for (uint32_t p = 0; p < t->n_parameters; p++) {
        struct block b = {.tensor = UINT32_MAX,
                          .parameter = p,
                          .from = UINT32_MAX,
                          .bytes = t->parameter[p].count * sizeof(float)};
        for (uint32_t i = t->n_steps; i-- > 0;)
            if (reads(t, &t->step[i], t->parameter[p].value)) {
                b.from = b.from == UINT32_MAX ? t->n_steps - 1 - i : b.from;
                b.to = t->n_steps - 1 - i;
            }
        t->gradients.whole_at[p] = t->n_steps - 1 - b.to;
        l->block[l->n_blocks++] = b;
    }
}

static void find_set(const struct lean *l)
{
    const struct tape *t = l->t;
    for (uint32_t i = 0; i < t->n_steps; i++) {
        const struct tape_step *step = &t->step[i];
        const struct pith_node *node = step->converts ? NULL : &t->m->nodes[step->at];
        for (uint32_t k = 0; k < (node ? node->n_in : 1); k++) {
            const uint32_t v = node ? node->in[k] : step->value;
            if (v == PITH_VALUE_NONE || !step->sets[k])
                continue;
            const enum tape_layout layout =
                node ? pith_tape_reads(t, step, k) : (enum tape_layout)(1 - (int)step->to);
            l->set[pith_tensor_number(t, v, layout)] = true;
        }
    }
}

static void list_gradients(struct lean *l)
{
    const struct tape *t = l->t;
    for (uint32_t i = 0; i < n_tensors(t); i++) {
        const struct tensor_life *life = &l->life[i];
        if (!is_number(t, i) || !t->tensor[i].grad || is_constant(t, i))
            continue;
        struct block b = {.tensor = i,
                          .parameter = UINT32_MAX,
                          .to = t->n_steps - 1,
                          .bytes = pith_tensor_bytes(t, i)};
        if (!l->stays[i] && l->set[i] && life->read && life->made != LIFE_INPUT) {
            b.from = t->n_steps - 1 - life->last;
            b.to = t->n_steps - 1 - life->made;
        }
        l->block[l->n_blocks++] = b;
    }
}

/* The lowest place that is free as long as the block is needed; blocks before it have theirs. */
static uint64_t find_place(const struct lean *l, size_t n)
{
    const struct block *b = &l->block[n];
    uint64_t at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t k = 0; k < n; k++) {
            const struct block *o = &l->block[k];
            if (o->from > b->to || o->to < b->from || o->at >= at + rounded(b->bytes) ||
                o->at + rounded(o->bytes) <= at)
                continue;
            at = o->at + rounded(o->bytes);
            moved = true;
        }
    }
    return at;
}

static int by_bytes(const void *a, const void *b)
{
    const struct block *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->from < y->from ? -1 : x->from > y->from;
}

static enum pith_status place_gradients(struct lean *l)
{
    struct tape *t = l->t;
    uint64_t most = 0;
    t->gradients.whole_at = pith_tape_take(t, t->n_parameters + 1u, sizeof *t->gradients.whole_at);
    if (!t->gradients.whole_at)
        return PITH_ERR_MEMORY;
    find_set(l);
    list_parameters(l);
    list_gradients(l);
    qsort(l->block, l->n_blocks, sizeof *l->block, by_bytes);
    for (size_t i = 0; i < l->n_blocks; i++) {
        struct block *b = &l->block[i];
        b->at = find_place(l, i);
        most = b->at + b->bytes > most ? b->at + b->bytes : most;
    }
    char *arena = pith_tape_take(t, most + 1, 1);
    for (size_t i = 0; i < l->n_blocks && arena; i++)
        point_grad(t, &l->block[i], arena);
    return arena ? PITH_OK : PITH_ERR_MEMORY;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Gradients of constants in their second layout, which no block has. */
static enum pith_status place_rest(struct tape *t)
{
    for (uint32_t i = 0; i < n_tensors(t); i++) {
        struct tape_tensor *x = &t->tensor[i];
        if (!x->grad || x->grad != pith_unplaced_gradient(t))
            continue;
        x->grad = pith_tape_take(t, pith_tensor_bytes(t, i), 1);
        if (!x->grad)
            return PITH_ERR_MEMORY;
    }
    return PITH_OK;
}

float *pith_unplaced_gradient(const struct tape *t)
{
    return t->gradients.sum;
}

enum pith_status pith_place_recomputed(struct tape *t)
{
    struct lean l = {.t = t, .life = pith_tape_lives(t)};
    l.stays = calloc(n_tensors(t) + (size_t)1, sizeof *l.stays);
    l.set = calloc(n_tensors(t) + (size_t)1, sizeof *l.set);
    l.block = calloc(n_tensors(t) + t->n_parameters + (size_t)1, sizeof *l.block);
    enum pith_status status = l.life && l.stays && l.set && l.block ? PITH_OK : PITH_ERR_MEMORY;
    if (!status) {
        find_staying(&l);
        status = cut(&l);
    }
    if (!status)
        status = place_values(&l);
    if (!status)
        status = place_others(&l);
    if (!status)
        status = place_gradients(&l);
    if (!status)
        status = place_rest(t);
    free(l.life);
    free(l.stays);
    free(l.set);
    free(l.block);
    return status;
}
