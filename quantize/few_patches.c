/* SPDX-License-Identifier: MIT */
/* few_patches.c - all patches of a layer, kept as they are. */
#include "few_patches.h"

#include <stdlib.h>

#define COLUMNS_FOR_A_PATCH 4u

static uint64_t count(const struct layer_inputs *in, const struct layer_patches *p)
{
    return p->positions * in->n_samples;
}

bool pith_patches_are_few(const struct layer_inputs *in, const struct integer_layer *l)
{
    struct layer_patches p = pith_layer_patches(in, l);
    return count(in, &p) <= l->shape.cols / COLUMNS_FOR_A_PATCH;
}

enum pith_status pith_few_patches(const struct layer_inputs *in, const struct integer_layer *l,
                                  struct few_patches *f)
{
    *f = (struct few_patches){.patches = pith_layer_patches(in, l), .n = l->shape.cols};
    f->r = (size_t)count(in, &f->patches);
    f->x = malloc(f->r * f->n * sizeof *f->x);
    f->room = malloc(f->r * (f->r + 1) * sizeof *f->room);
    f->by_place = malloc(f->r * f->n * sizeof *f->by_place);
    f->p = malloc(f->r * f->n * sizeof *f->p);
    return f->x && f->room && f->by_place && f->p ? PITH_OK : PITH_ERR_MEMORY;
}

void pith_few_patches_end(struct few_patches *f)
{
    free(f->x);
    free(f->room);
    free(f->by_place);
    free(f->p);
}

void pith_few_patches_read(struct few_patches *f, uint64_t group, double *diagonal)
{
    for (size_t k = 0; k < f->n; k++)
        diagonal[k] = 0;
    for (size_t i = 0; i < f->r; i++) {
        int16_t *row = f->x + i * f->n;
        pith_patch_row(&f->patches, i / f->patches.positions, group, i % f->patches.positions, row, 1);
        for (size_t k = 0; k < f->n; k++)
            diagonal[k] += (double)(row[k] * row[k]);
    }
}

void pith_few_patches_place(struct few_patches *f, const size_t *order)
{
    for (size_t j = 0; j < f->n; j++)
        for (size_t i = 0; i < f->r; i++)
            f->by_place[j * f->r + i] = f->x[i * f->n + order[j]];
}
