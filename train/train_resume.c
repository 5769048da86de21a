/* SPDX-License-Identifier: MIT */
/* train_resume.c - a run that goes on in another process. */
#include "train_run.h"

#include "train/state/model_state.h"
#include "pith_host.h"
#include "train/state/ranks.h"
#include "run_identity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Before anything of the model is changed: it is part of the run's identity. A checkpoint of
 * another run is refused now, not once the teacher has answered for minutes. */
enum pith_status pith_run_open_checkpoint(struct run *r, struct pith_data *train)
{
    char *identity = NULL;
    const struct pith_ranks *ranks = r->opts->ranks;
    if (!r->opts->checkpoint && !ranks)
        return PITH_OK;
    r->saving.past = calloc(r->opts->epochs, sizeof *r->saving.past);
    enum pith_status status =
        r->saving.past ? pith_run_identity(r->m, train, r->val, r->opts, &identity, r->err)
                       : pith_tape_no_memory(r->err);
    status = pith_ranks_agree(ranks, status, r->err);
    if (!status && ranks)
        status = pith_ranks_agree(ranks, compare_identity(r, identity), r->err);
    if (!status && r->opts->checkpoint)
        status = pith_checkpoint_open(r->opts->checkpoint, identity, ranks, &r->saving.checkpoint,
                                      r->err);
    if (!status && r->saving.checkpoint && r->opts->resume)
        status = pith_checkpoint_check(r->saving.checkpoint, r->err);
    free(identity);
    return status;
}

/* What the result does not have before the run ends, or has of the model, is not stored. */
static void add_result(struct checkpoint *c, struct pith_train_result *t)
{
    pith_checkpoint_add_u32(c, "epochs", 0, &t->epochs);
    pith_checkpoint_add_u32(c, "best epoch", 0, &t->best_epoch);
    pith_checkpoint_add_f64(c, "loss", 0, &t->loss);
    pith_checkpoint_add_f64(c, "accuracy", 0, &t->accuracy);
    pith_checkpoint_add_f64(c, "val loss", 0, &t->val_loss);
    pith_checkpoint_add_f64(c, "val accuracy", 0, &t->val_accuracy);
    pith_checkpoint_add_u64(c, "kept", 0, &t->kept);
    pith_checkpoint_add_f64(c, "bytes", 0, &t->bytes);
}

static void add_past(struct checkpoint *c, uint32_t epoch, struct pith_train_progress *p)
{
    pith_checkpoint_add_f64(c, "past loss", epoch, &p->loss);
    pith_checkpoint_add_f64(c, "past accuracy", epoch, &p->accuracy);
    pith_checkpoint_add_f64(c, "past val loss", epoch, &p->val_loss);
    pith_checkpoint_add_f64(c, "past val acc", epoch, &p->val_accuracy);
    pith_checkpoint_add_f64(c, "past rate", epoch, &p->rate);
    pith_checkpoint_add_f64(c, "past seconds", epoch, &p->seconds);
    pith_checkpoint_add_u64(c, "past kept", epoch, &p->kept);
    pith_checkpoint_add_f64(c, "past bytes", epoch, &p->bytes);
}

/* Whatever a step or an epoch leaves for the next one belongs here, or in what is called. */
static void add_state(struct run *r)
{
    struct checkpoint *c = r->saving.checkpoint;
    uint32_t n;
    struct tape_parameter *statistic = pith_tape_statistics(r->tape, &n);
    pith_checkpoint_add_u32(c, "epoch", 0, &r->epoch);
    pith_checkpoint_add_u64(c, "batches", 0, &r->counted.batches);
    pith_checkpoint_add_flags(c, "over", 0, (uint8_t *)&r->over, 1);
    pith_checkpoint_add_u64(c, "step", 0, &r->step);
    pith_checkpoint_add_f64(c, "sum", 0, &r->counted.sum);
    pith_checkpoint_add_u64(c, "right", 0, &r->counted.right);
    pith_checkpoint_add_f64(c, "best loss", 0, &r->best_loss);
    pith_checkpoint_add_u32(c, "patient from", 0, &r->patient_from);
    add_result(c, r->result);
    for (uint32_t i = 0; i < r->opts->epochs; i++)
        add_past(c, i + 1, &r->saving.past[i]);
    for (uint32_t i = 0; i < n; i++)
        pith_checkpoint_add_f32(c, "statistic", i, CHECKPOINT_NOT_NAN, statistic[i].data,
                                statistic[i].count);
    pith_optimizer_state(r->optimizer, c);
    pith_checkpoint_add_buffer(c, "model", &r->saving.model);
    pith_checkpoint_add_buffer(c, "best", &r->saving.best);
}

enum pith_status pith_run_save(struct run *r)
{
    enum pith_status status = pith_model_state_save(r->m, &r->saving.model);
    status =
        pith_ranks_agree(r->opts->ranks, status ? pith_tape_no_memory(r->err) : PITH_OK, r->err);
    if (!status)
        status = pith_checkpoint_write(r->saving.checkpoint, r->err);
    pith_buffer_free(&r->saving.model);
    if (!status)
        r->saving.step = r->step;
    return status;
}

static void mark_moving(bool *moves, const struct tape_parameter *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        moves[p[i].value] = true;
}

/* Only what training moves may differ from the model: other constants are sizes, axes or grids that
 * were checked when the tape was made. */
static enum pith_status take_models(struct run *r)
{
    uint32_t n;
    enum pith_status status = PITH_OK;
    bool *moves = calloc(r->m->n_values + 1u, sizeof *moves);
    if (!moves)
        return PITH_ERR_MEMORY;
    const struct tape_parameter *p = pith_tape_parameters(r->tape, &n);
    mark_moving(moves, p, n);
    p = pith_tape_statistics(r->tape, &n);
    mark_moving(moves, p, n);
    if (r->saving.best.bytes) {
        status = pith_model_state_load(&r->saving.best, moves, r->m);
        if (!status)
            status = pith_snapshot_take(r->best, r->m);
    }
    if (!status)
        status = pith_model_state_load(&r->saving.model, moves, r->m);
    pith_buffer_free(&r->saving.model);
    free(moves);
    return status;
}

static bool is_share(double x) /* NAN: without labels */
{
    return isnan(x) || (x >= 0 && x <= 1);
}

static bool is_size(double x) /* NAN: without levels */
{
    return isnan(x) || (x >= 0 && isfinite(x));
}

static bool result_holds(const struct run *r)
{
    const struct pith_train_result *t = r->result;
    return t->epochs == r->epoch - 1 && t->best_epoch <= t->epochs && !isnan(t->loss) &&
           is_share(t->accuracy) && is_share(t->val_accuracy) && is_size(t->bytes) &&
           t->kept <= t->n_weights;
}

static bool past_holds(const struct run *r)
{
    for (uint32_t i = 0; i < r->result->epochs; i++) {
        const struct pith_train_progress *p = &r->saving.past[i];
        if (isnan(p->loss) || !is_share(p->accuracy) || !is_share(p->val_accuracy) ||
            !(p->rate >= 0 && isfinite(p->rate)) || !(p->seconds >= 0 && isfinite(p->seconds)) ||
            p->kept > r->result->n_weights || !is_size(p->bytes))
            return false;
    }
    return true;
}

/* NULL, or what is wrong with the numbers that were read. */
static const char *wrong_state(const struct run *r, uint64_t batches)
{
    if (r->epoch < 1 || r->epoch > r->opts->epochs + 1 || r->counted.batches > batches ||
        r->step != (r->epoch - 1) * batches + r->counted.batches)
        return "its epoch and its step do not fit this run";
    const uint64_t labels = pith_data_label_count(r->train), each = labels ? labels : 1;
    if (!isfinite(r->counted.sum) || r->counted.right > batches * r->opts->batch * each ||
        isnan(r->best_loss) || r->patient_from >= r->epoch)
        return "its losses are no numbers or its counts are out of range";
    if (!result_holds(r))
        return "its result is out of range";
    if (!past_holds(r))
        return "an epoch before has numbers out of range";
    if ((r->saving.best.bytes > 0) != (r->opts->keep_best && r->result->best_epoch > 0))
        return "it should have a best model, or none";
    return NULL;
}

/* What past epochs have from the order of steps. */
static void report_past(struct run *r, uint64_t batches)
{
    for (uint32_t i = 0; i < r->result->epochs; i++) {
        r->saving.past[i].epoch = i + 1;
        r->saving.past[i].n_epochs = r->opts->epochs;
        r->saving.past[i].step = (i + 1) * batches;
        r->saving.past[i].n_steps = r->n_steps;
        if (r->opts->progress)
            r->opts->progress(r->opts->user, &r->saving.past[i]);
    }
}

/* From the checkpoint, where there is one: as if the run had never stopped, reports included. */
static enum pith_status go_on(struct run *r)
{
    bool found = false;
    uint64_t batches = pith_batch_count(r->batch);
    enum pith_status status = pith_checkpoint_read(r->saving.checkpoint, &found, r->err);
    if (status || !found)
        return status;
    const char *wrong = wrong_state(r, batches);
    if (!wrong) {
        status = pith_ranks_agree(r->opts->ranks, take_models(r), r->err);
        if (status == PITH_ERR_MEMORY)
            return pith_tape_no_memory(r->err);
        wrong = status ? "its model does not fit this network" : NULL;
    }
    if (wrong)
        return pith_error_set(r->err, PITH_ERR_CORRUPT, "'%.200s' is damaged: %s",
                              pith_checkpoint_path(r->saving.checkpoint), wrong);
    pith_optimizer_resumed(r->optimizer, r->step);
    r->saving.step = r->step;
    report_past(r, batches);
    return PITH_OK;
}

enum pith_status pith_run_start_or_go_on(struct run *r)
{
    r->epoch = 1;
    r->best_loss = INFINITY;
    if (!r->saving.checkpoint)
        return PITH_OK;
    add_state(r);
    return r->opts->resume ? go_on(r) : pith_checkpoint_remove(r->saving.checkpoint, r->err);
}
