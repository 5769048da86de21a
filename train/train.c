/* SPDX-License-Identifier: MIT */
/* train.c - the loop: batches forward and backward, steps, epochs, validation, the best kept.
 *
 * Classes are learned on logits: where the network ends in Softmax, the loss is put before it. The
 * model is changed in place at the end of each epoch and put back as it was on failure. */
#include "augment.h"
#include "feed_batch.h"
#include "shuffle.h"
#include "loss.h"
#include "op.h"
#include "optimizer.h"
#include "pith_host.h"
#include "pith_train.h"
#include "schedule.h"
#include "snapshot.h"
#include "validate.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

struct run {
    struct pith_model *m;
    struct pith_data *val;
    const struct pith_train_opts *opts;
    struct pith_error *err;
    struct tape *tape, *teacher;
    uint32_t scores, teacher_scores; /* values of the models */
    bool softmax;                    /* stands behind scores */
    struct augment augment;
    float *augment_scratch; /* [slices][elements of a sample]; NULL: pictures stay as they are */
    struct feed_batch *batch;
    struct optimizer *optimizer;
    struct snapshot *before, *best;
    uint64_t step, n_steps;
    double sum, best_loss;
    uint64_t right;
    struct loss_part part[PITH_TRAIN_SLICES];
    struct pith_train_result *result;
};

void pith_train_opts_init(struct pith_train_opts *opts, uint32_t size_bytes)
{
    (void)size_bytes;
    *opts = (struct pith_train_opts){.size_bytes = sizeof *opts,
                                     .epochs = 10,
                                     .batch = 128,
                                     .seed = 1,
                                     .rate = 1e-3f,
                                     .momentum = 0.9f,
                                     .beta1 = 0.9f,
                                     .beta2 = 0.999f,
                                     .step_factor = 0.1f,
                                     .temperature = 2.0f,
                                     .teacher_part = 0.7f};
}

/* ---- checks -------------------------------------------------------------------------------------
 */

static bool share(float v)
{
    return v >= 0 && v <= 1;
}

static enum pith_status check_opts(const struct run *r)
{
    const struct pith_train_opts *o = r->opts;
    const char *wrong = NULL;
    if (o->epochs == 0)
        wrong = "epochs must be at least 1";
    else if (o->batch == 0 || o->batch % PITH_TRAIN_SLICES)
        wrong = "the batch must be a multiple of 8";
    else if (!(o->rate > 0) || !isfinite(o->rate))
        wrong = "the learning rate must be above 0";
    else if (!(o->momentum >= 0 && o->momentum < 1) || !(o->beta1 >= 0 && o->beta1 < 1) ||
             !(o->beta2 >= 0 && o->beta2 < 1) || !(o->average >= 0 && o->average < 1))
        wrong = "momentum, betas and average must be in 0..1, below 1";
    else if (!(o->weight_decay >= 0) || !(o->clip_norm >= 0))
        wrong = "weight decay and gradient norm must not be negative";
    else if (!share(o->smoothing) || !share(o->teacher_part) ||
             !(o->warm_up >= 0 && o->warm_up < 1))
        wrong = "smoothing, teacher part and warm-up must be in 0..1";
    else if (o->teacher && !(o->temperature > 0))
        wrong = "the temperature must be above 0";
    else if (o->loss == PITH_DISTILL && !o->teacher)
        wrong = "distillation needs a teacher";
    else if (o->loss == PITH_SQUARED_ERROR && o->teacher)
        wrong = "a teacher is for classes, not for squared error";
    else if ((o->keep_best || o->patience) && !r->val)
        wrong = "keeping the best epoch needs validation data";
    return wrong ? pith_error_set(r->err, PITH_ERR_ARGUMENT, "%s", wrong) : PITH_OK;
}

/* The value that holds the logits of output 0. */
static uint32_t scores_of(const struct pith_model *m, bool *softmax)
{
    uint32_t out = m->outputs[0];
    *softmax = false;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i].out[0] == out && m->nodes[i].op == PITH_OP_SOFTMAX &&
            m->values[out].rank == 2 && m->nodes[i].attr[ATTR_SOFTMAX_AXIS] == 1) {
            *softmax = true;
            return m->nodes[i].in[0];
        }
    return out;
}

static enum pith_status check_scores(const struct run *r, const struct pith_data *train)
{
    const struct pith_value *in = &r->m->values[r->m->inputs[0]], *y = &r->m->values[r->scores];
    uint64_t elems = 1, outs = 1;
    for (uint32_t i = 0; i < in->rank; i++)
        elems *= in->dim[i];
    for (uint32_t i = 0; i < y->rank; i++)
        outs *= y->dim[i];
    if (r->m->n_inputs != 1 || in->type != PITH_F32)
        return pith_error_set(r->err, PITH_ERR_UNSUPPORTED,
                              "training takes networks with one input, of f32");
    if (pith_data_elems(train) != elems)
        return pith_error_set(r->err, PITH_ERR_ARGUMENT,
                              "samples have %" PRIu64 " values, input '%.100s' takes %" PRIu64,
                              pith_data_elems(train), in->name, elems);
    if (r->opts->loss == PITH_SQUARED_ERROR)
        return pith_data_target_elems(train) == outs
                   ? PITH_OK
                   : pith_error_set(r->err, PITH_ERR_ARGUMENT,
                                    "samples have %" PRIu64 " targets, output 0 has %" PRIu64
                                    " elements",
                                    pith_data_target_elems(train), outs);
    if (y->rank != 2 || outs < 2 || outs > LOSS_MAX_CLASSES)
        return pith_error_set(r->err, PITH_ERR_UNSUPPORTED,
                              "output 0 is not a row of 2 to %u classes", LOSS_MAX_CLASSES);
    return PITH_OK;
}

/* ---- one step -----------------------------------------------------------------------------------
 */

static void loss_of_slice(void *arg, uint32_t slice)
{
    struct run *r = arg;
    const struct pith_train_opts *o = r->opts;
    uint32_t n = o->batch / PITH_TRAIN_SLICES;
    struct tape_tensor *y = pith_tape_value(r->tape, slice, r->scores);
    uint64_t each = shape_elems(&y->shape) / n;
    if (o->loss == PITH_SQUARED_ERROR) {
        r->part[slice] =
            pith_loss_squares(n, each, y->data, pith_batch_targets(r->batch, slice), y->grad);
        return;
    }
    const float *teacher =
        r->teacher ? pith_tape_value(r->teacher, slice, r->teacher_scores)->data : NULL;
    float kl = o->loss == PITH_DISTILL ? 1.0f : r->teacher ? o->teacher_part : 0.0f;
    const int64_t *label = o->loss == PITH_DISTILL ? NULL : pith_batch_labels(r->batch, slice);
    r->part[slice] = pith_loss_classes(n, (uint32_t)each, y->data, label, o->smoothing, kl,
                                       o->temperature, teacher, y->grad);
}

static void copy_input(void *arg, uint32_t slice)
{
    struct run *r = arg;
    struct tape_tensor *from = pith_tape_input(r->tape, slice, 0);
    memcpy(pith_tape_input(r->teacher, slice, 0)->data, from->data,
           shape_elems(&from->shape) * sizeof(float));
}

/* What is drawn depends on the run's seed and the place in the run alone. */
static void augment_slice(void *arg, uint32_t slice)
{
    struct run *r = arg;
    struct tape_tensor *x = pith_tape_input(r->tape, slice, 0);
    uint32_t per_slice = x->shape.dim[0], c = x->shape.dim[1], h = x->shape.dim[2];
    size_t each = shape_product(&x->shape, 1, 4);
    for (uint32_t i = 0; i < per_slice; i++) {
        uint64_t state = r->opts->seed * UINT64_C(0x9e3779b97f4a7c15) + r->step * r->opts->batch +
                         (uint64_t)slice * per_slice + i;
        pith_augment(&r->augment, next_random(&state), c, h, x->shape.dim[3],
                     (float *)x->data + i * each, r->augment_scratch + slice * each);
    }
}

/* The first node whose output is not finite, for the message. */
static const char *first_not_finite(const struct run *r)
{
    for (uint32_t i = 0; i < r->m->n_nodes; i++)
        for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++) {
            const struct tape_tensor *y = pith_tape_value(r->tape, s, r->m->nodes[i].out[0]);
            const float *v = y && y->type == PITH_F32 ? y->data : NULL;
            for (size_t k = 0; v && k < shape_elems(&y->shape); k++)
                if (!isfinite(v[k]))
                    return r->m->nodes[i].name;
        }
    return NULL;
}

static enum pith_status not_finite(const struct run *r, const char *what)
{
    const char *node = first_not_finite(r);
    return pith_error_set(
        r->err, PITH_ERR_GOAL, "%s is not finite at step %" PRIu64 "%s%.100s%s: try a lower rate",
        what, r->step + 1, node ? ", first in node '" : "", node ? node : "", node ? "'" : "");
}

static enum pith_status train_step(struct run *r, uint64_t i)
{
    enum pith_status status = pith_batch_load(r->batch, r->tape, i, r->err);
    if (status)
        return status;
    if (r->augment_scratch)
        pith_tape_slices(r->tape, augment_slice, r);
    if (r->teacher) {
        pith_tape_slices(r->tape, copy_input, r);
        pith_tape_forward(r->teacher);
    }
    pith_tape_forward(r->tape);
    pith_tape_slices(r->tape, loss_of_slice, r);
    double loss = 0;
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++) {
        loss += r->part[s].loss;
        r->right += r->part[s].right;
    }
    if (!isfinite(loss))
        return not_finite(r, "the loss");
    r->sum += loss;
    pith_tape_backward(r->tape);
    double rate = pith_schedule_rate(r->opts, r->step, r->n_steps);
    if (!isfinite(pith_optimizer_step(r->optimizer, rate, r->opts->batch)))
        return not_finite(r, "the gradient");
    r->step++;
    return PITH_OK;
}

/* ---- epochs -------------------------------------------------------------------------------------
 */

static enum pith_status close_epoch(struct run *r, struct pith_train_progress *p, double samples)
{
    p->loss = r->sum / samples;
    p->accuracy = r->opts->loss == PITH_CROSS_ENTROPY ? (double)r->right / samples : NAN;
    p->val_loss = p->val_accuracy = NAN;
    p->step = r->step;
    pith_tape_store(r->tape, r->m);
    pith_optimizer_store(r->optimizer, r->m);
    if (r->val) {
        enum pith_status status =
            pith_validate(r->m, r->val, r->opts->loss, r->softmax, r->opts->threads, &p->val_loss,
                          &p->val_accuracy, r->err);
        if (status)
            return status;
    }
    bool better = !r->opts->keep_best || p->val_loss < r->best_loss;
    r->result->epochs = p->epoch;
    if (!better)
        return PITH_OK;
    r->best_loss = p->val_loss;
    r->result->best_epoch = p->epoch;
    r->result->loss = p->loss;
    r->result->accuracy = p->accuracy;
    r->result->val_loss = p->val_loss;
    r->result->val_accuracy = p->val_accuracy;
    if (r->opts->keep_best)
        pith_snapshot_take(r->best, r->m);
    return PITH_OK;
}

static enum pith_status train_epoch(struct run *r, uint32_t epoch, bool *stop)
{
    uint64_t start = pith_clock_ns(NULL), batches = pith_batch_count(r->batch), done = 0;
    struct pith_train_progress p = {
        .epoch = epoch, .n_epochs = r->opts->epochs, .n_steps = r->n_steps};
    enum pith_status status = PITH_OK;
    r->sum = 0;
    r->right = 0;
    pith_batch_shuffle(r->batch, r->opts->seed, epoch);
    for (; done < batches && !status && !*stop; done++) {
        status = train_step(r, done);
        *stop = r->opts->stop && r->opts->stop(r->opts->user);
    }
    if (!status)
        status = close_epoch(r, &p, (double)done * r->opts->batch);
    if (status)
        return status;
    p.rate = pith_schedule_rate(r->opts, r->step - 1, r->n_steps);
    p.seconds = 1e-9 * (double)(pith_clock_ns(NULL) - start);
    if (r->opts->progress)
        r->opts->progress(r->opts->user, &p);
    if (r->opts->patience && epoch - r->result->best_epoch >= r->opts->patience)
        *stop = true;
    return PITH_OK;
}

static enum pith_status train_epochs(struct run *r)
{
    enum pith_status status = PITH_OK;
    bool stop = false;
    r->best_loss = INFINITY;
    r->n_steps = pith_batch_count(r->batch) * r->opts->epochs;
    for (uint32_t epoch = 1; epoch <= r->opts->epochs && !status && !stop; epoch++)
        status = train_epoch(r, epoch, &stop);
    if (status)
        pith_snapshot_restore(r->before, r->m);
    else if (r->opts->keep_best)
        pith_snapshot_restore(r->best, r->m);
    return status;
}

/* ---- the whole ----------------------------------------------------------------------------------
 */

static void count_parameters(struct run *r)
{
    uint32_t n;
    const struct tape_parameter *p = pith_tape_parameters(r->tape, &n);
    for (uint32_t i = 0; i < r->m->n_values; i++)
        if (r->m->values[i].constant && r->m->values[i].type == PITH_F32)
            r->result->n_parameters += r->m->values[i].constant->count;
    for (uint32_t i = 0; i < n; i++)
        r->result->n_trained += p[i].count;
}

static enum pith_status open_tapes(struct run *r)
{
    struct tape_opts o = {.batch = r->opts->batch,
                          .threads = r->opts->threads,
                          .hint = &r->scores,
                          .n_hints = r->softmax,
                          .training = true};
    enum pith_status status = pith_tape_new(r->m, &o, &r->tape, r->err);
    bool softmax;
    o.training = false;
    o.n_hints = 0;
    if (!status && r->opts->teacher) {
        status = pith_tape_new(r->opts->teacher, &o, &r->teacher, r->err);
        r->teacher_scores = scores_of(r->opts->teacher, &softmax);
    }
    if (status || !r->teacher)
        return status;
    const struct tape_tensor *x = pith_tape_input(r->tape, 0, 0);
    const struct tape_tensor *y = pith_tape_value(r->tape, 0, r->scores);
    if (!pith_shape_equal(&x->shape, &pith_tape_input(r->teacher, 0, 0)->shape) ||
        !pith_shape_equal(&y->shape, &pith_tape_value(r->teacher, 0, r->teacher_scores)->shape))
        return pith_error_set(r->err, PITH_ERR_ARGUMENT,
                              "the teacher's input or classes differ from the network's");
    return PITH_OK;
}

static enum pith_status open_augment(struct run *r)
{
    const struct pith_value *x = &r->m->values[r->m->inputs[0]];
    if (!r->opts->augment)
        return PITH_OK;
    enum pith_status status = pith_augment_parse(r->opts->augment, &r->augment, r->err);
    if (status || !pith_augment_any(&r->augment))
        return status;
    if (x->rank != 4)
        return pith_error_set(r->err, PITH_ERR_ARGUMENT,
                              "augmentation is for pictures; input '%.100s' has %u axes, not 4",
                              x->name, x->rank);
    size_t each = (size_t)x->dim[1] * x->dim[2] * x->dim[3];
    r->augment_scratch = malloc(PITH_TRAIN_SLICES * each * sizeof *r->augment_scratch);
    return r->augment_scratch
               ? PITH_OK
               : pith_error_set(r->err, PITH_ERR_MEMORY, "not enough memory to train");
}

static enum pith_status open_run(struct run *r, struct pith_data *train)
{
    enum pith_status status = check_opts(r);
    if (status)
        return status;
    r->scores = scores_of(r->m, &r->softmax);
    if (r->opts->loss == PITH_SQUARED_ERROR)
        r->scores = r->m->outputs[0];
    status = check_scores(r, train);
    if (!status)
        status = open_augment(r);
    if (!status)
        status = open_tapes(r);
    const struct pith_value *y = &r->m->values[r->scores];
    uint32_t classes = r->opts->loss == PITH_CROSS_ENTROPY ? y->dim[y->rank - 1] : 0;
    if (!status)
        status = pith_batch_new(train, r->opts->batch / PITH_TRAIN_SLICES, classes,
                                r->opts->loss == PITH_SQUARED_ERROR, &r->batch, r->err);
    if (!status)
        status = pith_optimizer_new(r->m, r->tape, r->opts, &r->optimizer, r->err);
    if (!status && (pith_snapshot_new(r->m, &r->before) ||
                    (r->opts->keep_best && pith_snapshot_new(r->m, &r->best))))
        status = pith_error_set(r->err, PITH_ERR_MEMORY, "not enough memory to train");
    return status;
}

enum pith_status pith_train(struct pith_model *m, struct pith_data *train, struct pith_data *val,
                            const struct pith_train_opts *opts, struct pith_train_result *result,
                            struct pith_error *err)
{
    struct pith_train_opts o = *opts;
    struct pith_train_result made = {0};
    struct run r = {.m = m, .val = val, .opts = &o, .err = err, .result = &made};
    enum pith_status status = open_run(&r, train);
    if (!status) {
        count_parameters(&r);
        status = train_epochs(&r);
    }
    pith_optimizer_free(r.optimizer);
    pith_batch_free(r.batch);
    free(r.augment_scratch);
    pith_tape_free(r.tape);
    pith_tape_free(r.teacher);
    pith_snapshot_free(r.before);
    pith_snapshot_free(r.best);
    if (!status)
        *result = made;
    return status;
}
