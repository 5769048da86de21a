/* SPDX-License-Identifier: MIT */
/* two_inputs.h - how 16-bit activations are read: a layer that reads the
 * channels of its input twice, in two forms whose sum is what it read before. */
#ifndef PITH_TWO_INPUTS_H
#define PITH_TWO_INPUTS_H

#include "node_list.h"
#include "pith_quantize.h"

/* Does this layer mix all channels of its input, with a weight of its own kind: floats, no
 * codebook? */
bool pith_mixes_all_channels(const struct pith_model *m, const struct pith_node *node);

/* Does this layer read v as its activations? */
bool pith_layer_reads(const struct pith_model *m, const struct pith_node *node, uint32_t v);

typedef bool layer_test(const struct pith_model *m, const struct pith_node *node);
/* All layers that read v, one at least, are outside of loops, and `is` (NULL: whatever they are).
 */
bool pith_layers_read(const struct pith_model *m, uint32_t v, layer_test *is);

/* They mix all channels of v, which is no constant. */
bool pith_readers_mix_channels(const struct pith_model *m, uint32_t v);

/* wanted[in[0]] of layers that match these patterns (pith_quantize_opts.keep); each must match one
 * and `may` be. what: for the message, "read two bytes". */
enum pith_status pith_find_wanted(const struct pith_model *m, const char *const *pattern,
                                  uint32_t n, bool (*may)(const struct pith_model *m, uint32_t v),
                                  const char *what, bool *wanted, struct pith_error *err);

/* x and y along the channels, behind what makes them. */
uint32_t pith_list_join(struct node_list *l, const char *name, uint32_t x, uint32_t y);

/* node, whose input is `both` now, with its weight's columns twice. */
void pith_list_layer_of_both(struct node_list *l, const struct pith_node *node, uint32_t both);

/* A network while layers of it get two inputs, node after node. */
struct two_inputs {
    struct pith_model *m;
    const struct pith_quantize_opts *opts;
    struct node_list list;
    uint32_t *uses; /* owns, as what follows: [n_values] of the network as it was
                       (pith_model_count_uses) */
    bool *wanted;   /* [n_values] */
    uint32_t
        *both; /* [n_values] the value of twice the channels, or PITH_VALUE_NONE: not made yet */
};

struct two_inputs_way {
    const char *const *pattern; /* with n, may and what: as pith_find_wanted */
    uint32_t n;
    bool (*may)(const struct pith_model *m, uint32_t v);
    const char *what;
    uint32_t nodes, values; /* room in the list, for each node there is */
    /* Puts into the list what becomes of the node. */
    enum pith_status (*copy)(struct two_inputs *t, const struct pith_node *node,
                             struct pith_error *err);
};

/* Rewrites m. PITH_ERR_ARGUMENT, _MEMORY: m is as before. */
enum pith_status pith_give_two_inputs(struct pith_model *m, const struct pith_quantize_opts *opts,
                                      const struct two_inputs_way *way, struct pith_error *err);

/* Is node such a layer? */
bool pith_reads_twice(const struct pith_model *m, const struct pith_node *node);

#endif
