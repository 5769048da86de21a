/* SPDX-License-Identifier: MIT */
/* equalize.c - cross-layer equalisation (Nagel, van Baalen, Blankevoort & Welling, "Data-Free
 * Quantization Through Weight Equalization and Bias Correction", 2019, section 4.1).
 *
 * Relu(s x) = s Relu(x) for s > 0, and pools keep such factors too. So row i of a layer's weights
 * may be divided by s[i], its bias as well, where column i of the next layer is multiplied by it.
 * With r1 and r2 the largest magnitudes of row and column, s = sqrt(r1 / r2) makes both sqrt(r1
 * r2): of all factors this gives each channel the largest share of a common range on both sides.
 *
 * Factors are rounded to powers of two, so nothing is rounded and the network stays what it was, to
 * the bit; channels then differ in size by less than two where factors could make them equal. Pairs
 * are visited until nothing moves: each moves its neighbours a little.
 *
 * A Clip such as Relu6 does not keep factors, so it ends a pair. */
#include "equalize.h"

#include <math.h>
#include <stdlib.h>

#include "base/error_fill.h"
#include "fold_affine.h"
#include "layer_pair.h"

#define SMALLEST_SIZE 0x1p-60 /* products of such factors stay within f32 */
#define LARGEST_SIZE 0x1p60
#define SWEEPS 20

static double column_size(const struct layer_weight *l, uint64_t i)
{
    const float *w = pith_column(l, i);
    double size = 0;
    for (uint64_t o = 0; o < l->rows_of_group; o++)
        for (uint64_t k = 0; k < l->taps; k++)
            size = fmax(size, fabs((double)w[o * l->cols + k]));
    return size;
}

static void scale_column(struct layer_weight *l, uint64_t i, int exponent)
{
    float *w = pith_column(l, i);
    for (uint64_t o = 0; o < l->rows_of_group; o++)
        for (uint64_t k = 0; k < l->taps; k++)
            w[o * l->cols + k] = ldexpf(w[o * l->cols + k], exponent);
}

static double row_size(const struct layer_weight *l, uint64_t i)
{
    double size = 0;
    for (uint64_t k = 0; k < l->cols; k++)
        size = fmax(size, fabs((double)l->w[i * l->cols + k]));
    return size;
}

static void scale_row(struct layer_weight *l, uint64_t i, int exponent)
{
    for (uint64_t k = 0; k < l->cols; k++)
        l->w[i * l->cols + k] = ldexpf(l->w[i * l->cols + k], exponent);
    if (l->bias)
        l->bias[i] = ldexpf(l->bias[i], exponent);
}

/* False: nothing moved. A channel that one side does not use has no size to match; sizes far from 1
 * stay, lest numbers leave the range of floats. */
static bool equalize(struct layer_pair *p)
{
    bool moved = false;
    for (uint64_t i = 0; i < p->channels; i++) {
        double r1 = row_size(&p->first, i), r2 = column_size(&p->second, i);
        if (!(r1 > SMALLEST_SIZE && r1 < LARGEST_SIZE && r2 > SMALLEST_SIZE && r2 < LARGEST_SIZE))
            continue;
        int exponent = (int)(log2(r1 / r2) / 2); /* towards 0: what is nearly equal stays */
        if (exponent == 0)
            continue;
        scale_row(&p->first, i, -exponent);
        scale_column(&p->second, i, exponent);
        moved = true;
    }
    return moved;
}

/* moved: [n], all false. */
static void equalize_all(struct layer_pair *pairs, uint32_t n, bool *moved)
{
    bool any = n > 0;
    for (int sweep = 0; sweep < SWEEPS && any; sweep++) {
        any = false;
        for (uint32_t i = 0; i < n; i++)
            if (equalize(&pairs[i]))
                moved[i] = any = true;
    }
}

enum pith_status pith_equalize(struct pith_model *m, uint32_t *n_pairs, struct pith_error *err)
{
    struct layer_pair *pairs = NULL;
    uint32_t n = 0, n_moved = 0;
    enum pith_status st = pith_model_fold_batch_norm(m, NULL, err);
    if (!st)
        st = pith_fold_affine(m, err);
    if (!st)
        st = pith_find_layer_pairs(m, pith_keeps_factors, &pairs, &n, err);
    if (st)
        return st;
    bool *moved = calloc(n + (size_t)1, sizeof *moved);
    if (moved)
        equalize_all(pairs, n, moved);
    else
        st = pith_error_no_memory(err);
    for (uint32_t i = 0; i < n && moved; i++)
        n_moved += moved[i];
    if (n_pairs)
        *n_pairs = n_moved;
    free(moved);
    free(pairs);
    return st;
}
