/* SPDX-License-Identifier: MIT */
/* Accuracy over a data set, one sample after the other: sums are taken in sample order, so that the
 * figures are the same for every number of threads. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include "engine.h"
#include "error_fill.h"
#include "sample_feed.h"

#define WATCH_EVERY 16

/* How many scores beat the label's; of equal scores the lower class number wins. */
static uint64_t rank_of(const float *score, uint64_t n, uint64_t label)
{
    uint64_t better = 0;
    for (uint64_t i = 0; i < n; i++)
        better += score[i] > score[label] || (i < label && score[i] == score[label]);
    return better;
}

/* -log p(label). Scores that are already probabilities are taken as such, others softmaxed. */
static double cross_entropy(const float *score, uint64_t n, uint64_t label)
{
    double sum = 0, max = (double)score[0], low = (double)score[0], total = 0;
    for (uint64_t i = 0; i < n; i++) {
        sum += (double)score[i];
        max = fmax(max, (double)score[i]);
        low = fmin(low, (double)score[i]);
    }
    if (low >= 0 && max <= 1.0001 && fabs(sum - 1) < 1e-3)
        return -log(fmax((double)score[label], 1e-12));
    for (uint64_t i = 0; i < n; i++)
        total += exp((double)score[i] - max);
    return log(total) - ((double)score[label] - max);
}

static enum pith_status add_label(struct pith_accuracy *a, const struct pith_plan *plan,
                                  int64_t label, struct pith_error *err)
{
    struct pith_tensor t;
    const float *score = pith_plan_output_data(plan, 0);
    uint64_t n, rank;
    pith_plan_output(plan, 0, &t);
    n = t.bytes / sizeof *score;
    if (label == PITH_NO_LABEL || label < 0 || (uint64_t)label >= n)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "sample %" PRIu64 " has label %" PRId64 ", the model %" PRIu64
                               " classes",
                               a->samples, label, n);
    rank = rank_of(score, n, (uint64_t)label);
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

static enum pith_status check_kind(const struct pith_engine *e, const struct pith_data *data,
                                   bool *regression, struct pith_error *err)
{
    struct pith_tensor t;
    pith_plan_output(e->plan, 0, &t);
    if (t.type != PITH_F32)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED, "the model's output is not f32");
    *regression = pith_data_target_elems(data) > 0;
    if (*regression && pith_data_target_elems(data) != t.bytes / sizeof(float))
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "a target has %" PRIu64 " values, the model's output %" PRIu64,
                               pith_data_target_elems(data), t.bytes / sizeof(float));
    if (!*regression && !pith_data_labelled(data))
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "the data set has no labels: give --labels FILE");
    return pith_feed_check(e->plan, data, err);
}

static enum pith_status run_sample(struct pith_engine *e, struct pith_data *data, uint64_t i,
                                   float *target, struct pith_accuracy *a, struct pith_error *err)
{
    int64_t label;
    enum pith_status st = pith_feed_sample(e->plan, data, i, &label, err);
    if (st)
        return st;
    pith_plan_run(e->plan);
    if (!target)
        return add_label(a, e->plan, label, err);
    st = pith_data_read_target(data, i, target);
    if (st)
        return pith_error_fill(err, st, "cannot read the target of sample %" PRIu64, i);
    add_target(a, e->plan, target, pith_data_target_elems(data));
    return PITH_OK;
}

enum pith_status pith_evaluate(struct pith_engine *e, struct pith_data *data,
                               const struct pith_watch *watch, struct pith_accuracy *accuracy,
                               struct pith_error *err)
{
    struct pith_accuracy a = {0};
    float *target = NULL;
    enum pith_status st = check_kind(e, data, &a.regression, err);
    if (!st && a.regression) {
        target = malloc(pith_data_target_elems(data) * sizeof *target);
        st = target ? PITH_OK : pith_error_no_memory(err);
    }
    for (; !st && a.samples < pith_data_count(data); a.samples++) {
        if (watch && a.samples % WATCH_EVERY == 0 && !watch->step(watch->user, a.samples))
            st = pith_error_fill(err, PITH_ERR_ARGUMENT, "interrupted after %" PRIu64 " samples",
                                 a.samples);
        else
            st = run_sample(e, data, a.samples, target, &a, err);
        if (st)
            break;
    }
    free(target);
    if (st)
        return st;
    a.loss /= (double)a.samples;
    a.mse /= (double)a.samples;
    a.psnr = a.mse > 0 ? -10 * log10(a.mse) : INFINITY;
    *accuracy = a;
    return PITH_OK;
}

enum pith_status pith_confusion(struct pith_engine *e, struct pith_data *data,
                                const struct pith_watch *watch, uint64_t *confusion,
                                uint32_t n_classes, struct pith_error *err)
{
    bool regression;
    enum pith_status st = check_kind(e, data, &regression, err);
    if (!st && regression)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "a confusion table needs labels");
    for (uint64_t i = 0; !st && i < pith_data_count(data); i++) {
        const float *score = pith_plan_output_data(e->plan, 0);
        int64_t label;
        uint32_t best = 0;
        if (watch && i % WATCH_EVERY == 0 && !watch->step(watch->user, i))
            return pith_error_fill(err, PITH_ERR_ARGUMENT, "interrupted");
        st = pith_feed_sample(e->plan, data, i, &label, err);
        if (st || label < 0 || label >= (int64_t)n_classes)
            return st ? st : pith_error_fill(err, PITH_ERR_ARGUMENT, "sample %" PRIu64
                                             " has label %" PRId64, i, label);
        pith_plan_run(e->plan);
        for (uint32_t k = 1; k < n_classes; k++)
            if (score[k] > score[best])
                best = k;
        confusion[(uint64_t)label * n_classes + best]++;
    }
    return st;
}
