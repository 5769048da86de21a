/* SPDX-License-Identifier: MIT */
/* train_run.h - one run of training: what its parts share. train_options.c checks the options,
 * train_step.c takes a step, train_resume.c keeps and takes up a run, train.c does the epochs. */
#ifndef TRAIN_RUN_H
#define TRAIN_RUN_H

#include "train/batch/augment_batch.h"
#include "train/state/checkpoint.h"
#include "train/tape/fake_quant_graph.h"
#include "train/batch/feed_batch.h"
#include "train/batch/loss.h"
#include "train/shrink/optimizer.h"
#include "pith_train.h"
#include "train/batch/scores.h"
#include "train/state/snapshot.h"
#include "teacher_memory.h"
#include "train/batch/validation.h"

struct teaching {
    struct tape *tape;
    uint32_t scores;                /* value of the model */
    struct teacher_memory *memory;  /* NULL: the teacher runs at each step */
    struct teacher_answers answers; /* validate the epochs where there are no labels */
};

/* Of the epoch so far. */
struct epoch_sums {
    uint64_t batches, right;
    double sum;
    double weight; /* of a row in the batch: samples for each label that counts */
};

struct saving {
    struct checkpoint *checkpoint;    /* NULL: none are written */
    struct pith_buffer model, best;   /* states, of checkpoints alone */
    struct pith_train_progress *past; /* [epochs] */
    uint64_t step;                    /* of the last checkpoint */
};

struct run {
    struct pith_model *m;
    struct pith_data *train, *val;
    const struct pith_train_opts *opts;
    struct pith_error *err;
    struct tape *tape;
    uint32_t scores; /* value of the model */
    struct teaching teaching;
    uint32_t version;              /* that the samples are shown in */
    bool softmax;                  /* stands behind scores */
    struct augment_batch *augment; /* NULL: samples stay as they are */
    struct feed_batch *batch;
    struct optimizer *optimizer;
    struct fake_graph *fake; /* NULL: nothing shall be integers */
    struct snapshot *before, *best;
    uint64_t step, n_steps;
    uint32_t epoch;        /* from 1 */
    uint32_t patient_from; /* epoch; 0: none that could be kept yet */
    bool over;             /* by what the options say, before the last epoch */
    double best_loss;
    struct epoch_sums counted;
    struct saving saving;
    bool should_stop; /* in the last step */
    struct loss_part part[PITH_TRAIN_SLICES];
    struct pith_train_result *result;
};
/* The caller's options, with the defaults of what its struct does not have yet. */
enum pith_status pith_run_take_opts(const struct pith_train_opts *given,
                                    struct pith_train_opts *opts, struct pith_error *err);
enum pith_status pith_run_check_opts(const struct run *r);
/* The number of weights to keep in o becomes o's sparsity. PITH_ERR_ARGUMENT. */
enum pith_status pith_run_keep_weights(const struct run *r, struct pith_train_opts *o);
/* Input, scores and data fit each other. */
enum pith_status pith_run_check_scores(const struct run *r, const struct pith_data *train);

/* Runs the teacher on all versions of all samples that the run will show, where the options let it
 * run once. */
enum pith_status pith_run_record_teacher(struct run *r);
/* Batch i of the epoch: forward, loss, backward, optimizer. */
enum pith_status pith_run_step(struct run *r, uint64_t i);

/* m, the run's network or one made of it, on the validation samples. */
enum pith_status pith_run_validate(struct run *r, const struct pith_model *m, double *loss,
                                   double *accuracy);

enum pith_status pith_run_open_checkpoint(struct run *r, struct pith_data *train);
enum pith_status pith_run_save(struct run *r);
/* Takes up what the checkpoint holds, or starts. */
enum pith_status pith_run_start_or_go_on(struct run *r);

#endif
