/* SPDX-License-Identifier: MIT */
/* pack_content.c - what the file holds of a constant, where that is less than the model has:
 * without a redundant mask or centroid. The numbers are the same. */
#include <string.h>

#include "core/bytes.h"
#include "base/error_fill.h"
#include "model/fold_grid.h"
#include "pack.h"

#define FEW_LEVELS 16u

struct made_content {
    struct pith_const content;
    struct pith_codebook codebook;
    uint8_t index[]; /* [count], then [n_groups * n_centroids] f32 where they are made, too */
};

static struct made_content *make(struct pack_const *c, uint64_t n_centroids, struct pith_error *err)
{
    const struct pith_const *k = c->content;
    size_t begin = (size_t)(k->count + 7) / 8 * 8;
    struct made_content *made = (void *)pith_out_room(
        &c->made,
        sizeof *made + begin + (size_t)(k->codebook->n_groups * n_centroids) * sizeof(float));
    if (!made) {
        pith_error_no_memory(err);
        return NULL;
    }
    made->content = *k;
    made->codebook = *k->codebook;
    made->content.codebook = &made->codebook;
    made->codebook.index = made->index;
    if (n_centroids > 0)
        made->codebook.centroid = (float *)(void *)(made->index + begin);
    return made;
}

static bool is_stored(const struct pith_const *k, uint64_t i)
{
    return !k->mask || k->mask[i];
}

/* ---- vectors --------------------------------------------------------------------------------- */

/* The number of a centroid +0; n_centroids: there is none, or one for each group. */
static uint32_t zero_of(const struct pith_codebook *b)
{
    uint32_t i = 0;
    while (i < b->n_centroids && (b->n_groups > 1 || f32_bits(b->centroid[i]) != 0))
        i++;
    return i;
}

/* A vector (a bias) on its way to an adaptive stream, where a centroid is 0: the mask repeats what
 * the indices hold, at a price. */
static enum pith_status leave_mask_out(struct pack_const *c, struct pith_error *err)
{
    const struct pith_const *k = c->content;
    uint32_t zero = zero_of(k->codebook);
    if (c->value->rank > 1 || !k->mask || zero == k->codebook->n_centroids)
        return PITH_OK;
    struct made_content *made = make(c, 0, err);
    if (!made)
        return PITH_ERR_MEMORY;
    made->content.mask = NULL;
    for (uint64_t i = 0; i < k->count; i++)
        made->index[i] = k->mask[i] ? k->codebook->index[i] : (uint8_t)zero;
    c->content = &made->content;
    return PITH_OK;
}

/* ---- grids ----------------------------------------------------------------------------------- */

/* All groups are k * step, |k| <= n_centroids / 2. */
static bool is_symmetric_grid(const struct pith_codebook *b)
{
    for (uint64_t g = 0; g < b->n_groups; g++)
        if (!(pith_grid_symmetric_step(b->centroid + g * b->n_centroids, b->n_centroids) > 0))
            return false;
    return b->n_groups > 0;
}

struct use {
    uint32_t levels; /* largest |k| of what is stored, at least 1 */
    bool zero;       /* it is stored, too */
};

static struct use use_of(const struct pith_const *k)
{
    struct use u = {.levels = 1, .zero = !k->mask};
    int32_t middle = (int32_t)(k->codebook->n_centroids / 2);
    for (uint64_t i = 0; i < k->count; i++) {
        int32_t at = k->codebook->index[i] - middle;
        if (!is_stored(k, i))
            continue;
        u.zero |= at == 0;
        if ((uint32_t)(at < 0 ? -at : at) > u.levels)
            u.levels = (uint32_t)(at < 0 ? -at : at);
    }
    return u;
}

/* k's grid with so many levels and perhaps without its 0. */
static void narrow(struct made_content *made, const struct pith_const *k, const struct use *use)
{
    const struct pith_codebook *b = k->codebook;
    uint32_t levels = b->n_centroids / 2, cut = levels - use->levels;
    uint32_t n = 2 * use->levels + use->zero;
    for (uint64_t g = 0; g < b->n_groups; g++) {
        const float *from = b->centroid + g * b->n_centroids;
        float *to = made->codebook.centroid + g * n;
        memcpy(to, from + cut, use->levels * sizeof *to);
        memcpy(to + use->levels, from + levels + !use->zero, (n - use->levels) * sizeof *to);
    }
    for (uint64_t i = 0; i < k->count; i++) {
        uint32_t x = is_stored(k, i) ? b->index[i] : cut;
        made->index[i] = (uint8_t)(x - cut - (x > levels && !use->zero));
    }
    made->codebook.n_centroids = n;
}

/* Outer levels that do not occur are left out where there are many; a few cost nothing, and tensors
 * with equally many share the number. A mask has what is 0. */
static enum pith_status narrow_grid(struct pack_const *c, struct pith_error *err)
{
    const struct pith_const *k = c->content;
    uint32_t levels = k->codebook->n_centroids / 2;
    if (c->value->rank < 2 || !is_symmetric_grid(k->codebook))
        return PITH_OK;
    struct use use = use_of(k);
    if (use.levels > levels) /* an index out of range: the check of the codebook reports it */
        return PITH_OK;
    if (levels <= FEW_LEVELS)
        use.levels = levels;
    if (use.levels == levels && use.zero)
        return PITH_OK;
    struct made_content *made = make(c, 2 * use.levels + use.zero, err);
    if (!made)
        return PITH_ERR_MEMORY;
    narrow(made, k, &use);
    c->content = &made->content;
    return PITH_OK;
}

enum pith_status pith_pack_content(struct pack_const *c, struct pith_error *err)
{
    const struct pith_const *k = c->value->constant;
    c->content = k;
    if (c->code != PITH_CODE_ADAPTIVE || !k->codebook || c->value->type != PITH_F32)
        return PITH_OK;
    enum pith_status st = leave_mask_out(c, err);
    return st ? st : narrow_grid(c, err);
}
