/* SPDX-License-Identifier: MIT */
/* pith_plan_steps.h - a finished plan, for those who execute it: run.c, and executors on other
 * devices (runtime/cuda/). What planning works on stands in plan.h. */
#ifndef PITH_PLAN_STEPS_H
#define PITH_PLAN_STEPS_H

#include "pith_op_exec.h"
#include "pith_graph.h"
#include "pith_kernels.h"

/* One executed step. */
struct step {
    const struct graph_node *node; /* the (first) node it stands for */
    struct op_args args;
    void *scratch;
    bool copies;      /* a concat of which inputs lie in place: only the others are copied */
    bool shares_prep; /* an earlier step prepares args.prep */
    bool reads_rows;  /* op_need.reads_rows */
    uint8_t choice;   /* op_need.choice */
    uint32_t jump;    /* OP_CONTROL: the step of the node's partner (pith_graph.h) */
    const char *kernel;
    uint64_t macs, weight_bytes, file_bytes, ns;
    uint64_t packed_bytes, scratch_bytes; /* of args.prep, of scratch */
};

/* A view of a value that differs from the value's own: a bias seen as [O] (data: the value's), or
 * a weight that its operator prepares (value PLAN_NONE, data NULL). */
struct extra_view {
    struct tview view;
    uint32_t value;
};

struct pith_plan {
    struct pith_opts opts;
    struct pith_kernels kernels;
    struct graph graph;
    struct tview *value; /* [graph.n_values] */
    struct step *step;   /* [n_steps] */
    struct extra_view *extra;
    uint32_t n_steps, n_extra;
    const uint8_t *arena, *weights, *image; /* for pith_plan_operand alone */
    uint64_t arena_bytes, weights_bytes, image_bytes;
    uint64_t steps_done; /* by the last run */
    uint32_t next_step;  /* after them */
};

static inline struct op_env plan_env(const struct pith_plan *plan, void *scratch)
{
    return (struct op_env){&plan->kernels, scratch, plan->opts.parallel_user,
                           plan->opts.parallel_for, plan->opts.flags};
}

#endif
