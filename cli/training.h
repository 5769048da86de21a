/* SPDX-License-Identifier: MIT */
/* training.h - what commands that train share: the options of the training and validation sets, and
 * the line printed for each epoch. */
#ifndef TRAINING_H
#define TRAINING_H

#include "data_options.h"
#include "pith_compress.h"

struct cli_training_options {
    const char *data, *labels, *range, *preprocess;
    const char *val, *hold; /* --val: another data set; --hold: some of the samples, left out */
};

#define CLI_TRAINING_OPTIONS(type, member)                                                         \
    {'d',         "data",                                                                          \
     OPTION_TEXT, offsetof(type, member.data),                                                     \
     "DATA",      "training samples (formats: pith help eval)",                                    \
     0,           0},                                                                              \
        {0,           "labels",                                                                    \
         OPTION_TEXT, offsetof(type, member.labels),                                               \
         "FILE",      "labels of the training samples",                                            \
         0,           0},                                                                          \
        {0,                                                                                        \
         "range",                                                                                  \
         OPTION_TEXT,                                                                              \
         offsetof(type, member.range),                                                             \
         "A:B[:STEP]",                                                                             \
         "samples A to B-1, every STEP-th; !A:B:STEP: all others",                                 \
         0,                                                                                        \
         0},                                                                                       \
        CLI_VALIDATION_OPTIONS(type, member)
#define CLI_VALIDATION_OPTIONS(type, member)                                                       \
    {                                                                                              \
        0,           "val",                                                                        \
        OPTION_TEXT, offsetof(type, member.val),                                                   \
        "DATA",      "validation set in a separate file",                                          \
        0,           0},                                                                           \
    {                                                                                              \
        0, "hold", OPTION_TEXT, offsetof(type, member.hold), "A:B[:STEP]",                         \
            "validation set: these training samples", 0, 0                                         \
    }

/* Refuses what does not fit together; cli_open_training does so too. */
enum cli_exit cli_check_training(const struct cli_training_options *o);

/* Opens what m's input takes; open sizes of m become those of the training data. val: NULL without
 * a validation set. Both are the caller's, also on failure. c: m's outputs for the training set are
 * checked (data_check.h); NULL: m was not trained yet. */
enum cli_exit cli_open_training(const struct cli_training_options *o, const struct cli_common *c,
                                struct pith_model *m, struct pith_data **train,
                                struct pith_data **val);

/* "epoch 3/8  loss 0.0123  99.12%  held out: ... eta 0:12", unless -q; and the event of the log. */
void cli_print_epoch(const struct cli_common *c, const struct pith_train_progress *p);

/* "folded 19 normalizations  held out: ...", or that there was none, unless -q. */
void cli_print_folded(const struct cli_common *c, const struct pith_train_result *r);

/* Fits struct pith_stage_context: true once ^C came. */
bool cli_stop_training(void *user);

#endif
