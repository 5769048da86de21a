/* SPDX-License-Identifier: MIT */
/* onnx_export.h - what the files of the ONNX writer share: a graph under construction whose
 * parts live in one arena and are released with it. */
#ifndef ONNX_EXPORT_H
#define ONNX_EXPORT_H

#include "onnx.pb-c.h"
#include "pith_model.h"
#include "pith_value_stats.h"

enum {
    EXPORT_OPSET = 13,
    /* Newer ones, which say the same of all else that is written here, but for what asks for 18
     * and 20. */
    EXPORT_OPSET_TRILU = 14,
    EXPORT_OPSET_16 = 16, /* GridSample, sums and products of scattered elements */
    EXPORT_OPSET_18 = 18, /* axes of all reductions are inputs */
    EXPORT_OPSET_20 = 20, /* other names for the modes of GridSample */
    EXPORT_OPSET_21 = 21, /* DequantizeLinear of 16 bits, and of blocks: known from the start */
    EXPORT_IR = 7,        /* the IR version that came with opsets 12 to 14; 8 with 15 and 16 */
    EXPORT_IR_21 = 10,
    EXPORT_MAX_NODES = 20,         /* ONNX nodes one node becomes, at most */
    EXPORT_MAX_TENSORS = 14,       /* initializers it adds, at most */
    EXPORT_MAX_WEIGHT_TENSORS = 6, /* of a weight, twice: integers, scales, zero points */
    EXPORT_MAX_ATTRS = 8
};

struct onnx_export {
    const struct pith_model *m;
    struct pith_model *arena; /* an empty model: it owns the memory */
    struct pith_error *err;
    char **names;            /* of values, none empty, all different */
    const char **end_names;  /* of values that are inputs or outputs of 16 bits; else NULL */
    Onnx__NodeProto **casts; /* of constants of 8 or 16 bits, which go first */
    size_t n_casts;
    uint32_t *uses;                 /* by inputs of nodes */
    uint32_t *turned_uses;          /* of those, by MatMuls as the transposed right side */
    bool *replaced;                 /* constants written in another form: not written as they are */
    const char **stacked;           /* of constants: a second one with an axis in front, or NULL */
    uint32_t *stacked_uses;         /* how many readers read that one */
    const char **node_name;         /* no two equal but empty ones */
    uint32_t *producer;             /* node of each value, or UINT32_MAX */
    bool *in_layer;                 /* nodes written as part of a layer behind them */
    float *scale;                   /* of values that are integers (onnx_export_qdq.c) */
    uint32_t opset;                 /* that the operators written so far need */
    uint32_t n_made;                /* names made so far */
    uint32_t widest;                /* names a node has room for, on either side */
    struct export_regions *regions; /* loops and branches being written; NULL: none so far */
    struct export_sizes *sizes;     /* borrows; NULL: all are fixed */
    Onnx__GraphProto graph;
    bool failed; /* memory ran out somewhere: tested once, at the end */
};

/* All return NULL or do nothing when memory is out, and set x->failed. */
void *pith_export_alloc(struct onnx_export *x, uint64_t count, size_t each);
/* A name that no value has, for what has no counterpart in the model. */
char *pith_export_name(struct onnx_export *x, const char *stem);

/* A node with room for n_in + n_out names and EXPORT_MAX_ATTRS attributes. */
Onnx__NodeProto *pith_export_node(struct onnx_export *x, const char *op_type, const char *name);
void pith_export_input(Onnx__NodeProto *node, const char *name);
void pith_export_output(Onnx__NodeProto *node, const char *name);
void pith_export_int(struct onnx_export *x, Onnx__NodeProto *node, const char *name, int64_t v);
void pith_export_float(struct onnx_export *x, Onnx__NodeProto *node, const char *name, float v);
void pith_export_string(struct onnx_export *x, Onnx__NodeProto *node, const char *name,
                        const char *v);
void pith_export_ints(struct onnx_export *x, Onnx__NodeProto *node, const char *name,
                      const int64_t *v, size_t n);
void pith_export_floats(struct onnx_export *x, Onnx__NodeProto *node, const char *name,
                        const float *v, size_t n);
void pith_export_strings(struct onnx_export *x, Onnx__NodeProto *node, const char *name,
                         const char *const *v, size_t n);

int32_t pith_export_type(enum pith_type type); /* in the words of the format */

struct export_array {
    int32_t data_type; /* in the words of the format */
    uint32_t rank;
    const uint32_t *dims; /* [rank] */
    const void *data;     /* borrowed until the file is made */
    uint64_t bytes;
};

/* Initializers; return their names. */
const char *pith_export_tensor(struct onnx_export *x, const char *name, struct export_array a);
const char *pith_export_ints_tensor(struct onnx_export *x, const int64_t *v, uint32_t n);
const char *pith_export_float_tensor(struct onnx_export *x, const float *v, uint32_t n,
                                     bool scalar);

/* onnx_export_weight.c: constant `value` of the model as an initializer, or as one of fewer bits
 * and a node that widens it to f32, where no number changes and the file gets smaller. */
enum export_form {
    EXPORT_AS_IT_IS,
    EXPORT_TRANSPOSED, /* f32 of rank 2, with its dims exchanged */
    EXPORT_STACKED     /* with a dim of 1 in front */
};
const char *pith_export_weight(struct onnx_export *x, const char *name, uint32_t value,
                               enum export_form form);
/* Are there integers of 16 bits or scales of blocks, which came with opset 21? */
bool pith_export_has_new_integers(const struct pith_model *m);

/* Name, type and shape of an input or output that is a value of the model. */
enum export_dims { EXPORT_DIMS_ENDS, EXPORT_DIMS_INNER /* left open with the batch */ };
Onnx__ValueInfoProto *pith_export_info(struct onnx_export *x, uint32_t value, const char *name,
                                       enum export_dims dims);
/* The same of an input or output of the model: end as in pith_model_end_type. */
Onnx__ValueInfoProto *pith_export_end(struct onnx_export *x, uint32_t end, const char *name);
Onnx__ValueInfoProto *pith_export_bool_info(struct onnx_export *x, const char *name);
void pith_export_graph(struct onnx_export *x, Onnx__NodeProto *node, const char *name,
                       Onnx__GraphProto *graph);

/* onnx_export_loop.c: a node that begins, divides or ends a loop or a branch. */
bool pith_export_is_region(uint32_t op);
enum pith_status pith_export_region(struct onnx_export *x, const struct pith_node *node);

/* onnx_export_sizes.c: the network with its open sizes. PITH_ERR_UNSUPPORTED: a node is another
 * with other sizes, or a shape follows no formula. */
struct export_sizes;
enum pith_status pith_export_open_sizes(const struct pith_model *m, struct pith_buffer *file,
                                        struct pith_error *err);
/* One writing; sizes NULL: all fixed. */
enum pith_status pith_export_file(const struct pith_model *m, struct export_sizes *sizes,
                                  struct pith_buffer *file, struct pith_error *err);
/* Integers of a list that nodes read: the name of a list that follows the sizes; NULL: they are
 * the same with all sizes. */
const char *pith_export_sized_ints(struct onnx_export *x, const int64_t *v, uint32_t n);
/* A dimension of an input or output. Its formula, where it is open; NULL: it has none. */
const char *pith_export_sized_dim(struct onnx_export *x, uint32_t dim, bool *open);
/* Integers are recorded, and the file is compared with others alone. */
bool pith_export_is_recorded(const struct onnx_export *x);
/* *data becomes a checksum where it is large; returns its bytes. */
uint64_t pith_export_shorten(struct onnx_export *x, const void **data, uint64_t bytes);
/* Nodes [n] that stand in front of all that read them. */
Onnx__NodeProto **pith_export_size_nodes(const struct onnx_export *x, uint32_t *n);
enum pith_status pith_export_check_sizes(const struct onnx_export *x);

/* One node being written, and its row of the table. */
struct export_row;
struct op_export {
    struct onnx_export *x;
    const struct pith_node *node;
    const struct export_row *row;
    Onnx__NodeProto *to; /* inputs and outputs as the node's, no attributes */
};

typedef enum pith_status export_fn(struct op_export *e);

struct export_row {
    uint32_t op;
    const char *op_type;
    export_fn *attributes; /* NULL: has none */
};

/* onnx_export_quantize.c */
export_fn pith_export_quantize, pith_export_dequantize, pith_export_requantize,
    pith_export_matmul_integer, pith_export_conv_integer;
/* onnx_export_qdq.c; find_sums, after find_layers, fills x->scale and adds to x->in_layer. Where a
 * Requantize or DequantizeLinear ends a layer that QDQ can say, pith_export_qdq writes all of it.
 */
void pith_export_find_sums(struct onnx_export *x);
bool pith_export_qdq(struct op_export *e, enum pith_status *status);
/* A DequantizeLinear node that makes `real`. zero: a name, or NULL where it is 0. */
void pith_export_dequantized(struct onnx_export *x, const char *q, const char *scale,
                             const char *zero, int64_t axis, const char *real);
/* onnx_export_recurrent.c; find_layers fills x->producer and x->in_layer. */
export_fn pith_export_recurrent;
void pith_export_find_layers(struct onnx_export *x);
/* onnx_export_pieces.c */
export_fn pith_export_layer_norm, pith_export_gelu, pith_export_mish, pith_export_attention;
/* onnx_export_tile.c */
export_fn pith_export_tile;
/* onnx_export_resize.c, onnx_export_gather.c */
export_fn pith_export_resize, pith_export_grid_sample, pith_export_gather, pith_export_scatter;
/* onnx_export_conv.c: attributes of Conv and all with the same slots. */
export_fn pith_export_conv;
/* PITH_ERR_UNSUPPORTED, with a message that names the node. */
enum pith_status pith_export_unsupported(struct op_export *e, const char *what);
/* The file becomes one of that opset, if it is none of a later one. */
void pith_export_opset(struct op_export *e, uint32_t opset);
/* The operator has several names in ONNX. */
void pith_export_rename(struct op_export *e, const char *op_type);
/* Of a slot: v[], how many; an attribute, where a list is not empty. */
uint32_t pith_export_list(const struct op_export *e, uint32_t slot, int64_t v[2 * PITH_MAX_RANK]);
void pith_export_put_list(struct op_export *e, const char *name, uint32_t slot);
void pith_export_put_int(struct op_export *e, const char *name, uint32_t slot);
/* Input i, a matrix, through a Transpose node in front of e->to, the last node so far. */
void pith_export_swap_input(struct op_export *e, uint32_t i);
/* A Transpose node of a matrix; returns the name of what it gives. */
const char *pith_export_swapped(struct onnx_export *x, const char *name);

/* onnx_export_op.c: one node of the model as one or more of ONNX. PITH_ERR_UNSUPPORTED when
 * opset 13 cannot say it. */
enum pith_status pith_export_op(struct onnx_export *x, const struct pith_node *node);

#endif
