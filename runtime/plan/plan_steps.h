/* SPDX-License-Identifier: MIT */
/* plan_steps.h - a finished plan, for those who execute it: run.c, and executors on other
 * devices (cuda/). What planning works on stands in plan.h. */
#ifndef PITH_PLAN_STEPS_H
#define PITH_PLAN_STEPS_H

#include "op_interface/op_exec.h"
#include "validate/graph.h"
#include "kernels/kernels.h"
#include "pith_runtime.h"

/* One executed step. */
struct step {
    const struct graph_node *node; /* the (first) node it stands for */
    struct op_args args;
    void *scratch;
    bool copies : 1;      /* a concat of which inputs lie in place: only the others are copied */
    bool shares_prep : 1; /* an earlier step prepares args.prep, or another plan did */
    bool reads_rows : 1;  /* op_need.reads_rows */
    bool pairs : 1;       /* it and the next step run a band of rows at a time (pair.c) */
    uint8_t choice;       /* op_need.choice */
    uint16_t segment; /* number of the segment it is in, from 1 on; 0: the whole batch at once */
    union {
        uint32_t jump;      /* OP_CONTROL: the step of the node's partner (graph.h) */
        uint32_t band_rows; /* where `pairs`: rows of the next step's output in a band */
    };
    const char *kernel;
    uint64_t macs, weight_bytes, file_bytes, ns;
    uint64_t packed_bytes, scratch_bytes; /* of args.prep, of scratch */
    uint64_t prep_form;                   /* of args.prep: op_need.prep_form */
};

/* A view of a value that differs from the value's own: a bias as [O], its last row (data: the
 * value's last elements, as many as the view has), or a weight that its operator prepares (value
 * PLAN_NONE, data NULL). */
struct extra_view {
    struct tview view;
    uint32_t value;
};

/* Processors with caches: elsewhere all that groups samples is left out. */
#if defined(__x86_64__) || defined(__aarch64__)
#define PLAN_SEGMENTS 1
#else
#define PLAN_SEGMENTS 0
#endif

/* Steps first .. end - 1 run for one group of samples after the other (segment.c). */
struct segment {
    uint32_t first_node, last_node; /* of the graph, while it is planned */
    uint32_t first, end;            /* steps */
    uint32_t operation;             /* of the first of them; others follow (pith_plan.operation) */
    uint32_t group, n_groups;       /* samples; their product is the batch */
    /* Groups that may run at once on several threads, each in memory of its own; 1: steps are cut
     * among threads as others are. */
    uint32_t lanes;
    uint64_t lane_bytes; /* from one lane's memory to the next */
};

/* An operand with samples, of a step in a segment, as one lane sees it. */
struct lane_view {
    struct tview view; /* of one group */
    uint8_t *base;     /* of group 0 */
    uint64_t stride;   /* bytes from one group to the next; 0: memory of the lane */
    uint32_t value;
};

/* A step of a segment: its operands with samples. */
struct lane_operation {
    uint32_t first_view, n_views; /* pith_plan.view */
};

struct pith_plan {
    struct pith_opts opts;
    struct pith_kernels kernels;
    struct graph graph;     /* without weights */
    struct weight *weight;  /* [n_kept] those that are decoded or prepared; all others are read */
    uint32_t *weight_value; /* in the image. The value that each is */
    uint32_t n_kept;
    struct tview *value; /* [graph.n_values] */
    struct step *step;   /* [n_steps] */
    struct extra_view *extra;
    uint32_t n_steps, n_extra, n_caches;
    const struct pith_cache *cache; /* [n_caches] those of opts.caches that are used */
    /* Lane 0 has the steps' own op_args; those of lanes from 1 on are copies. */
    struct segment *segment;          /* [n_segments] */
    struct lane_view *view;           /* [lanes][n_views] */
    struct op_args *copy;             /* [lanes - 1][n_operations] */
    struct lane_operation *operation; /* [n_operations]: steps of all segments, in order */
    uint32_t n_segments, lanes, n_views, n_operations;
    const uint8_t *arena, *weights, *image; /* for pith_plan_operand alone */
    uint64_t arena_bytes, weights_bytes, image_bytes;
    uint64_t steps_done; /* by the last run */
    uint32_t next_step;  /* after them */
};

/* Whether t is a lane's view, and which of its lane. By address: operands are pointers into arrays
 * of the plan, or views of their own. */
static inline bool plan_lane_view(const struct pith_plan *plan, const struct tview *t, uint32_t *i)
{
    uintptr_t at = (uintptr_t)t - (uintptr_t)plan->view;
    if (!PLAN_SEGMENTS || (uintptr_t)t < (uintptr_t)plan->view || plan->n_views == 0 ||
        at / sizeof *plan->view >= (uint64_t)plan->n_views * plan->lanes)
        return false;
    *i = (uint32_t)(at / sizeof *plan->view % plan->n_views);
    return true;
}

/* Where t's elements are; of a view that moves, those of the first group. */
static inline const void *plan_data_of(const struct pith_plan *plan, const struct tview *t)
{
    uint32_t i;
    return plan_lane_view(plan, t, &i) ? plan->view[i].base : t->data;
}

/* NULL: the step runs over the whole batch. */
static inline const struct segment *plan_segment(const struct pith_plan *plan, const struct step *s)
{
    return PLAN_SEGMENTS && s->segment ? &plan->segment[s->segment - 1] : NULL;
}

/* Which of the operations step s of a segment is. */
static inline uint32_t plan_operation(const struct pith_plan *plan, const struct step *s)
{
    const struct segment *segment = &plan->segment[s->segment - 1];
    return segment->operation + ((uint32_t)(s - plan->step) - segment->first);
}

static inline struct op_env plan_env(const struct pith_plan *plan, void *scratch)
{
    return (struct op_env){&plan->kernels,          scratch,          plan->opts.parallel_user,
                           plan->opts.parallel_for, plan->opts.flags, plan->opts.threads};
}

#endif
