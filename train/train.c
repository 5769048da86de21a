/* SPDX-License-Identifier: MIT */
/* train.c - the loop: batches forward and backward, steps, epochs, validation, the best kept.
 *
 * Classes are learned on logits: where the network ends in Softmax, the loss is put before it. The
 * model is changed in place at the end of each epoch and put back as it was on failure. */
#include "augment_batch.h"
#include "checkpoint.h"
#include "feed_batch.h"
#include "hint_loss.h"
#include "shuffle.h"
#include "loss.h"
#include "model_state.h"
#include "op.h"
#include "optimizer.h"
#include "pith_host.h"
#include "pith_train.h"
#include "ranks.h"
#include "run_identity.h"
#include "schedule.h"
#include "snapshot.h"
#include "teacher_memory.h"
#include "unit_order.h"
#include "validate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct run {
    struct pith_model *m;
    struct pith_data *train, *val;
    const struct pith_train_opts *opts;
    struct pith_error *err;
    struct tape *tape, *teacher;
    uint32_t scores, teacher_scores; /* values of the models */
    struct teacher_memory *memory;   /* NULL: the teacher is asked at each step */
    uint32_t version;                /* that the samples are shown in */
    bool softmax;                    /* stands behind scores */
    struct hint_loss *hints;
    struct teacher_answers answers; /* judge the epochs where there are no labels */
    struct augment_batch *augment; /* NULL: samples stay as they are */
    struct feed_batch *batch;
    struct optimizer *optimizer;
    struct snapshot *before, *best;
    uint64_t step, n_steps;
    uint32_t epoch; /* from 1 */
    uint64_t done;  /* batches of the epoch */
    bool over;      /* by what the options say, before the last epoch */
    double sum, best_loss;
    uint64_t right;
    struct checkpoint *checkpoint; /* NULL: none are written */
    struct pith_buffer model_state, best_state; /* of checkpoints alone */
    struct pith_train_progress *past;           /* [epochs] */
    bool asked_to_stop;                         /* in the last step */
    uint64_t saved;                             /* step of the last checkpoint */
    struct loss_part part[PITH_TRAIN_SLICES];
    struct pith_train_result *result;
};

void pith_train_opts_init(struct pith_train_opts *opts, uint32_t size_bytes)
{
    struct pith_train_opts o = {.size_bytes = size_bytes,
                                .epochs = 10,
                                .batch = 128,
                                .seed = 1,
                                .rate = 1e-3f,
                                .momentum = 0.9f,
                                .beta1 = 0.9f,
                                .beta2 = 0.999f,
                                .step_factor = 0.1f,
                                .temperature = 2.0f,
                                .teacher_part = 0.7f,
                                .noise_weight = 1,
                                .prune_until = 0.8f,
                                .prune_power = 1.5f,
                                .prune_every = 50,
                                .first_step = 0.7f,
                                .rate_ramp = 0.2f};
    memset(opts, 0, size_bytes);
    memcpy(opts, &o, size_bytes < sizeof o ? size_bytes : sizeof o);
}

/* What a caller of an older version does not know has its default; what one of a newer version
 * sets, and this one does not know, cannot be honoured. */
static enum pith_status take_opts(const struct pith_train_opts *given, struct pith_train_opts *opts,
                                  struct pith_error *err)
{
    const uint8_t *p = (const uint8_t *)given;
    bool known = given->size_bytes >= sizeof given->size_bytes;
    for (uint32_t i = sizeof *given; i < given->size_bytes; i++)
        known = known && p[i] == 0;
    if (!known)
        return pith_error_set(err, PITH_ERR_ARGUMENT, "options of another version");
    pith_train_opts_init(opts, sizeof *opts);
    memcpy(opts, given, given->size_bytes < sizeof *opts ? given->size_bytes : sizeof *opts);
    opts->size_bytes = sizeof *opts;
    return PITH_OK;
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
    else if (!(o->sparsity >= 0 && o->sparsity < 1) || !(o->prune_until > 0 && o->prune_until <= 1))
        wrong = "sparsity must be in 0..1, below 1, and prune_until in 0..1, above 0";
    else if (o->prune_every == 0 || !(o->prune_power > 0) || !share(o->regrow) ||
             !share(o->rate_ramp))
        wrong = "prune_every and prune_power must be above 0, regrow and rate_ramp in 0..1";
    else if (o->levels > 127 || o->bias_levels > 127 || !(o->first_step > 0))
        wrong = "a grid has at most 127 levels, and its first step is above 0";
    else if ((o->score == PITH_SCORE_GATES || o->score == PITH_SCORE_VARIATIONAL) &&
             (o->levels || !(o->noise_weight >= 0) || !isfinite(o->noise_weight)))
        wrong = "gates and variational dropout are without levels, their weight not negative";
    else if (!(o->softness >= 0) || !isfinite(o->softness))
        wrong = "softness must not be negative";
    else if (!(o->rate_weight >= 0) || !isfinite(o->rate_weight))
        wrong = "the weight of the rate must not be negative";
    else if (o->ranks && (o->ranks->count == 0 || o->ranks->rank >= o->ranks->count ||
                          PITH_TRAIN_SLICES % o->ranks->count))
        wrong = "a batch can be shared by 1, 2, 4 or 8 processes";
    else if (o->resume && !o->checkpoint)
        wrong = "going on needs the folder of the checkpoint";
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
    const float *share = pith_augment_shares(r->augment, slice);
    uint64_t each = shape_elems(&y->shape) / n;
    if (o->loss == PITH_SQUARED_ERROR) {
        float *target = pith_batch_targets(r->batch, slice);
        if (share)
            pith_mix_pairs(share, n, each, target);
        r->part[slice] = pith_loss_squares(n, each, y->data, target, y->grad);
        return;
    }
    const float *teacher = NULL;
    if (r->memory)
        teacher = pith_memory_get(r->memory, r->version, pith_batch_numbers(r->batch, slice), slice);
    else if (r->teacher)
        teacher = pith_tape_value(r->teacher, slice, r->teacher_scores)->data;
    float kl = o->loss == PITH_DISTILL ? 1.0f : r->teacher ? o->teacher_part : 0.0f;
    const int64_t *label = o->loss == PITH_DISTILL ? NULL : pith_batch_labels(r->batch, slice);
    r->part[slice] = pith_loss_classes(n, (uint32_t)each, y->data, label, o->smoothing, kl,
                                       o->temperature, teacher, y->grad);
    if (share && label)
        r->part[slice].loss += pith_loss_mixed(n, (uint32_t)each, y->data, label, share,
                                               o->smoothing, kl, y->grad);
    r->part[slice].loss += pith_hint_loss(r->hints, r->tape, r->teacher, slice, n);
}

static void copy_input(void *arg, uint32_t slice)
{
    struct run *r = arg;
    struct tape_tensor *from = pith_tape_input(r->tape, slice, 0);
    memcpy(pith_tape_input(r->teacher, slice, 0)->data, from->data,
           shape_elems(&from->shape) * sizeof(float));
}

/* What is drawn depends on the run's seed and the place in the run alone, or on the sample and the
 * version of it. */
static void augment_slice(void *arg, uint32_t slice)
{
    struct run *r = arg;
    uint32_t n = r->opts->batch / PITH_TRAIN_SLICES;
    bool versions = r->opts->versions > 0;
    uint64_t first = versions ? r->version * pith_data_count(r->train)
                              : r->step * r->opts->batch + (uint64_t)slice * n;
    pith_augment_slice(r->augment, r->opts->seed, first,
                       versions ? pith_batch_numbers(r->batch, slice) : NULL, slice,
                       pith_tape_input(r->tape, slice, 0));
}

static void keep_answers(void *arg, uint32_t slice)
{
    struct run *r = arg;
    pith_memory_put(r->memory, r->version, pith_batch_numbers(r->batch, slice),
                     pith_tape_value(r->teacher, slice, r->teacher_scores)->data);
}

/* In the order of the data set: a run that goes on later gets the same answers. */
static enum pith_status ask_teacher(struct run *r)
{
    const struct tape_tensor *y = pith_tape_value(r->tape, 0, r->scores);
    uint64_t n = pith_data_count(r->train);
    if (!r->teacher || !r->opts->versions || r->opts->n_hints || pith_augment_mixes(r->augment))
        return PITH_OK;
    r->memory = pith_memory_new(r->opts->versions, n, r->opts->batch / PITH_TRAIN_SLICES,
                                  y->shape.dim[y->shape.rank - 1]);
    if (!r->memory)
        return pith_error_set(r->err, PITH_ERR_MEMORY, "not enough memory to train");
    pith_batch_in_order(r->batch);
    for (r->version = 0; r->version < r->opts->versions; r->version++)
        for (uint64_t i = 0; i * r->opts->batch < n; i++) {
            enum pith_status status = pith_batch_load(r->batch, r->tape, i, r->err);
            if (status)
                return status;
            if (r->augment)
                pith_tape_slices(r->tape, augment_slice, r);
            pith_tape_slices(r->tape, copy_input, r);
            pith_tape_forward(r->teacher);
            pith_tape_slices(r->tape, keep_answers, r);
        }
    return PITH_OK;
}

/* The first node whose output is not finite, for the message; UINT32_MAX: none. */
static uint32_t first_not_finite(const struct run *r)
{
    for (uint32_t i = 0; i < r->m->n_nodes; i++)
        for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++) {
            const struct tape_tensor *y = pith_tape_value(r->tape, s, r->m->nodes[i].out[0]);
            const float *v = y && y->type == PITH_F32 ? y->data : NULL;
            for (size_t k = 0; v && k < shape_elems(&y->shape); k++)
                if (!isfinite(v[k]))
                    return i;
        }
    return UINT32_MAX;
}

static enum pith_status not_finite(const struct run *r, const char *what)
{
    uint32_t first = pith_ranks_least(r->opts->ranks, first_not_finite(r));
    const char *node = first == UINT32_MAX ? NULL : r->m->nodes[first].name;
    char saved[64] = "";
    if (r->saved)
        snprintf(saved, sizeof saved, "; the checkpoint is of step %" PRIu64, r->saved);
    return pith_error_set(
        r->err, PITH_ERR_GOAL, "%s is not finite at step %" PRIu64 "%s%.100s%s: try a lower rate%s",
        what, r->step + 1, node ? ", first in node '" : "", node ? node : "", node ? "'" : "",
        saved);
}

/* Over all slices, along the tree of ranks.h. */
static double add_losses(struct run *r)
{
    uint32_t first, n = pith_tape_own_slices(r->tape, &first);
    struct loss_part *part = r->part + first;
    for (uint32_t wide = 1; wide < n; wide *= 2)
        for (uint32_t s = 0; s < n; s += 2 * wide) {
            part[s].loss += part[s + wide].loss;
            part[s].right += part[s + wide].right;
        }
    double sum[2] = {part[0].loss, part[0].right}, other[2];
    pith_ranks_add_doubles(r->opts->ranks, sum, 2, other);
    r->right += (uint64_t)sum[1];
    return sum[0];
}

/* Ranks meet once in a step, behind the gradients: who has no samples goes on with what is there,
 * for the others wait for its part of the sums. */
static enum pith_status train_step(struct run *r, uint64_t i)
{
    enum pith_status status = pith_batch_load(r->batch, r->tape, i, r->err);
    if (status && !r->opts->ranks)
        return status;
    if (r->augment)
        pith_tape_slices(r->tape, augment_slice, r);
    if (r->teacher && !r->memory) {
        pith_tape_slices(r->tape, copy_input, r);
        pith_tape_forward(r->teacher);
    }
    pith_tape_forward(r->tape);
    pith_tape_slices(r->tape, loss_of_slice, r);
    pith_tape_backward(r->tape);
    status = pith_ranks_agree(r->opts->ranks, status, r->err);
    if (status)
        return status;
    r->asked_to_stop = pith_ranks_any(r->opts->ranks,
                                      r->opts->stop && r->opts->stop(r->opts->user));
    double loss = add_losses(r);
    if (!isfinite(loss))
        return not_finite(r, "the loss");
    r->sum += loss;
    double rate = pith_schedule_rate(r->opts, r->step, r->n_steps);
    if (!isfinite(pith_optimizer_step(r->optimizer, rate, r->opts->batch)))
        return not_finite(r, "the gradient");
    r->step++;
    return PITH_OK;
}

/* ---- checkpoints --------------------------------------------------------------------------------
 */

static enum pith_status no_memory(const struct run *r)
{
    return pith_error_set(r->err, PITH_ERR_MEMORY, "not enough memory to train");
}

/* All ranks must be at the same run. */
static enum pith_status compare_identity(const struct run *r, const char *identity)
{
    uint64_t own = pith_run_identity_hash(identity), first = own;
    pith_ranks_share(r->opts->ranks, 0, &first, sizeof first);
    return first == own ? PITH_OK
                        : pith_error_set(r->err, PITH_ERR_ARGUMENT,
                                         "process %u has another model, other data or other "
                                         "options than process 0",
                                         r->opts->ranks->rank);
}

/* Before anything of the model is changed: it is part of what tells the run. */
static enum pith_status open_checkpoint(struct run *r, struct pith_data *train)
{
    char *identity = NULL;
    const struct pith_ranks *ranks = r->opts->ranks;
    if (!r->opts->checkpoint && !ranks)
        return PITH_OK;
    r->past = calloc(r->opts->epochs, sizeof *r->past);
    enum pith_status status =
        r->past ? pith_run_identity(r->m, train, r->val, r->opts, &identity, r->err) : no_memory(r);
    status = pith_ranks_agree(ranks, status, r->err);
    if (!status && ranks)
        status = pith_ranks_agree(ranks, compare_identity(r, identity), r->err);
    if (!status && r->opts->checkpoint)
        status = pith_checkpoint_open(r->opts->checkpoint, identity, ranks, &r->checkpoint, r->err);
    free(identity);
    return status;
}

/* Whatever a step or an epoch leaves for the next one belongs here, or in what is called. */
static void add_state(struct run *r)
{
    struct checkpoint *c = r->checkpoint;
    uint32_t n;
    struct tape_parameter *statistic = pith_tape_statistics(r->tape, &n);
    pith_checkpoint_add(c, "epoch", 0, &r->epoch, sizeof r->epoch);
    pith_checkpoint_add(c, "batches", 0, &r->done, sizeof r->done);
    pith_checkpoint_add(c, "over", 0, &r->over, sizeof r->over);
    pith_checkpoint_add(c, "step", 0, &r->step, sizeof r->step);
    pith_checkpoint_add(c, "sum", 0, &r->sum, sizeof r->sum);
    pith_checkpoint_add(c, "right", 0, &r->right, sizeof r->right);
    pith_checkpoint_add(c, "best loss", 0, &r->best_loss, sizeof r->best_loss);
    pith_checkpoint_add(c, "result", 0, r->result, sizeof *r->result);
    pith_checkpoint_add(c, "past", 0, r->past, r->opts->epochs * sizeof *r->past);
    for (uint32_t i = 0; i < n; i++)
        pith_checkpoint_add(c, "statistic", i, statistic[i].data,
                            statistic[i].count * sizeof *statistic[i].data);
    pith_optimizer_state(r->optimizer, c);
    pith_checkpoint_add_buffer(c, "model", &r->model_state);
    pith_checkpoint_add_buffer(c, "best", &r->best_state);
}

static enum pith_status save(struct run *r)
{
    enum pith_status status = pith_model_state_save(r->m, &r->model_state);
    status = pith_ranks_agree(r->opts->ranks, status ? no_memory(r) : PITH_OK, r->err);
    if (!status)
        status = pith_checkpoint_write(r->checkpoint, r->err);
    pith_buffer_free(&r->model_state);
    if (!status)
        r->saved = r->step;
    return status;
}

static enum pith_status take_models(struct run *r)
{
    enum pith_status status = PITH_OK;
    if (r->best_state.bytes) {
        status = pith_model_state_load(&r->best_state, r->m);
        if (!status && r->best)
            status = pith_snapshot_take(r->best, r->m);
    }
    if (!status)
        status = pith_model_state_load(&r->model_state, r->m);
    pith_buffer_free(&r->model_state);
    return status;
}

/* From the checkpoint, where there is one: as if the run had never stopped, reports included. */
static enum pith_status go_on(struct run *r)
{
    bool found = false;
    uint64_t batches = pith_batch_count(r->batch);
    enum pith_status status = pith_checkpoint_read(r->checkpoint, &found, r->err);
    if (status || !found)
        return status;
    status = pith_ranks_agree(r->opts->ranks, take_models(r), r->err);
    if (status == PITH_ERR_MEMORY)
        return no_memory(r);
    if (status || r->epoch < 1 || r->epoch > r->opts->epochs + 1 || r->done > batches ||
        r->step != (r->epoch - 1) * batches + r->done || r->result->epochs != r->epoch - 1)
        return pith_error_set(r->err, PITH_ERR_CORRUPT, "'%.200s' does not hold a state of this run",
                              pith_checkpoint_path(r->checkpoint));
    r->saved = r->step;
    for (uint32_t i = 0; i < r->result->epochs && r->opts->progress; i++)
        r->opts->progress(r->opts->user, &r->past[i]);
    return PITH_OK;
}

static enum pith_status start_or_go_on(struct run *r)
{
    r->epoch = 1;
    r->best_loss = INFINITY;
    if (!r->checkpoint)
        return PITH_OK;
    add_state(r);
    return r->opts->resume ? go_on(r) : pith_checkpoint_remove(r->checkpoint, r->err);
}

/* ---- epochs -------------------------------------------------------------------------------------
 */

/* An epoch before the last removals has more weights than were asked for. */
static bool thin_enough(const struct run *r)
{
    double part = (double)r->step / (double)r->n_steps;
    return !(r->opts->sparsity > 0) || part >= (double)r->opts->prune_until;
}

/* Nothing more is asked for: the run ends with this epoch's network, whatever its loss. */
static bool good_enough(const struct run *r, const struct pith_train_progress *p)
{
    return r->opts->enough > 0 && p->val_accuracy >= r->opts->enough && thin_enough(r);
}

/* What the best epoch has least of: the loss on samples not trained on, and the rate. */
static double objective(const struct run *r, const struct pith_train_progress *p)
{
    double bits = r->opts->rate_weight > 0 && r->opts->levels ? 8 * p->bytes : 0;
    return p->val_loss + (double)r->opts->rate_weight * bits / (double)r->result->n_weights;
}

static enum pith_status close_epoch(struct run *r, struct pith_train_progress *p, double samples)
{
    p->loss = r->sum / samples;
    p->accuracy = r->opts->loss == PITH_CROSS_ENTROPY ? (double)r->right / samples : NAN;
    p->val_loss = p->val_accuracy = NAN;
    p->step = r->step;
    pith_tape_store(r->tape, r->m);
    pith_optimizer_store(r->optimizer);
    p->kept = pith_optimizer_kept(r->optimizer);
    p->bytes = pith_optimizer_bytes(r->optimizer);
    if (r->val) {
        enum pith_status status =
            pith_validate(r->m, r->val, r->opts->loss, r->softmax, r->opts->threads,
                          r->opts->ranks, r->answers.log_p ? &r->answers : NULL, &p->val_loss, &p->val_accuracy,
                          r->err);
        if (status)
            return status;
    }
    bool better = !r->opts->keep_best || good_enough(r, p) ||
                  (thin_enough(r) && objective(r, p) < r->best_loss);
    r->result->epochs = p->epoch;
    if (!better)
        return PITH_OK;
    r->best_loss = objective(r, p);
    r->result->best_epoch = p->epoch;
    r->result->loss = p->loss;
    r->result->accuracy = p->accuracy;
    r->result->val_loss = p->val_loss;
    r->result->val_accuracy = p->val_accuracy;
    r->result->kept = p->kept;
    r->result->bytes = p->bytes;
    if ((r->opts->keep_best && pith_snapshot_take(r->best, r->m)) ||
        (r->opts->keep_best && r->checkpoint && pith_model_state_save(r->m, &r->best_state)))
        return no_memory(r);
    return PITH_OK;
}

/* A checkpoint where one is due. *stop: somebody wants the run to end, which must leave no trace in
 * what goes on from here: the epoch is closed after it. */
static enum pith_status train_batches(struct run *r, bool *stop)
{
    uint32_t every = r->opts->checkpoint_every;
    enum pith_status status = PITH_OK;
    while (r->done < pith_batch_count(r->batch) && !status && !*stop) {
        status = train_step(r, r->done);
        r->done++;
        *stop = r->asked_to_stop;
        if (!status && r->checkpoint && (*stop || (every && r->step % every == 0)))
            status = save(r);
    }
    return status;
}

static enum pith_status train_epoch(struct run *r, bool *stop)
{
    uint64_t start = pith_clock_ns(NULL);
    struct pith_train_progress p = {
        .epoch = r->epoch, .n_epochs = r->opts->epochs, .n_steps = r->n_steps};
    if (r->done == 0) {
        r->sum = 0;
        r->right = 0;
    }
    r->version = r->opts->versions ? (r->epoch - 1) % r->opts->versions : 0;
    pith_batch_shuffle(r->batch, r->opts->seed, r->epoch);
    enum pith_status status = train_batches(r, stop);
    if (!status)
        status = pith_ranks_agree(r->opts->ranks,
                                  close_epoch(r, &p, (double)r->done * r->opts->batch), r->err);
    if (status)
        return status;
    p.rate = pith_schedule_rate(r->opts, r->step - 1, r->n_steps);
    p.seconds = 1e-9 * (double)(pith_clock_ns(NULL) - start);
    if (r->past)
        r->past[r->epoch - 1] = p;
    if (r->opts->progress)
        r->opts->progress(r->opts->user, &p);
    r->over = good_enough(r, &p) ||
              (r->opts->patience && r->epoch - r->result->best_epoch >= r->opts->patience);
    if (*stop)
        return PITH_OK;
    r->epoch++;
    r->done = 0;
    bool last = r->over || r->epoch > r->opts->epochs;
    return r->checkpoint && (last || !r->opts->checkpoint_every) ? save(r) : PITH_OK;
}

static enum pith_status train_epochs(struct run *r)
{
    enum pith_status status = PITH_OK;
    bool stop = false;
    while (r->epoch <= r->opts->epochs && !r->over && !status && !stop)
        status = train_epoch(r, &stop);
    if (!status && r->opts->keep_best)
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
    for (uint32_t i = 0; i < n; i++) {
        r->result->n_trained += p[i].count;
        r->result->n_weights += p[i].is_weight ? p[i].count : 0;
    }
}

static enum pith_status open_tapes(struct run *r)
{
    struct tape_opts o = {
        .batch = r->opts->batch, .threads = r->opts->threads, .training = true,
        .ranks = r->opts->ranks};
    enum pith_status status =
        pith_hints_new(r->m, r->opts, r->softmax ? &r->scores : NULL, &r->hints, r->err);
    if (status)
        return status;
    o.hint = pith_hints_values(r->hints, &o.n_hints);
    status = pith_tape_new(r->m, &o, &r->tape, r->err);
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
    return pith_hints_check(r->hints, r->tape, r->teacher, r->err);
}

static enum pith_status open_answers(struct run *r)
{
    bool softmax;
    if (!r->val || r->opts->loss != PITH_DISTILL || pith_data_labelled(r->val))
        return PITH_OK;
    (void)scores_of(r->opts->teacher, &softmax);
    r->answers.temperature = r->opts->temperature;
    return pith_teacher_answers(r->opts->teacher, r->val, softmax, r->opts->threads, &r->answers,
                                r->err);
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
        status = pith_augment_batch_new(r->opts->augment, &r->m->values[r->m->inputs[0]],
                                        r->opts->batch / PITH_TRAIN_SLICES, &r->augment, r->err);
    if (!status)
        status = open_tapes(r);
    if (!status)
        status = open_answers(r);
    const struct pith_value *y = &r->m->values[r->scores];
    uint32_t classes = r->opts->loss == PITH_CROSS_ENTROPY ? y->dim[y->rank - 1] : 0;
    if (!status)
        status = pith_batch_new(train, r->opts->batch / PITH_TRAIN_SLICES, classes,
                                r->opts->loss == PITH_SQUARED_ERROR, &r->batch, r->err);
    if (!status && pith_snapshot_new(r->m, &r->before))
        status = pith_error_set(r->err, PITH_ERR_MEMORY, "not enough memory to train");
    status = pith_ranks_agree(r->opts->ranks, status, r->err);
    if (!status)
        status = open_checkpoint(r, train);
    if (status)
        return status;
    r->n_steps = pith_batch_count(r->batch) * r->opts->epochs;
    status = pith_optimizer_new(r->m, r->tape, r->opts, r->n_steps, &r->optimizer, r->err);
    if (!status && r->opts->keep_best && pith_snapshot_new(r->m, &r->best))
        status = pith_error_set(r->err, PITH_ERR_MEMORY, "not enough memory to train");
    if (!status)
        status = ask_teacher(r);
    status = pith_ranks_agree(r->opts->ranks, status, r->err);
    if (!status && r->memory)
        pith_memory_join(r->memory, r->opts->ranks);
    return status;
}

enum pith_status pith_train(struct pith_model *m, struct pith_data *train, struct pith_data *val,
                            const struct pith_train_opts *opts, struct pith_train_result *result,
                            struct pith_error *err)
{
    struct pith_train_opts o;
    struct pith_train_result made = {0};
    struct run r = {.m = m, .train = train, .val = val, .opts = &o, .err = err, .result = &made};
    enum pith_status status = take_opts(opts, &o, err);
    if (!status)
        status = open_run(&r, train);
    if (!status) {
        count_parameters(&r);
        status = start_or_go_on(&r);
    }
    if (!status)
        status = train_epochs(&r);
    if (!status && (o.sparsity > 0 || o.rate_weight > 0))
        status = pith_order_units(m);
    if (!status && o.units == PITH_UNITS_DROP)
        status = pith_drop_units(m, &made.dropped, err);
    if (status && r.before)
        pith_snapshot_restore(r.before, m);
    pith_optimizer_free(r.optimizer);
    pith_batch_free(r.batch);
    pith_augment_batch_free(r.augment);
    pith_hints_free(r.hints);
    free(r.answers.log_p);
    pith_tape_free(r.tape);
    pith_tape_free(r.teacher);
    pith_memory_free(r.memory);
    pith_snapshot_free(r.before);
    pith_snapshot_free(r.best);
    pith_checkpoint_free(r.checkpoint);
    pith_buffer_free(&r.model_state);
    pith_buffer_free(&r.best_state);
    free(r.past);
    if (!status)
        *result = made;
    return status;
}
