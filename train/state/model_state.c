/* SPDX-License-Identifier: MIT */
/* model_state.c - for each f32 constant, in the model's order: a head, its elements, its mask, its
 * centroids, its indices. */
#include "model_state.h"
#include "core/bytes.h"
#include "core/f32_bits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct head {
    uint64_t value, masked, n_groups, n_centroids, group_elems; /* n_groups 0: no codebook */
};
enum { HEAD_BYTES = 40 }; /* its fields in this order, u64 each */

static struct head head_of(const struct pith_model *m, uint32_t value)
{
    const struct pith_const *c = m->values[value].constant;
    struct head h = {.value = value, .masked = c->mask != NULL};
    if (c->codebook) {
        h.n_groups = c->codebook->n_groups;
        h.n_centroids = c->codebook->n_centroids;
        h.group_elems = c->codebook->group_elems;
    }
    return h;
}

static bool is_state(const struct pith_model *m, uint32_t value)
{
    return m->values[value].constant && m->values[value].type == PITH_F32;
}

/* ---- saving ---------------------------------------------------------------------------------- */

/* At p, or nowhere where p is NULL; returns the bytes after it. */
static size_t put(uint8_t *p, size_t at, const void *data, size_t n)
{
    if (p && n)
        memcpy(p + at, data, n);
    return at + n;
}

static size_t put_head(uint8_t *p, size_t at, const struct head *h)
{
    const uint64_t field[] = {h->value, h->masked, h->n_groups, h->n_centroids, h->group_elems};
    for (int i = 0; i < HEAD_BYTES / 8; i++, at += 8)
        if (p)
            store_le64(p + at, field[i]);
    return at;
}

static size_t put_floats(uint8_t *p, size_t at, const float *x, uint64_t n)
{
    for (uint64_t k = 0; k < n; k++, at += 4)
        if (p)
            store_le32(p + at, f32_bits(x[k]));
    return at;
}

static size_t put_all(const struct pith_model *m, uint8_t *p)
{
    size_t at = 0;
    for (uint32_t i = 0; i < m->n_values; i++) {
        if (!is_state(m, i))
            continue;
        struct head h = head_of(m, i);
        const struct pith_const *c = m->values[i].constant;
        at = put_head(p, at, &h);
        at = put_floats(p, at, c->data, c->count);
        at = put(p, at, c->mask, h.masked ? (size_t)c->count : 0);
        if (!h.n_groups)
            continue;
        at = put_floats(p, at, c->codebook->centroid, h.n_groups * h.n_centroids);
        at = put(p, at, c->codebook->index, (size_t)c->count);
    }
    return at;
}

enum pith_status pith_model_state_save(const struct pith_model *m, struct pith_buffer *state)
{
    size_t n = put_all(m, NULL);
    pith_buffer_free(state);
    *state = (struct pith_buffer){malloc(n + 1), n};
    if (!state->data) {
        state->bytes = 0;
        return PITH_ERR_MEMORY;
    }
    put_all(m, state->data);
    return PITH_OK;
}

/* ---- loading --------------------------------------------------------------------------------- */

/* False: the rest is shorter. */
static bool take_head(struct reader *r, struct head *h)
{
    const uint8_t *p = rd_bytes(r, HEAD_BYTES);
    if (p)
        *h = (struct head){load_le64(p), load_le64(p + 8), load_le64(p + 16), load_le64(p + 24),
                           load_le64(p + 32)};
    return p != NULL;
}

/* False: the rest is shorter, or one is no number, or not the one that stays. */
static bool take_floats(struct reader *r, float *to, uint64_t n, bool stay)
{
    const uint8_t *p = n <= r->left / 4 ? rd_bytes(r, (size_t)n * 4) : NULL;
    for (uint64_t k = 0; k < n && p; k++) {
        const float x = f32_from_bits(load_le32(p + 4 * k));
        if (stay ? f32_bits(x) != f32_bits(to[k]) : isnan(x))
            return false;
        to[k] = x;
    }
    return p != NULL;
}

/* Bytes of which each is below `limit`. */
static bool take_bytes(struct reader *r, uint8_t *to, uint64_t n, uint64_t limit)
{
    const uint8_t *p = n <= r->left ? rd_bytes(r, (size_t)n) : NULL;
    for (uint64_t k = 0; k < n && p; k++) {
        if (p[k] >= limit)
            return false;
        to[k] = p[k];
    }
    return p != NULL;
}

static bool head_fits(const struct head *h, uint32_t value, uint64_t count)
{
    uint64_t elems;
    if (h->value != value || h->masked > 1)
        return false;
    return h->n_groups == 0 ||
           (h->n_centroids >= 1 && h->n_centroids <= 256 && h->n_groups <= count &&
            mul_ok(h->n_groups, h->group_elems, &elems) && elems == count);
}

/* A codebook of the head's sizes: the model's own, where it has them. NULL: no memory. */
static struct pith_codebook *codebook_for(struct pith_model *m, const struct pith_const *c,
                                          const struct head *h)
{
    struct pith_codebook *b = c->codebook;
    if (b && b->n_groups == h->n_groups && b->n_centroids == h->n_centroids)
        return b;
    b = pith_model_alloc(m, 1, sizeof *b);
    if (!b)
        return NULL;
    *b = (struct pith_codebook){
        .n_centroids = (uint32_t)h->n_centroids,
        .group_elems = h->group_elems,
        .n_groups = h->n_groups,
        .centroid = pith_model_alloc(m, h->n_groups * h->n_centroids, sizeof *b->centroid),
        .index = pith_model_alloc(m, c->count, 1)};
    return b->centroid && b->index ? b : NULL;
}

static enum pith_status load_codebook(struct reader *r, const struct head *h, struct pith_model *m,
                                      struct pith_const *c)
{
    if (!h->n_groups) {
        c->codebook = NULL;
        return PITH_OK;
    }
    const uint64_t n = h->n_groups * h->n_centroids; /* at most 256 a group: head_fits */
    if (n > r->left / 4)                             /* before memory is taken */
        return PITH_ERR_CORRUPT;
    c->codebook = codebook_for(m, c, h);
    if (!c->codebook)
        return PITH_ERR_MEMORY;
    return take_floats(r, c->codebook->centroid, n, false) &&
                   take_bytes(r, c->codebook->index, c->count, h->n_centroids)
               ? PITH_OK
               : PITH_ERR_CORRUPT;
}

static enum pith_status load_constant(struct reader *r, struct pith_model *m, uint32_t value,
                                      bool stays)
{
    struct head h;
    struct pith_const *c = m->values[value].constant;
    if (!take_head(r, &h) || !head_fits(&h, value, c->count) ||
        (stays && (h.masked != (c->mask != NULL) || (h.n_groups != 0) != (c->codebook != NULL))) ||
        !take_floats(r, c->data, c->count, stays))
        return PITH_ERR_CORRUPT;
    if (!h.masked)
        c->mask = NULL;
    else if (!c->mask && (c->mask = pith_model_alloc(m, c->count, 1)) == NULL)
        return PITH_ERR_MEMORY;
    if (h.masked && !take_bytes(r, c->mask, c->count, 2))
        return PITH_ERR_CORRUPT;
    return load_codebook(r, &h, m, c);
}

enum pith_status pith_model_state_load(const struct pith_buffer *state, const bool *moves,
                                       struct pith_model *m)
{
    struct reader r = reader_of(state->data, state->bytes);
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < m->n_values && !status; i++)
        if (is_state(m, i))
            status = load_constant(&r, m, i, !moves[i]);
    return status ? status : r.left ? PITH_ERR_CORRUPT : PITH_OK;
}
