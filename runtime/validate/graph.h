/* SPDX-License-Identifier: MIT */
/* graph.h - the parsed graph of a model image, as the planner walks it.
 *
 * Values are numbered: 0..n_inputs-1 are the graph's inputs, then n_weights constants, then the
 * outputs of the nodes in order. A node only reads values with smaller numbers than its own
 * outputs, so the order of nodes is an order of execution and no cycle can be written down. */
#ifndef PITH_GRAPH_H
#define PITH_GRAPH_H

#include "op_interface/op_exec.h"
#include "decode/weight.h"

#define PITH_NO_VALUE UINT32_MAX /* in memory only: an optional input left out */
#define PITH_NO_NODE UINT32_MAX
#define PITH_MAX_DEPTH 16u /* of loops and branches in one another */

struct graph_name {
    const char *text; /* inside the image, not NUL-terminated; bytes 0 in compact files */
    uint32_t bytes;
};

struct graph_input {
    struct graph_name name;
    enum pith_type type;
    struct shape shape; /* with batch 1 where the batch is open */
    bool batch_open;    /* dim 0 is the batch, chosen when a plan is made */
};

struct graph_node {
    struct graph_name name;
    const struct op_info *info;
    const int32_t *attr; /* info->n_slots */
    uint32_t n_in, n_out;
    const uint32_t *in; /* value numbers or PITH_NO_VALUE */
    uint32_t first_out; /* its outputs are first_out .. first_out + n_out - 1 */
    uint32_t region;    /* the Loop, Branch or BranchElse it is behind, PITH_NO_NODE: in no body */
    uint32_t partner;   /* Loop <-> LoopEnd, Branch -> BranchElse -> BranchEnd; else PITH_NO_NODE */
};

/* The values of its operator: in[n_in], NULL where one is left out, and out[n_out]. */
static inline struct op_args node_args(const struct graph_node *node, const struct tview **in,
                                       struct tview **out)
{
    return (struct op_args){.info = node->info,
                            .attr = node->attr,
                            .n_in = node->n_in,
                            .n_out = node->n_out,
                            .in = in,
                            .out = out};
}

struct graph {
    uint32_t n_inputs, n_weights, n_nodes, n_outputs, n_values;
    struct graph_input *inputs;
    struct weight *weights;
    struct graph_node *nodes;
    struct graph_name *weight_names; /* [n_weights] */
    uint32_t *outputs;               /* value numbers */
    struct graph_name *output_names; /* [n_outputs] */
    uint64_t bytes,
        kept_bytes; /* of its memory; up to `weights`, which are the last that is kept */
    bool compact;   /* written with the compact header */
};

#endif
