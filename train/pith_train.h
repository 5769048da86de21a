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
 * Numbers: a batch is cut into PITH_TRAIN_SLICES slices of equal size, each computed on one thread;
 * gradients and batch statistics are added in slice order. So the result is the same for every
 * number of threads (on CPUs of one ISA level), and a run continued from a checkpoint ends in the
 * same bytes as one that was not interrupted. */
#ifndef PITH_TRAIN_H
#define PITH_TRAIN_H

#include "pith_data.h"

#ifdef __cplusplus
extern "C" {
#endif

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
    PITH_DISTILL = 2        /* KL to the teacher's softened classes alone: needs no labels */
};

/* After each epoch, and when it ends. All numbers are of the epoch. */
struct pith_train_progress {
    uint32_t epoch, n_epochs;      /* 1 .. n_epochs */
    uint64_t step, n_steps;        /* of the whole run */
    double loss;                   /* mean over the epoch's samples */
    double accuracy;               /* of the training samples; NAN without labels */
    double val_loss, val_accuracy; /* NAN without validation data */
    double rate;                   /* of the last step */
    double seconds;                /* of the epoch */
};

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
    float beta1, beta2; /* Adam: default 0.9, 0.999 */
    float weight_decay; /* of weights (not of biases and scales); default 0 */
    float clip_norm;    /* gradients are scaled to this norm at most; 0: not */
    float warm_up;      /* share of the run in which the rate rises from 0; default 0 */
    float step_factor;  /* PITH_STEPS; default 0.1 */
    float smoothing;    /* label smoothing, 0..1; default 0 */
    float average;      /* decay of the moving average of the weights that is kept; 0: none */
    const char *augment; /* "shift=2,flip,rotate=7,scale=0.07,shear=0.09,elastic=1.2,cutout=8": the
                            most of each (augment.h); pictures [N, C, H, W] only. NULL: none */
    const struct pith_model *teacher; /* borrowed; NULL: none */
    float temperature;                /* of the softened classes; default 2 */
    float teacher_part;               /* 0..1 of the loss that is KL to the teacher; default 0.7 */
    uint32_t patience; /* stop after so many epochs without a better val_loss; 0: never */
    bool keep_best;    /* with validation data: the model ends as it was at its best epoch */
    void (*progress)(void *user, const struct pith_train_progress *p);
    bool (*stop)(void *user); /* asked after each step; true: finish as if it were the last epoch */
    void *user;
};
void pith_train_opts_init(struct pith_train_opts *opts, uint32_t size_bytes);

struct pith_train_result {
    uint32_t epochs;                               /* done */
    uint32_t best_epoch;                           /* whose weights the model holds */
    double loss, accuracy, val_loss, val_accuracy; /* of that epoch */
    uint64_t n_parameters, n_trained;              /* floats that are constant; that may move */
};

/* train: samples with labels (or targets) as the loss needs; val may be NULL. The model is
 * untouched on failure. PITH_ERR_ARGUMENT; PITH_ERR_UNSUPPORTED: an operator without gradient,
 * named by its node; PITH_ERR_CORRUPT: a label out of range; PITH_ERR_GOAL: the loss is not finite
 * (says at which step and where the first such value arose); PITH_ERR_IO, _MEMORY. */
enum pith_status pith_train(struct pith_model *m, struct pith_data *train, struct pith_data *val,
                            const struct pith_train_opts *opts, struct pith_train_result *result,
                            struct pith_error *err);

#ifdef __cplusplus
}
#endif
#endif
