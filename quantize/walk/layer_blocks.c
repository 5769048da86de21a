/* SPDX-License-Identifier: MIT */
#include "layer_blocks.h"

#include <stdlib.h>

/* For each value of the float network: the first and the last node between which it is waiting. */
struct life {
    uint32_t from,
        to; /* made by node from - 1, or 0: an input; read last by node `to`; NODE_NONE: never */
};

static void find_lives(const struct integer_plan *p, struct life *life)
{
    const struct pith_model *m = p->m;
    for (uint32_t v = 0; v < m->n_values; v++)
        life[v] = (struct life){0, NODE_NONE};
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        for (uint32_t k = 0; k < m->nodes[i].n_in; k++)
            if (m->nodes[i].in[k] != PITH_VALUE_NONE)
                life[m->nodes[i].in[k]].to = i;
        for (uint32_t k = 0; k < m->nodes[i].n_out; k++)
            life[m->nodes[i].out[k]].from = i + 1;
    }
    for (uint32_t i = 0; i < m->n_outputs; i++)
        life[m->outputs[i]].to = m->n_nodes;
}

/* The only value that nodes from `at` on, or whoever reads outputs, read of those before; else
 * PITH_VALUE_NONE. */
static uint32_t crossing(const struct integer_plan *p, const struct life *life, uint32_t at)
{
    uint32_t only = PITH_VALUE_NONE;
    for (uint32_t v = 0; v < p->m->n_values; v++) {
        bool made = !p->m->values[v].constant && life[v].from <= at;
        if (!made || life[v].to == NODE_NONE || life[v].to < at)
            continue;
        if (only != PITH_VALUE_NONE)
            return PITH_VALUE_NONE;
        only = v;
    }
    return only;
}

/* A block ends with what becomes integers, so behind the Relu that follows an Add, or with the last
 * layer. */
static bool may_end(const struct integer_plan *p, uint32_t v)
{
    return v != PITH_VALUE_NONE && p->m->values[v].type == PITH_F32 &&
           (p->value[v].whole || !p->value[v].to_layer);
}

struct finder {
    const struct integer_plan *p;
    struct layer_block *blocks, open;
    uint32_t n;
    bool is_open;
};

/* A boundary in front of node `at`, where y is all that crosses. Blocks end behind a layer: what
 * follows the last one, a Softmax perhaps, is in none. */
static void pass_boundary(struct finder *f, uint32_t at, uint32_t y)
{
    struct layer_block *last = f->n ? &f->blocks[f->n - 1] : NULL;
    f->open.last = at;
    f->open.y = y;
    if (!f->is_open || !f->open.n_layers)
        return;
    if (f->open.n_layers >= PITH_BLOCK_LAYERS) {
        f->blocks[f->n++] = f->open;
        f->open = (struct layer_block){.first = at, .x = y};
    } else if (last && last->last == f->open.first && !f->p->value[y].to_layer) {
        last->last = at; /* too few, and no more to come */
        last->y = y;
        last->n_layers += f->open.n_layers;
        f->open = (struct layer_block){.first = at, .x = y};
    }
}

static void begin_at(struct finder *f, uint32_t at, uint32_t x)
{
    f->is_open = may_end(f->p, x);
    f->open = (struct layer_block){.first = at, .x = x};
}

static void find(struct finder *f, const struct life *life)
{
    const struct pith_model *m = f->p->m;
    uint32_t depth = 0;
    begin_at(f, 0, crossing(f->p, life, 0));
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        depth += pith_opens_body(m->nodes[i].op);
        depth -= pith_closes_body(m->nodes[i].op);
        if (depth || pith_closes_body(m->nodes[i].op)) {
            f->is_open = false;
            continue;
        }
        f->open.n_layers += f->p->node[i].role == ROLE_LAYER;
        bool swallows = i + 1 < m->n_nodes && f->p->node[i + 1].role == ROLE_SWALLOWED;
        uint32_t v = swallows ? PITH_VALUE_NONE : crossing(f->p, life, i + 1);
        if (!may_end(f->p, v))
            continue;
        if (f->is_open)
            pass_boundary(f, i + 1, v);
        if (!f->is_open)
            begin_at(f, i + 1, v);
    }
}

enum pith_status pith_find_layer_blocks(const struct integer_plan *p, struct layer_block **blocks,
                                        uint32_t *n)
{
    struct finder f = {.p = p, .blocks = calloc(p->m->n_nodes + (size_t)1, sizeof *f.blocks)};
    struct life *life = malloc((p->m->n_values + (size_t)1) * sizeof *life);
    if (!life || !f.blocks) {
        free(life);
        free(f.blocks);
        return PITH_ERR_MEMORY;
    }
    find_lives(p, life);
    find(&f, life);
    free(life);
    *blocks = f.blocks;
    *n = f.n;
    return PITH_OK;
}
