/* SPDX-License-Identifier: MIT */
/* prefix_reuse.c - alive behind a node is what it gave, and what one before gave and one behind it
 * reads. All lies in the plan's memory at the same place in each run, and an observed plan's steps
 * are the model's nodes. */
#include "prefix_reuse.h"

#include <stdlib.h>
#include <string.h>

struct value_place {
    void *x; /* NULL: not observed */
    size_t bytes;
    bool is_f32;
    uint32_t from,
        to; /* nodes: the one that gives it (inputs: NO_STEP) and the last that reads it */
    bool is_read;
};

static void find_lifetimes(struct prefix_reuse *w)
{
    const struct pith_model *m = w->m;
    for (uint32_t v = 0; v < m->n_values; v++)
        w->place[v].from = NO_STEP;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        for (uint32_t k = 0; k < m->nodes[i].n_out; k++)
            w->place[m->nodes[i].out[k]].from = i;
        for (uint32_t k = 0; k < m->nodes[i].n_in; k++) {
            if (m->nodes[i].in[k] == PITH_VALUE_NONE)
                continue;
            w->place[m->nodes[i].in[k]].to = i;
            w->place[m->nodes[i].in[k]].is_read = true;
        }
    }
}

enum pith_status pith_prefix_open(struct prefix_reuse *w, const struct pith_model *m,
                                  uint32_t n_samples, size_t most_bytes)
{
    *w = (struct prefix_reuse){
        .step = NO_STEP, .m = m, .n_samples = n_samples, .most_bytes = most_bytes};
    w->place = calloc(m->n_values + (size_t)1, sizeof *w->place);
    w->alive = calloc(m->n_values + (size_t)1, sizeof *w->alive);
    w->kept = calloc(n_samples + (size_t)1, sizeof *w->kept);
    if (!w->place || !w->alive || !w->kept)
        return PITH_ERR_MEMORY;
    find_lifetimes(w);
    return PITH_OK;
}

static void forget(struct prefix_reuse *w)
{
    for (uint32_t i = 0; w->kept && i < w->n_samples; i++) {
        free(w->kept[i]);
        w->kept[i] = NULL;
    }
    w->bytes = 0;
}

void pith_prefix_close(struct prefix_reuse *w)
{
    forget(w);
    free(w->place);
    free(w->alive);
    free(w->kept);
}

void pith_prefix_see(struct prefix_reuse *w, uint32_t v, void *x, size_t bytes, bool is_f32)
{
    w->place[v].x = x;
    w->place[v].bytes = bytes;
    w->place[v].is_f32 = is_f32;
}

float *pith_prefix_place(const struct prefix_reuse *w, uint32_t v, size_t *n)
{
    *n = w->place[v].bytes / sizeof(float);
    return w->place[v].is_f32 ? w->place[v].x : NULL;
}

static bool is_straight(const struct pith_model *m)
{
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (pith_opens_body(m->nodes[i].op))
            return false;
    return true;
}

/* false: a live value was not observed. */
static bool list_alive(struct prefix_reuse *w, uint32_t step)
{
    w->n_alive = 0;
    w->each_bytes = 0;
    for (uint32_t v = 0; v < w->m->n_values; v++) {
        const struct value_place *p = &w->place[v];
        bool was = p->from == NO_STEP || p->from <= step;
        bool is_output = p->from == step && p->x; /* read or not */
        if (w->m->values[v].constant || !was || !(is_output || (p->is_read && p->to > step)))
            continue;
        if (!p->x)
            return false;
        w->alive[w->n_alive++] = v;
        w->each_bytes += p->bytes;
    }
    return true;
}

void pith_prefix_set(struct prefix_reuse *w, uint32_t step)
{
    if (step != NO_STEP && step == w->step)
        return;
    forget(w);
    w->step = step != NO_STEP && is_straight(w->m) && list_alive(w, step) ? step : NO_STEP;
}

void pith_prefix_keep(struct prefix_reuse *w, uint32_t i)
{
    size_t at = 0;
    if (w->kept[i] || w->each_bytes > w->most_bytes - w->bytes)
        return;
    w->kept[i] = malloc(w->each_bytes + 1);
    if (!w->kept[i]) /* then it runs whole */
        return;
    w->bytes += w->each_bytes;
    for (uint32_t k = 0; k < w->n_alive; k++) {
        const struct value_place *p = &w->place[w->alive[k]];
        memcpy(w->kept[i] + at, p->x, p->bytes);
        at += p->bytes;
    }
}

bool pith_prefix_back(const struct prefix_reuse *w, uint32_t i)
{
    size_t at = 0;
    if (w->step == NO_STEP || !w->kept[i])
        return false;
    for (uint32_t k = 0; k < w->n_alive; k++) {
        const struct value_place *p = &w->place[w->alive[k]];
        /* What is no f32 may lie in the file itself, where nothing is written. */
        if (p->is_f32 || memcmp(p->x, w->kept[i] + at, p->bytes) != 0)
            memcpy(p->x, w->kept[i] + at, p->bytes);
        at += p->bytes;
    }
    return true;
}
