/* SPDX-License-Identifier: MIT */
/* Accuracy over a data set, one sample after the other: sums are taken in sample order, so that the
 * figures are the same for every number of threads. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include "class_output.h"
#include "corner_copy.h"
#include "engine.h"
#include "base/error_fill.h"
#include "base/number_text.h"
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

/* A sample's labels, and the scores that are there for each: one row of classes for the sample, or
 * one for each position. */
struct labelled_rows {
    const int64_t *label;
    const float *score;
    uint64_t n, classes;
};

/* A sample shorter than the longest has as many positions as it has rows of classes: what follows
 * them in the labels is filled up. */
static enum pith_status find_rows(const struct feeder *f, uint64_t sample, struct labelled_rows *r,
                                  struct pith_error *err)
{
    struct pith_data *labels = pith_feed_labels(f->feed);
    struct pith_tensor t;
    pith_plan_output(f->plan, 0, &t);
    const uint64_t n = t.bytes / sizeof *r->score, most = pith_data_label_count(labels);
    *r = (struct labelled_rows){.label = pith_data_labels(labels, sample),
                                .score = pith_plan_output_data(f->plan, 0),
                                .n = most};
    if (most == 1 && !pith_is_row(t.dim, t.rank)) {
        char shape[PITH_SHAPE_TEXT];
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "samples have one label, the model's output is %s: no row of scores",
                               pith_shape_text(t.dim, t.rank, shape));
    }
    if (most > 1 && f->uneven)
        r->n = t.rank > 1 && t.dim[t.rank - 1] ? n / t.dim[t.rank - 1] : 0;
    if (r->n == 0 || r->n > most || (r->n < most && pith_data_pictures(labels)))
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                               "%.300s: labels of positions do not follow the size of this sample",
                               pith_data_sample_name(labels, sample));
    r->classes = n / r->n;
    if (n % r->n || r->classes == 0)
        return pith_error_fill(
            err, PITH_ERR_ARGUMENT,
            "%" PRIu64 " labels a sample, the model's output has %" PRIu64 " numbers", r->n, n);
    for (uint64_t i = 0; i < r->n; i++)
        if (r->label[i] >= (int64_t)r->classes || (r->n == 1 && r->label[i] < 0))
            return wrong_label(labels, sample, r->label[i], r->classes, err);
    return PITH_OK;
}

static void add_labels(struct pith_accuracy *a, const struct labelled_rows *r)
{
    for (uint64_t i = 0; i < r->n; i++) {
        const float *score = r->score + i * r->classes;
        if (r->label[i] < 0)
            continue;
        const uint64_t label = (uint64_t)r->label[i], rank = rank_of(score, r->classes, label);
        a->predictions++;
        a->n_nan += pith_top_class(score, r->classes) == r->classes;
        a->correct1 += rank < 1;
        a->correct5 += rank < 5;
        a->loss += cross_entropy(score, r->classes, label);
    }
}

/* Targets of all samples are as large as the model's largest output; where a sample's is smaller,
 * the first corner counts. */
struct targets {
    struct pith_tensor largest;
    float *whole, *own; /* own: [elements of largest]; NULL: there are labels */
    uint64_t n;         /* elements that were compared */
};

static enum pith_status check_kind(const struct pith_engine *e, const struct pith_feed *feed,
                                   struct targets *y, bool *regression, struct pith_error *err)
{
    const struct pith_data *labels = pith_feed_labels(feed);
    struct pith_tensor *t = &y->largest;
    pith_plan_output(e->plan, 0, t);
    if (t->type != PITH_F32)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED, "the model's output is not f32");
    if (!labels)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "the data set has no labels: give --labels FILE");
    *regression = pith_data_target_elems(labels) > 0;
    if (*regression && pith_data_target_elems(labels) != t->bytes / sizeof(float))
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "a target has %" PRIu64 " values, the model's output %" PRIu64,
                               pith_data_target_elems(labels), t->bytes / sizeof(float));
    return PITH_OK;
}

static enum pith_status add_target(struct feeder *f, uint64_t sample, struct targets *y,
                                   struct pith_accuracy *a, struct pith_error *err)
{
    struct pith_data *labels = pith_feed_labels(f->feed);
    const struct pith_tensor *w = &y->largest;
    const float *x = pith_plan_output_data(f->plan, 0);
    struct pith_tensor t;
    pith_plan_output(f->plan, 0, &t);
    bool fits = t.rank == w->rank;
    for (uint32_t i = 0; i < w->rank && fits; i++)
        fits = t.dim[i] <= w->dim[i];
    enum pith_status st =
        fits ? pith_data_read_target(labels, sample, y->whole) : PITH_ERR_ARGUMENT;
    if (st)
        return pith_error_fill(err, st, "cannot read the target of %.300s",
                               pith_data_sample_name(labels, sample));
    pith_copy_corner(&(struct corner){t.rank, t.dim, sizeof *y->own}, w->dim, y->whole, t.dim,
                     y->own);
    const uint64_t n = t.bytes / sizeof *x;
    for (uint64_t i = 0; i < n; i++)
        a->mse += ((double)x[i] - (double)y->own[i]) * ((double)x[i] - (double)y->own[i]);
    y->n += n;
    return PITH_OK;
}

static enum pith_status evaluate_sample(struct feeder *f, struct targets *y,
                                        struct pith_accuracy *a, struct pith_error *err)
{
    struct labelled_rows rows;
    enum pith_status st = pith_feeder_run(f, a->samples, err);
    if (!st && y->whole)
        return add_target(f, a->samples, y, a, err);
    st = st ? st : find_rows(f, a->samples, &rows, err);
    if (!st)
        add_labels(a, &rows);
    return st;
}

static enum pith_status evaluate_all(struct feeder *f, const struct pith_watch *watch,
                                     struct targets *y, struct pith_accuracy *a,
                                     struct pith_error *err)
{
    for (; a->samples < f->n_samples; a->samples++) {
        if (watch && a->samples % WATCH_EVERY == 0 && !watch->step(watch->user, a->samples))
            return pith_error_fill(err, PITH_ERR_ARGUMENT, "interrupted after %" PRIu64 " samples",
                                   a->samples);
        enum pith_status st = evaluate_sample(f, y, a, err);
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
    struct targets y = {0};
    enum pith_status st = check_kind(e, feed, &y, &a.regression, err);
    if (!st)
        st = pith_feeder_open(&f, e->plan, feed, false, err);
    f.engine = e;
    if (!st && a.regression) {
        y.whole = malloc((size_t)y.largest.bytes);
        y.own = malloc((size_t)y.largest.bytes);
        st = y.whole && y.own ? PITH_OK : pith_error_no_memory(err);
    }
    if (!st)
        st = evaluate_all(&f, watch, &y, &a, err);
    free(y.whole);
    free(y.own);
    pith_feeder_close(&f);
    if (!st && !a.regression && a.predictions == 0)
        st = pith_error_fill(err, PITH_ERR_ARGUMENT, "no position has a label that counts");
    if (st)
        return st;
    a.positions = pith_data_label_count(pith_feed_labels(feed)) > 1;
    a.loss /= (double)(a.regression ? a.samples : a.predictions);
    a.perplexity = exp(a.loss);
    a.mse /= y.n ? (double)y.n : 1;
    a.psnr = pith_snr_db(1, a.mse);
    *accuracy = a;
    return PITH_OK;
}

static enum pith_status count_answers(struct feeder *f, const struct pith_watch *watch,
                                      uint64_t *confusion, uint32_t n_classes,
                                      struct pith_error *err)
{
    for (uint64_t i = 0; i < f->n_samples; i++) {
        struct labelled_rows r;
        if (watch && i % WATCH_EVERY == 0 && !watch->step(watch->user, i))
            return pith_error_fill(err, PITH_ERR_ARGUMENT, "interrupted");
        enum pith_status st = pith_feeder_run(f, i, err);
        if (!st)
            st = find_rows(f, i, &r, err);
        if (!st && r.classes != n_classes)
            st = pith_error_fill(err, PITH_ERR_ARGUMENT,
                                 "a confusion table of %u classes, the model has %" PRIu64,
                                 n_classes, r.classes);
        if (st)
            return st;
        for (uint64_t k = 0; k < r.n; k++) {
            const uint64_t top = pith_top_class(r.score + k * n_classes, n_classes);
            if (r.label[k] >= 0 && top < n_classes)
                confusion[(uint64_t)r.label[k] * n_classes + top]++;
        }
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
    struct targets y;
    bool regression;
    enum pith_status st = check_kind(e, feed, &y, &regression, err);
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
