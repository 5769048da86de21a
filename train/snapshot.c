/* SPDX-License-Identifier: MIT */
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>

struct snapshot {
    uint8_t *bytes;
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
        void *part[] = {c->data, b ? b->centroid : NULL, b ? b->index : NULL};
        size_t n[] = {(size_t)c->count * sizeof(float),
                      b ? (size_t)(b->n_groups * b->n_centroids) * sizeof(float) : 0,
                      b ? (size_t)c->count : 0};
        for (int k = 0; k < 3; k++) {
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

enum pith_status pith_snapshot_new(const struct pith_model *m, struct snapshot **s)
{
    struct snapshot *made = calloc(1, sizeof *made);
    if (made)
        made->bytes = malloc(walk(m, NULL, NULL) + 1);
    if (!made || !made->bytes) {
        free(made);
        return PITH_ERR_MEMORY;
    }
    pith_snapshot_take(made, m);
    *s = made;
    return PITH_OK;
}

void pith_snapshot_free(struct snapshot *s)
{
    if (s)
        free(s->bytes);
    free(s);
}

void pith_snapshot_take(struct snapshot *s, const struct pith_model *m)
{
    walk(m, s->bytes, keep);
}

void pith_snapshot_restore(const struct snapshot *s, struct pith_model *m)
{
    walk(m, s->bytes, put_back);
}
