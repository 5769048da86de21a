/* SPDX-License-Identifier: MIT */
#include "augment_batch.h"
#include "pith_host.h"
#include "pith_train.h"
#include "train/state/shuffle.h"

#include <math.h>
#include <stdlib.h>

struct augment_batch {
    struct augment a;
    uint32_t per_slice;
    size_t each;
    float *scratch; /* [slices][each] */
    float *share;   /* [slices][per_slice]; NULL: no mixing */
};

void pith_augment_batch_free(struct augment_batch *b)
{
    if (!b)
        return;
    free(b->scratch);
    free(b->share);
    free(b);
}

static enum pith_status check(const struct augment *a, const struct pith_value *input,
                              struct pith_error *err)
{
    if (input->type != PITH_F32)
        return pith_error_set(err, PITH_ERR_ARGUMENT,
                              "augmentation is for numbers; input '%.100s' has ids", input->name);
    if (pith_augment_moves(a) && input->rank != 4)
        return pith_error_set(
            err, PITH_ERR_ARGUMENT,
            "this augmentation is for pictures; input '%.100s' has %u axes, not 4", input->name,
            input->rank);
    if (a->saturation > 0 && (input->rank != 4 || input->dim[1] != 3))
        return pith_error_set(err, PITH_ERR_ARGUMENT,
                              "saturation is for pictures of three colours; input '%.100s' has "
                              "others",
                              input->name);
    return PITH_OK;
}

enum pith_status pith_augment_batch_new(const char *text, const struct pith_value *input,
                                        uint32_t per_slice, struct augment_batch **b,
                                        struct pith_error *err)
{
    struct augment a = {0};
    enum pith_status status = text ? pith_augment_parse(text, &a, err) : PITH_OK;
    *b = NULL;
    if (status || !pith_augment_any(&a))
        return status;
    status = check(&a, input, err);
    if (status)
        return status;
    struct augment_batch *made = calloc(1, sizeof *made);
    if (made) {
        *made = (struct augment_batch){.a = a, .per_slice = per_slice, .each = 1};
        for (uint32_t i = 1; i < input->rank; i++)
            made->each *= input->dim[i];
        made->scratch = malloc(PITH_TRAIN_SLICES * made->each * sizeof *made->scratch);
        if (a.mixup > 0)
            made->share = malloc((size_t)PITH_TRAIN_SLICES * per_slice * sizeof *made->share);
    }
    if (!made || !made->scratch || (a.mixup > 0 && !made->share)) {
        pith_augment_batch_free(made);
        return pith_tape_no_memory(err);
    }
    *b = made;
    return PITH_OK;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* (0, 1): its logarithm is finite. */
static double draw(uint64_t *state)
{
    return random_unit(state) + 0x1p-54;
}

/* Beta(alpha, alpha), by Joehnk's way in logarithms: u^(1/alpha) is 0 for small alpha. */
static float draw_beta(double alpha, uint64_t *state)
{
    for (;;) {
        double x = log(draw(state)) / alpha, y = log(draw(state)) / alpha;
        double most = fmax(x, y), sum = exp(x - most) + exp(y - most);
        if (most + log(sum) <= 0)
            return (float)(exp(x - most) / sum);
    }
}

/* Another number than what the samples draw from. */
#define PAIR_SEED UINT64_C(0x517cc1b727220a95)

static void draw_shares(const struct augment_batch *b, uint64_t state, float *share)
{
    uint32_t n = b->per_slice;
    state ^= PAIR_SEED;
    for (uint32_t i = 0; i < n; i += 2) {
        bool clean = draw(&state) < (double)b->a.clean;
        float own = draw_beta((double)b->a.mixup, &state);
        share[i] = clean || i + 1 == n ? 1.0f : own;
        if (i + 1 < n)
            share[i + 1] = share[i];
    }
}

void pith_mix_pairs(const float *share, uint32_t per_slice, size_t each, float *x)
{
    for (uint32_t i = 0; i + 1 < per_slice; i += 2) {
        float *a = x + i * each, *b = a + each, own = share[i];
        for (size_t k = 0; k < each && own < 1; k++) {
            float mixed = own * a[k] + (1 - own) * b[k];
            b[k] = own * b[k] + (1 - own) * a[k];
            a[k] = mixed;
        }
    }
}

/* ---- a slice --------------------------------------------------------------------------------- */

void pith_augment_slice(const struct augment_batch *b, uint64_t seed, uint64_t first,
                        const uint32_t *number, uint32_t slice, struct tape_tensor *x)
{
    bool picture = x->shape.rank == 4;
    const uint32_t *dim = x->shape.dim;
    const struct picture_size size = picture ? (struct picture_size){dim[1], dim[2], dim[3]}
                                             : (struct picture_size){1, 1, (uint32_t)b->each};
    uint64_t base = seed * RANDOM_STRIDE + first;
    for (uint32_t i = 0; i < b->per_slice; i++) {
        uint64_t state = base + (number ? number[i] : i);
        pith_augment(&b->a, next_random(&state), &size, (float *)x->data + i * b->each,
                     b->scratch + slice * b->each);
    }
    if (!b->share)
        return;
    float *share = b->share + (size_t)slice * b->per_slice;
    draw_shares(b, base + (number ? number[0] : 0), share);
    pith_mix_pairs(share, b->per_slice, b->each, x->data);
}

bool pith_augment_mixes(const struct augment_batch *b)
{
    return b && b->share;
}

const float *pith_augment_shares(const struct augment_batch *b, uint32_t slice)
{
    return b && b->share ? b->share + (size_t)slice * b->per_slice : NULL;
}
