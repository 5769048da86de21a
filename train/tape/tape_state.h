/* SPDX-License-Identifier: MIT */
/* tape_state.h - what a tape is made of; shared by all files named tape_*.c.
 *
 * Steps stand in the order of execution. A step is a node, or a conversion of one value between its
 * two layouts. Each slice has its own tensors and its own state of each operator. */
#ifndef TAPE_STATE_H
#define TAPE_STATE_H

#include "grad_op.h"
#include "kernels/kernels.h"
#include "pith_host.h"
#include "pith_train.h"
#include "train/kernels/primitive.h"
#include "train/state/ranks.h"

enum { TAPE_LAYOUTS = 2 };

struct tape_step {
    bool converts;
    const struct grad_op *op; /* NULL: forward only */
    uint32_t value;           /* of a conversion */
    enum tape_layout to;
    uint32_t at; /* of a node: its number in the model */
    enum tape_layout layout;
    bool rectifies;         /* takes a tail: grad_op.h */
    uint32_t result;        /* value that it makes with the tail */
    uint32_t residual;      /* value, or UINT32_MAX */
    const bool *sets;       /* [n_in + 1: the residual], of a conversion [1]: grad_op.h */
    struct grad_node *node; /* [n_slices]; NULL in a conversion */
    struct op_args *run;    /* [n_slices]; where forward is the runtime's */
    double *shared;         /* [n_slices + 1][channels * op->shared_sums]; NULL */
    uint64_t forward_ns[PITH_TRAIN_SLICES], backward_ns[PITH_TRAIN_SLICES]; /* of the last calls */
};

/* While a tape is built. */
struct tape_shapes {
    struct tview *view; /* [n_values] */
    const struct tview **in;
    struct tview **out;
};

/* Of the parameters. */
struct tape_gradients {
    float **of_slice;                   /* [n_slices * n_parameters]; of one slice the sum */
    const struct tape_step **joined_by; /* [n_parameters] whose joined() makes the sum, or NULL */
    float *sum;                         /* [n], one behind the other */
    uint64_t n;
    struct ranks_window window; /* of sum, where ranks share memory */
};

struct tape_memory {
    void **of; /* everything allocated, for pith_tape_free */
    uint32_t n, cap;
};

struct tape {
    const struct pith_model *m;
    struct pith_model *graph; /* m, where it is not the caller's (training_graph.h) */
    struct tape_opts opts;
    uint32_t first, n_own; /* slices that are computed here */
    void *ranks_scratch;   /* RANKS_SCRATCH_BYTES; NULL where they are all */
    uint32_t n_slices, n_values, n_steps, n_parameters, n_statistics;
    struct tape_step *step;
    /* [n_slices][n_values][TAPE_LAYOUTS]; shape rank 0 and data NULL: not there */
    struct tape_tensor *tensor;
    enum tape_layout *primary; /* [n_values] the layout that its producer writes */
    bool *wants_grad;          /* [n_values] */
    struct tape_parameter *parameter;
    uint32_t *parameter_of; /* [n_values] or UINT32_MAX */
    struct tape_parameter *statistic;
    uint32_t *statistic_of; /* [n_values] or UINT32_MAX */
    struct tape_gradients gradients;
    struct prim **prim; /* [n_slices] */
    void **scratch;     /* [n_slices], 64-byte aligned */
    struct pith_kernels kernels;
    struct pith_opts pool; /* parallel_for of the threads */
    struct tape_memory memory;
    const struct channel_rows *rows; /* for this CPU, whose features take long to read */
};

static inline struct tape_tensor *tape_at(const struct tape *t, uint32_t slice, uint32_t value,
                                          enum tape_layout layout)
{
    return &t->tensor[((size_t)slice * t->n_values + value) * TAPE_LAYOUTS + layout];
}

/* Whether both layouts of a shape are the same bytes: one tensor then serves as both. */
static inline bool tape_layouts_agree(const struct shape *s)
{
    return s->rank < 3 || s->dim[1] == 1 || shape_product(s, 2, s->rank) == 1;
}

/* Zeroed, aligned to 64, freed with the tape; NULL: no memory. */
void *pith_tape_take(struct tape *t, uint64_t count, size_t each);
/* Takes what follows nodes into their own steps; before tensors have a place. */
enum pith_status pith_tape_fuse(struct tape *t);
/* The value that output i of a step's node goes to. */
static inline uint32_t tape_output(const struct tape *t, const struct tape_step *step, uint32_t i)
{
    return step->rectifies ? step->result : t->m->nodes[step->at].out[i];
}
/* Steps, tensors and nodes of a tape whose shapes are known. */
enum pith_status pith_tape_make_steps(struct tape *t, const struct tape_shapes *s,
                                      struct pith_error *err);

#endif
