/* SPDX-License-Identifier: MIT */
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>

struct snapshot {
    struct parts {
        enum pith_type type; /* of every value: shapes are inferred anew when units go */
        uint32_t rank, dim[PITH_MAX_RANK];
        uint64_t count; /* of a constant */
        uint8_t *mask;
        struct pith_codebook *codebook, had; /* had: its sizes, and where its parts lie */
    } * of;                                  /* [n_values] where they lie is the model's */
    uint8_t *bytes;                          /* what stands there */
};

/* Calls move(model's bytes, snapshot's bytes, n) for every part, and counts them. */
static size_t walk(const struct pith_model *m, uint8_t *bytes,
                   void (*move)(void *model, void *snapshot, size_t n))
{
    size_t at = 0;
    for (uint32_t i = 0; i < m->n_values; i++) {
        const struct pith_const *c = m->values[i].constant;
        if (!c || m->values[i].type != PITH_F32)
            continue;
        const struct pith_codebook *b = c->codebook;
        void *part[] = {c->data, c->mask, b ? b->centroid : NULL, b ? b->index : NULL};
        size_t n[] = {(size_t)c->count * sizeof(float), c->mask ? (size_t)c->count : 0,
                      b ? (size_t)(b->n_groups * b->n_centroids) * sizeof(float) : 0,
                      b ? (size_t)c->count : 0};
        for (int k = 0; k < 4; k++) {
            if (move && n[k])
                move(part[k], bytes + at, n[k]);
            at += n[k];
        }
    }
    return at;
}

static void keep(void *model, void *snapshot, size_t n)
{
    memcpy(snapshot, model, n);
}

static void put_back(void *model, void *snapshot, size_t n)
{
    memcpy(model, snapshot, n);
}

static struct parts parts_of(const struct pith_value *v)
{
    struct parts p = {.type = v->type, .rank = v->rank};
    memcpy(p.dim, v->dim, sizeof p.dim);
    if (!v->constant)
        return p;
    p.count = v->constant->count;
    p.mask = v->constant->mask;
    p.codebook = v->constant->codebook;
    if (p.codebook)
        p.had = *p.codebook;
    return p;
}

static void put_parts_back(const struct parts *p, struct pith_value *v)
{
    v->type = p->type;
    v->rank = p->rank;
    memcpy(v->dim, p->dim, sizeof p->dim);
    if (!v->constant)
        return;
    v->constant->count = p->count;
    v->constant->mask = p->mask;
    v->constant->codebook = p->codebook;
    if (p->codebook)
        *p->codebook = p->had;
}

enum pith_status pith_snapshot_take(struct snapshot *s, const struct pith_model *m)
{
    size_t n = walk(m, NULL, NULL);
    uint8_t *bytes = realloc(s->bytes, n + 1);
    if (!bytes)
        return PITH_ERR_MEMORY;
    s->bytes = bytes;
    for (uint32_t i = 0; i < m->n_values; i++)
        s->of[i] = parts_of(&m->values[i]);
    walk(m, bytes, keep);
    return PITH_OK;
}

enum pith_status pith_snapshot_new(const struct pith_model *m, struct snapshot **s)
{
    struct snapshot *made = calloc(1, sizeof *made);
    if (made)
        made->of = calloc(m->n_values + 1u, sizeof *made->of);
    if (!made || !made->of || pith_snapshot_take(made, m)) {
        pith_snapshot_free(made);
        return PITH_ERR_MEMORY;
    }
    *s = made;
    return PITH_OK;
}

void pith_snapshot_free(struct snapshot *s)
{
    if (!s)
        return;
    free(s->of);
    free(s->bytes);
    free(s);
}

void pith_snapshot_restore(const struct snapshot *s, struct pith_model *m)
{
    for (uint32_t i = 0; i < m->n_values; i++)
        put_parts_back(&s->of[i], &m->values[i]);
    walk(m, s->bytes, put_back);
}
