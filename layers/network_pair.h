/* SPDX-License-Identifier: MIT */
/* network_pair.h - a network as it came and as it becomes, walked side by side over the same
 * samples (layer_walk.h), and the moments of what a layer reads in both.
 *
 *     pith_network_pair_open(was, now, &opts, &pair, err);
 *     for each layer, in the order of the nodes
 *         pith_network_pair_moments(&pair, node, body, &moments_opts, &m, err);
 *         ... change now's weight of that node ...
 *     pith_network_pair_close(&pair);
 */
#ifndef NETWORK_PAIR_H
#define NETWORK_PAIR_H

#include "layer_moments.h"

struct network_pair {
    struct layer_walk *walk[2]; /* owns: of now, of was; or of was alone, and NULL */
};

/* now NULL: was alone. Borrows both, and what opts borrow. opts->memory_bytes: of each walk;
 * opts->change: of the values of was. Close in any case. PITH_ERR_MEMORY. */
enum pith_status pith_network_pair_open(const struct pith_model *was, const struct pith_model *now,
                                        const struct layer_walk_opts *opts, struct network_pair *p,
                                        struct pith_error *err);
void pith_network_pair_close(struct network_pair *p); /* accepts zeros */
/* The moments of what a node of pith_layer_blocks > 0 reads in now, its inputs in was being the
 * others; of was alone without others. span: the loop or branch that it is in
 * (pith_layer_walk_body), or more nodes; both walks go on to its beginning, or to the node. Of
 * opts, samples, per_column and least_rows are set here. m->n is 0 where the inputs are not known,
 * or of different size in both. PITH_ERR_MEMORY, what walking returns; end m in any case. */
enum pith_status pith_network_pair_moments(const struct network_pair *p, uint32_t node,
                                           struct body_span span, const struct moments_opts *opts,
                                           struct layer_moments *m, struct pith_error *err);

#endif
