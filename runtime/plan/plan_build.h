/* SPDX-License-Identifier: MIT */
/* plan_build.h - the state of planning, shared by plan_init.c (memory, order of the phases),
 * plan_weights.c (what is kept of constants), segment.c (groups of samples), plan_steps.c (nodes
 * to steps), lanes.c (their operands in segments) and nothing else. */
#ifndef PLAN_BUILD_H
#define PLAN_BUILD_H

#include "plan/plan.h"

/* A block of memory filled from both ends. */
struct block {
    uint8_t *mem;
    uint64_t low, high; /* bytes taken from below; first byte taken from above */
    uint64_t gap;       /* the fewest bytes that were ever between them */
};

/* low or high has moved. */
static inline void block_moved(struct block *b)
{
    b->gap = b->high - b->low < b->gap ? b->high - b->low : b->gap;
}

/* Zeroed room for count entries, aligned to 8; NULL when the block is full. */
void *pith_block_low(struct block *b, uint64_t count, size_t each);
void *pith_block_high(struct block *b, uint64_t count, size_t each);

/* What planning knows of a step beside struct step. */
struct step_need {
    uint64_t prep_bytes, prep_at; /* in the weights region; bytes 0: none of its own */
    uint32_t prep_before;  /* the step before that prepared the same weight, plus 1; 0: none */
    uint32_t scratch_item; /* where step.scratch_bytes is not 0 */
};

#define NOT_STORED UINT64_MAX          /* nothing reads the elements */
#define IN_OTHER_PLAN (UINT64_MAX - 1) /* they are read in opts.weights_of */
#define IN_IMAGE (UINT64_C(1) << 63)   /* added to the place in the image where they are read */

struct builder {
    struct block block;
    struct pith_plan *plan;
    uint64_t graph_at;           /* in the block */
    struct value_plan *vp;       /* [n_values] */
    struct node_plan *node;      /* [n_nodes]; its memory is given back once there are steps */
    struct step_need *step_need; /* [n_steps] */
    uint64_t *const_at;          /* [n_weights] place in the weights region, or the above */
    uint32_t *kept_as;           /* [n_weights] its number in plan->weight; PLAN_NONE: not kept */
    uint32_t *prep_of;           /* [n_kept] the last step that prepared it, plus 1; 0: none */
    struct place_item *item;     /* [n_items]: of each segment, then of the whole batch: roots
                                    in order of numbers, scratch; then the segments' blocks */
    uint32_t n_items;
    uint64_t weights_bytes, arena_bytes;
    uint64_t scratch_bytes; /* the largest of one step */
    uint64_t fill_bytes;    /* scratch of pith_plan_fill */
    uint32_t last_row;      /* the node that reads the last row of input 0 alone, or PLAN_NONE */
};

/* After the graph was read: keeps the weights that are decoded or prepared, and gives the memory of
 * the others back. kept_as, const_at and prep_of are then set. PITH_ERR_SPACE. */
enum pith_status pith_build_weights(struct builder *b);

/* The kept weight that constant c is, or NULL. */
static inline struct weight *kept_weight(const struct builder *b, uint32_t c)
{
    return b->kept_as[c] == PLAN_NONE ? NULL : &b->plan->weight[b->kept_as[c]];
}

/* The elements of the constant v in opts.weights_of, or in what that borrows from; NULL: they are
 * not there. */
void *pith_build_data_elsewhere(const struct builder *b, uint32_t v);

/* last_row.c: sets last_row, and the shapes of values that have one row for it; or, where all is
 * computed, opts.last_row_of to 0. Before values are described. */
void pith_plan_last_row(struct builder *b);

/* cache.c: checks opts.caches, and where values may share memory decides which are used: their
 * values become VALUE_CACHE. After layout. PITH_ERR_ARGUMENT, _SPACE. */
enum pith_status pith_plan_caches(struct builder *b, bool share);
/* The one that value v, a VALUE_CACHE, lies in. */
const struct pith_cache *pith_plan_cache_of(const struct pith_plan *plan, uint32_t v);

/* Decides which values share storage, and drops the nodes that then have nothing to do. in_place:
 * an elementwise operator and its input, and a Concat and what it alone reads; share: views and
 * pieces of others, too, whose producers vanish or move (so in_place as well). Neither: each has
 * its own. Sets lifetimes of all roots. */
void pith_plan_alias(const struct builder *b, bool share, bool in_place);

/* Steps from nodes, with all pointers but those to data; calls operators for their needs.
 * PITH_ERR_SPACE, or what an operator returns. */
enum pith_status pith_build_steps(struct builder *b);

/* pair.c: sets step.pairs, when steps know their kernels and before values are placed. */
void pith_plan_pairs(struct builder *b);

#define SEGMENT_GROUPS 8u /* so many sizes of groups are tried */

/* Sets plan.segment, and of nodes and values to which they belong; values of one segment become as
 * large as a group. After fusion and layout. PITH_ERR_SPACE. */
enum pith_status pith_plan_segments(struct builder *b);

/* lanes.c: views of what steps in segments read and write. Room for all; those of step s, of which
 * all pointers but data are set (in, out: its operands); copies for further lanes, when all steps
 * are whole; addresses, when `data` of values is set. PITH_ERR_SPACE. */
enum pith_status pith_lanes_reserve(struct builder *b);
void pith_lanes_split(struct builder *b, struct step *s, const struct tview **in,
                      struct tview **out);
enum pith_status pith_lanes_copy(struct builder *b);
void pith_lanes_place(struct builder *b);

#endif
