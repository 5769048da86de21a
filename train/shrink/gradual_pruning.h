/* SPDX-License-Identifier: MIT */
/* gradual_pruning.h - gradual pruning (Zhu & Gupta, 2017): which weights stay, by saliency; removed
 * little by little while the network trains.
 *
 * Every opts->prune_every steps, and where the schedule ends, the weights with the least score go,
 * until as many are left as the schedule says (sparsity). A dead channel, which reads nothing or
 * which nothing reads, goes whole, with its bias.
 *
 * The score is the loss that a removal costs, to second order with the diagonal Fisher information
 * (optimal brain damage, LeCun et al., 1990), for each bit that it saves: 0.5 v w^2 / c. c is what
 * an adaptive coder with contexts of row and column pays: with p = r_i k_j / d (densities of row,
 * column, tensor) a weight that is there costs log2((1 - p) / p) more than one that is not, and its
 * value. So weights in nearly empty rows and columns are dear, and pruning becomes structured by
 * itself. */
#ifndef GRADUAL_PRUNING_H
#define GRADUAL_PRUNING_H

#include "train/state/checkpoint.h"
#include "pith_train.h"
#include "train/tape/tape.h"

struct gradual_pruning;

/* alive: 1 where a number may be other than 0; the optimizer keeps all others at 0. */
struct pruned_tensor {
    uint32_t parameter; /* number in the tape's list */
    bool is_weight;
    uint64_t rows, cols, count, kept;
    uint8_t *alive;    /* [count] */
    float *importance; /* [count] weights: moving average of the squared gradient; else NULL */
    float *bits;       /* [count] weights: what it costs to be there rather than not; as of the
                          last pith_gradual_step */
    uint32_t *in_row, *in_col; /* weights: kept in each row, column */
    float dead_below;          /* weights this small go with the next removals; set by its owner */
};

/* For every weight, and every bias of one. masks of m: where they are 0 nothing is alive. */
enum pith_status pith_gradual_new(const struct pith_model *m, struct tape *t,
                                  const struct pith_train_opts *opts, struct gradual_pruning **made,
                                  struct pith_error *err);
void pith_gradual_free(struct gradual_pruning *h); /* accepts NULL */
struct pruned_tensor *pith_gradual_tensors(struct gradual_pruning *h, uint32_t *n);
/* Of the mean gradient of a batch, grad [count], elements begin .. end. */
void pith_gradual_observe(struct pruned_tensor *w, uint64_t begin, uint64_t end, const float *grad);
/* Whether weights go after step `step` of n_steps. */
bool pith_gradual_due(const struct pith_train_opts *opts, uint64_t step, uint64_t n_steps);
/* After step `step` of n_steps: value[i]: the numbers of tensor i. */
void pith_gradual_step(struct gradual_pruning *h, uint64_t step, uint64_t n_steps,
                       float *const *value);
/* What outlives a step, into a checkpoint. */
void pith_gradual_state(struct gradual_pruning *h, struct checkpoint *c);
/* After a checkpoint was read: what follows from it is not stored. */
void pith_gradual_resumed(struct gradual_pruning *h);
/* Weights that are alive. */
uint64_t pith_gradual_kept(const struct gradual_pruning *h);

#endif
