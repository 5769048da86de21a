/* SPDX-License-Identifier: MIT */
/* plan.h - what a plan is, and the tables that planning works on.
 *
 * Planning turns nodes into steps:
 *
 *     graph --fuse.c, fuse_chain.c--> chains of nodes run as one --layout.c--> channels-last values
 *           --cache.c--> values in memory of the caller
 *           --segment.c--> steps that run a group of samples at a time
 *           --alias.c--> values that share storage --plan_steps.c--> steps, lifetimes
 *           --pair.c--> two steps that run a band of rows at a time --place.c--> offsets
 * --plan_fill.c--> weights in run form
 *
 * Memory of a plan, one block:
 *
 *     | struct pith_plan | graph | steps, views | weights in run form | arena ........ |
 *     |<------------- tables, from below ------>|          planning tables, from above |
 *
 * Of the graph's constants only those that are decoded or prepared stay (plan_weights.c); what
 * reading it used is given back. The planning tables are dead before the first weight is written,
 * so they cost nothing where the weights and the arena are larger than they are. */
#ifndef PLAN_H
#define PLAN_H

#include "core/build_choice.h"
#include "validate/container.h"
#include "plan/plan_steps.h"
#include "pith_runtime.h"
#include "core/op_number.h"

#define PLAN_ALIGN 64u
#define PLAN_NONE UINT32_MAX

/* Threads that may each have memory of their own; 1 where there is one, or the number is unknown.
 */
static inline uint32_t plan_threads(const struct pith_opts *o)
{
    return o->parallel_for && o->threads > 1 ? o->threads : 1;
}

/* plan_describe.c: what is reported of a step and of a tensor. */
void pith_describe_layer(const struct pith_plan *plan, const struct step *s,
                         struct pith_layer *layer);
void pith_describe_tensor(const struct tview *t, const struct graph_name *name,
                          struct pith_tensor *out);

/* The value that a view is; PLAN_NONE: a view made for one step (struct extra_view). */
uint32_t pith_plan_value_of(const struct pith_plan *plan, const struct tview *t);

/* How a node is executed. */
enum node_action {
    NODE_RUN = 0,
    NODE_GONE = 1,  /* part of an earlier node's step, or nothing but a view */
    NODE_PLACED = 2 /* a concat of which inputs are written in place; the others are copied */
};

/* Steps on bytes (integer_chain.h). */
enum node_chain {
    CHAIN_NONE = 0,
    CHAIN_REAL = 1,   /* between DequantizeLinear and QuantizeLinear */
    CHAIN_WHOLE = 2,  /* an operator on bytes, run so because it is channels-last */
    CHAIN_FLOATS = 3, /* as CHAIN_REAL, of row-major values */
    CHAIN_TABLE = 4   /* all operators between bytes and bytes (byte_table.h) */
};

struct node_plan {
    uint8_t action : 2; /* enum node_action */
    uint8_t chain : 3;  /* enum node_chain */
    bool as_gemm : 1;   /* a MatMul that took a bias runs as the Gemm it now is */
    uint8_t act;        /* enum act_kind: y = act(op + bias + residual) */
    uint16_t segment;   /* number of its segment, from 1 on; 0: none (segment.c) */
    union {
        uint32_t quantize; /* of CHAIN_REAL: the QuantizeLinear; else PLAN_NONE */
        uint32_t source;   /* of CHAIN_TABLE: the bytes that it reads */
    };
    float a, b;          /* of act */
    uint32_t bias;       /* constant, or PLAN_NONE */
    uint32_t residual;   /* value, or PLAN_NONE */
    uint32_t requantize; /* the Requantize or Dequantize of an integer product, or PLAN_NONE */
    union {
        uint32_t add;    /* of an integer product: the chain's Add that took its values */
        uint32_t before; /* of nodes in a table: the one before; PLAN_NONE: none */
    };
    uint32_t out; /* the value that output 0 is written to */
};

enum value_kind {
    VALUE_TEMP = 0,
    VALUE_INPUT = 1,
    VALUE_CONST = 2,
    VALUE_GONE = 3,  /* never exists: inside a fused chain */
    VALUE_STATE = 4, /* what a Loop gives: stays where it is from one iteration to the next */
    VALUE_CACHE = 5  /* it lies in memory of the caller (cache.c) */
};

/* Where a value lies: at `offset` in the storage of `parent`; parent == itself: it has its own. */
struct value_plan {
    union {
        uint64_t offset; /* unless it has storage of its own */
        struct {
            uint32_t first, last; /* else: the storage's lifetime, times as below */
        };
    };
    uint64_t bytes;
    uint32_t parent;
    union {
        uint32_t n_uses; /* until values are placed: reading edges, graph outputs included */
        uint32_t item;   /* then: its number in builder.item; PLAN_NONE: it has no storage */
    };
    union {
        uint32_t consumer;   /* while nodes are fused: last reading node; PLAN_NONE: an output */
        uint32_t pixel_step; /* then: its pixels lie in those of a value of more channels; 0: side
                                by side */
    };
    uint8_t kind;
    bool is_output : 1;     /* roots: some value in this storage is a graph output */
    bool channels_last : 1; /* layout.c */
    bool late : 1;          /* written when the step has read all that dies there (PLACE_LATE) */
    uint16_t segment;       /* only steps of this segment touch it, a group at a time; 0: whole */
};

/* Time: 0 the inputs are written, node n runs at n + 1, n_nodes + 1 the outputs are read. A body
 * takes the time it would take once: what must last from one iteration to the next (states, what
 * the body reads from outside of it, what it collects) lives from Loop to LoopEnd at least. A
 * segment likewise: what it touches of a whole batch lives from its first node to its last. */
static inline uint32_t node_time(uint32_t node)
{
    return node + 1;
}

/* Piece of the arena. */
enum {
    PLACE_INPUT = 1u,  /* written before a run ... */
    PLACE_OUTPUT = 2u, /* ... while outputs of the last one are still read: these never share */
    PLACE_LATE = 4u    /* written when older pieces that live until `first` are no longer read */
};
struct place_item {
    uint64_t bytes;
    uint64_t offset; /* result, multiple of PLAN_ALIGN */
    uint32_t first, last;
    uint32_t flags;
};

/* Fills node[].action and the epilogues. value_plan: n_uses, consumer, kind are set; values that
 * vanish become VALUE_GONE. */
void pith_plan_fuse(const struct graph *g, const struct tview *value, struct node_plan *node,
                    struct value_plan *vp);

void pith_plan_fuse_chains(const struct graph *g, const struct tview *value, struct node_plan *node,
                           struct value_plan *vp);

/* Builds have tables whose operators make some: beside Add, Relu and Clip, which networks of
 * integers have for biases and ranges. */
#define TABLE_OPS                                                                                  \
    (1ull << PITH_OP_SUB | 1ull << PITH_OP_MUL | 1ull << PITH_OP_DIV |                             \
     1ull << PITH_OP_LEAKY_RELU | 1ull << PITH_OP_PRELU | 1ull << PITH_OP_SIGMOID |                \
     1ull << PITH_OP_TANH | 1ull << PITH_OP_HARD_SIGMOID | 1ull << PITH_OP_HARD_SWISH |            \
     1ull << PITH_OP_UNARY | 1ull << PITH_OP_POWER | 1ull << PITH_OP_VARIADIC)
#define BUILT_TABLES                                                                               \
    (BUILT_OP(PITH_OP_QUANTIZE) && BUILT_OP(PITH_OP_DEQUANTIZE) && (PITH_BUILD_OPS_LOW & TABLE_OPS))

static inline bool is_byte_table(const struct node_plan *np)
{
    return BUILT_TABLES && np->chain == CHAIN_TABLE;
}

/* fuse_table.c: sets CHAIN_TABLE, before other chains are found. */
void pith_plan_fuse_tables(const struct graph *g, const struct tview *value,
                           struct node_plan *plans, struct value_plan *vp);
/* Of node n, which is CHAIN_TABLE: how many values its step reads, and value i; its operators, in
 * the order of byte_table.h (op NULL: how many). */
uint32_t pith_table_inputs(const struct graph *g, const struct node_plan *plans, uint32_t n);
uint32_t pith_table_input(const struct graph *g, const struct node_plan *plans, uint32_t n,
                          uint32_t i);
struct table_op;
uint32_t pith_table_ops(const struct graph *g, const struct node_plan *plans, uint32_t n,
                        struct table_op *op);

/* Sets value_plan.channels_last, after fusion. */
void pith_plan_layout(const struct graph *g, const struct tview *value, struct node_plan *node,
                      struct value_plan *vp);
/* Both orders are the same. */
bool pith_layout_is_one(const struct shape *s);

/* step_inputs.c: how many values the step of node `n` reads, and which is value i, PITH_NO_VALUE:
 * none. First the operator's own inputs, then scale and zero point of each of its grids
 * (op_args.grid); the residual is not among them. */
uint32_t pith_step_own_inputs(const struct graph *g, const struct node_plan *node, uint32_t n);
uint32_t pith_step_grids(const struct graph *g, const struct node_plan *node, uint32_t n);
uint32_t pith_step_inputs(const struct graph *g, const struct node_plan *node, uint32_t n);
uint32_t pith_step_input(const struct graph *g, const struct node_plan *node, uint32_t n,
                         uint32_t i);

/* Attributes of the Gemm that a MatMul with bias is. */
const int32_t *pith_plan_gemm_attr(const struct graph_node *matmul);

/* Storage of value v: its root, and its byte offset there. */
uint32_t pith_plan_root(struct value_plan *vp, uint32_t v, uint64_t *offset);
/* Bytes of input v in the output `out` of a concat: where that is there for one group of samples,
 * of a group. */
uint64_t pith_plan_piece_bytes(const struct tview *value, const struct value_plan *vp, uint32_t v,
                               uint32_t out);

/* Offsets for n items such that those alive at the same time do not overlap. order, placed: room
 * for n numbers each. enough: an arena that is no larger is not made smaller. false: the sum of
 * sizes overflows. */
bool pith_place(struct place_item *item, uint32_t n, uint32_t *order, uint32_t *placed,
                uint64_t enough, uint64_t *arena_bytes);

/* Working memory of pith_plan_fill: `bytes` at a multiple of PLAN_ALIGN, of which each weight needs
 * job_bytes (a multiple, too) while it is expanded. More than that lets weights be decoded at the
 * same time. */
struct fill_memory {
    void *at;
    uint64_t bytes, job_bytes;
};

/* Writes constants and prepared weights into their places. weights: their region, which ends where
 * the arena begins. PITH_ERR_CORRUPT when a coded stream is broken. */
enum pith_status pith_plan_fill(struct pith_plan *plan, const uint8_t *weights,
                                const uint8_t *weights_end, const struct fill_memory *memory);

bool pith_plan_is_constant(const struct graph *g, uint32_t value);

/* The options the plan works with, defaults filled in. PITH_ERR_ARGUMENT. */
enum pith_status pith_opts_resolve(const struct pith_opts *given, struct pith_opts *opts);

#endif
