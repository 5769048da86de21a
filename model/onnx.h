/* SPDX-License-Identifier: MIT */
/* onnx.h - what the files of the ONNX importer share.
 *
 * The way of a file:
 *
 *     bytes -> onnx_wire    every length, depth and count checked without building anything
 *           -> protobuf-c   unpacked into budgeted memory (onnx_alloc)
 *           -> onnx_graph   names resolved, cut, frozen; order of execution (onnx_order)
 *           -> onnx_table   node by node: lowered (onnx_<family>), shaped by the runtime's rule,
 *                           folded where all inputs are constant (onnx_fold), else emitted
 *           -> onnx_emit    what is alive becomes a struct pith_model
 *
 * Everything before the last step lives in one budget and is released with it. A value is named by
 * its number in struct onnx_import; arrays may move while nodes are lowered, numbers do not. */
#ifndef ONNX_H
#define ONNX_H

#include "onnx.pb-c.h"
#include "onnx_read.h"
#include "op.h"
#include "pith_onnx.h"

enum {
    ONNX_OPSET_MIN = 7,
    ONNX_OPSET_MAX = 21,
    ONNX_MAX_DEPTH = 32,         /* of nested messages */
    ONNX_MAX_NODES = 65536,      /* of the main graph */
    ONNX_MAX_MESSAGES = 1 << 19, /* of any type, nested ones included */
    ONNX_MAX_FIELDS = 1 << 21,   /* occurrences of fields, packed elements not counted */
    ONNX_MAX_NODE_INPUTS = 16384,
    ONNX_EINSUM_NODES = 7, /* that one Einsum becomes at most */
    ONNX_OTHER_BATCH = 3, /* a second size for an open batch, to see what follows it */
    ONNX_NONE = -1
};

#define ONNX_VALUE_NONE PITH_VALUE_NONE

/* ---- memory (onnx_alloc.c) ---------------------------------------------------------------- */

struct onnx_block;

struct onnx_budget {
    struct pith_alloc under;
    uint64_t limit, used;
    bool over;   /* a request was refused for the limit, not for lack of memory */
    bool failed; /* a request was refused */
    struct onnx_block *blocks;
};

void pith_onnx_budget_init(struct onnx_budget *b, const struct pith_alloc *under, uint64_t limit);
/* count * each zeroed bytes; NULL when the product, the limit or memory runs out. */
void *pith_onnx_alloc(struct onnx_budget *b, uint64_t count, size_t each);
void pith_onnx_free(struct onnx_budget *b, void *p); /* accepts NULL */
/* Counts bytes that live elsewhere (in the model). */
bool pith_onnx_charge(struct onnx_budget *b, uint64_t bytes);
void pith_onnx_budget_clear(struct onnx_budget *b); /* frees every block */
/* What a refused allocation means to the caller. */
enum pith_status pith_onnx_memory_status(const struct onnx_budget *b);

/* ---- the import --------------------------------------------------------------------------- */

struct onnx_value {
    const char *name; /* "" for outputs the file left unnamed */
    enum pith_type type;
    struct shape shape;
    bool known;                      /* type and shape are set */
    bool constant;                   /* its elements are in `tensor` or `data` */
    bool empty;                      /* a constant without elements: shape is meaningless */
    bool live;                       /* an output needs it */
    bool output;                     /* is an output of the graph */
    bool varies;         /* follows the open batch: `other` (and `other_data`) hold what it would be */
    struct shape other;  /* with a batch of ONNX_OTHER_BATCH instead of 1 */
    void *other_data;    /* of a constant; NULL: as `data` */
    const Onnx__TensorProto *tensor; /* where `data` is loaded from when wanted */
    void *data;                      /* owned by the budget; NULL: not loaded */
    uint32_t alias;                  /* the value this one is only another name of, or itself */
    int64_t producer;                /* ONNX node, or ONNX_NONE */
    uint32_t number;                 /* in the model */
};

struct onnx_node {
    const char *name;
    const struct op_info *info;
    int32_t *attr;
    uint32_t n_in, n_out;
    uint32_t *in, *out;
};

/* A node that cannot be imported, and why. */
struct onnx_refusal {
    const char *op;    /* "Einsum", or "com.microsoft.Gelu" */
    const char *label; /* name of the node, or of its output */
    const char *why;   /* "": there is no such operator here; else the whole message */
    uint32_t place;    /* in the order of refusals */
};

/* Names of all values, sorted, for look-ups that no choice of names can slow down. */
struct onnx_name {
    const char *text;
    uint32_t value;
};

struct onnx_import {
    const char *file; /* as messages show it */
    const char *dir;  /* of external data; NULL: none allowed */
    const struct pith_import_opts *opts;
    struct pith_error *err;
    struct onnx_budget budget;
    Onnx__ModelProto *model;
    const Onnx__GraphProto *graph;
    int64_t opset;

    struct onnx_value *values;
    uint32_t n_values, cap_values;
    struct onnx_name *names;
    uint32_t n_names;
    uint32_t *node_out; /* ONNX node i's outputs are values node_out[i], node_out[i] + 1, ... */
    uint32_t **node_in; /* values, or ONNX_VALUE_NONE */
    uint32_t *order;    /* live ONNX nodes in an order of execution */
    uint32_t n_order;
    uint32_t *inputs; /* values; frozen ones and initializers left out */
    uint32_t n_inputs;
    uint32_t *outputs; /* values */
    const char **output_names;
    uint32_t n_outputs;
    bool batch_open;

    bool survey; /* open dimensions are collected instead of refused */
    struct pith_onnx_open_dim *open_dims;
    uint32_t n_open;

    struct onnx_node *nodes;
    uint32_t n_nodes;
    struct onnx_refusal *refusals;
    uint32_t n_refusals;
    const struct tview **view_in; /* room for the widest node */
    struct tview **view_out;
    struct tview *view; /* inputs, then outputs */
};

/* Writes "file: ..." to err, unprintable bytes replaced, and returns status. */
enum pith_status pith_onnx_fail(struct onnx_import *im, enum pith_status status, const char *fmt,
                                ...) __attribute__((format(printf, 3, 4)));
enum pith_status pith_onnx_no_memory(struct onnx_import *im);

/* onnx_wire.c: PITH_OK when protobuf-c may unpack the bytes. text: what is wrong with them. */
enum pith_status pith_onnx_scan(const void *bytes, size_t n, uint64_t *offset, const char **text);

/* onnx_graph.c */
enum pith_status pith_onnx_unpack(struct onnx_import *im, const void *bytes, size_t n);
enum pith_status pith_onnx_resolve(struct onnx_import *im);
/* ONNX_VALUE_NONE: no such name. */
uint32_t pith_onnx_find(const struct onnx_import *im, const char *name);
/* ONNX_VALUE_NONE when memory is out. */
uint32_t pith_onnx_add_value(struct onnx_import *im, const char *name);
uint32_t pith_onnx_alias(const struct onnx_import *im, uint32_t value);
/* Name of ONNX node i, or of its first output. */
const char *pith_onnx_label(const Onnx__NodeProto *node);

/* onnx_inputs.c: shapes of graph inputs, frozen inputs. */
enum pith_status pith_onnx_bind_inputs(struct onnx_import *im);
/* onnx_freeze.c: makes an input of known type and shape a constant. */
enum pith_status pith_onnx_freeze(struct onnx_import *im, uint32_t value, const char *text);

/* onnx_order.c: live nodes and their order of execution. */
enum pith_status pith_onnx_sort(struct onnx_import *im);

/* onnx_tensor.c. describe: type and shape of a value from its tensor. load: its elements into
 * `data`. copy: its elements to dst (type bytes * count), without keeping them. */
enum pith_status pith_onnx_describe_tensor(struct onnx_import *im, uint32_t value);
enum pith_status pith_onnx_load(struct onnx_import *im, uint32_t value);
enum pith_status pith_onnx_copy(struct onnx_import *im, uint32_t value, void *dst);
/* 0 for what has no counterpart. float types all become f32, unsigned 32 and 64 bits i64. */
enum pith_type pith_onnx_type(int32_t data_type);
const char *pith_onnx_type_name(int32_t data_type);

/* onnx_external.c: `bytes` bytes from a file inside dir, read to dst (NULL: only tested). */
enum pith_status pith_onnx_external(struct onnx_import *im, const Onnx__TensorProto *t, void *dst,
                                    uint64_t bytes);

/* ---- lowering one node -------------------------------------------------------------------- */

struct onnx_row;

struct onnx_lower {
    struct onnx_import *im;
    const Onnx__NodeProto *node;
    const char *label;
    const struct onnx_row *row;
    const struct op_info *info;      /* of row->op */
    int32_t attr[PITH_OP_MAX_SLOTS]; /* defaults; a lowering writes what differs */
    uint32_t n_in; /* a lowering lowers it when trailing inputs became attributes */
    uint32_t *in;  /* values (aliases resolved) or ONNX_VALUE_NONE */
    uint32_t n_out;
    uint32_t first_out; /* outputs are first_out .. first_out + n_out - 1 */
    bool done;          /* the lowering has dealt with the outputs itself; emit nothing */
};

typedef enum pith_status onnx_lower_fn(struct onnx_lower *l);

struct onnx_row {
    const char *op_type;
    uint32_t op; /* enum pith_op */
    onnx_lower_fn *lower;
};

const struct onnx_row *pith_onnx_row(const Onnx__NodeProto *node); /* NULL: not supported */
const char *pith_onnx_hint(const char *op_type);
/* Lowers all nodes of im->order; refused ones are collected in im->refusals. */
enum pith_status pith_onnx_lower_all(struct onnx_import *im);
/* Shapes of the outputs by the runtime's rule; then the node is folded or emitted. A lowering that
 * makes several nodes of one calls it for each. */
enum pith_status pith_onnx_finish(struct onnx_lower *l);
/* onnx_fold.c: computes a node whose inputs are all constants. *folded tells whether it did. */
enum pith_status pith_onnx_fold(struct onnx_lower *l, const struct op_args *args, bool *folded);
/* The same once more, args shaped for the other batch, into other_data; the outputs are folded. */
enum pith_status pith_onnx_fold_other(struct onnx_lower *l, const struct op_args *args);
/* The value's shape under the other batch. */
static inline const struct shape *pith_onnx_other_shape(const struct onnx_value *v)
{
    return v->varies ? &v->other : &v->shape;
}
/* onnx_emit.c */
enum pith_status pith_onnx_emit(struct onnx_import *im, struct pith_model **m);

/* onnx_attr.c: attributes by name. All tell the node in messages. */
enum pith_status pith_onnx_node_fail(struct onnx_lower *l, enum pith_status status, const char *fmt,
                                     ...) __attribute__((format(printf, 3, 4)));
const Onnx__AttributeProto *pith_onnx_attr(const struct onnx_lower *l, const char *name);
enum pith_status pith_onnx_get_int(struct onnx_lower *l, const char *name, int64_t def,
                                   int64_t *value);
enum pith_status pith_onnx_get_float(struct onnx_lower *l, const char *name, float def,
                                     float *value);
/* *value: "" when absent; otherwise one of the NULL-terminated `allowed`, told by *index. */
enum pith_status pith_onnx_get_choice(struct onnx_lower *l, const char *name,
                                      const char *const *allowed, uint32_t def, uint32_t *index);
/* Into slots of the node, checked against the operator's schema; absent: left at the default. */
enum pith_status pith_onnx_take_int(struct onnx_lower *l, const char *name, uint32_t slot);
enum pith_status pith_onnx_take_float(struct onnx_lower *l, const char *name, uint32_t slot);
enum pith_status pith_onnx_take_ints(struct onnx_lower *l, const char *name, uint32_t slot);
/* Writes a list slot; `name` stands in the message when an entry is out of the schema's range. */
enum pith_status pith_onnx_set_ints(struct onnx_lower *l, const char *name, uint32_t slot,
                                    const int64_t *v, size_t n);
enum pith_status pith_onnx_set_int(struct onnx_lower *l, const char *name, uint32_t slot,
                                   int64_t v);

/* A list given as attribute or (newer opsets) as constant input: at most PITH_MAX_RANK. */
enum { ONNX_MAX_INTS = 2 * PITH_MAX_RANK }; /* pads: begin and end of each axis */

struct onnx_ints {
    bool present;
    uint32_t n;
    int64_t v[ONNX_MAX_INTS];
};
enum pith_status pith_onnx_ints_attr(struct onnx_lower *l, const char *name, struct onnx_ints *v);
enum pith_status pith_onnx_ints_input(struct onnx_lower *l, uint32_t i, const char *name,
                                      struct onnx_ints *v);
/* As it is with the batch of 1, and with the other one. The plain form closes the batch where the
 * two differ. */
enum pith_status pith_onnx_ints_both(struct onnx_lower *l, uint32_t i, const char *name,
                                     struct onnx_ints *v, struct onnx_ints *other);
/* The attribute before opset `since`, input i from then on. */
enum pith_status pith_onnx_ints_either(struct onnx_lower *l, int64_t since, uint32_t i,
                                       const char *name, struct onnx_ints *v);
/* A constant input with one element (*present false: left out), or a whole f32 list. */
enum pith_status pith_onnx_float_input(struct onnx_lower *l, uint32_t i, const char *name,
                                       bool *present, float *v);
enum pith_status pith_onnx_floats_input(struct onnx_lower *l, uint32_t i, const char *name,
                                        uint32_t *n, float v[PITH_MAX_RANK]);
/* Input i is present and its shape is known. */
const struct shape *pith_onnx_in_shape(const struct onnx_lower *l, uint32_t i);
bool pith_onnx_has_input(const struct onnx_lower *l, uint32_t i);
/* axis in [-rank, rank + extra - 1] made non-negative. */
enum pith_status pith_onnx_axis(struct onnx_lower *l, const char *name, uint32_t rank,
                                int64_t *axis);
/* Each axis made non-negative, all sorted; a repeated one is refused. */
enum pith_status pith_onnx_axes(struct onnx_lower *l, const char *name, uint32_t rank,
                                struct onnx_ints *axes);
/* The outputs beyond `n` must be unused. */
enum pith_status pith_onnx_single_output(struct onnx_lower *l);
/* Output 0 becomes another name of input 0; nothing is emitted. */
enum pith_status pith_onnx_vanish(struct onnx_lower *l);
void pith_onnx_set_float(struct onnx_lower *l, uint32_t slot, float v);

/* Input 0 becomes the first and the second input. */
enum pith_status pith_onnx_input_twice(struct onnx_lower *l);

/* The lowerings, by family. */
onnx_lower_fn pith_lower_plain;
onnx_lower_fn pith_lower_conv, pith_lower_pool, pith_lower_batch_norm, pith_lower_lrn;
onnx_lower_fn pith_lower_gemm, pith_lower_matmul;
onnx_lower_fn pith_lower_alpha, pith_lower_clip, pith_lower_softmax;
onnx_lower_fn pith_lower_reshape, pith_lower_flatten, pith_lower_squeeze, pith_lower_unsqueeze;
onnx_lower_fn pith_lower_transpose, pith_lower_identity, pith_lower_cast, pith_lower_constant;
onnx_lower_fn pith_lower_concat, pith_lower_split, pith_lower_slice, pith_lower_pad;
onnx_lower_fn pith_lower_reduce_mean, pith_lower_resize;
onnx_lower_fn pith_lower_shape, pith_lower_size, pith_lower_constant_of_shape, pith_lower_range;
onnx_lower_fn pith_lower_eye_like;
onnx_lower_fn pith_lower_gather, pith_lower_gather_elements, pith_lower_gather_nd;
onnx_lower_fn pith_lower_scatter_elements, pith_lower_scatter_nd, pith_lower_tile;
onnx_lower_fn pith_lower_expand;
onnx_lower_fn pith_lower_depth_to_space, pith_lower_space_to_depth, pith_lower_trilu;
onnx_lower_fn pith_lower_one_hot, pith_lower_top_k, pith_lower_conv_transpose;
onnx_lower_fn pith_lower_einsum;
onnx_lower_fn pith_lower_kind, pith_lower_unary;
onnx_lower_fn pith_lower_mod, pith_lower_is_nan;
onnx_lower_fn pith_lower_reduce;
onnx_lower_fn pith_lower_arg, pith_lower_hardmax, pith_lower_cum_sum, pith_lower_lp_norm;
onnx_lower_fn pith_lower_group_norm, pith_lower_layer_norm, pith_lower_mean_variance;

/* The whole road up to (not including) onnx_emit; im->refusals tells what cannot be imported. */
enum pith_status pith_onnx_open(struct onnx_import *im, const void *bytes, size_t n);
void pith_onnx_close(struct onnx_import *im);

/* The message of a refusal without the name of the file. */
const char *pith_onnx_reason(const struct onnx_import *im, const struct onnx_refusal *r);

#endif
