/* SPDX-License-Identifier: MIT */
/* tape.h - a model's graph, forward and backward, over one batch.
 *
 *     struct tape *t;
 *     pith_tape_new(m, &opts, &t, &err);      // m: shapes of one sample, or an open batch
 *     pith_tape_parameters(t, &n) ...         // where weights and their gradients lie
 *     fill pith_tape_input(t, slice, 0);
 *     pith_tape_forward(t);
 *     pith_tape_output(t, slice, 0)->grad ... // the loss writes here
 *     pith_tape_backward(t);                  // parameter gradients: sums over the batch
 *     pith_tape_free(t);
 *
 * A batch is PITH_TRAIN_SLICES slices, each with values of its own at a batch of batch / slices.
 * Node after node, all slices (threads take slices); so batch normalisation can add its sums over
 * slices, along the tree of ranks.h, between two halves of its work. A parameter's gradient is kept
 * for each slice and added up along the same tree at the end.
 *
 * Layout: values that a convolution, pool or batch normalisation touches are stored channels last
 * ([N, spatial..., C]), which the primitives are fastest with; shapes stay the model's. Everything
 * else is row-major; the tape puts a conversion where the two meet.
 *
 * The graph may differ from the model's: loops are laid out, a fixed batch of one sample is opened
 * (training_graph.h). Values keep their numbers.
 *
 * Forward of an operator is the runtime's own run() unless its gradient brings one (grad_op.h):
 * what is trained is what will be executed. */
#ifndef TAPE_H
#define TAPE_H

#include "pith_model.h"
#include "core/tensor.h"

struct tape;
struct pith_ranks;

enum tape_layout { TAPE_ROW_MAJOR = 0, TAPE_CHANNELS_LAST = 1 };

struct tape_tensor {
    enum pith_type type;
    struct shape shape; /* as in the model, with the slice's batch */
    enum tape_layout layout;
    void *data;
    float *grad; /* same layout; NULL: nothing that moves depends on it */
};

/* One constant f32 that may move. */
struct tape_parameter {
    uint32_t value; /* number in the model */
    uint64_t count;
    float *data;    /* row-major; what the optimizer changes. Copied from the model at first */
    float *grad;    /* sum over the batch, after backward */
    bool is_weight; /* of a product: decays, is pruned, has a codebook */
};

struct tape_opts {
    uint32_t batch;   /* of all slices together */
    uint32_t threads; /* >= 1 */
    const uint32_t
        *feature; /* [n_features] values whose gradient the loss adds to, as to the outputs' */
    uint32_t n_features;
    bool training; /* batch statistics in BatchNorm (and its running ones are updated), dropout */
    const struct pith_ranks *ranks; /* borrowed; NULL: all slices are computed here (ranks.h) */
    bool unchecked;  /* a batch opened by the tape is not tried first (check_batch.h) */
    uint32_t slices; /* that the batch is cut into: 1, 2, 4 or 8; 0: PITH_TRAIN_SLICES, as ranks
                        need them */
    bool ordered;    /* all sums have one written order, so the same bits on every CPU: slower */
    bool borrows;    /* parameters are not copied from the model, and do not change meanwhile */
};

/* PITH_ERR_UNSUPPORTED: an operator without gradient between a parameter and the output, named;
 * shapes that do not follow the batch. PITH_ERR_MEMORY, _ARGUMENT. */
enum pith_status pith_tape_new(const struct pith_model *m, const struct tape_opts *opts,
                               struct tape **t, struct pith_error *err);
void pith_tape_free(struct tape *t); /* accepts NULL */
/* PITH_ERR_MEMORY, and the message that all of training gives. */
enum pith_status pith_tape_no_memory(struct pith_error *err);

struct tape_parameter *pith_tape_parameters(struct tape *t, uint32_t *n);
/* Running means and variances (grad NULL): forward of a training tape changes them. */
struct tape_parameter *pith_tape_statistics(struct tape *t, uint32_t *n);
/* Where ranks share memory, they add up gradients there from now on. All ranks call it, or none. */
void pith_tape_share(struct tape *t);
/* Row-major, [batch / slices, ...]. */
struct tape_tensor *pith_tape_input(struct tape *t, uint32_t slice, uint32_t i);
/* Row-major. grad is zero after pith_tape_forward: the loss sets it. */
struct tape_tensor *pith_tape_output(struct tape *t, uint32_t slice, uint32_t i);
/* Any value by its number in the model. It holds its layout. Only that of a feature
 * (tape_opts) may have something added to its gradient, which is zero after forward. */
struct tape_tensor *pith_tape_value(struct tape *t, uint32_t slice, uint32_t value);

/* Parameters may have changed since the last call. */
void pith_tape_forward(struct tape *t);
void pith_tape_backward(struct tape *t);
/* The slices that are computed here: first .. first + n - 1. */
uint32_t pith_tape_own_slices(const struct tape *t, uint32_t *first);
/* body(arg, slice) for those, on the tape's threads. */
void pith_tape_slices(struct tape *t, void (*body)(void *arg, uint32_t slice), void *arg);
/* The same for all eight of what is not shared among processes. */
void pith_tape_ranges(struct tape *t, void (*body)(void *arg, uint32_t range), void *arg);
/* Copies parameters (and running statistics) back into the model's constants. */
void pith_tape_store(const struct tape *t, struct pith_model *m);

#endif
