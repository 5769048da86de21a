/* SPDX-License-Identifier: MIT */
/* pith_model.h - the network in memory: what import makes, stages change and pack writes.
 *
 *     struct pith_model *m;
 *     struct pith_error err;
 *     if (pith_model_load("net.onnx", NULL, &m, &err)) ...   // pith_load.h: .onnx or .pith
 *     ... pith_prune(m, ...), pith_cluster(m, ...) ...
 *     struct pith_buffer file;
 *     if (pith_model_pack(m, NULL, &file, &err)) ...          // pith_pack.h: the bytes of a .pith
 *     pith_model_free(m);
 *
 * A constant weight answers three questions, each owned by one stage: `mask` (support, prune),
 * `codebook` (grid, quantize), `code` (huffman). `data` always holds the effective values, so any
 * stage may run after any other. The structs are open: stages read and write them directly.
 *
 * Ownership: a model owns one arena; everything reachable from it is allocated with
 * pith_model_alloc and released by pith_model_free. Nothing in it is freed singly. */
#ifndef PITH_MODEL_H
#define PITH_MODEL_H

#include <stdbool.h>
#include "pith_base.h"
#include "pith_types.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define PITH_VALUE_NONE UINT32_MAX /* an optional input left out */

struct pith_codebook {
    uint32_t n_centroids; /* per group, 1..256 */
    uint64_t group_elems; /* elements that share a group, row-major; count: one for the tensor */
    uint64_t n_groups;    /* count / group_elems, exactly */
    float *centroid;      /* [n_groups * n_centroids], ascending in each group, finite */
    uint8_t *index;       /* [count]; 0 and meaningless where masked out */
};

/* How encode will write a weight; the packer falls back to what is valid. */
enum pith_code {
    PITH_CODE_PLAIN = 0,   /* working form: raw values, bitmap masks, k-bit indices */
    PITH_CODE_HUFFMAN = 1, /* gaps and indices entropy-coded, tables shared where smaller; f32 of at
                              least 4096 elements byte by byte */
    PITH_CODE_ADAPTIVE = 2, /* as an adaptive stream, or as above where that is smaller */
    PITH_CODE_RANS = 3      /* indices by rANS, or as Huffman codes where those are smaller */
};

/* Where f32 elements came from: (q - zero) * scale for integers q of `type`, the product rounded
 * once, as DequantizeLinear has it. */
struct pith_integers {
    enum pith_type type; /* I8, U8, I16, U16 */
    uint64_t n;          /* scales and zero points */
    uint32_t axis;       /* where n > 1: they lie along this axis, */
    uint64_t block;      /* one for each `block` places of it (>= 2; the other axes as the tensor's)
                            or, where this is 0, for each place, the same for all of it */
    float *scale;        /* [n] */
    int32_t *zero;       /* [n], of the type's range */
};

struct pith_const {
    uint64_t count;
    void *data;                     /* [count] of the value's type, row-major: effective values */
    uint8_t *mask;                  /* [count], 1 kept, 0 pruned (data is then 0); NULL: dense */
    struct pith_codebook *codebook; /* NULL: plain grid */
    enum pith_code code;
    bool short_planes; /* code is not plain: byte by byte with fewer f32 than 4096, too; a plan then
                          has them in memory, where it reads plain ones in the file */
    /* Of f32: PITH_F16 or PITH_BF16 where a file has 2 bytes for each element; 0: the value's own
     * type. The packer writes f32 where some element is not one of that type, or there is a
     * codebook. */
    enum pith_type stored;
    /* Of f32: the integers of the file it came from, or NULL. The packer and the ONNX writer write
     * them where they still give all elements; any stage may change those. */
    struct pith_integers *integers;
    /* Where the file that this was read from has levels of a trellis (trellis.h), adaptive:
     * its states; else 0. The packer finds from the indices whether they are levels. */
    uint8_t trellis;
};

struct pith_value_stats;
struct pith_grid;

struct pith_value {
    char *name; /* "" when the file has none */
    enum pith_type type;
    uint32_t rank;
    uint32_t dim[PITH_MAX_RANK]; /* with batch 1 where the batch is open */
    struct pith_const *constant; /* NULL: computed at run time, or an input */
    /* Running extremes by calibrate; min > max: none. */
    float min, max;
    uint64_t n_observed;
    struct pith_value_stats *stats; /* what calibrate saw; NULL: nothing */
    struct pith_grid *grid;         /* the integers it shall be; NULL: none (pith_value_stats.h) */
};

/* A number that follows open sizes: its formula in their names (host/size_expression.h). */
struct pith_sized {
    uint32_t slot; /* of a node's attributes; of the model: input * PITH_MAX_RANK + dimension */
    char *formula;
};

/* A formula of open sizes that may not be more than a number: positions that a table has. Where
 * size S is at least L, it is L - S, and the number 0. */
struct pith_size_limit {
    uint32_t most;
    char *formula;
};

struct pith_node {
    char *name;
    uint32_t op;   /* enum pith_op, core/op_number.h */
    int32_t *attr; /* op_info->n_slots */
    uint32_t n_in, n_out;
    uint32_t *in;             /* value numbers or PITH_VALUE_NONE */
    uint32_t *out;            /* value numbers */
    struct pith_sized *sized; /* attributes that follow open sizes; their values are in attr, too */
    uint32_t n_sized;
};

/* A size that is chosen for each run: a sequence's length, a picture's height. */
struct pith_size {
    char *name;
    uint32_t value, max; /* that shapes and attributes are made for now; the largest */
};

struct pith_meta {
    char *key;
    char *text; /* UTF-8, NUL-terminated */
};

struct pith_model {
    struct pith_value *values;
    uint32_t n_values;
    struct pith_node *nodes; /* in an order of execution */
    uint32_t n_nodes;
    uint32_t *inputs; /* value numbers */
    uint32_t n_inputs;
    uint32_t *outputs;
    uint32_t n_outputs;
    bool batch_open;         /* dim 0 of every input is the batch */
    struct pith_size *sizes; /* beside the batch */
    uint32_t n_sizes;
    struct pith_sized *sized; /* dimensions of inputs that follow them */
    uint32_t n_sized;
    struct pith_size_limit *limits;
    uint32_t n_limits;
    struct pith_meta *meta; /* "preprocess", "labels", "recipe", ... sorted by key */
    uint32_t n_meta;
    struct pith_meta *history; /* key: the stage's verb; text: one JSON object; oldest first */
    uint32_t n_history;
    struct pith_model_arena *arena; /* private */
};

/* alloc is copied; its user pointer is borrowed until pith_model_free. */
enum pith_status pith_model_new(const struct pith_alloc *alloc, struct pith_model **m);
void pith_model_free(struct pith_model *m); /* accepts NULL */

/* A model of its own with all that `from` holds; values and nodes keep their numbers. Free it with
 * pith_model_free. PITH_ERR_MEMORY; *copy is then untouched. */
enum pith_status pith_model_copy(const struct pith_model *from, struct pith_model **copy,
                                 struct pith_error *err);

/* count * each zeroed bytes that live as long as the model; NULL when memory or the product's
 * range runs out. */
void *pith_model_alloc(struct pith_model *m, uint64_t count, size_t each);
char *pith_model_strdup(struct pith_model *m, const char *text);

/* Replaces or adds; both texts are copied. PITH_ERR_MEMORY. */
enum pith_status pith_model_set_meta(struct pith_model *m, const char *key, const char *text);
const char *pith_model_get_meta(const struct pith_model *m, const char *key); /* NULL: none */
enum pith_status pith_model_add_history(struct pith_model *m, const char *verb, const char *json);

/* New values of the open sizes, value[m->n_sizes], each within 0..max: input dimensions and
 * attributes follow, then all shapes. PITH_ERR_ARGUMENT, and *err names the size; PITH_ERR_CORRUPT:
 * the network does not take these sizes. Nothing is changed then. */
enum pith_status pith_model_set_sizes(struct pith_model *m, const uint32_t *value,
                                      struct pith_error *err);

/* The least value of size i that m takes beside the values that the others have. 0: it may be
 * absent, as a cache before its first step. 1: there is no such size. m is unchanged. */
uint32_t pith_model_least_size(struct pith_model *m, uint32_t i);

struct pith_tensor;
/* The values by which the inputs have these shapes: pith_sizes_fit of <pith/pith_host.h>, then
 * pith_model_set_sizes. */
enum pith_status pith_model_fit_sizes(struct pith_model *m, const struct pith_tensor *inputs,
                                      uint32_t n_inputs, struct pith_error *err);
/* The same with the shapes that the inputs of another model have, one by one. */
enum pith_status pith_model_same_sizes(struct pith_model *m, const struct pith_model *like,
                                       struct pith_error *err);

#define PITH_META_TYPES "types" /* key of the meta that keeps them */
/* The type of an end in the network's ONNX file: f16 or bf16 where the model has f32, else the
 * value's own. end: number of an input, or n_inputs and that of an output. */
enum pith_type pith_model_end_type(const struct pith_model *m, uint32_t end);
/* type: [n_inputs + n_outputs]; what is neither f16 nor bf16 is the value's own. PITH_ERR_MEMORY.
 */
enum pith_status pith_model_set_end_types(struct pith_model *m, const enum pith_type *type);

/* A prunable and clusterable weight: constant f32 input 1 of a Conv, ConvTranspose, Gemm, MatMul or
 * Recurrent, or the table a Gather takes slices of. Import has brought the matrix ones to [O, C];
 * Conv weights are [O, C/group, KH, KW]. ConvTranspose's are [C, O/group, KH, KW]: a row there is
 * an input channel; that of a table is a slice of its first axis. */
struct pith_weight_ref {
    uint32_t value; /* number of the constant */
    uint32_t node;
    uint32_t op;
    const char *layer;  /* node name, or the name of its output where it has none */
    const char *tensor; /* name of the constant */
    uint64_t rows;      /* the first dim */
    uint64_t cols;      /* count / rows */
};
/* refs: room for m->n_nodes entries. A constant used by several nodes is listed once. */
uint32_t pith_model_weights(const struct pith_model *m, struct pith_weight_ref *refs);
/* These, and among them, in order of the nodes, the constants that ConvInteger and MatMulInteger
 * multiply with (MatMulInteger's are [C, O]). */
uint32_t pith_model_all_weights(const struct pith_model *m, struct pith_weight_ref *refs);

/* Shell glob (* ? [..]) against layer or tensor name; "re:..." is a POSIX extended regex. */
bool pith_weight_matches(const struct pith_weight_ref *ref, const char *pattern);
/* A pattern that this name alone matches, in m's memory. NULL: no memory. */
const char *pith_weight_pattern(struct pith_model *m, const char *name);

/* ---- rewrites --------------------------------------------------------------------------- */

/* BatchNormalization after Conv or Gemm into weight and bias (on the way to encode). Masks stay;
 * a codebook on a folded tensor becomes one per channel. A weight that several nodes read is scaled
 * once, when all of them have a normalization with the same factors, else not at all. *n_folded:
 * how many normalizations were folded. */
enum pith_status pith_model_fold_batch_norm(struct pith_model *m, uint32_t *n_folded,
                                            struct pith_error *err);
/* The same, and rounded to what a file stores in few bytes. step_bits, 0..23: where a weight's
 * codebook is k * step, each channel's step has so many bits of mantissa behind the leading one
 * (23: as it comes). bias_levels, 0..127: the new biases are k * step, |k| <= bias_levels, one step
 * for each tensor; 0: as they come. PITH_ERR_MEMORY: some may be folded. */
enum pith_status pith_model_fold_onto_grids(struct pith_model *m, uint32_t step_bits,
                                            uint32_t bias_levels, uint32_t *n_folded,
                                            struct pith_error *err);
/* pith_model_fold_batch_norm, then sums of convolutions of one value, such as the parallel branches
 * of RepVGG, become one convolution with the name of the sum. For a network that is run or stored:
 * layers compared by name are those of pith_model_fold_batch_norm. PITH_ERR_MEMORY: some may be. */
enum pith_status pith_model_merge_convs(struct pith_model *m, struct pith_error *err);
/* Drops the nodes i with dropped[i]; m->nodes is changed where it is. */
void pith_model_drop_nodes(struct pith_model *m, const bool *dropped);
/* Drops values that no node, input or output names any more, and numbers the others anew. m->inputs
 * and m->outputs are replaced; m->nodes and m->values are changed where they are. PITH_ERR_MEMORY:
 * nothing changed. */
enum pith_status pith_model_drop_unused(struct pith_model *m, struct pith_error *err);
/* uses[v]: how often value v is read, outputs of the graph included; producer[v] (may be NULL):
 * the node that gives it, or UINT32_MAX. Both [room], room >= n_values: values yet to come
 * have no reader. */
void pith_model_count_uses(const struct pith_model *m, uint64_t room, uint32_t *uses,
                           uint32_t *producer);
/* The node that gives value v; NULL: none does. Looks through all nodes: for one value, not for
 * each. */
const struct pith_node *pith_model_producer(const struct pith_model *m, uint32_t v);
/* Elements of a value: the product of its dimensions, an open batch counted as 1. */
uint64_t pith_value_elems(const struct pith_value *v);
/* Bytes of a constant in the type that its file has: of f16 and of integers, with their scales,
 * fewer than as f32. Codebooks count as f32. NULL, or without a constant: 0. */
uint64_t pith_stored_bytes(const struct pith_value *v);
/* Is the operator where the body of a loop or branch begins, ends? */
bool pith_opens_body(uint32_t op);
bool pith_closes_body(uint32_t op);
/* Do nodes of it only move elements (a Pad adds some), so that their results are on any grid of the
 * inputs? */
bool pith_op_moves(uint32_t op);
/* The node's constant f32 weight, of rank 2 or more, that its sums are products with (no table of a
 * Gather); PITH_VALUE_NONE: it has none. */
uint32_t pith_node_weight(const struct pith_model *m, const struct pith_node *node);
/* made: a node of like's operator, name, inputs and outputs, with the operator's default
 * attributes. The name is shared, the rest in m's memory. false: no memory, or a NULL. */
bool pith_model_make_node(struct pith_model *m, const struct pith_node *like,
                          struct pith_node *made);
/* What is added to the node's sums of products, constant or not; PITH_VALUE_NONE: nothing is. */
uint32_t pith_node_bias(const struct pith_node *node);
/* Is output channel o made of row o of the node's weight and of x as it is stored? So it is in a
 * Conv, and in a Gemm or MatMul whose weight lies [N, K] and that does not transpose x. */
bool pith_node_by_rows(const struct pith_node *node);
/* Such a node with groups, and one input channel in each? */
bool pith_node_is_depthwise(const struct pith_model *m, const struct pith_node *node);
/* foldable[n_nodes]: whether node i is a normalization that folding makes part of another node.
 * PITH_ERR_MEMORY. */
enum pith_status pith_model_find_foldable(struct pith_model *m, bool *foldable,
                                          struct pith_error *err);

/* Recomputes every value's type and shape from the inputs (runtime's rules). */
enum pith_status pith_model_infer_shapes(struct pith_model *m, struct pith_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
