/* SPDX-License-Identifier: MIT */
/* Accuracy over a data set, one sample after the other: sums are taken in sample order, so that the
 * figures are the same for every number of threads. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include "class_output.h"
#include "engine.h"
#include "base/error_fill.h"
#include "sample_feed.h"
#include "base/snr.h"

#define WATCH_EVERY 16

/* How many scores beat the label's; of equal scores the lower class number wins. All of them where
 * the scores stand for no class. */
static uint64_t rank_of(const float *score, uint64_t n, uint64_t label)
{
    uint64_t better = 0;
    if (pith_top_class(score, n) == n)
        return n;
    for (uint64_t i = 0; i < n; i++)
        better += score[i] > score[label] || (i < label && score[i] == score[label]);
    return better;
}

bool pith_scores_are_probabilities(const float *score, uint64_t n)
{
    if (!score)
        return false;
    double sum = 0, max = (double)score[0], low = (double)score[0];
    for (uint64_t i = 0; i < n; i++) {
        sum += (double)score[i];
        max = fmax(max, (double)score[i]);
        low = fmin(low, (double)score[i]);
    }
    return low >= 0 && max <= 1.0001 && fabs(sum - 1) < 1e-3;
}

/* -log p(label). Scores that are already probabilities are taken as such, others softmaxed. */
static double cross_entropy(const float *score, uint64_t n, uint64_t label)
{
    double max = (double)score[0], total = 0;
    if (pith_scores_are_probabilities(score, n))
        return -log(fmax((double)score[label], 1e-12));
    for (uint64_t i = 1; i < n; i++)
        max = fmax(max, (double)score[i]);
    for (uint64_t i = 0; i < n; i++)
        total += exp((double)score[i] - max);
    return log(total) - ((double)score[label] - max);
}

static enum pith_status wrong_label(struct pith_data *labels, uint64_t i, int64_t label,
                                    uint64_t n_classes, struct pith_error *err)
{
    const char *name = pith_data_sample_name(labels, i);
    if (label == PITH_NO_LABEL)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "%.300s has no label", name);
    return pith_error_fill(err, PITH_ERR_ARGUMENT,
                           "%.300s has label %" PRId64 ", the model's classes are 0 to %" PRIu64,
                           name, label, n_classes - 1);
}

static enum pith_status add_label(struct pith_accuracy *a, const struct pith_plan *plan,
                                  struct pith_data *labels, int64_t label, struct pith_error *err)
{
    struct pith_tensor t;
    const float *score = pith_plan_output_data(plan, 0);
    uint64_t n, rank;
    pith_plan_output(plan, 0, &t);
    n = t.bytes / sizeof *score;
    if (label < 0 || (uint64_t)label >= n) /* PITH_NO_LABEL, too */
        return wrong_label(labels, a->samples, label, n, err);
    rank = rank_of(score, n, (uint64_t)label);
    a->n_nan += pith_top_class(score, n) == n;
    a->correct1 += rank < 1;
    a->correct5 += rank < 5;
    a->loss += cross_entropy(score, n, (uint64_t)label);
    return PITH_OK;
}

static void add_target(struct pith_accuracy *a, const struct pith_plan *plan, const float *target,
                       uint64_t n)
{
    const float *y = pith_plan_output_data(plan, 0);
    double sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += ((double)y[i] - (double)target[i]) * ((double)y[i] - (double)target[i]);
    a->mse += sum / (double)n;
}

/* The first data set with labels or targets says what is right. */
static struct pith_data *labelled_data(const struct pith_feed *feed)
{
    for (uint32_t i = 0; i < feed->n_inputs; i++) {
        struct pith_data *d = feed->input[i].data;
        if (d && (pith_data_labelled(d) || pith_data_target_elems(d)))
            return d;
    }
    return NULL;
}

static enum pith_status check_kind(const struct pith_engine *e, const struct pith_feed *feed,
                                   bool *regression, struct pith_error *err)
{
    const struct pith_data *labels = labelled_data(feed);
    struct pith_tensor t;
    pith_plan_output(e->plan, 0, &t);
    if (t.type != PITH_F32)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED, "the model's output is not f32");
    if (!labels)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "the data set has no labels: give --labels FILE");
    *regression = pith_data_target_elems(labels) > 0;
    if (*regression && pith_data_target_elems(labels) != t.bytes / sizeof(float))
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "a target has %" PRIu64 " values, the model's output %" PRIu64,
                               pith_data_target_elems(labels), t.bytes / sizeof(float));
    return PITH_OK;
}

static enum pith_status evaluate_sample(struct feeder *f, float *target, struct pith_accuracy *a,
                                        struct pith_error *err)
{
    int64_t label;
    struct pith_data *labels = labelled_data(f->feed);
    enum pith_status st = pith_feeder_run(f, a->samples, &label, err);
    if (st)
        return st;
    if (!target)
        return add_label(a, f->plan, labels, label, err);
    st = pith_data_read_target(labels, a->samples, target);
    if (st)
        return pith_error_fill(err, st, "cannot read the target of %.300s",
                               pith_data_sample_name(labels, a->samples));
    add_target(a, f->plan, target, pith_data_target_elems(labels));
    return PITH_OK;
}

static enum pith_status evaluate_all(struct feeder *f, const struct pith_watch *watch,
                                     float *target, struct pith_accuracy *a, struct pith_error *err)
{
    for (; a->samples < f->n_samples; a->samples++) {
        if (watch && a->samples % WATCH_EVERY == 0 && !watch->step(watch->user, a->samples))
            return pith_error_fill(err, PITH_ERR_ARGUMENT, "interrupted after %" PRIu64 " samples",
                                   a->samples);
        enum pith_status st = evaluate_sample(f, target, a, err);
        if (st)
            return st;
    }
    return PITH_OK;
}

enum pith_status pith_evaluate(struct pith_engine *e, const struct pith_feed *feed,
                               const struct pith_watch *watch, struct pith_accuracy *accuracy,
                               struct pith_error *err)
{
    if (!e || !feed || !accuracy || feed->size_bytes != sizeof *feed)
        return PITH_ERR_ARGUMENT;
    struct pith_accuracy a = {0};
    struct feeder f = {0};
    float *target = NULL;
    enum pith_status st = check_kind(e, feed, &a.regression, err);
    if (!st)
        st = pith_feeder_open(&f, e->plan, feed, false, err);
    f.engine = e;
    if (!st && a.regression) {
        target = malloc(pith_data_target_elems(labelled_data(feed)) * sizeof *target);
        st = target ? PITH_OK : pith_error_no_memory(err);
    }
    if (!st)
        st = evaluate_all(&f, watch, target, &a, err);
    free(target);
    pith_feeder_close(&f);
    if (st)
        return st;
    a.loss /= (double)a.samples;
    a.mse /= (double)a.samples;
    a.psnr = pith_snr_db(1, a.mse);
    *accuracy = a;
    return PITH_OK;
}

static enum pith_status count_answers(struct feeder *f, const struct pith_watch *watch,
                                      uint64_t *confusion, uint32_t n_classes,
                                      struct pith_error *err)
{
    for (uint64_t i = 0; i < f->n_samples; i++) {
        int64_t label;
        if (watch && i % WATCH_EVERY == 0 && !watch->step(watch->user, i))
            return pith_error_fill(err, PITH_ERR_ARGUMENT, "interrupted");
        enum pith_status st = pith_feeder_run(f, i, &label, err);
        if (st)
            return st;
        if (label < 0 || label >= (int64_t)n_classes)
            return wrong_label(labelled_data(f->feed), i, label, n_classes, err);
        uint64_t top = pith_top_class(pith_plan_output_data(f->plan, 0), n_classes);
        if (top < n_classes)
            confusion[(uint64_t)label * n_classes + top]++;
    }
    return PITH_OK;
}

enum pith_status pith_confusion(struct pith_engine *e, const struct pith_feed *feed,
                                const struct pith_watch *watch, uint64_t *confusion,
                                uint32_t n_classes, struct pith_error *err)
{
    if (!e || !feed || !confusion || feed->size_bytes != sizeof *feed)
        return PITH_ERR_ARGUMENT;
    struct feeder f = {0};
    bool regression;
    enum pith_status st = check_kind(e, feed, &regression, err);
    if (!st && regression)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "a confusion table needs labels");
    if (!st)
        st = pith_feeder_open(&f, e->plan, feed, false, err);
    f.engine = e;
    if (!st)
        st = count_answers(&f, watch, confusion, n_classes, err);
    pith_feeder_close(&f);
    return st;
}
