/* SPDX-License-Identifier: MIT */
/* rounded_layers.h - rounded weights that further runs of pith_quantize over the same float network
 * take over: of layers whose steps were the same before they were rounded. */
#ifndef ROUNDED_LAYERS_H
#define ROUNDED_LAYERS_H

#include "quantize/layer/integer_layer.h"

struct rounded_layer;

/* 0 at first. */
struct rounded_layers {
    struct rounded_layer *layer; /* owns: [n] */
    uint32_t n;
    size_t bytes; /* kept */
};

/* Where layer `name` was kept with the steps that l has: gives l its integers and steps, and true.
 */
bool pith_rounded_take(const struct rounded_layers *r, const char *name, struct integer_layer *l);
/* l was rounded; step: [rows] before. What there is no memory for is not kept, nor what has no
 * name. */
void pith_rounded_keep(struct rounded_layers *r, const char *name, const double *step,
                       const struct integer_layer *l);
void pith_rounded_free(struct rounded_layers *r);

#endif
