/* SPDX-License-Identifier: MIT */
/* grad_op.h - what an operator's gradient is. One row of grad_table.c names it; families live in
 * grad_<family>.c.
 *
 * backward() ADDS to the gradients of its inputs (a value read twice gets both parts); a gradient
 * that is NULL is not wanted and its work is left out. Where the operator says that it `sets`, it
 * writes those whose sets[i] is true, instead of adding, input after input: nothing was written
 * there before, and nothing needs to be cleared. */
#ifndef GRAD_OP_H
#define GRAD_OP_H

#include "train/kernels/channel_rows.h"
#include "op_interface/op_exec.h"
#include "train/kernels/primitive.h"
#include "tape.h"

enum { BN_SCALE = 1, BN_BIAS = 2, BN_MEAN = 3, BN_VAR = 4 }; /* inputs of BatchNorm */

/* One node in one slice. */
struct grad_node {
    const struct op_info *info;
    const int32_t *attr;
    const char *name;
    uint32_t n_in, n_out;
    struct tape_tensor *const *in; /* NULL: left out */
    struct tape_tensor *const *out;
    const bool *sets; /* [n_in] */
    uint32_t fixed;   /* bit i: input i is a constant or a parameter, the same for all slices */
    uint32_t slice, n_slices; /* node of slice s: this + s - slice */
    struct prim *prim;        /* of the slice */
    void *state;              /* of the operator, for this slice; made by prepare() */
    void *scratch;            /* of the slice, as prepare() requested; 64-byte aligned */
    double *shared; /* grad_op.shared_sums a channel: of slice 0, slice 1, ..., then their sum */
    const struct op_args *run; /* the runtime's, in the layouts above */
    const struct pith_kernels *kernels;
    const struct channel_rows *rows;
    uint32_t channels; /* dim 1 of in[0] */
    bool training;
    bool joins; /* input 1: its gradient is left to grad_op.joined */
    /* What follows and is done at once (grad_op.takes_tail): out = max(own + residual, 0). Backward
     * may overwrite the gradient of out. */
    bool rectifies;
    struct tape_tensor *residual; /* NULL: none */
    bool sets_residual;
};

/* The runtime's forward of the node, from data to data. */
static inline void grad_run(const struct grad_node *n)
{
    struct op_env env = {.kernels = n->kernels, .scratch = n->scratch};
    n->info->run(n->run, &env);
}

/* Batch statistics of this slice, and of all. */
static inline double *grad_own_sums(const struct grad_node *n, uint32_t sums)
{
    return n->shared + (size_t)n->slice * n->channels * sums;
}

static inline double *grad_all_sums(const struct grad_node *n, uint32_t sums)
{
    return n->shared + (size_t)n->n_slices * n->channels * sums;
}

enum grad_layout {
    GRAD_ROW_MAJOR = 0,
    GRAD_CHANNELS_LAST = 1, /* input 0 and the outputs, where they have 3 axes or more */
    GRAD_EITHER = 2 /* outputs, and inputs of their rank: as the first input of output 0's shape
                       comes (if none is, as input 0 does); the rest row-major */
};

struct grad_op {
    uint32_t op; /* enum pith_op */
    enum grad_layout layout;
    bool sets;       /* see above */
    bool takes_tail; /* does a Relu, or an Add and a Relu, that alone read its output */
    /* NULL: nothing to prepare. *scratch_bytes: the most that forward and backward take. Shapes are
     * set and data is in place, but not written. PITH_ERR_UNSUPPORTED, _MEMORY. */
    enum pith_status (*prepare)(struct grad_node *n, uint64_t *scratch_bytes);
    void (*release)(struct grad_node *n); /* frees state */
    /* Of slice 0 alone, on any thread, before any forward: part of 8 of what all slices take from
     * fixed inputs. NULL: nothing. */
    void (*renew)(struct grad_node *n, uint32_t part);
    /* Where input 1 is a parameter that nothing else reads, and joins() says so: backward leaves
     * its gradient out, and when all slices are done, joined() writes part of 8 of it, summed over
     * those of n .. n + n_own - 1 along the tree of ranks.h. NULL: never. */
    bool (*joins)(const struct grad_node *n);
    void (*joined)(const struct grad_node *n, uint32_t n_own, uint32_t part, float *grad);
    bool runs; /* a forward of its own that calls grad_run() */
    /* attr: made those of the same work on tensors whose axis 1 stands behind the others, for a
     * runtime's run() that depends on the layout, where that is GRAD_EITHER. NULL: it does not. */
    void (*channels_last)(int32_t *attr, uint32_t rank);
    /* NULL: the runtime's run(). */
    void (*forward)(struct grad_node *n);
    void (*backward)(struct grad_node *n);
    /* Batch statistics: forward_sums writes grad_own_sums of its slice; when all slices have, they
     * are added along the tree of ranks.h into grad_all_sums, and forward runs. The same backward.
     * 0: none. */
    uint32_t shared_sums; /* for each channel */
    void (*forward_sums)(struct grad_node *n);
    /* Of slice 0 alone, before any forward: what changes for all slices. NULL: nothing. */
    void (*forward_joined)(struct grad_node *n);
    void (*backward_sums)(struct grad_node *n);
};

const struct grad_op *pith_grad_of(const struct pith_node *node); /* NULL: it has no gradient */

#endif
