/* SPDX-License-Identifier: MIT */
#include "validation.h"
#include "pith_pack.h"
#include "feed_batch.h"
#include "loss.h"
#include "pith_host.h"
#include "train/state/ranks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_P 1e-30f /* of a class: its logarithm is finite */

enum { BATCH = 64 };

struct validation {
    struct pith_data *data;
    enum pith_loss loss;
    bool probabilities;
    struct pith_plan *plan;
    uint32_t batch;
    struct pith_tensor in, out;
    int64_t *label; /* [batch][labels of a sample] */
    uint32_t classes;
    uint64_t counted; /* predictions: samples, or positions that count */
    float *target, *gradient, *log_p;
    const struct teacher_answers *answers;
    float **collected;              /* log_p of all samples goes there; NULL: the loss is summed */
    const struct pith_ranks *ranks; /* each takes some of the batches */
    bool met;                       /* the ranks have, before the samples */
    double sum;
    uint64_t right;
};

static enum pith_status load(struct validation *v, uint64_t first, uint32_t n,
                             struct pith_error *err)
{
    uint64_t targets = pith_data_target_elems(v->data), labels = pith_data_label_count(v->data);
    uint64_t bytes = pith_data_elems(v->data) * pith_type_bytes(v->in.type);
    uint8_t *x = pith_plan_input_data(v->plan, 0);
    enum pith_status status = PITH_OK;
    memset(x, 0, (size_t)v->in.bytes);
    for (uint32_t i = 0; i < n && !status; i++) {
        status = pith_data_read_as(v->data, first + i, v->in.type, x + i * bytes, NULL, err);
        if (labels)
            memcpy(v->label + i * labels, pith_data_labels(v->data, first + i),
                   (size_t)labels * sizeof *v->label);
        if (!status && v->loss == PITH_SQUARED_ERROR)
            status = pith_data_read_target(v->data, first + i, v->target + i * targets);
    }
    return status;
}

static uint32_t largest_of(const float *x, uint64_t n)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++)
        best = x[i] > x[best] ? i : best;
    return best;
}

/* answer: of n rows. */
static struct loss_part teacher_loss(const struct validation *v, const float *answer, uint32_t n)
{
    const uint32_t each = v->classes;
    struct loss_part part = pith_loss_classes(
        &(struct class_rows){n, each, v->log_p, NULL, 1, 1, TEACHER_TEMPERATURE, answer},
        v->gradient);
    for (uint64_t i = 0; i < n; i++)
        part.right += largest_of(answer + i * each, each) == largest_of(v->log_p + i * each, each);
    return part;
}

static enum pith_status check_labels(const struct validation *v, uint64_t first, uint32_t n,
                                     uint64_t classes, struct pith_error *err)
{
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < n && !status; i++)
        status = pith_labels_check(v->data, first + i, classes, err);
    return status;
}

static enum pith_status add_batch_loss(struct validation *v, uint64_t first, uint32_t n,
                                       struct pith_error *err)
{
    uint64_t each = v->out.bytes / sizeof(float) / v->batch;
    const float *y = v->out.data;
    struct loss_part part;
    if (v->loss == PITH_SQUARED_ERROR) {
        part = pith_loss_squares(n, each, y, v->target, v->gradient);
        v->sum += part.loss;
        return PITH_OK;
    }
    for (uint64_t i = 0; i < n * each; i++)
        v->log_p[i] = v->probabilities ? logf(fmaxf(y[i], LEAST_P)) : y[i];
    if (v->collected) {
        memcpy(*v->collected + first * each, v->log_p, n * each * sizeof(float));
        return PITH_OK;
    }
    enum pith_status status = v->answers ? PITH_OK : check_labels(v, first, n, v->classes, err);
    if (status)
        return status;
    const uint32_t rows = (uint32_t)(n * each / v->classes);
    part = v->answers ? teacher_loss(v, v->answers->log_p + first * each, rows)
                      : pith_loss_classes(&(struct class_rows){rows, v->classes, v->log_p, v->label,
                                                               1, 0, 1, NULL},
                                          v->gradient);
    v->sum += part.loss;
    v->right += part.right;
    return PITH_OK;
}

static enum pith_status run_one(struct validation *v, uint64_t first, struct pith_error *err)
{
    uint64_t count = pith_data_count(v->data);
    uint32_t n = count - first < v->batch ? (uint32_t)(count - first) : v->batch;
    enum pith_status status = load(v, first, n, err);
    if (!status)
        status = pith_plan_run(v->plan);
    return status ? status : add_batch_loss(v, first, n, err);
}

/* part [2 * batches]: loss and right answers of each batch that falls to this rank, else 0. */
static enum pith_status run_own(struct validation *v, double *part, struct pith_error *err)
{
    uint64_t batches = (pith_data_count(v->data) + v->batch - 1) / v->batch;
    uint64_t first = v->ranks ? v->ranks->rank : 0, step = v->ranks ? v->ranks->count : 1;
    enum pith_status status = PITH_OK;
    for (uint64_t i = first; i < batches && !status; i += step) {
        v->sum = 0;
        v->right = 0;
        status = run_one(v, i * v->batch, err);
        part[2 * i] = v->sum;
        part[2 * i + 1] = (double)v->right;
    }
    return status;
}

static enum pith_status run_all(struct validation *v, struct pith_error *err)
{
    size_t n = 2 * (size_t)((pith_data_count(v->data) + v->batch - 1) / v->batch);
    double *part = calloc(2 * n + 1, sizeof *part);
    enum pith_status status =
        part ? run_own(v, part, err)
             : pith_error_set(err, PITH_ERR_MEMORY, "not enough memory to validate");
    status = pith_ranks_agree(v->ranks, status, err);
    if (!status)
        pith_ranks_add_doubles(v->ranks, part, n, part + n);
    v->sum = 0;
    v->right = 0;
    for (size_t i = 0; i < n && !status; i += 2) {
        v->sum += part[i];
        v->right += (uint64_t)part[i + 1];
    }
    free(part);
    return status;
}

static enum pith_status with_buffers(struct validation *v, struct pith_error *err)
{
    size_t out = (size_t)v->out.bytes / sizeof(float);
    size_t targets = (size_t)pith_data_target_elems(v->data) * v->batch;
    v->target = calloc(targets + 1, sizeof *v->target);
    v->gradient = calloc(out + targets + 1, sizeof *v->gradient);
    v->label = calloc((size_t)pith_data_label_count(v->data) * v->batch + 1, sizeof *v->label);
    v->log_p = calloc(out + 1, sizeof *v->log_p);
    enum pith_status status = PITH_ERR_MEMORY;
    if (v->collected)
        *v->collected =
            calloc((size_t)pith_data_count(v->data) * (out / v->batch) + 1, sizeof **v->collected);
    if (v->target && v->gradient && v->label && v->log_p && (!v->collected || *v->collected))
        status = PITH_OK;
    else
        pith_error_set(err, status, "not enough memory to validate");
    status = pith_ranks_agree(v->ranks, status, err);
    v->met = true;
    if (!status)
        status = run_all(v, err);
    free(v->target);
    free(v->gradient);
    free(v->label);
    free(v->log_p);
    return status;
}

/* Predictions: positions with a label that counts, or all of those that a teacher answers. */
static void count_predictions(struct validation *v, uint64_t rows, bool by_labels)
{
    const uint64_t n = pith_data_count(v->data);
    v->counted = by_labels || v->loss == PITH_SQUARED_ERROR ? 0 : n * rows;
    for (uint64_t i = 0; i < n && by_labels; i++)
        v->counted += pith_labels_counted(v->data, i);
    if (v->loss == PITH_SQUARED_ERROR)
        v->counted = n;
}

static enum pith_status check_shapes(struct validation *v, struct pith_error *err)
{
    uint64_t in = v->in.bytes / pith_type_bytes(v->in.type) / v->batch,
             out = v->out.bytes / sizeof(float);
    if (v->out.type != PITH_F32 || out % v->batch || pith_data_elems(v->data) != in)
        return pith_error_set(err, PITH_ERR_ARGUMENT,
                              "validation samples have %" PRIu64
                              " values, the network takes %" PRIu64,
                              pith_data_elems(v->data), in);
    bool by_labels = v->loss != PITH_SQUARED_ERROR && !v->answers && !v->collected;
    if (by_labels && !pith_data_labelled(v->data))
        return pith_error_set(err, PITH_ERR_ARGUMENT, "the validation data has no labels");
    v->classes = v->out.rank == 3 && v->out.dim[2] > 1 ? v->out.dim[2] : (uint32_t)(out / v->batch);
    const uint64_t rows = v->classes ? out / v->batch / v->classes : 0;
    if (by_labels && pith_data_label_count(v->data) != rows)
        return pith_error_set(err, PITH_ERR_ARGUMENT,
                              "the validation data has %" PRIu64
                              " labels a sample, the network %" PRIu64 " rows of classes",
                              pith_data_label_count(v->data), rows);
    count_predictions(v, rows, by_labels);
    if (v->counted == 0)
        return pith_error_set(err, PITH_ERR_ARGUMENT,
                              "no label of the validation data counts: all are negative");
    if (v->loss == PITH_SQUARED_ERROR && pith_data_target_elems(v->data) != out / v->batch)
        return pith_error_set(err, PITH_ERR_ARGUMENT,
                              "the validation data has %" PRIu64
                              " targets a sample, the network %" PRIu64 " outputs",
                              pith_data_target_elems(v->data), out / v->batch);
    return PITH_OK;
}

static enum pith_status open_and_run(struct validation *v, const struct pith_buffer *file,
                                     const struct pith_opts *opts, struct pith_error *err)
{
    struct pith_session *session;
    enum pith_status status = pith_open_memory(file->data, file->bytes, opts, &session, err);
    if (status)
        return status;
    v->plan = pith_plan_of(session);
    status = pith_plan_input(v->plan, 0, &v->in);
    if (!status)
        status = pith_plan_output(v->plan, 0, &v->out);
    if (!status)
        status = check_shapes(v, err);
    if (!status)
        status = with_buffers(v, err);
    pith_close(session);
    return status;
}

/* Ranks meet once before the samples: those that get there, and those that do not. */
static enum pith_status pack_and_run(struct validation *v, const struct pith_model *m,
                                     uint32_t threads, struct pith_error *err)
{
    struct pith_buffer file;
    struct pith_opts opts;
    v->batch = m->batch_open ? BATCH : 1;
    pith_opts_init(&opts, sizeof opts);
    opts.batch = v->batch;
    enum pith_status status = pith_model_pack(m, NULL, &file, err);
    if (status)
        return pith_ranks_agree(v->ranks, status, err);
    status = pith_threads_start(&opts, threads);
    status = status ? pith_error_set(err, status, "cannot start threads")
                    : open_and_run(v, &file, &opts, err);
    pith_threads_stop(&opts);
    pith_buffer_free(&file);
    return v->met ? status : pith_ranks_agree(v->ranks, status, err);
}

enum pith_status pith_teacher_answers(const struct pith_model *teacher, struct pith_data *data,
                                      bool probabilities, uint32_t threads,
                                      struct teacher_answers *answers, struct pith_error *err)
{
    struct validation v = {.data = data,
                           .loss = PITH_DISTILL,
                           .probabilities = probabilities,
                           .collected = &answers->log_p};
    return pack_and_run(&v, teacher, threads, err);
}

enum pith_status pith_validate(const struct pith_model *m, const struct validate_opts *o,
                               double *mean_loss, double *accuracy, struct pith_error *err)
{
    struct validation v = {.data = o->data,
                           .loss = o->loss,
                           .probabilities = o->probabilities,
                           .ranks = o->ranks,
                           .answers = o->answers};
    enum pith_status status = pack_and_run(&v, m, o->threads, err);
    if (status)
        return status;
    *mean_loss = v.sum / (double)v.counted;
    *accuracy = o->loss == PITH_SQUARED_ERROR ? NAN : (double)v.right / (double)v.counted;
    return PITH_OK;
}
