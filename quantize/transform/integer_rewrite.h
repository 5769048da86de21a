/* SPDX-License-Identifier: MIT */
/* integer_rewrite.h - the network of integers that a plan describes. */
#ifndef INTEGER_REWRITE_H
#define INTEGER_REWRITE_H

#include "quantize/layer/integer_layer.h"

/* A network beside the float one. Both live in the same arena; their values have other numbers. */
struct integer_network {
    struct pith_model m; /* nodes and values of its own; texts and arena are the float one's */
    struct integer_layer *layers; /* [n_layers], in order; m holds their stored, bias_q, factor */
    uint32_t n_layers;
    uint32_t *origin;  /* [m.n_nodes] the float node that a node was made for; ascending */
    uint32_t *product; /* [n_layers] the node of m that multiplies */
};

/* PITH_ERR_MEMORY, PITH_ERR_UNSUPPORTED (pith_integer_layer_make). */
enum pith_status pith_integer_rewrite(const struct integer_plan *p, struct integer_network *n,
                                      struct pith_error *err);

#endif
