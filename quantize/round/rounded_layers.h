/* SPDX-License-Identifier: MIT */
/* rounded_layers.h - rounded weights and corrected biases that further runs of pith_quantize over
 * the same float network take over, where the steps of all layers were the same before they were
 * rounded. Feedback and correction depend little on what other layers lose, so one rounding serves
 * several networks. */
#ifndef ROUNDED_LAYERS_H
#define ROUNDED_LAYERS_H

#include "quantize/transform/integer_rewrite.h"

struct rounded_layer;

/* 0 at first. */
struct rounded_layers {
    struct rounded_layer *layer; /* owns: [n] */
    uint32_t n;
    size_t bytes; /* kept */
};

/* Where all layers were kept with the steps that they have: gives them integers, steps and shifts
 * of the bias, and true. */
bool pith_rounded_take(const struct rounded_layers *r, struct integer_network *net);
/* l was rounded; step: [rows] before. What there is no memory for is not kept, nor what has no
 * name. */
void pith_rounded_keep(struct rounded_layers *r, const char *name, const double *step,
                       const struct integer_layer *l);
void pith_rounded_free(struct rounded_layers *r);

#endif
