/* SPDX-License-Identifier: MIT */
/* pith_train.h - fine-tunes a model under what its stages decided, or trains it from scratch.
 *
 *     struct pith_train_opts o;
 *     pith_train_opts_init(&o, sizeof o);
 *     o.epochs = 8;
 *     o.rate = 1e-3;
 *     struct pith_train_result r;
 *     if (pith_train(model, train, val, &o, &r, &err)) ...
 *
 * Masks hold: pruned weights stay zero. Codebooks hold: the members of a centroid move together, by
 * the sum of their gradients (Deep Compression, section 3). Everything else that is float and
 * constant moves freely: weights, biases, scales of normalisations.
 *
 * The network may shrink while it trains. With `sparsity` weights go, little by little, those
 * whose loss costs least for each bit that the file would pay for them. With `levels` what is left
 * lies on a uniform grid whose step is learned too, and the model ends with masks and codebooks.
 *
 * Numbers: a batch is cut into PITH_TRAIN_SLICES slices of equal size, each computed on one thread;
 * gradients and batch statistics are added along a fixed tree of slices. So the result is the same
 * for every number of threads (on CPUs of one ISA level), and a run continued from a checkpoint
 * ends in the same bytes as one that was not interrupted. */
#ifndef PITH_TRAIN_H
#define PITH_TRAIN_H

#include "pith_data.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define PITH_TRAIN_SLICES 8u

enum pith_optimizer { PITH_ADAM = 0, PITH_ADAMW = 1, PITH_SGD = 2, PITH_NESTEROV = 3 };

enum pith_schedule {
    PITH_COSINE = 0, /* rate -> 0 along half a cosine, after warm-up */
    PITH_CONSTANT = 1,
    PITH_STEPS = 2,    /* x step_factor at each third of the epochs */
    PITH_ONE_CYCLE = 3 /* up to rate over 30 % of the run, then down to rate / 1e4 (Smith 2018) */
};

enum pith_loss {
    PITH_CROSS_ENTROPY = 0, /* of the first output's logits or softmax, against labels */
    PITH_SQUARED_ERROR = 1, /* mean, against the data's targets */
    PITH_DISTILL = 2        /* KL to the teacher's softened classes alone: needs no labels. Without
                               labels it is the validation loss too, and val_accuracy is the share of
                               samples of the teacher's class */
};

/* By what a weight w is removed; v: the mean of its squared gradient, c: the bits it costs the
 * file, by the density of its row and column. */
enum pith_score {
    PITH_SCORE_RATE = 0,     /* w^2 v / c */
    PITH_SCORE_FISHER = 1,   /* w^2 v (optimal brain damage with the diagonal Fisher information) */
    PITH_SCORE_MAGNITUDE = 2 /* |w| */
};

enum pith_norms {
    PITH_NORMS_STAY = 0, /* as they are, until the network is encoded */
    PITH_NORMS_FOLD = 1  /* into the convolutions before them, on grids that take few bytes */
};

/* After each epoch, and when it ends. All numbers are of the epoch. */
struct pith_train_progress {
    uint32_t epoch, n_epochs;      /* 1 .. n_epochs */
    uint64_t step, n_steps;        /* of the whole run */
    double loss;                   /* mean over the epoch's samples */
    double accuracy;               /* of the training samples; NAN without labels */
    double val_loss, val_accuracy; /* NAN without validation data; without labels as PITH_DISTILL
                                      says */
    double rate;                   /* of the last step */
    double seconds;                /* of the epoch */
    uint64_t kept;                 /* weights that are not zero */
    double bytes;                  /* of the weights in the file, estimated; NAN without levels */
};

struct pith_train_integers;
struct pith_ranks;

struct pith_train_opts {
    uint32_t size_bytes;
    uint32_t epochs;  /* >= 1; default 10 */
    uint32_t batch;   /* multiple of PITH_TRAIN_SLICES; default 128 */
    uint32_t threads; /* 0: as many as there are processors */
    uint64_t seed;    /* of the order of samples; default 1 */
    enum pith_optimizer optimizer;
    enum pith_schedule schedule;
    enum pith_loss loss;
    float rate;         /* > 0; default 1e-3 */
    float momentum;     /* SGD, Nesterov: 0..1; default 0.9 */
    float weight_decay; /* of weights (not of biases and scales); default 0 */
    float clip_norm;    /* gradients are scaled to this norm at most; 0: not */
    float warm_up;      /* share of the run in which the rate rises from 0; default 0 */
    float step_factor;  /* PITH_STEPS; default 0.1 */
    uint32_t versions;  /* of each sample that augmentation makes, shown in turn, epoch after epoch;
                           a teacher then runs once for each, before the run (not with mixup or
                           features). 0: another one in each epoch */
    const char *augment; /* "shift=2,flip,rotate=7,scale=0.07,shear=0.09,elastic=1.2,cutout=8": the
                            most of each (augment.h); crop, brightness, contrast, saturation; clean:
                            the share that stays as it is. Pictures [N, C, H, W] only but for
                            brightness, contrast, noise and mixup. NULL: none */
    const struct pith_model *teacher; /* borrowed; NULL: none */
    float teacher_part;               /* 0..1 of the loss that is KL to the teacher; default 0.7 */
    uint32_t patience; /* stop after so many epochs without a better val_loss, counted from the
                          first epoch that has the requested sparsity; 0: never */
    bool keep_best;    /* with validation data: the model ends as it was at its best epoch, of those
                          that have the requested sparsity; at its last one where there is none */
    void (*progress)(void *user, const struct pith_train_progress *p);
    bool (*stop)(
        void *user); /* called after each step; true: finish as if it were the last epoch */
    void *user;

    /* Shrinking. Weights are those that pith_model_weights lists. */
    double sparsity; /* 0..1, exclusive: share of all weights that are zero when prune_until of
                        the run is over; 0: no weight is removed by count */
    uint32_t
        keep_weights; /* the same as a number: so many are left; 0: as sparsity says. What is
                         zero already, or was dropped with a unit, does not shift its meaning */
    enum pith_score score;
    float prune_until;         /* 0..1; default 0.8. kept(t) = target + (start - target)
                                  (1 - t / prune_until)^1.5 in the logarithm of the counts */
    uint32_t prune_every;      /* steps; default 50; also at the first step from prune_until on */
    bool remove_dead_channels; /* in the end, channels and neurons that nothing reads leave the
                                  network: smaller matrices, the same outputs. Else they stay, as
                                  zeros */
    uint32_t levels;           /* 1..127: weights are k * step, |k| <= levels; 0: any float */
    uint32_t bias_levels;      /* the same of what is not a weight; 0: any float */
    float first_step; /* step at first, in mean |w| of a tensor; default 0.7. Steps that a network
                         comes with, of so many levels, go on instead */

    /* Going on after a break. */
    const char *checkpoint;    /* folder, made if need be; NULL: none are written */
    uint32_t checkpoint_every; /* steps; 0: at each epoch's end */
    bool resume;               /* go on from the folder's checkpoint; none there: from the start */

    double enough; /* stop after the epoch whose val_accuracy is at least this; 0: never */
    const struct pith_ranks
        *ranks;            /* processes that share each batch, borrowed; NULL: this alone */
    enum pith_norms norms; /* what becomes of batch normalizations behind convolutions, in the end.
                              To fold: where weights are k * step, each row's step is rounded, and
                              the biases that this makes get bias_levels; the normalizations
                              themselves then train without */
    const struct pith_train_integers *integers; /* borrowed: what shall be integers in the end;
                              NULL: nothing. Without levels, sparsity, codebooks; norms
                              and dead channels stay */
    float oscillation_damping; /* 0..1: with levels (and bias_levels), the share of its way to the
                        middle of its level that each number goes in a step at the end of the run;
                        rises as the square of what is over. Else numbers that learning has brought
                        to a halfway mark change levels to and fro to the end, and end by chance
                        (oscillations: Nagel et al., 2022, section 4.1); default 0.002 */
};

/* ---- integers in the loop
 * --------------------------------------------------------------------------
 *
 * Quantisation-aware training: forward sees weights and values as the integers they shall become,
 * the gradient goes straight through the rounding, and every step is learned with the weights (LSQ,
 * Esser et al., 2020; zero points as in LSQ+). Which values, on which grids, is for the caller to
 * say: where pith_quantize would put them. In the end weights lie on their grids, each with a
 * codebook of k * step, and the grids of values are in values[v].grid. */

/* A value that is rounded to values[like].grid, of one scale, as it stands at first. All of the
 * same `like` share what is learned of it. */
struct pith_train_value {
    uint32_t value, like; /* numbers in the model; `like` is listed itself */
    bool rounded;         /* it is on that grid as it comes: elements of such a value, moved */
    bool learned;         /* else the grid stays as it is */
    bool moves_zero;      /* the zero point is learned too */
};

struct pith_train_weight {
    uint32_t value;          /* number of the constant: k * step, lowest <= k <= highest */
    int32_t lowest, highest; /* -128 .. -1, 1 .. 127; at most 256 in all */
    bool by_row;             /* a step for each entry of axis 0, else one; at first those
                                with which the weights lose the least squares */
};

struct pith_train_integers {
    const struct pith_train_value *values;
    const struct pith_train_weight *weights;
    uint32_t n_values, n_weights;
    bool radix; /* all steps are powers of two */
    /* Makes the network of integers that m stands for (it has grids and codebooks as above), which
     * validates epochs; *made: the caller's, pith_model_free. m is not changed. NULL: m validates
     * them, and its values are not rounded. */
    enum pith_status (*make)(void *user, const struct pith_model *m, struct pith_model **made,
                             struct pith_error *err);
    void *user;
};

/* Processes that train together: each takes a part of every batch, and all end with the model that
 * one alone would have made, to the bit. Each calls pith_train with the same model, data and
 * options (but for threads, progress and stop); what one cannot do ends it in all. Checkpoints are
 * read and written by rank 0. */
struct pith_ranks {
    uint32_t rank, count; /* 0 .. count - 1; 1, 2, 4 or 8 */
    /* Sends `bytes` to the peer, which calls this with our rank and as many bytes, and waits for
     * its. Called on the thread that called pith_train. Must not return without them: where the
     * peer is gone, the implementation ends the process. */
    void (*exchange)(void *user, uint32_t peer, const void *send, void *receive, size_t bytes);
    void *user;
    /* Memory that all ranks share, which is faster; NULL: they do not. share: gives each of
     * them `bytes` of it, those of rank r at all[r], until the processes part; all call it at the
     * same place. False, in all: there is none. meet: waits until all have called it; what they
     * wrote before is then visible to all. As exchange, it must not return without them. */
    bool (*share)(void *user, size_t bytes, void **all);
    void (*meet)(void *user);
};

void pith_train_opts_init(struct pith_train_opts *opts, uint32_t size_bytes);

struct pith_train_result {
    uint32_t epochs;                               /* done */
    uint32_t best_epoch;                           /* whose weights the model holds */
    double loss, accuracy, val_loss, val_accuracy; /* of that epoch */
    uint64_t n_parameters, n_trained;              /* floats that are constant; that may move */
    uint64_t n_weights;                            /* of those that may move */
    uint64_t dropped;                              /* by remove_dead_channels: those that left */
    uint64_t kept;                                 /* as in pith_train_progress, of that epoch */
    double bytes;
    uint32_t folded; /* normalizations, by PITH_NORMS_FOLD; val_loss and val_accuracy are then of
                        the network that this leaves */
    bool stopped;    /* opts.stop ended it */
};

/* train: samples with labels (or targets) as the loss needs; val may be NULL. The model is
 * untouched on failure. PITH_ERR_ARGUMENT; PITH_ERR_UNSUPPORTED: an operator without gradient,
 * named by its node; PITH_ERR_CORRUPT: a label out of range; PITH_ERR_GOAL: the loss is not finite
 * (says at which step and where the first such value arose); PITH_ERR_IO, _MEMORY. */
enum pith_status pith_train(struct pith_model *m, struct pith_data *train, struct pith_data *val,
                            const struct pith_train_opts *opts, struct pith_train_result *result,
                            struct pith_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
