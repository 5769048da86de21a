/* SPDX-License-Identifier: MIT */
/* weight_layers.h - a walk through the network that is trained (layer_walk.h), and the moments
 * of what each of its weights is multiplied with. Where weights become others, the network as it
 * came is walked through beside that with the weights changed so far.
 *
 *     struct weight_walk w = {.was = m, .changes = true, .err = err};
 *     pith_weight_walk_open(&w, data, samples, threads);
 *     for each weight, those first that are read first (pith_weight_first_use)
 *         pith_weight_moments(&w, value, &moments);
 *         pith_weight_become(&w, value, data);
 *     pith_weight_walk_close(&w);
 */
#ifndef WEIGHT_LAYERS_H
#define WEIGHT_LAYERS_H

#include "layers/layer_factor.h"
#include "layers/network_pair.h"
#include "pith_runtime.h"

struct weight_walk {
    const struct pith_model *was; /* borrowed; set before it is opened, as changes and err */
    bool changes;                 /* weights become others */
    struct pith_error *err;
    struct pith_model *now;     /* owns; NULL: no weight changes */
    struct recorded_feed *feed; /* of all but the first input zeros */
    struct pith_feed_input *input;
    void *zeros;
    struct network_pair pair;
    struct pith_opts runtime;
};

/* Over the first `samples` of data. *w stays where it is; close in any case. PITH_ERR_MEMORY, and
 * what reading data and starting threads return. */
enum pith_status pith_weight_walk_open(struct weight_walk *w, struct pith_data *data,
                                       uint64_t samples, uint32_t threads);
void pith_weight_walk_close(struct weight_walk *w);

/* The first node that multiplies by the value; n_nodes: none does. */
uint32_t pith_weight_first_use(const struct pith_model *m, uint32_t value);
/* Of all its readers together, with those of the network as it came as others, where weights
 * change. m->n is 0 where there are none: the value is not the weight of convolutions and products
 * alone, or of different groups, or has rows of more than PITH_LAYER_MOST_COLUMNS. PITH_ERR_MEMORY,
 * and what running the network returns; end m in any case. */
enum pith_status pith_weight_moments(struct weight_walk *w, uint32_t value,
                                     struct layer_moments *m);
/* The value's numbers from now on: copied. PITH_ERR_MEMORY. */
enum pith_status pith_weight_become(struct weight_walk *w, uint32_t value, const float *data);

#endif
