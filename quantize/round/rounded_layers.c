/* SPDX-License-Identifier: MIT */
/* rounded_layers.c - a list, looked through from its beginning: networks have hundreds of layers.
 */
#include "rounded_layers.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BYTES ((size_t)256 << 20)

struct rounded_layer {
    char *name;
    uint64_t rows, cols;
    int32_t lowest, most;
    double *step; /* [2, rows] before and after */
    int16_t *q;   /* [rows, cols] */
};

bool pith_rounded_take(const struct rounded_layers *r, const char *name, struct integer_layer *l)
{
    const uint64_t rows = l->shape.rows, cols = l->shape.cols;
    for (uint32_t i = 0; i < r->n; i++) {
        const struct rounded_layer *k = &r->layer[i];
        if (strcmp(k->name, name) != 0 || k->rows != rows || k->cols != cols ||
            k->lowest != l->lowest || k->most != l->most ||
            memcmp(k->step, l->scale, rows * sizeof *k->step) != 0)
            continue;
        memcpy(l->scale, k->step + rows, rows * sizeof *k->step);
        memcpy(l->q, k->q, rows * cols * sizeof *k->q);
        return true;
    }
    return false;
}

static void free_layer(struct rounded_layer *k)
{
    free(k->name);
    free(k->step);
    free(k->q);
}

void pith_rounded_keep(struct rounded_layers *r, const char *name, const double *step,
                       const struct integer_layer *l)
{
    const size_t rows = (size_t)l->shape.rows, n = rows * (size_t)l->shape.cols;
    if (!name[0] || n * sizeof *l->q > MOST_BYTES - r->bytes)
        return;
    struct rounded_layer *more = realloc(r->layer, (r->n + (size_t)1) * sizeof *more);
    if (!more)
        return;
    r->layer = more;
    struct rounded_layer k = {.name = malloc(strlen(name) + 1),
                              .rows = l->shape.rows,
                              .cols = l->shape.cols,
                              .lowest = l->lowest,
                              .most = l->most,
                              .step = malloc(2 * rows * sizeof *k.step),
                              .q = malloc(n * sizeof *k.q)};
    if (!k.name || !k.step || !k.q) {
        free_layer(&k);
        return;
    }
    strcpy(k.name, name);
    memcpy(k.step, step, rows * sizeof *step);
    memcpy(k.step + rows, l->scale, rows * sizeof *step);
    memcpy(k.q, l->q, n * sizeof *k.q);
    r->layer[r->n++] = k;
    r->bytes += n * sizeof *k.q;
}

void pith_rounded_free(struct rounded_layers *r)
{
    for (uint32_t i = 0; i < r->n; i++)
        free_layer(&r->layer[i]);
    free(r->layer);
    *r = (struct rounded_layers){0};
}
