/* SPDX-License-Identifier: MIT */
/* pith_goal_loss.h - what a compressed network lost, measured against the original on samples.
 *
 * The samples are split once, by a fixed seed, into calibration, validation and test set. The test
 * set is the validation set where there are fewer than PITH_GOAL_THREE_PARTS samples. Steps of one
 * stream are split into three stretches, whose states begin anew.
 *
 *     struct pith_goal_eval *j;
 *     pith_goal_eval_new(model, feed, &opts, &j, &err);
 *     pith_goal_eval_pick(j, PITH_GOAL_CALIBRATE, &err);    // the feed's data is now that part
 *     ... calibrate on it ...
 *     pith_goal_eval_measure(j, PITH_GOAL_VALIDATE, file, bytes, &loss, &err);
 *     if (pith_goal_excess(&goal, &loss, 1) <= 0) ...        // within every limit on the loss */
#ifndef PITH_GOAL_LOSS_H
#define PITH_GOAL_LOSS_H

#include "pith_goal.h"
#include "pith_measure.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define PITH_GOAL_LEAST 2u        /* samples: with fewer there is nothing to split */
#define PITH_GOAL_THREE_PARTS 48u /* with fewer the validation set is the test set, too */

enum pith_goal_part {
    PITH_GOAL_CALIBRATE = 0,
    PITH_GOAL_VALIDATE = 1,
    PITH_GOAL_TEST = 2,
    PITH_GOAL_PARTS = 3
};

enum pith_goal_metric { PITH_METRIC_NONE = 0, PITH_METRIC_TOP1 = 1, PITH_METRIC_PSNR = 2 };

struct pith_goal_loss {
    uint64_t samples;    /* steps, of streams */
    uint64_t nonfinite;  /* numbers of all outputs that are NaN or infinite, and were something else
                            in the original: no goal is met by such a file */
    bool classes;        /* some output has: the next three are of these, the worst output's KL */
    double kl, kl_error; /* mean in nats; its standard error */
    double kl_high;      /* and what it may be of other samples (uncertain_loss.h), >= kl */
    double agreement;    /* share of rows with the same largest number; NAN without classes */
    bool numbers;        /* some output has */
    double snr_db, snr_low_db; /* of all outputs, the worst, noise times its weight; the second with
                                  one standard error more noise. HUGE_VAL: equal */
    double numbers_db, numbers_low_db; /* of those outputs that are numbers alone */
    uint32_t worst;                    /* model output that snr_db is of */
    enum pith_goal_metric metric;      /* by labels or targets: share of top-1, PSNR in dB */
    double before, after;
    double drop, drop_error; /* fraction; of PSNR dB / 100; its standard error */
};

struct pith_goal_eval_opts {
    uint32_t size_bytes;
    struct pith_engine_opts engine; /* threads, cpu_mask; stop ends a measurement */
    uint64_t seed;                  /* of the split */
    const double *weight;           /* [outputs] that losses of each are multiplied with, 0: it is
                                       ignored; borrowed until it is freed; NULL: 1 */
    /* Runs of the original or of a file are so far. May be NULL. */
    void (*ran)(void *user, uint64_t calls, uint64_t all);
    /* What is no failure, in a line: labels that the network does not know. May be NULL. */
    void (*warn)(void *user, const char *text);
    void *user;
};

struct pith_goal_eval;

/* Splits the feed's samples and runs m over the validation and test samples. Both are borrowed
 * until it is freed. Labels by which m is no better than guessing count as none. PITH_ERR_ARGUMENT:
 * fewer than PITH_GOAL_LEAST samples, no output of floats, a label that is no class of output 0;
 * and what pith_feed_run returns. */
enum pith_status pith_goal_eval_new(const struct pith_model *m, const struct pith_feed *feed,
                                    const struct pith_goal_eval_opts *opts,
                                    struct pith_goal_eval **eval, struct pith_error *err);
/* Accepts NULL. The feed's data sets have all their samples again. */
void pith_goal_eval_free(struct pith_goal_eval *eval);
uint64_t pith_goal_eval_count(const struct pith_goal_eval *eval, enum pith_goal_part part);
/* Of the only output; 0: it is numbers, has several rows, or there are several outputs. */
uint32_t pith_goal_eval_classes(const struct pith_goal_eval *eval);
/* Of classes: the standard deviation of the original's scores about their mean, in nats; 0: it is
 * none. */
double pith_goal_eval_spread(const struct pith_goal_eval *eval);
/* scale: [outputs] by which each output has the mean power of its weight: 0 where none counts.
 */
void pith_goal_eval_scales(const struct pith_goal_eval *eval, double *scale);
/* Whether what chooses reports, too. */
bool pith_goal_eval_shares(const struct pith_goal_eval *eval);
/* The feed's data sets from now on have the samples of this part. PITH_ERR_MEMORY. */
enum pith_status pith_goal_eval_pick(struct pith_goal_eval *eval, enum pith_goal_part part,
                                     struct pith_error *err);
/* Likewise: all samples that neither choose nor report, those that calibrate the first of them. */
enum pith_status pith_goal_eval_pick_training(struct pith_goal_eval *eval, struct pith_error *err);
/* The metric for the labels or targets of the feed. */
enum pith_goal_metric pith_goal_eval_metric(const struct pith_goal_eval *eval);
/* part: CHOOSE or REPORT. file: of a .pith. What pith_engine_open_packed and pith_feed_run return;
 * PITH_ERR_STOPPED. */
enum pith_status pith_goal_eval_measure(struct pith_goal_eval *eval, enum pith_goal_part part,
                                        const struct pith_buffer *file, struct pith_goal_loss *loss,
                                        struct pith_error *err);
/* Bytes of the plan that the file makes. */
enum pith_status pith_goal_eval_ram(const struct pith_goal_eval *eval,
                                    const struct pith_buffer *file, uint64_t *bytes,
                                    struct pith_error *err);
/* Bytes of the arena of the code that is exported for a target (export.h); UINT64_MAX: a layer of
 * it has no C kernel. */
enum pith_status pith_goal_eval_target_ram(const struct pith_buffer *file, int target,
                                           uint64_t *bytes, struct pith_error *err);
/* Seconds that 9 of 10 runs of the file take on this machine, by the faster of what pith_tune takes
 * and what is planned, with its threads: some seconds of measuring. As pith_tune. */
enum pith_status pith_goal_eval_latency(const struct pith_goal_eval *eval,
                                        const struct pith_buffer *file, double *seconds,
                                        struct pith_error *err);

/* By how much the loss is above the goal: the logarithm of loss / limit, of power, the largest of
 * all limits on it; at most 0 where all are kept. Each loss counts with so many standard errors
 * more than it was measured; the error of a KL above what it was measured is kl_high's. -HUGE_VAL:
 * nothing was lost; HUGE_VAL: some was, and none may be, or outputs became NaN or infinite. */
double pith_goal_excess(const struct pith_goal *goal, const struct pith_goal_loss *loss,
                        double errors);
/* How much of a loss is said: everything, with units (points of top-1, nats); without units;
 * without what has no limit; the figure that is nearest to its limit; that figure without the
 * limit. */
enum pith_goal_text {
    PITH_TEXT_UNITS = 0,
    PITH_TEXT_FULL = 1,
    PITH_TEXT_TERSE = 2,
    PITH_TEXT_DECIDING = 3,
    PITH_TEXT_SHORT = 4
};
/* "drop 0.96 +- 0.20 (limit 1.00), KL 0.0183, agreement 97.2 %": points of top-1, nats. Limits
 * stand with the figures that they decide by. output: the name of loss->worst, where there are
 * several; else NULL. */
void pith_goal_loss_text(const struct pith_goal *goal, const struct pith_goal_loss *loss,
                         const char *output, enum pith_goal_text how, char *text, size_t room);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
