/* SPDX-License-Identifier: MIT */
/* integer_plan.h - which nodes of a float network compute with integers, and which of its
 * values become integers, on which grid. */
#ifndef PITH_INTEGER_PLAN_H
#define PITH_INTEGER_PLAN_H

#include "activation_grid.h"
#include "pith_quantize.h"

#define NODE_NONE UINT32_MAX

enum node_role {
    ROLE_FLOAT = 0, /* computes with floats, whatever surrounds it */
    ROLE_LAYER,     /* becomes ConvInteger or MatMulInteger */
    ROLE_SWALLOWED, /* a layer does it: an activation its saturation, an Add of a bias its sums */
    ROLE_CARRIED    /* between integers: moves them, or is computed in float in between */
};

struct node_plan {
    enum node_role role;
    const char *why;      /* has weights and stays float: the reason */
    uint32_t swallowed;   /* LAYER: the activation it takes in, or NODE_NONE */
    uint32_t add;         /* LAYER: the Add whose constant is its bias, or NODE_NONE */
    uint32_t weight_bits; /* LAYER (layer_bits.h) */
    uint32_t weight_of;   /* LAYER: the first with the same integers for weights (shared_weight.h):
                             itself, if alone */
    bool table;           /* looks up rows of a constant that becomes integers (table_grid.h) */
    bool wide;  /* LAYER that is a weight_of: one of those that read its weights needs sums of 64
                   bits */
    bool apart; /* LAYER: scales and bias behind the sums, as floats (shared_weight.h) */
    /* LAYER that is a weight_of: the one whose integers are its own the other way round, and comes
     * before it; or NODE_NONE */
    uint32_t turned_of;
    double one_scale; /* LAYER that is a weight_of: of all its integers, which are read both ways
                         round; 0: each row has its own */
};

struct value_plan {
    uint32_t producer; /* NODE_NONE: an input or a constant */
    uint32_t n_uses;   /* being an output of the graph counts as one */
    uint32_t reader; /* the node that reads it, where n_uses is 1; NODE_NONE: the graph's output */
    bool from_layer, to_layer;
    bool layer_input;             /* some layer reads it as its activations */
    bool mixed;                   /* not only depthwise convolutions read it */
    bool shared;                  /* some value's grid is its own */
    bool whole;                   /* becomes integers */
    uint32_t sharer;              /* a value whose grid it shares; itself at the end of the chain */
    const struct pith_grid *grid; /* NULL: not calibrated */
};

struct integer_plan {
    struct pith_model *m;
    const struct pith_quantize_opts *opts;
    const bool *few; /* [n_nodes] products not worth integers (split_product.h); NULL: none */
    struct node_plan *node;      /* [n_nodes] */
    struct value_plan *value;    /* [n_values] */
    uint32_t n_layers, n_tables; /* that become integers */
};

/* PITH_ERR_MEMORY, _ARGUMENT (a name that no layer has). Release with pith_integer_plan_end, also
 * after a failure. */
enum pith_status pith_integer_plan(struct integer_plan *p, struct pith_error *err);
void pith_integer_plan_end(struct integer_plan *p);

/* Rows and columns of a layer's weight: Conv [O, C/group * taps], Gemm and MatMul [N, K]. */
struct layer_shape {
    uint64_t rows, cols, groups;
};
struct layer_shape pith_layer_shape(const struct pith_model *m, const struct pith_node *node);

/* Elements only change places: integers as well as floats. Its output has the grid of its input. */
bool pith_moves_elements(const struct pith_node *node, int32_t zero_point);

/* The results are numbers of the inputs, so the grid of these is theirs. */
bool pith_takes_grid(const struct pith_node *node);

/* Do the options' patterns keep this node, which has a weight or a table, float? used: NULL, or
 * [n_keep] where those that match are marked. */
bool pith_is_kept(const struct pith_model *m, const struct pith_quantize_opts *opts,
                  const struct pith_node *node, bool *used);

/* Of a layer: the node that gives its sums with the bias, itself or an Add behind it; and the
 * constant that is the bias, or PITH_VALUE_NONE. */
uint32_t pith_layer_end(const struct integer_plan *p, uint32_t layer);
uint32_t pith_layer_bias_value(const struct integer_plan *p, uint32_t layer);

/* Does the node have a constant weight (pith_model_weights)? */
bool pith_has_weight(const struct pith_model *m, const struct pith_node *node);

/* The value that has the grid of v: the last of those that share it. */
static inline uint32_t pith_plan_owner(const struct integer_plan *p, uint32_t v)
{
    while (p->value[v].sharer != v)
        v = p->value[v].sharer;
    return v;
}

static inline const struct pith_grid *pith_plan_grid(const struct integer_plan *p, uint32_t v)
{
    return p->value[pith_plan_owner(p, v)].grid;
}

#endif
