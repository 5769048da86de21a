/* SPDX-License-Identifier: MIT */
/* plan_build.h - the state of planning, shared by plan_init.c (memory, order of the phases),
 * plan_steps.c (nodes to steps) and nothing else. */
#ifndef PLAN_BUILD_H
#define PLAN_BUILD_H

#include "plan.h"

/* A block of memory filled from both ends. */
struct block {
    uint8_t *mem;
    uint64_t low, high; /* bytes taken from below; first byte taken from above */
};

/* Zeroed room for count entries, aligned to 8; NULL when the block is full. */
void *pith_block_low(struct block *b, uint64_t count, size_t each);
void *pith_block_high(struct block *b, uint64_t count, size_t each);

/* What planning knows of a step beside struct step. */
struct step_need {
    uint64_t prep_bytes, prep_at; /* in the weights region */
    uint64_t prep_form;
    uint32_t prep_before;  /* the step before that prepared the same weight, plus 1; 0: none */
    uint32_t scratch_item; /* PLAN_NONE: no scratch */
};

#define NOT_STORED UINT64_MAX      /* nothing reads the elements */
#define BORROWED (UINT64_MAX - 1u) /* read where they lie in the image */

struct builder {
    struct block block;
    struct pith_plan *plan;
    struct node_plan *node;      /* [n_nodes] */
    struct value_plan *vp;       /* [n_values] */
    struct step_need *step_need; /* [n_steps] */
    uint64_t *const_at;          /* [n_weights] place in the weights region, or the above */
    uint32_t *prep_of;           /* [n_weights] the last step that prepared it, plus 1; 0: none */
    struct place_item *item;     /* [n_items]: roots in order of numbers, then scratch */
    uint32_t *item_of;           /* [n_values] the item of a root */
    uint32_t n_items;
    uint64_t weights_bytes, arena_bytes;
    uint64_t scratch_bytes; /* the largest of one step */
    uint64_t fill_bytes;    /* scratch of pith_plan_fill */
};

/* Reserves a place in the weights region. PITH_ERR_LIMIT. */
enum pith_status pith_build_reserve(struct builder *b, uint64_t bytes, uint64_t *at);

/* Steps from nodes, with all pointers but those to data; asks operators for their needs.
 * PITH_ERR_SPACE, or what an operator returns. */
enum pith_status pith_build_steps(struct builder *b);

#endif
