/* SPDX-License-Identifier: MIT */
/* training_graph.h - the graph as it is trained: loops laid out iteration after iteration, and n
 * samples at once where the file says one.
 *
 * It is a model of its own that shares its constants with the one it comes from. Values keep their
 * numbers; what is new comes behind them. The values of a loop's body are those of its first
 * iteration. */
#ifndef TRAINING_GRAPH_H
#define TRAINING_GRAPH_H

#include "pith_model.h"
#include "tape.h"

/* While it grows. */
struct training_graph {
    struct pith_model *m;
    uint32_t cap_values, cap_nodes;
    struct pith_error *err;
};

/* Whether m needs one to be trained with so many samples a slice. */
bool pith_training_graph_wanted(const struct pith_model *m, uint32_t samples);
/* samples > 1 with a fixed batch: that is opened. PITH_ERR_UNSUPPORTED: a loop whose number of
 * iterations the data decides; an operator that does not follow the batch; named. *made:
 * pith_model_free; m must outlive it. */
enum pith_status pith_training_graph(const struct pith_model *m, uint32_t samples,
                                     struct pith_model **made, struct pith_error *err);

/* A value like number `like`, with no constant; PITH_VALUE_NONE: no memory. */
uint32_t pith_graph_value(struct training_graph *g, uint32_t like);
/* A node of one output behind the others. name: shared; in: copied. NULL: no memory. */
struct pith_node *pith_graph_node(struct training_graph *g, uint32_t op, char *name, uint32_t n_in,
                                  uint32_t *in, uint32_t out);
/* Takes the node list away, to write it anew. */
struct pith_node *pith_graph_take_nodes(struct training_graph *g, uint32_t *n);
bool pith_graph_append(struct training_graph *g, const struct pith_node *node);
/* Shapes of what nodes `first` and later give, as pith_model_infer_shapes. */
enum pith_status pith_graph_infer(const struct training_graph *g, uint32_t first,
                                  struct pith_error *err);

/* unroll_loop.c, open_batch.c */
enum pith_status pith_unroll_loops(struct training_graph *g);
enum pith_status pith_open_batch(struct training_graph *g, uint32_t samples);

#endif
