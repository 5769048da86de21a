/* SPDX-License-Identifier: MIT */
/* few_patches.c - all patches of a layer, kept as they are. */
#include "few_patches.h"

#include <stdlib.h>

static uint64_t count(const struct layer_inputs *in, const struct layer_patches *p)
{
    return p->positions * in->n_samples;
}

bool pith_patches_are_few(const struct layer_inputs *in, const struct integer_layer *l)
{
    struct layer_patches p = pith_layer_patches(in, l);
    return count(in, &p) <= l->shape.cols / PITH_COLUMNS_FOR_A_PATCH;
}

static enum pith_status make_room(struct few_patches *f)
{
    f->x = malloc(f->r * f->n * sizeof *f->x);
    f->room = malloc(f->r * (f->r + 1) * sizeof *f->room);
    f->by_place = malloc(f->r * f->n * sizeof *f->by_place);
    f->p = malloc(f->r * f->n * sizeof *f->p);
    return f->x && f->room && f->by_place && f->p ? PITH_OK : PITH_ERR_MEMORY;
}

enum pith_status pith_few_patches(const struct layer_inputs *in, const struct integer_layer *l,
                                  struct few_patches *f)
{
    *f = (struct few_patches){.patches = pith_layer_patches(in, l), .n = l->shape.cols};
    f->r = (size_t)count(in, &f->patches);
    return make_room(f);
}

enum pith_status pith_few_patches_room(size_t n, size_t r, struct few_patches *f)
{
    *f = (struct few_patches){.n = n, .r = r, .unit = calloc(r + 1, sizeof *f->unit)};
    return f->unit ? make_room(f) : PITH_ERR_MEMORY;
}

void pith_few_patches_end(struct few_patches *f)
{
    free(f->x);
    free(f->unit);
    free(f->room);
    free(f->by_place);
    free(f->p);
}

void pith_few_patches_read(struct few_patches *f, uint64_t group, double *diagonal)
{
    for (size_t i = 0; i < f->r; i++)
        pith_patch_row(&f->patches, i / f->patches.positions, group, i % f->patches.positions,
                       f->x + i * f->n, 1);
    pith_few_patches_diagonal(f, diagonal);
}

void pith_few_patches_diagonal(const struct few_patches *f, double *diagonal)
{
    for (size_t k = 0; k < f->n; k++)
        diagonal[k] = 0;
    for (size_t i = 0; i < f->r; i++) {
        const int16_t *row = f->x + i * f->n;
        double unit = f->unit ? f->unit[i] * f->unit[i] : 1;
        for (size_t k = 0; k < f->n; k++)
            diagonal[k] += (double)(row[k] * row[k]) * unit;
    }
}

void pith_few_patches_place(struct few_patches *f, const size_t *order)
{
    for (size_t j = 0; j < f->n; j++)
        for (size_t i = 0; i < f->r; i++)
            f->by_place[j * f->r + i] = f->x[i * f->n + order[j]] * (f->unit ? f->unit[i] : 1);
}
