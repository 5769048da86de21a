/* SPDX-License-Identifier: MIT */
/* onnx.h - what the files of the ONNX importer share.
 *
 * The way of a file:
 *
 *     bytes -> onnx_wire    every length, depth and count checked without building anything
 *           -> protobuf-c   unpacked into budgeted memory (onnx_alloc)
 *           -> onnx_inline  one list of nodes: names resolved (onnx_scope), functions expanded
 *                           (onnx_function), bodies of Loop, Scan and If in place
 *           -> onnx_graph   cut; onnx_inputs: shapes, frozen inputs; onnx_order: who needs whom
 *           -> onnx_table   node by node: lowered (onnx_<family>), shaped by the runtime's rule,
 *                           folded where all inputs are constant (onnx_fold), else emitted
 *           -> onnx_share   constants with the same content become one
 *           -> onnx_emit    what is alive becomes a struct pith_model
 *
 * Rooms, each on those before it: graph/ has the state of an import, its memory, messages,
 * attributes and what every lowering ends in (onnx_finish); lower/ the lowerings; onnx/ the table
 * of them and the driver, from onnx_import down. A lowering reads the table through
 * im->table.
 *
 * Everything before the last step lives in one budget and is released with it. A value is named by
 * its number in struct onnx_import; arrays may move while nodes are lowered, numbers do not. */
#ifndef ONNX_H
#define ONNX_H

#include "onnx.pb-c.h"
#include "onnx/onnx_read.h"
#include "core/op_number.h"
#include "op_interface/op_info.h"
#include "pith_onnx.h"

enum {
    ONNX_OPSET_MIN = 7,          /* of every operator; of some from 1 on: onnx_early.c */
    ONNX_OPSET_MAX = 28,         /* newer files are read by its definitions, with a warning */
    ONNX_MAX_NAME = 240,         /* bytes; stages append to names, of which a file stores 255 */
    ONNX_MAX_DEPTH = 32,         /* of nested messages */
    ONNX_MAX_NODES = 65536,      /* of the main graph; of all when functions are expanded */
    ONNX_MAX_STEPS = 1 << 22,    /* names and nodes met while they are */
    ONNX_MAX_FRAMES = 64,        /* of nested calls and bodies */
    ONNX_MAX_QUALIFIED = 512,    /* bytes of "call/node" */
    ONNX_MAX_MESSAGES = 1 << 19, /* of any type, nested ones included */
    ONNX_MAX_FIELDS = 1 << 21,   /* occurrences of fields, packed elements not counted */
    ONNX_MAX_NODE_INPUTS = 16384,
    ONNX_RAW_REF_BYTES = 64, /* onnx_wire.c */
    ONNX_MAX_SPATIAL = 4,    /* axes of convolutions and pools: pads are a list of two an axis */
    ONNX_OTHER_BATCH = 3,    /* a second size for an open batch, to see what follows it */
    ONNX_NONE = -1
};

#define ONNX_VALUE_NONE PITH_VALUE_NONE

/* ---- memory (onnx_alloc.c) ---------------------------------------------------------------- */

struct onnx_block;

#define ONNX_MOST_BYTES (UINT64_C(4) << 30) /* of memory, where the caller sets no limit */

struct onnx_budget {
    struct pith_alloc under;
    uint64_t limit, used, peak; /* peak: of used */
    bool in_proportion;         /* the limit is by what the files are long */
    bool over;                  /* a request was refused for the limit, not for lack of memory */
    bool failed;                /* a request was refused */
    struct onnx_block *blocks;
};

/* max_bytes 0: as much as a file of n bytes may take. */
void pith_onnx_budget_init(struct onnx_budget *b, const struct pith_alloc *under,
                           uint64_t max_bytes, size_t n);
/* So many bytes of a file beside the model are part of the network. */
void pith_onnx_read_beside(struct onnx_budget *b, uint64_t bytes);
/* count * each zeroed bytes; NULL when the product, the limit or memory runs out. */
void *pith_onnx_alloc(struct onnx_budget *b, uint64_t count, size_t each);
void pith_onnx_free(struct onnx_budget *b, void *p); /* accepts NULL */
/* Counts bytes that live elsewhere (in the model). */
bool pith_onnx_charge(struct onnx_budget *b, uint64_t bytes);
void pith_onnx_budget_clear(struct onnx_budget *b); /* frees every block */
/* The status for a refused allocation. */
enum pith_status pith_onnx_memory_status(const struct onnx_budget *b);

/* ---- the import --------------------------------------------------------------------------- */

struct onnx_value {
    const char *name; /* "" for outputs the file left unnamed */
    enum pith_type type;
    struct shape shape;
    bool known;    /* type and shape are set */
    bool constant; /* its elements are in `tensor` or `data` */
    bool empty;    /* a constant without elements: shape is meaningless */
    bool live;     /* an output needs it */
    bool output;   /* is an output of the graph */
    bool wide;     /* f64 in the file: held as f32, and only while constant */
    /* Of an end of the graph that is f16 or bf16 in the file, and f32 here: that; else 0. */
    enum pith_type narrow;
    bool selected; /* its first dim is known at run time alone */
    bool varies;   /* follows the open batch: `other` (and `other_data`) hold what it would be */
    struct shape other;              /* with a batch of ONNX_OTHER_BATCH instead of 1 */
    void *other_data;                /* of a constant; NULL: as `data` */
    const Onnx__TensorProto *tensor; /* where `data` is loaded from when wanted */
    void *data;                      /* owned by the budget; NULL: not loaded */
    /* Of a constant f32 that is made of integers by DequantizeLinear, and moved since: those; axis
     * and order as they were there. Else NULL. */
    const struct pith_integers *integers;
    uint32_t turned;   /* the constant that is this matrix transposed, plus 1; 0: not made */
    uint32_t alias;    /* the value this one is only another name of, or itself */
    int64_t producer;  /* number in im->flat, or ONNX_NONE */
    uint32_t number;   /* in the model */
    uint32_t twin;     /* a constant that follows open sizes: the value that is computed when the
                          network runs instead of it, plus 1; 0: not made */
    uint32_t known_as; /* where a value of the file that follows open sizes is another name of this
                          constant: that, plus 1 */
};

struct onnx_node {
    const char *name;
    const struct op_info *info;
    int32_t *attr;
    uint32_t n_in, n_out;
    uint32_t *in, *out;
    uint32_t begin, middle; /* of the end of a region: the nodes it closes */
};

/* ---- the one list of nodes (onnx_inline.c) -------------------------------------------------- */

enum onnx_role { ONNX_PLAIN = 0, ONNX_BEGIN = 1, ONNX_ELSE = 2, ONNX_END = 3 };
enum onnx_region_kind { ONNX_LOOP = 0, ONNX_SCAN = 1, ONNX_IF = 2 };

struct onnx_flat {
    const Onnx__NodeProto *node; /* of the file, or a copy where it lies in a function */
    uint8_t role;
    uint32_t part;   /* where it stands: 0 the graph, else pith_onnx_part() */
    uint32_t region; /* of BEGIN, ELSE, END */
    int64_t opset;
    uint32_t n_in, n_out;
    uint32_t *in; /* values, or ONNX_VALUE_NONE */
    uint32_t out; /* its outputs are values out, out + 1, ... */
};

/* A Loop, Scan or If. */
struct onnx_region {
    enum onnx_region_kind kind;
    const Onnx__NodeProto *node;
    const Onnx__GraphProto *second; /* If: the other branch */
    uint32_t parent;                /* part it stands in */
    uint32_t begin, middle, end;    /* numbers in im->flat; middle: of an If */
    uint32_t n_states, n_slices;
    uint32_t first_out, n_out; /* of the end */
    uint32_t *end_in;
    bool batched;               /* Scan of opset 8: an axis for the batch, of 1, stands first */
    bool iteration_is_list;     /* Loop: the body wants the iteration as [1], not [] */
    uint32_t at_middle, at_end; /* places in im->order */
    /* what lowering the begin has found */
    bool never, taken_first, taken_second; /* never run; only one branch is */
    bool endless;                          /* as far as count and first condition go */
    bool counted;                          /* what the condition says is in the number of trips */
    uint32_t emitted, emitted_middle;      /* numbers in im->nodes, plus 1 */
};

/* The body of region r, or its second branch. */
static inline uint32_t pith_onnx_part(uint32_t region, bool second)
{
    return 2 * region + 1 + second;
}

struct onnx_function {
    const char *domain, *name, *overload;
    const Onnx__FunctionProto *proto;
    Onnx__AttributeProto **defaults;
    size_t n_defaults;
};

struct onnx_call {
    const struct onnx_function *function;
    const Onnx__NodeProto *node;
};

/* A node that cannot be imported, and why. */
struct onnx_refusal {
    const char *op;    /* "Einsum", or "com.microsoft.Gelu" */
    const char *label; /* name of the node, or of its output */
    const char *why;   /* "": there is no such operator here; else the whole message */
    uint32_t place;    /* in the order of refusals */
    uint32_t flat;     /* the node */
};

/* Names of all values, sorted, for look-ups that no choice of names can slow down. */
struct onnx_name {
    const char *text;
    uint32_t value;
    const Onnx__NodeProto *node; /* whose output it is; NULL: an input or an initializer */
};

struct onnx_scope {
    const struct onnx_scope *parent; /* whose names are visible too */
    struct onnx_name *names;
    uint32_t n_names;
};

/* Of a Gather whose indices follow open sizes: how many positions it needs, and has. */
struct onnx_bound {
    uint32_t needs, has;
};

struct onnx_import {
    const char *file;     /* as messages show it */
    const uint8_t *bytes; /* the file, borrowed until the import ends: elements are read there */
    bool mapped;          /* from a file: pages that are read once more come from it again */
    const struct pith_import_opts *opts;
    const struct onnx_table *table; /* operators by name; lowerings read it, too */
    struct pith_error *err;
    struct onnx_budget budget;
    const Onnx__ModelProto *model; /* of another import of the same bytes where it is set before */
    const Onnx__GraphProto *graph;
    int64_t opset;            /* of the file; while a node is lowered, of that node */
    uint64_t attributes_read; /* bit i: the lowering of the node at hand looked at its attribute i <
                                 64 */

    struct onnx_value *values;
    uint32_t n_values, cap_values;
    struct onnx_name *names; /* of the main graph */
    uint32_t n_names;
    struct onnx_function *functions; /* sorted */
    uint32_t n_functions;
    uint64_t n_steps;
    struct onnx_flat *flat;
    uint32_t n_flat, cap_flat;
    uint32_t n_file_nodes; /* a region counts as one */
    struct onnx_region *regions;
    uint32_t n_regions, cap_regions;
    uint32_t *order; /* live nodes in an order of execution: numbers in flat */
    uint32_t n_order;
    uint32_t *inputs; /* values; frozen ones and initializers left out */
    uint32_t n_inputs;
    uint32_t *outputs; /* values */
    const char **output_names;
    uint32_t n_outputs;
    bool batch_open;
    bool first_open;  /* the first dimension of some input is */
    uint32_t stopped; /* place in `order` of the first node that could not be lowered; or n_order */

    bool survey; /* open dimensions are collected instead of refused */
    struct pith_onnx_open_dim *open_dims;
    uint32_t n_open;

    /* Of values 0..n_sized-1: is it a constant only as long as sizes are fixed? NULL: they are. */
    const bool *sized;
    uint32_t n_sized;
    uint32_t n_file_values; /* values that the file names; those behind are made by lowerings */
    struct onnx_bound *bounds;
    uint32_t n_bounds, cap_bounds;
    bool settled; /* pith_onnx_settle is done */
    bool no_fold; /* while a twin is lowered: what is constant here is computed with each size */

    struct onnx_node *nodes;
    uint32_t n_nodes, cap_nodes;
    struct onnx_refusal *refusals;
    uint32_t n_refusals;
    const struct tview **view_in; /* operands of the node at hand */
    struct tview **view_out;
    struct tview *view; /* inputs, then outputs */
    uint32_t cap_view;
};

/* Writes "file: ..." to err, unprintable bytes replaced, and returns status. */
enum pith_status pith_onnx_fail(struct onnx_import *im, enum pith_status status, const char *fmt,
                                ...) __attribute__((format(printf, 3, 4)));
enum pith_status pith_onnx_no_memory(struct onnx_import *im);
/* "file: ..." to the caller's warn function, if there is one, unprintable bytes replaced. */
void pith_onnx_warn(const struct onnx_import *im, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* onnx_short_name.c: name itself where it has at most `limit` bytes (at least 17), else that many
 * or fewer, the end replaced by a hash; in the import's memory. NULL: there is none. */
const char *pith_onnx_short_name(struct onnx_import *im, const char *name, size_t limit);

/* onnx_wire.c: PITH_OK when protobuf-c may unpack the bytes. */
#define ONNX_WIRE_TEXT 256u

struct onnx_wire_facts {
    uint64_t offset; /* of what is wrong */
    char text[ONNX_WIRE_TEXT];
    size_t bytes;    /* of the file without the elements of its tensors */
    uint64_t n_refs; /* of tensors whose elements are left out of that */
};
enum pith_status pith_onnx_scan(const void *bytes, size_t n, struct onnx_wire_facts *facts);
/* bytes[n] that pith_onnx_scan accepts, to out[facts.bytes]. A raw_data of ONNX_RAW_REF_BYTES is
 * there two le64, then zeros: where in `bytes` the elements stand, and how many bytes they take. */
void pith_onnx_write_without_raw(const void *bytes, size_t n, uint8_t *out);

/* onnx_graph.c */
/* PITH_OK, warned of, where it is newer than ONNX_OPSET_MAX. `what`: "" or "function 'f' is of ".
 */
enum pith_status pith_onnx_check_opset(struct onnx_import *im, const char *what, int64_t opset);
enum pith_status pith_onnx_unpack(struct onnx_import *im, const void *bytes, size_t n);
/* PITH_F16, PITH_BF16, or 0: it is neither. */
enum pith_type pith_onnx_narrow(int32_t elem_type);
/* im->outputs, by their names: after pith_onnx_inline. */
enum pith_status pith_onnx_link_outputs(struct onnx_import *im);
/* onnx_scope.c */
/* ONNX_VALUE_NONE: no such name. */
uint32_t pith_onnx_find(const struct onnx_import *im, const char *name);
/* onnx_state.c. ONNX_VALUE_NONE when memory is out. */
uint32_t pith_onnx_add_value(struct onnx_import *im, const char *name);
uint32_t pith_onnx_alias(const struct onnx_import *im, uint32_t value);
/* Name of ONNX node i, or of its first output. */
const char *pith_onnx_label(const Onnx__NodeProto *node);

/* onnx_inline.c: im->flat, im->regions. */
enum pith_status pith_onnx_inline(struct onnx_import *im);

/* onnx_scope.c: the names of the graph; of a body and of a function, whose inputs are the values
 * `inputs`. Makes values for initializers and outputs; *first_out: the first of each node. */
enum pith_status pith_onnx_scope_graph(struct onnx_import *im, struct onnx_scope *s,
                                       uint32_t **first_out);
enum pith_status pith_onnx_scope_body(struct onnx_import *im, struct onnx_scope *s,
                                      const Onnx__GraphProto *g, const uint32_t *inputs,
                                      uint32_t **first_out);
enum pith_status pith_onnx_scope_function(struct onnx_import *im, struct onnx_scope *s,
                                          const Onnx__FunctionProto *f, const uint32_t *inputs,
                                          uint32_t **first_out);
/* *value may be ONNX_VALUE_NONE: an input of a function that the call leaves out. */
bool pith_onnx_scope_find(const struct onnx_scope *scope, const char *name, uint32_t *value);

/* onnx_function.c. find: *found NULL when the node is none. called: *node replaced by a copy with
 * the attributes of the call (NULL: outside of functions). */
enum pith_status pith_onnx_index_functions(struct onnx_import *im);
enum pith_status pith_onnx_find_function(struct onnx_import *im, const Onnx__NodeProto *node,
                                         const struct onnx_function **found);
enum pith_status pith_onnx_called_node(struct onnx_import *im, const struct onnx_call *call,
                                       const Onnx__NodeProto **node);

/* onnx_inputs.c: shapes of graph inputs, frozen inputs. */
enum pith_status pith_onnx_bind_inputs(struct onnx_import *im);
/* onnx_freeze.c: makes an input of known type a constant. Dims of its shape may be 0, open: those
 * of the values then. */
enum pith_status pith_onnx_freeze(struct onnx_import *im, uint32_t value, const char *text);

/* onnx_order.c: live nodes and their order of execution; then, when lowering has found which
 * branches are taken, the refusals of nodes that nothing needs are dropped. */
enum pith_status pith_onnx_sort(struct onnx_import *im);
enum pith_status pith_onnx_drop_refusals(struct onnx_import *im);

/* onnx_tensor.c. describe: type and shape of a value from its tensor. load: its elements into
 * `data`. copy: its elements to dst (type bytes * count), without keeping them. */
enum pith_status pith_onnx_describe_tensor(struct onnx_import *im, uint32_t value);
enum pith_status pith_onnx_load(struct onnx_import *im, uint32_t value);
enum pith_status pith_onnx_copy(struct onnx_import *im, uint32_t value, void *dst);
/* The status for a refused allocation of a value's elements, with its name. */
enum pith_status pith_onnx_no_room(struct onnx_import *im, uint32_t value);
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
    const struct onnx_flat *flat;
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

/* All rows, sorted by name, of each domain of operators. */
struct onnx_table {
    const struct onnx_row *standard;
    size_t n_standard;
    const struct onnx_row *microsoft;
    size_t n_microsoft;
};
extern const struct onnx_table pith_onnx_table; /* onnx_table.c */

/* NULL: not supported */
const struct onnx_row *pith_onnx_row(const struct onnx_import *im, const Onnx__NodeProto *node);
const char *pith_onnx_hint(const char *op_type);
/* onnx_early.c: the node's opset, below 7, has other rules for it. */
bool pith_onnx_too_early(const Onnx__NodeProto *node, int64_t opset);
/* The name of an attribute that a node of an opset past ONNX_OPSET_MAX has and this reader does not
 * know of; im->attributes_read has those that its lowering looked at. NULL: none. */
const char *pith_onnx_too_new(const struct onnx_lower *l);
/* Lowers all nodes of im->order; refused ones are collected in im->refusals. */
enum pith_status pith_onnx_lower_all(struct onnx_import *im);
/* Shapes of the outputs by the runtime's rule; then the node is folded or emitted. A lowering that
 * makes several nodes of one calls it for each. */
enum pith_status pith_onnx_finish(struct onnx_lower *l);
/* One of the several nodes that a node becomes: `step` is ready for its inputs and attributes, its
 * one output is *out, a new value when that is ONNX_VALUE_NONE. */
enum pith_status pith_onnx_step(struct onnx_lower *l, uint32_t op, struct onnx_lower *step,
                                uint32_t *out);
/* Appends a node with room for its attributes, inputs and outputs; NULL when memory is out. Earlier
 * ones may move. */
struct onnx_node *pith_onnx_new_node(struct onnx_import *im, const struct op_info *info,
                                     uint32_t n_in, uint32_t n_out);
/* Begins one of the nodes that a lowering makes of one, of operator `op` with default attributes,
 * one input (set sub->in, which is read before pith_onnx_finish returns) and one output: a new
 * value, or, with `last`, the first one of l. */
enum pith_status pith_onnx_open_step(struct onnx_lower *l, enum pith_op op, bool last,
                                     struct onnx_lower *sub, uint32_t *out);
/* onnx_fold.c: computes a node whose inputs are all constants. *folded: whether it did. */
enum pith_status pith_onnx_fold(struct onnx_lower *l, const struct op_args *args, bool *folded);
/* The same once more, args shaped for the other batch, into other_data; the outputs are folded. */
enum pith_status pith_onnx_fold_other(struct onnx_lower *l, const struct op_args *args);
/* onnx_batch.c: constants of l that follow the batch, where they are the same for every sample,
 * become values of one sample or nodes that repeat it. l stays a node. */
enum pith_status pith_onnx_open_constants(struct onnx_lower *l);
/* The value's shape under the other batch. */
static inline const struct shape *pith_onnx_other_shape(const struct onnx_value *v)
{
    return v->varies ? &v->other : &v->shape;
}
/* onnx_lower.c: of a node that is bound: l->in, n_in, first_out, n_out, row. */
enum pith_status pith_onnx_lower_bound(struct onnx_lower *l);
/* onnx_twin.c: inputs of l that are constants of these sizes alone are replaced by what computes
 * them, but for those that a lowering reads as numbers. */
enum pith_status pith_onnx_follow_sizes(struct onnx_lower *l);
/* After a node is lowered: constants that its outputs are other names of. */
void pith_onnx_note_sized(struct onnx_import *im, const struct onnx_flat *flat);
/* *value, where it is such a constant: what computes it. */
enum pith_status pith_onnx_twin(struct onnx_lower *l, uint32_t *value);
/* onnx_moving_slice.c: a Slice of fixed length from a place computed at run time becomes a Gather;
 * *done false: it is none. */
enum pith_status pith_onnx_moving_slice(struct onnx_lower *l, bool *done);
/* onnx_scatter_slice.c: a ScatterND that replaces a slice of one axis becomes Slices and a Concat;
 * *done false: it is none. */
enum pith_status pith_onnx_scatter_slice(struct onnx_lower *l, bool *done);
/* onnx_dead.c: leaves in im->nodes what an output needs; unused states and results of loops and
 * branches go too. */
enum pith_status pith_onnx_drop_dead(struct onnx_import *im);
/* onnx_share.c: constants that nodes of im->nodes read and that have the same content become one,
 * and a matrix that is there both ways round is kept once, where products are the readers of one of
 * them. Constants below 256 bytes are left alone. PITH_ERR_MEMORY, _LIMIT, and what loading may
 * return. */
enum pith_status pith_onnx_share_constants(struct onnx_import *im);
/* onnx_patterns.c: nodes that together are one operator of the runtime become it. */
enum pith_status pith_onnx_match_patterns(struct onnx_import *im);

/* onnx_emit.c. settle: outputs get their names, dead nodes go; emit does it where it is not done.
 */
enum pith_status pith_onnx_settle(struct onnx_import *im);
enum pith_status pith_onnx_emit(struct onnx_import *im, struct pith_model **m);

/* onnx_attr.c: attributes by name. Messages name the node. */
enum pith_status pith_onnx_node_fail(struct onnx_lower *l, enum pith_status status, const char *fmt,
                                     ...) __attribute__((format(printf, 3, 4)));
const Onnx__AttributeProto *pith_onnx_attr(const struct onnx_lower *l, const char *name);
enum pith_status pith_onnx_get_int(struct onnx_lower *l, const char *name, int64_t def,
                                   int64_t *value);
enum pith_status pith_onnx_get_float(struct onnx_lower *l, const char *name, float def,
                                     float *value);
/* *value: "" when absent; otherwise one of the NULL-terminated `allowed`, *index: which one. */
enum pith_status pith_onnx_get_choice(struct onnx_lower *l, const char *name,
                                      const char *const *allowed, uint32_t def, uint32_t *index);
/* Into slots of the node, checked against the operator's schema; absent: left at the default. */
enum pith_status pith_onnx_take_int(struct onnx_lower *l, const char *name, uint32_t slot);
enum pith_status pith_onnx_take_float(struct onnx_lower *l, const char *name, uint32_t slot);
enum pith_status pith_onnx_take_ints(struct onnx_lower *l, const char *name, uint32_t slot);
/* Writes a list slot; `name` stands in the message when an entry is out of the schema's range. */
enum pith_status pith_onnx_set_ints(struct onnx_lower *l, const char *name, uint32_t slot,
                                    const int64_t *v, size_t n);
/* Empties a list slot whose entries are all `item`, which an empty list stands for: a file then
 * need not hold it. */
void pith_onnx_leave_default(struct onnx_lower *l, uint32_t slot, int32_t item);
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

/* onnx_matmul.c. A constant of floats of this shape, named after `value` and in its place, whose
 * elements are *from. */
enum pith_status pith_onnx_new_weight(struct onnx_lower *l, uint32_t value,
                                      const struct shape *shape, uint32_t *made, const float **from,
                                      float **to);
/* What can be loaded again, should another node want it as it was. */
void pith_onnx_unload(struct onnx_lower *l, uint32_t value);
/* onnx_dilated.c: l is a Conv with its attributes in their slots. A constant kernel with zeros
 * between its taps becomes a smaller one, dilated. */
enum pith_status pith_onnx_dilate(struct onnx_lower *l);
/* The node computes in a wider type: input 0 is cast to it, output 0 back, both without loss. */
enum pith_status pith_onnx_widened(struct onnx_lower *l, enum pith_type type);

/* onnx_pool_index.c: lowers l, a MaxPool with its attributes in their slots, and its output 1. */
enum pith_status pith_onnx_pool_indices(struct onnx_lower *l);

/* Input 0 becomes the first and the second input. */
enum pith_status pith_onnx_input_twice(struct onnx_lower *l);

/* onnx_loop.c. as_scalar: *value, of one element of `type`, without dims. constant_scalar: its
 * element, when it is constant. */
enum pith_status pith_onnx_as_scalar(struct onnx_lower *l, const char *what, enum pith_type type,
                                     uint32_t *value);
enum pith_status pith_onnx_constant_scalar(struct onnx_lower *l, uint32_t value, bool *constant,
                                           int64_t *number);
/* PITH_ERR_UNSUPPORTED: the runtime takes no bodies nested as deep as l's region. */
enum pith_status pith_onnx_check_depth(struct onnx_lower *l);
/* onnx_branch.c: the end of a region whose course is known; false: it is not. */
bool pith_onnx_settle_end(struct onnx_import *im, const struct onnx_flat *end);
/* "f32 1x3x224x224" */
const char *pith_onnx_shape_text(const struct onnx_value *v, char text[96]);

/* The lowerings, by family. */
onnx_lower_fn pith_lower_if, pith_lower_loop, pith_lower_scan;
onnx_lower_fn pith_lower_conv, pith_lower_conv_integer, pith_lower_matmul_integer;
onnx_lower_fn pith_lower_pool, pith_lower_batch_norm, pith_lower_lrn;
onnx_lower_fn pith_lower_global_lp_pool;
onnx_lower_fn pith_lower_qlinear_unary, pith_lower_qlinear_softmax, pith_lower_qlinear_binary,
    pith_lower_qlinear_concat, pith_lower_qgemm; /* onnx_qlinear.c */
onnx_lower_fn pith_lower_gemm, pith_lower_matmul;
onnx_lower_fn pith_lower_alpha, pith_lower_clip, pith_lower_softmax;
onnx_lower_fn pith_lower_reshape, pith_lower_flatten, pith_lower_squeeze, pith_lower_unsqueeze;
onnx_lower_fn pith_lower_transpose, pith_lower_identity, pith_lower_cast, pith_lower_constant;
onnx_lower_fn pith_lower_cast_like, pith_lower_dropout, pith_lower_formula;
onnx_lower_fn pith_lower_prelu, pith_lower_stft;
onnx_lower_fn pith_lower_concat, pith_lower_split, pith_lower_slice, pith_lower_pad;
onnx_lower_fn pith_lower_reverse_sequence;
onnx_lower_fn pith_lower_reduce_mean, pith_lower_resize, pith_lower_grid_sample;
onnx_lower_fn pith_lower_shape, pith_lower_size, pith_lower_constant_of_shape, pith_lower_range;
onnx_lower_fn pith_lower_eye_like;
onnx_lower_fn pith_lower_gather, pith_lower_gather_elements, pith_lower_gather_nd;
onnx_lower_fn pith_lower_scatter_elements, pith_lower_scatter_nd, pith_lower_tile;
onnx_lower_fn pith_lower_expand;
onnx_lower_fn pith_lower_depth_to_space, pith_lower_space_to_depth, pith_lower_trilu;
onnx_lower_fn pith_lower_one_hot, pith_lower_top_k, pith_lower_conv_transpose;
onnx_lower_fn pith_lower_einsum, pith_lower_recurrent;
onnx_lower_fn pith_lower_kind, pith_lower_unary;
onnx_lower_fn pith_lower_mod, pith_lower_is_nan, pith_lower_is_inf, pith_lower_relu, pith_lower_pow;
onnx_lower_fn pith_lower_non_max_suppression;
onnx_lower_fn pith_lower_reduce;
onnx_lower_fn pith_lower_quantize, pith_lower_dequantize, pith_lower_dynamic_quantize;
onnx_lower_fn pith_lower_qlinear_conv, pith_lower_qlinear_matmul;
onnx_lower_fn pith_lower_arg, pith_lower_hardmax, pith_lower_cum_sum, pith_lower_lp_norm;
onnx_lower_fn pith_lower_group_norm, pith_lower_layer_norm, pith_lower_rms_norm,
    pith_lower_mean_variance;
onnx_lower_fn pith_lower_attention, pith_lower_rotary_embedding, pith_lower_swish;

/* The whole road up to (not including) onnx_emit; im->refusals lists what cannot be imported. */
enum pith_status pith_onnx_open(struct onnx_import *im, const void *bytes, size_t n);
void pith_onnx_close(struct onnx_import *im);

/* onnx_open.c: a network whose open dimensions stay open, beside the batch. batch: dimension 0 of
 * all inputs is one, where the file leaves it open. */
enum pith_status pith_onnx_read_open(const struct onnx_import *like, const void *bytes, size_t n,
                                     bool batch, struct pith_model **m);
/* onnx_import.c: with the batch as the runtime knows it, else with it as one size among others.
 * Where neither can be, `closed`, and the reason is added to the message in like->err. */
enum pith_status pith_onnx_open_sizes(const struct onnx_import *like, const void *bytes, size_t n,
                                      enum pith_status closed, struct pith_model **m);
/* One import: all steps up to pith_onnx_emit. */
enum pith_status pith_onnx_to_nodes(struct onnx_import *im, const void *bytes, size_t n);

/* The message of a refusal without the name of the file. */
const char *pith_onnx_reason(const struct onnx_import *im, const struct onnx_refusal *r);

#endif
