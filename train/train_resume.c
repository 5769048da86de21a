/* SPDX-License-Identifier: MIT */
/* train_resume.c - a run that goes on in another process. */
#include "train_run.h"

#include "model_state.h"
#include "pith_host.h"
#include "ranks.h"
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

/* Before anything of the model is changed: it is part of what tells the run. A checkpoint of
 * another run is refused now, not once the teacher has answered for minutes. */
enum pith_status pith_run_open_checkpoint(struct run *r, struct pith_data *train)
{
    char *identity = NULL;
    const struct pith_ranks *ranks = r->opts->ranks;
    if (!r->opts->checkpoint && !ranks)
        return PITH_OK;
    r->past = calloc(r->opts->epochs, sizeof *r->past);
    enum pith_status status =
        r->past ? pith_run_identity(r->m, train, r->val, r->opts, &identity, r->err)
                : pith_tape_no_memory(r->err);
    status = pith_ranks_agree(ranks, status, r->err);
    if (!status && ranks)
        status = pith_ranks_agree(ranks, compare_identity(r, identity), r->err);
    if (!status && r->opts->checkpoint)
        status = pith_checkpoint_open(r->opts->checkpoint, identity, ranks, &r->checkpoint, r->err);
    if (!status && r->checkpoint && r->opts->resume)
        status = pith_checkpoint_check(r->checkpoint, r->err);
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
    pith_checkpoint_add(c, "patient from", 0, &r->patient_from, sizeof r->patient_from);
    pith_checkpoint_add(c, "result", 0, r->result, sizeof *r->result);
    pith_checkpoint_add(c, "past", 0, r->past, r->opts->epochs * sizeof *r->past);
    for (uint32_t i = 0; i < n; i++)
        pith_checkpoint_add(c, "statistic", i, statistic[i].data,
                            statistic[i].count * sizeof *statistic[i].data);
    pith_optimizer_state(r->optimizer, c);
    pith_checkpoint_add_buffer(c, "model", &r->model_state);
    pith_checkpoint_add_buffer(c, "best", &r->best_state);
}

enum pith_status pith_run_save(struct run *r)
{
    enum pith_status status = pith_model_state_save(r->m, &r->model_state);
    status =
        pith_ranks_agree(r->opts->ranks, status ? pith_tape_no_memory(r->err) : PITH_OK, r->err);
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
        return pith_tape_no_memory(r->err);
    if (status || r->epoch < 1 || r->epoch > r->opts->epochs + 1 || r->done > batches ||
        r->step != (r->epoch - 1) * batches + r->done || r->result->epochs != r->epoch - 1)
        return pith_error_set(r->err, PITH_ERR_CORRUPT,
                              "'%.200s' does not hold a state of this run",
                              pith_checkpoint_path(r->checkpoint));
    r->saved = r->step;
    for (uint32_t i = 0; i < r->result->epochs && r->opts->progress; i++)
        r->opts->progress(r->opts->user, &r->past[i]);
    return PITH_OK;
}

enum pith_status pith_run_start_or_go_on(struct run *r)
{
    r->epoch = 1;
    r->best_loss = INFINITY;
    if (!r->checkpoint)
        return PITH_OK;
    add_state(r);
    return r->opts->resume ? go_on(r) : pith_checkpoint_remove(r->checkpoint, r->err);
}
