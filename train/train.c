/* SPDX-License-Identifier: MIT */
/* train.c - the loop: epochs of steps, validation, the best kept.
 *
 * Classes are learned on logits: where the network ends in Softmax, the loss is put before it. The
 * model is changed in place at the end of each epoch and put back as it was on failure. */
#include "train_run.h"

#include "train/tape/check_batch.h"
#include "fold_norms.h"
#include "train/state/model_state.h"
#include "pith_host.h"
#include "train/state/ranks.h"
#include "schedule.h"
#include "core/tensor.h"
#include "train/shrink/channel_permutation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- epochs ---------------------------------------------------------------------------------- */

/* An epoch before the last removals has more weights than requested; they are due at the first
 * step that is so far on. */
static bool sparse_enough(const struct run *r)
{
    double part = (double)r->step / (double)r->n_steps;
    return !(r->opts->sparsity > 0) || part >= (double)r->opts->prune_until;
}

/* Every requested goal is met: the run ends with this epoch's network, whatever its loss. */
static bool good_enough(const struct run *r, const struct pith_train_progress *p)
{
    return r->opts->enough > 0 && p->val_accuracy >= r->opts->enough && sparse_enough(r);
}

static void take_result(const struct run *r, const struct pith_train_progress *p)
{
    r->result->loss = p->loss;
    r->result->accuracy = p->accuracy;
    r->result->val_loss = p->val_loss;
    r->result->val_accuracy = p->val_accuracy;
    r->result->kept = p->kept;
    r->result->bytes = p->bytes;
}

/* Whether the epoch is the best so far. Patience counts from there, or from the first epoch that is
 * thin enough to be it. */
static bool is_best(struct run *r, const struct pith_train_progress *p)
{
    bool best = sparse_enough(r) && p->val_loss < r->best_loss;
    if (best)
        r->best_loss = p->val_loss;
    if (best || (sparse_enough(r) && r->patient_from == 0))
        r->patient_from = p->epoch;
    return best;
}

enum pith_status pith_run_validate(struct run *r, const struct pith_model *m, double *loss,
                                   double *accuracy)
{
    const struct validate_opts o = {.data = r->val,
                                    .loss = r->opts->loss,
                                    .probabilities = r->softmax,
                                    .threads = r->opts->threads,
                                    .ranks = r->opts->ranks,
                                    .answers =
                                        r->teaching.answers.log_p ? &r->teaching.answers : NULL};
    return pith_validate(m, &o, loss, accuracy, r->err);
}

/* As the network of integers that it shall be, where it shall. */
static enum pith_status validate(struct run *r, struct pith_train_progress *p)
{
    const struct pith_train_integers *q = r->opts->integers;
    struct pith_model *made = NULL;
    enum pith_status status = pith_fake_graph_remove(r->fake, r->m);
    if (status)
        pith_tape_no_memory(r->err);
    else if (q && q->make)
        status = q->make(q->user, r->m, &made, r->err);
    status = pith_ranks_agree(r->opts->ranks, status, r->err);
    if (!status)
        status = pith_run_validate(r, made ? made : r->m, &p->val_loss, &p->val_accuracy);
    pith_fake_graph_insert(r->fake, r->m);
    pith_model_free(made);
    return status;
}

static enum pith_status close_epoch(struct run *r, struct pith_train_progress *p, double samples)
{
    p->loss = r->counted.sum / samples;
    uint64_t counted = 0;
    for (uint64_t i = 0; i < r->counted.batches; i++)
        counted += pith_batch_counted(r->batch, i);
    p->accuracy = r->opts->loss == PITH_CROSS_ENTROPY && counted
                      ? (double)r->counted.right / (double)counted
                      : NAN;
    p->val_loss = p->val_accuracy = NAN;
    p->step = r->step;
    pith_tape_store(r->tape, r->m);
    pith_optimizer_store(r->optimizer);
    p->kept = pith_optimizer_kept(r->optimizer);
    p->bytes = pith_optimizer_bytes(r->optimizer);
    if (r->val) {
        enum pith_status status = validate(r, p);
        if (status)
            return status;
    }
    bool taken = is_best(r, p) || !r->opts->keep_best || good_enough(r, p);
    r->result->epochs = p->epoch;
    if (taken || r->result->best_epoch == 0) /* where none is ever taken, the last one counts */
        take_result(r, p);
    if (!taken)
        return PITH_OK;
    r->result->best_epoch = p->epoch;
    if ((r->opts->keep_best && pith_snapshot_take(r->best, r->m)) ||
        (r->opts->keep_best && r->saving.checkpoint &&
         pith_model_state_save(r->m, &r->saving.best)))
        return pith_tape_no_memory(r->err);
    return PITH_OK;
}

/* A checkpoint where one is due. *stop: somebody wants the run to end, which must leave no trace in
 * what goes on from here: the epoch is closed after it. */
static enum pith_status train_batches(struct run *r, bool *stop)
{
    uint32_t every = r->opts->checkpoint_every;
    enum pith_status status = PITH_OK;
    while (r->counted.batches < pith_batch_count(r->batch) && !status && !*stop) {
        status = pith_run_step(r, r->counted.batches);
        r->counted.batches++;
        *stop = r->should_stop;
        if (!status && r->saving.checkpoint && (*stop || (every && r->step % every == 0)))
            status = pith_run_save(r);
    }
    return status;
}

static enum pith_status train_epoch(struct run *r, bool *stop)
{
    uint64_t start = pith_clock_ns(NULL);
    struct pith_train_progress p = {
        .epoch = r->epoch, .n_epochs = r->opts->epochs, .n_steps = r->n_steps};
    if (r->counted.batches == 0) {
        r->counted.sum = 0;
        r->counted.right = 0;
    }
    r->version = r->opts->versions ? (r->epoch - 1) % r->opts->versions : 0;
    pith_batch_shuffle(r->batch, r->opts->seed, r->epoch);
    enum pith_status status = train_batches(r, stop);
    if (!status)
        status = pith_ranks_agree(r->opts->ranks,
                                  close_epoch(r, &p, (double)r->counted.batches * r->opts->batch),
                                  r->err);
    if (status)
        return status;
    p.rate = pith_schedule_rate(r->opts, r->step - 1, r->n_steps);
    p.seconds = 1e-9 * (double)(pith_clock_ns(NULL) - start);
    if (r->saving.past)
        r->saving.past[r->epoch - 1] = p;
    if (r->opts->progress)
        r->opts->progress(r->opts->user, &p);
    r->over = good_enough(r, &p) || (r->opts->patience && r->patient_from &&
                                     r->epoch - r->patient_from >= r->opts->patience);
    if (*stop)
        return PITH_OK;
    r->epoch++;
    r->counted.batches = 0;
    bool last = r->over || r->epoch > r->opts->epochs;
    return r->saving.checkpoint && (last || !r->opts->checkpoint_every) ? pith_run_save(r)
                                                                        : PITH_OK;
}

static enum pith_status train_epochs(struct run *r)
{
    enum pith_status status = PITH_OK;
    bool stop = false;
    while (r->epoch <= r->opts->epochs && !r->over && !status && !stop)
        status = train_epoch(r, &stop);
    r->result->stopped = stop;
    if (!status && r->opts->keep_best && r->result->best_epoch)
        pith_snapshot_restore(r->best, r->m);
    else if (!status)
        r->result->best_epoch = r->result->epochs;
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Of the model's first n_values: those behind them are of what rounds. */
static void count_parameters(struct run *r, uint32_t n_values)
{
    uint32_t n;
    const struct tape_parameter *p = pith_tape_parameters(r->tape, &n);
    for (uint32_t i = 0; i < n_values; i++)
        if (r->m->values[i].constant && r->m->values[i].type == PITH_F32)
            r->result->n_parameters += r->m->values[i].constant->count;
    for (uint32_t i = 0; i < n; i++) {
        r->result->n_trained += p[i].value < n_values ? p[i].count : 0;
        r->result->n_weights += p[i].is_weight ? p[i].count : 0;
    }
}

static enum pith_status open_tapes(struct run *r)
{
    struct tape_opts o = {.batch = r->opts->batch,
                          .threads = r->opts->threads,
                          .training = true,
                          .ranks = r->opts->ranks,
                          .unchecked = r->fake != NULL};
    o.feature = &r->scores;
    o.n_features = r->softmax;
    enum pith_status status = pith_tape_new(r->m, &o, &r->tape, r->err);
    bool softmax;
    o.training = o.unchecked = false;
    o.n_features = 0;
    if (!status && r->opts->teacher) {
        status = pith_tape_new(r->opts->teacher, &o, &r->teaching.tape, r->err);
        r->teaching.scores = pith_run_scores(r->opts->teacher, &softmax);
    }
    if (status)
        return status;
    const struct tape_tensor *x = pith_tape_input(r->tape, 0, 0);
    const struct tape_tensor *y = pith_tape_value(r->tape, 0, r->scores);
    if (!y->grad)
        return pith_error_set(r->err, PITH_ERR_UNSUPPORTED,
                              "no float weight has a gradient from output '%.100s'",
                              r->m->values[r->m->outputs[0]].name);
    if (!r->teaching.tape)
        return PITH_OK;
    if (!pith_shape_equal(&x->shape, &pith_tape_input(r->teaching.tape, 0, 0)->shape) ||
        !pith_shape_equal(&y->shape,
                          &pith_tape_value(r->teaching.tape, 0, r->teaching.scores)->shape))
        return pith_error_set(r->err, PITH_ERR_ARGUMENT,
                              "the teacher's input or classes differ from the network's");
    return PITH_OK;
}

static enum pith_status open_answers(struct run *r)
{
    bool softmax;
    if (!r->val || r->opts->loss != PITH_DISTILL || pith_data_labelled(r->val))
        return PITH_OK;
    (void)pith_run_scores(r->opts->teacher, &softmax);
    return pith_teacher_answers(r->opts->teacher, r->val, softmax, r->opts->threads,
                                &r->teaching.answers, r->err);
}

static enum pith_status open_run(struct run *r, struct pith_data *train)
{
    enum pith_status status = PITH_OK;
    r->scores = pith_run_scores(r->m, &r->softmax);
    if (r->opts->loss == PITH_SQUARED_ERROR)
        r->scores = r->m->outputs[0];
    status = pith_run_check_scores(r, train);
    if (!status)
        status = pith_augment_batch_new(r->opts->augment, &r->m->values[r->m->inputs[0]],
                                        r->opts->batch / PITH_TRAIN_SLICES, &r->augment, r->err);
    if (!status)
        status = open_tapes(r);
    if (!status)
        status = open_answers(r);
    const bool learns = !status && r->opts->loss == PITH_CROSS_ENTROPY;
    const uint32_t classes = learns ? pith_run_classes(r->m, r->scores) : 0;
    if (learns && pith_augment_mixes(r->augment) && pith_data_label_count(train) > 1)
        status = pith_error_set(r->err, PITH_ERR_ARGUMENT,
                                "mixup is for samples of one label, these have one for each "
                                "position");
    const struct batch_kind kind = {.type = r->m->values[r->m->inputs[0]].type,
                                    .per_slice = r->opts->batch / PITH_TRAIN_SLICES,
                                    .n_classes = classes,
                                    .with_targets = r->opts->loss == PITH_SQUARED_ERROR};
    if (!status)
        status = pith_batch_new(train, kind, &r->batch, r->err);
    if (!status && pith_snapshot_new(r->m, &r->before))
        status = pith_tape_no_memory(r->err);
    status = pith_ranks_agree(r->opts->ranks, status, r->err);
    if (!status)
        status = pith_ranks_agree(r->opts->ranks, pith_run_open_checkpoint(r, train), r->err);
    if (status)
        return status;
    r->n_steps = pith_batch_count(r->batch) * r->opts->epochs;
    pith_tape_share(r->tape);
    status = pith_optimizer_new(r->m, r->tape, r->opts, r->n_steps, &r->optimizer, r->err);
    if (!status && r->opts->keep_best && pith_snapshot_new(r->m, &r->best))
        status = pith_tape_no_memory(r->err);
    if (!status)
        status = pith_run_record_teacher(r);
    status = pith_ranks_agree(r->opts->ranks, status, r->err);
    if (!status && r->teaching.memory)
        pith_memory_join(r->teaching.memory, r->opts->ranks);
    return status;
}

/* What rounds is put in. A batch that will be opened is tried before, on what the runtime knows. */
static enum pith_status open_integers(struct run *r)
{
    enum pith_status status = PITH_OK;
    if (!r->opts->integers)
        return PITH_OK;
    if (!r->m->batch_open && r->opts->batch > PITH_TRAIN_SLICES)
        status = pith_check_batch(r->m, r->opts->threads, r->err);
    if (!status)
        status = pith_fake_graph_open(r->m, r->opts, &r->fake, r->err);
    return pith_ranks_agree(r->opts->ranks, status, r->err);
}

/* From the last step to the network that is handed back. */
static enum pith_status finish(struct run *r, struct pith_model *unfolded)
{
    const struct pith_train_opts *o = r->opts;
    enum pith_status status = PITH_OK;
    if (pith_fake_graph_remove(r->fake, r->m))
        return pith_tape_no_memory(r->err);
    if (o->norms == PITH_NORMS_FOLD)
        status = pith_norms_fold(r, unfolded);
    if (!status && (o->sparsity > 0 || o->remove_dead_channels) && pith_permute_channels(r->m))
        status = pith_tape_no_memory(r->err);
    if (!status && o->remove_dead_channels)
        status = pith_remove_dead_channels(r->m, &r->result->dropped, r->err);
    return status ? status : pith_norms_validate(r);
}

/* The network as it came; the snapshot knows all that the graph of integers has. */
static void put_back(struct run *r, const struct pith_model *unfolded)
{
    pith_norms_put_back(r->m, unfolded);
    pith_fake_graph_insert(r->fake, r->m);
    if (r->before)
        pith_snapshot_restore(r->before, r->m);
}

static void close_run(struct run *r)
{
    pith_optimizer_free(r->optimizer);
    pith_batch_free(r->batch);
    pith_augment_batch_free(r->augment);
    free(r->teaching.answers.log_p);
    pith_tape_free(r->tape);
    pith_tape_free(r->teaching.tape);
    pith_memory_free(r->teaching.memory);
    pith_snapshot_free(r->before);
    pith_snapshot_free(r->best);
    pith_checkpoint_free(r->saving.checkpoint);
    pith_buffer_free(&r->saving.model);
    pith_buffer_free(&r->saving.best);
    free(r->saving.past);
}

enum pith_status pith_train(struct pith_model *m, struct pith_data *train, struct pith_data *val,
                            const struct pith_train_opts *opts, struct pith_train_result *result,
                            struct pith_error *err)
{
    if (!m || !train || !opts || !result)
        return PITH_ERR_ARGUMENT;
    struct pith_train_opts o;
    struct pith_train_result made = {0};
    struct pith_model unfolded = {0};
    struct run r = {.m = m, .train = train, .val = val, .opts = &o, .err = err, .result = &made};
    const uint32_t n_values = m->n_values;
    enum pith_status status = pith_run_take_opts(opts, &o, err);
    if (!status && o.keep_weights)
        status = pith_run_keep_weights(&r, &o);
    if (!status)
        status = pith_run_check_opts(&r);
    if (!status)
        status = open_integers(&r);
    if (!status)
        status = open_run(&r, train);
    if (!status) {
        count_parameters(&r, n_values);
        status = pith_run_start_or_go_on(&r);
    }
    if (!status)
        status = train_epochs(&r);
    if (!status)
        status = finish(&r, &unfolded);
    if (status)
        put_back(&r, &unfolded);
    pith_fake_graph_close(r.fake, m, status == PITH_OK);
    close_run(&r);
    if (!status)
        *result = made;
    return status;
}
