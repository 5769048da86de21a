/* SPDX-License-Identifier: MIT */
/* codebook_build.c - see codebook_build.h. */
#include "codebook_build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/half_float.h"
#include "base/in_parallel.h"

/* Gathers a group's kept values; returns how many exact zeros an unmasked one holds. */
static uint64_t gather(struct sorted_values *s, const float *w, const uint8_t *mask, uint64_t n)
{
    uint64_t kept = 0, zeros = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (mask && !mask[i])
            continue;
        s->v[kept++] = w[i];
        zeros += w[i] == 0;
    }
    pith_sorted_build(s, kept);
    return mask ? 0 : zeros;
}

static bool deserves_zero(uint64_t zeros, uint64_t n, uint32_t wanted)
{
    return zeros > 0 && (wanted >= 3 || zeros * wanted >= n);
}

/* Fewer distinct values than centroids: they are the codebook. */
static void take_distinct(const struct sorted_values *s, struct centroids *c)
{
    c->n = 0;
    for (uint64_t i = 0; i < s->n; i++) {
        if (i == 0 || s->v[i] != s->v[i - 1])
            c->at[c->n++] = (double)s->v[i];
    }
    if (c->n == 0) /* an empty group still has a codebook */
        c->at[c->n++] = 0;
}

static bool solve(const struct codebook_build *b, const struct sorted_values *s,
                  struct centroids *c)
{
    if (pith_sorted_distinct(s, c->wanted + (uint64_t)1) <= c->wanted) {
        take_distinct(s, c);
        return true;
    }
    if (b->init == PITH_CLUSTER_LINEAR)
        pith_kmeans_linear(s, c);
    else if (!pith_kmeans_exact(s, c))
        return false;
    pith_kmeans_lloyd(s, c);
    return true;
}

static float round_centroid(const struct codebook_build *b, double x)
{
    float f = (float)x + 0.0f; /* no -0 */
    return b->half ? half_to_f32(half_from_f32(f)) + 0.0f : f;
}

/* Rounding may make neighbours equal: one of them stays. */
static uint32_t round_all(const struct codebook_build *b, const struct centroids *c, float *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        float f = round_centroid(b, c->at[i]);
        if (n == 0 || f > out[n - 1])
            out[n++] = f;
    }
    return n;
}

static bool build_group(struct codebook_build *b, struct sorted_values *s, uint64_t group,
                        const float *w, const uint8_t *mask)
{
    uint64_t at = group * b->group_elems;
    uint64_t zeros = gather(s, w + at, mask ? mask + at : NULL, b->group_elems);
    struct centroids c = {.wanted = b->wanted,
                          .pin_zero = deserves_zero(zeros, b->group_elems, b->wanted)};
    if (!solve(b, s, &c))
        return false;
    b->used[group] = round_all(b, &c, b->centroid + group * b->wanted);
    if (b->used[group] > b->used_most)
        b->used_most = b->used[group];
    return true;
}

enum pith_status pith_codebook_build(struct codebook_build *b, const float *w, const uint8_t *mask)
{
    struct sorted_values s;
    bool ok = pith_sorted_begin(&s, b->group_elems);
    s.runtime = b->runtime;
    b->used_most = 0;
    b->used = calloc(b->n_groups, sizeof *b->used);
    b->centroid = calloc(b->n_groups, b->wanted * sizeof *b->centroid);
    ok = ok && b->used && b->centroid;
    for (uint64_t g = 0; ok && g < b->n_groups; g++)
        ok = build_group(b, &s, g, w, mask);
    pith_sorted_end(&s);
    return ok ? PITH_OK : PITH_ERR_MEMORY;
}

void pith_codebook_build_end(struct codebook_build *b)
{
    free(b->used);
    free(b->centroid);
    b->used = NULL;
    b->centroid = NULL;
}

/* The next value above x that a file can store. */
static float next_above(const struct codebook_build *b, float x)
{
    if (!b->half)
        return nextafterf(x, INFINITY);
    uint16_t h = half_from_f32(x);
    if (x == 0)
        return half_to_f32(1);
    return half_to_f32((uint16_t)(x > 0 ? h + 1 : h - 1)) + 0.0f;
}

/* out: [n_groups * used_most]; shorter groups are filled with the next representable values. */
static void codebook_copy(const struct codebook_build *b, float *out)
{
    for (uint64_t g = 0; g < b->n_groups; g++) {
        float *to = out + g * b->used_most;
        memcpy(to, b->centroid + g * b->wanted, b->used[g] * sizeof *to);
        for (uint32_t i = b->used[g]; i < b->used_most; i++)
            to[i] = next_above(b, to[i - 1]);
    }
}

/* Midpoints between centroids, infinite behind the last, so that a search of a fixed number of
 * halvings needs no bound. */
static void find_midpoints(const float *centroid, uint32_t n, double *mid)
{
    for (uint32_t i = 0; i < KMEANS_MAX; i++)
        mid[i] = i + 1 < n ? ((double)centroid[i] + (double)centroid[i + 1]) / 2 : INFINITY;
}

/* Number of midpoints below x: the index of its nearest centroid. */
static uint8_t nearest(const double *mid, float x)
{
    uint32_t at = 0;
    for (uint32_t step = KMEANS_MAX / 2; step > 0; step /= 2)
        at += mid[at + step - 1] < (double)x ? step : 0;
    return (uint8_t)at;
}

struct assignment {
    const struct codebook_build *b;
    const float *centroid, *w;
    const uint8_t *mask;
    uint8_t *index;
    uint64_t n;
    uint32_t n_pieces;
};

/* Pieces may begin and end inside of groups. */
static void assign_piece(void *arg, uint32_t piece)
{
    const struct assignment *a = arg;
    const struct codebook_build *b = a->b;
    double mid[KMEANS_MAX];
    uint64_t i = pith_piece_start(a->n, a->n_pieces, piece);
    uint64_t end = pith_piece_start(a->n, a->n_pieces, piece + 1);
    while (i < end) {
        uint64_t g = i / b->group_elems, last = (g + 1) * b->group_elems;
        find_midpoints(a->centroid + g * b->used_most, b->used[g], mid);
        for (; i < end && i < last; i++)
            a->index[i] = !a->mask || a->mask[i] ? nearest(mid, a->w[i]) : 0;
    }
}

void pith_codebook_assign(const struct codebook_build *b, const float *centroid, const float *w,
                          const uint8_t *mask, uint8_t *index)
{
    uint64_t n = b->n_groups * b->group_elems;
    struct assignment a = {b, centroid, w, mask, index, n, pith_pieces_of(n)};
    pith_in_parallel(b->runtime, a.n_pieces, assign_piece, &a);
}

/* ---- for a constant -------------------------------------------------------------------------- */

static struct pith_codebook *in_arena(const struct codebook_build *b, struct pith_model *m,
                                      const struct pith_const *c)
{
    struct pith_codebook *cb = pith_model_alloc(m, 1, sizeof *cb);
    if (!cb)
        return NULL;
    cb->n_centroids = b->used_most;
    cb->group_elems = b->group_elems;
    cb->n_groups = b->n_groups;
    cb->centroid = pith_model_alloc(m, (uint64_t)b->used_most * b->n_groups, sizeof *cb->centroid);
    cb->index = pith_model_alloc(m, c->count, 1);
    if (!cb->centroid || !cb->index)
        return NULL;
    codebook_copy(b, cb->centroid);
    pith_codebook_assign(b, cb->centroid, c->data, c->mask, cb->index);
    return cb;
}

enum pith_status pith_codebook_make(struct codebook_build *b, struct pith_model *m,
                                    const struct pith_const *c, struct pith_codebook **made)
{
    b->n_groups = c->count / b->group_elems;
    enum pith_status st = pith_codebook_build(b, c->data, c->mask);
    struct pith_codebook *cb = st ? NULL : in_arena(b, m, c);
    pith_codebook_build_end(b);
    if (!cb)
        return PITH_ERR_MEMORY;
    *made = cb;
    return PITH_OK;
}
