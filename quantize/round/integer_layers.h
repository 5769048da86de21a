/* SPDX-License-Identifier: MIT */
/* integer_layers.h - a walk over a network of integers (layer_walk.h) that stops before each of
 * its products, whose inputs of all samples then lie ready, as the layers before it, improved
 * already, made them.
 *
 * The float network may be walked over beside it, for what each layer's sums ought to be. Its
 * values are cut where those of the integers are: calibration cuts what matters little to the
 * outputs, but sums that try to have it back are worse everywhere else (MobileNet-v2 with weights
 * of 4 bits: 13.8 dB, and 6.9 dB without cutting). */
#ifndef INTEGER_LAYERS_H
#define INTEGER_LAYERS_H

#include "quantize/transform/integer_rewrite.h"

/* What layer number `layer` is about to read. */
struct layer_inputs {
    uint32_t layer;
    const struct pith_node *product; /* of the network */
    const struct pith_value *x, *w, *y;
    uint32_t n_samples;
    uint64_t bytes;      /* of one sample */
    const uint8_t *data; /* [n_samples, bytes] integers of in->x's type */
    bool in_loop;        /* what is counted as a sample is an iteration: many are of one sample */
    const float *goal;   /* [n_samples, n_goals] what the float network has instead of y,
                            bias added, if its values are cut where grids end; NULL: not known */
    uint64_t n_goals;
};

struct integer_walk {
    struct integer_network *net;
    const struct integer_plan *plan; /* of the float network plan->m */
    bool goals;                      /* plan->m is walked over, too */
    /* May change the layer's q, scale, bias_shift; then calls pith_layer_store. */
    enum pith_status (*improve)(void *user, const struct layer_inputs *in, struct pith_error *err);
    void *user;
};

/* Samples are those of plan->opts. PITH_ERR_MEMORY, _ARGUMENT (data that does not fit, stopped),
 * and what reading data, running and improve return. */
enum pith_status pith_walk_integers(const struct integer_walk *walk, struct pith_error *err);

#endif
