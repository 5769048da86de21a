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
    bool apart;
    double *step; /* [3, rows] before and after; shifts of the bias */
    uint32_t n_corrected;
    int16_t *q; /* [rows, cols] */
};

static const struct rounded_layer *find(const struct rounded_layers *r, const char *name,
                                        const struct integer_layer *l)
{
    for (uint32_t i = 0; i < r->n; i++) {
        const struct rounded_layer *k = &r->layer[i];
        if (strcmp(k->name, name) == 0 && k->rows == l->shape.rows && k->cols == l->shape.cols &&
            k->lowest == l->lowest && k->most == l->most && k->apart == l->apart &&
            memcmp(k->step, l->scale, (size_t)k->rows * sizeof *k->step) == 0)
            return k;
    }
    return NULL;
}

static const char *name_of(const struct integer_network *net, uint32_t layer)
{
    return net->m.nodes[net->product[layer]].name;
}

bool pith_rounded_take(const struct rounded_layers *r, struct integer_network *net)
{
    for (uint32_t i = 0; i < net->n_layers; i++)
        if (!find(r, name_of(net, i), &net->layers[i]))
            return false;
    for (uint32_t i = 0; i < net->n_layers; i++) {
        struct integer_layer *l = &net->layers[i];
        const struct rounded_layer *k = find(r, name_of(net, i), l);
        const size_t rows = (size_t)k->rows;
        memcpy(l->scale, k->step + rows, rows * sizeof *k->step);
        memcpy(l->bias_shift, k->step + 2 * rows, rows * sizeof *k->step);
        memcpy(l->q, k->q, rows * (size_t)k->cols * sizeof *k->q);
        l->n_corrected = k->n_corrected;
        pith_layer_store(l);
    }
    return true;
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
                              .apart = l->apart,
                              .step = malloc(3 * rows * sizeof *k.step),
                              .n_corrected = l->n_corrected,
                              .q = malloc(n * sizeof *k.q)};
    if (!k.name || !k.step || !k.q) {
        free_layer(&k);
        return;
    }
    strcpy(k.name, name);
    memcpy(k.step, step, rows * sizeof *step);
    memcpy(k.step + rows, l->scale, rows * sizeof *step);
    memcpy(k.step + 2 * rows, l->bias_shift, rows * sizeof *step);
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
