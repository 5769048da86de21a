/* SPDX-License-Identifier: MIT */
/* copy.c - a model in memory of its own, whose values and nodes keep their numbers. */
#include "pith_model.h"

#include <string.h>

#include "base/error_fill.h"
#include "op_interface/op_info.h"
#include "pith_value_stats.h"

/* NULL stays NULL; ok becomes false where there is no memory. */
static void *copy_of(struct pith_model *m, const void *from, uint64_t n, size_t each, bool *ok)
{
    void *to = from ? pith_model_alloc(m, n, each) : NULL;
    if (to && n)
        memcpy(to, from, (size_t)n * each);
    *ok = *ok && (to || !from);
    return to;
}

static char *copy_text(struct pith_model *m, const char *text, bool *ok)
{
    return copy_of(m, text, text ? strlen(text) + 1 : 0, 1, ok);
}

static struct pith_codebook *copy_codebook(struct pith_model *m, const struct pith_codebook *from,
                                           uint64_t count, bool *ok)
{
    struct pith_codebook *b = copy_of(m, from, 1, sizeof *b, ok);
    if (!b)
        return NULL;
    b->centroid = copy_of(m, b->centroid, b->n_groups * b->n_centroids, sizeof *b->centroid, ok);
    b->index = copy_of(m, b->index, count, sizeof *b->index, ok);
    return b;
}

static struct pith_integers *copy_integers(struct pith_model *m, const struct pith_integers *from,
                                           bool *ok)
{
    struct pith_integers *g = copy_of(m, from, 1, sizeof *g, ok);
    if (!g)
        return NULL;
    g->scale = copy_of(m, g->scale, g->n, sizeof *g->scale, ok);
    g->zero = copy_of(m, g->zero, g->n, sizeof *g->zero, ok);
    return g;
}

static struct pith_const *copy_constant(struct pith_model *m, const struct pith_value *v, bool *ok)
{
    struct pith_const *c = copy_of(m, v->constant, 1, sizeof *c, ok);
    if (!c)
        return NULL;
    c->data = copy_of(m, c->data, c->count, pith_type_bytes(v->type), ok);
    c->mask = copy_of(m, c->mask, c->count, 1, ok);
    c->codebook = copy_codebook(m, c->codebook, c->count, ok);
    c->integers = copy_integers(m, c->integers, ok);
    return c;
}

static struct pith_value_stats *copy_stats(struct pith_model *m,
                                           const struct pith_value_stats *from, bool *ok)
{
    struct pith_value_stats *s = copy_of(m, from, 1, sizeof *s, ok);
    if (!s)
        return NULL;
    s->histogram.count =
        copy_of(m, s->histogram.count, s->histogram.n_bins, sizeof *s->histogram.count, ok);
    s->channel = copy_of(m, s->channel, s->n_channels, sizeof *s->channel, ok);
    return s;
}

static struct pith_grid *copy_grid(struct pith_model *m, const struct pith_grid *from, bool *ok)
{
    struct pith_grid *g = copy_of(m, from, 1, sizeof *g, ok);
    if (g)
        g->scale = copy_of(m, g->scale, g->n, sizeof *g->scale, ok);
    return g;
}

static bool copy_values(struct pith_model *m)
{
    bool ok = true;
    m->values = copy_of(m, m->values, m->n_values, sizeof *m->values, &ok);
    for (uint32_t i = 0; i < m->n_values && ok; i++) {
        struct pith_value *v = &m->values[i];
        v->name = copy_text(m, v->name, &ok);
        v->constant = copy_constant(m, v, &ok);
        v->stats = copy_stats(m, v->stats, &ok);
        v->grid = copy_grid(m, v->grid, &ok);
    }
    return ok;
}

static struct pith_sized *copy_sized(struct pith_model *m, const struct pith_sized *from,
                                     uint32_t n, bool *ok)
{
    struct pith_sized *s = copy_of(m, from, n, sizeof *s, ok);
    for (uint32_t i = 0; s && i < n; i++)
        s[i].formula = copy_text(m, s[i].formula, ok);
    return s;
}

static bool copy_sizes(struct pith_model *m)
{
    bool ok = true;
    m->sizes = copy_of(m, m->sizes, m->n_sizes, sizeof *m->sizes, &ok);
    for (uint32_t i = 0; m->sizes && i < m->n_sizes; i++)
        m->sizes[i].name = copy_text(m, m->sizes[i].name, &ok);
    m->sized = copy_sized(m, m->sized, m->n_sized, &ok);
    m->limits = copy_of(m, m->limits, m->n_limits, sizeof *m->limits, &ok);
    for (uint32_t i = 0; m->limits && i < m->n_limits; i++)
        m->limits[i].formula = copy_text(m, m->limits[i].formula, &ok);
    return ok;
}

static bool copy_nodes(struct pith_model *m)
{
    bool ok = true;
    m->nodes = copy_of(m, m->nodes, m->n_nodes, sizeof *m->nodes, &ok);
    for (uint32_t i = 0; i < m->n_nodes && ok; i++) {
        struct pith_node *n = &m->nodes[i];
        n->name = copy_text(m, n->name, &ok);
        n->attr = copy_of(m, n->attr, pith_op_get(n->op)->n_slots, sizeof *n->attr, &ok);
        n->in = copy_of(m, n->in, n->n_in, sizeof *n->in, &ok);
        n->out = copy_of(m, n->out, n->n_out, sizeof *n->out, &ok);
        n->sized = copy_sized(m, n->sized, n->n_sized, &ok);
    }
    return ok;
}

static struct pith_meta *copy_texts(struct pith_model *m, const struct pith_meta *from, uint32_t n,
                                    bool *ok)
{
    uint32_t room = 1; /* lists grow at powers of two: model.c */
    while (room < n)
        room *= 2;
    struct pith_meta *list = from ? pith_model_alloc(m, room, sizeof *list) : NULL;
    *ok = *ok && (list || !from);
    for (uint32_t i = 0; i < n && *ok; i++)
        list[i] = (struct pith_meta){copy_text(m, from[i].key, ok), copy_text(m, from[i].text, ok)};
    return list;
}

enum pith_status pith_model_copy(const struct pith_model *from, struct pith_model **copy,
                                 struct pith_error *err)
{
    if (!from || !copy)
        return PITH_ERR_ARGUMENT;
    struct pith_model *m;
    if (pith_model_new(NULL, &m))
        return pith_error_no_memory(err);
    struct pith_model_arena *arena = m->arena;
    *m = *from;
    m->arena = arena;
    bool ok = copy_values(m) && copy_nodes(m) && copy_sizes(m);
    m->inputs = copy_of(m, from->inputs, from->n_inputs, sizeof *m->inputs, &ok);
    m->outputs = copy_of(m, from->outputs, from->n_outputs, sizeof *m->outputs, &ok);
    m->meta = copy_texts(m, from->meta, from->n_meta, &ok);
    m->history = copy_texts(m, from->history, from->n_history, &ok);
    if (!ok) {
        pith_model_free(m);
        return pith_error_no_memory(err);
    }
    *copy = m;
    return PITH_OK;
}
