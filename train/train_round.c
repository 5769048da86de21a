/* SPDX-License-Identifier: MIT */
/* train_round.c - how a run on a grid begins, without the run: no epoch, so no loss against
 * labels, targets or a teacher. What is drawn instead (drawn_gradient.h) any output has. */
#include "train_run.h"

#include "feedback_start.h"
#include "pith_host.h"
#include "row_steps.h"
#include "channel_permutation.h"

#include <inttypes.h>
#include <stdlib.h>

static enum pith_status check(const struct pith_model *m, struct pith_data *data,
                              const struct pith_train_opts *o, struct pith_error *err)
{
    const struct pith_value *in = &m->values[m->inputs[0]];
    uint64_t elems = 1;
    for (uint32_t i = 0; i < in->rank; i++)
        elems *= in->dim[i];
    if (o->levels == 0)
        return pith_error_set(err, PITH_ERR_ARGUMENT, "rounding to a grid needs levels");
    if (m->n_inputs != 1 || in->type != PITH_F32)
        return pith_error_set(err, PITH_ERR_UNSUPPORTED,
                              "rounding takes networks with one input, of f32");
    if (pith_data_elems(data) != elems)
        return pith_error_set(err, PITH_ERR_ARGUMENT,
                              "samples have %" PRIu64 " values, input '%.100s' takes %" PRIu64,
                              pith_data_elems(data), in->name, elems);
    if (pith_data_count(data) < PITH_TRAIN_SLICES)
        return pith_error_set(err, PITH_ERR_ARGUMENT,
                              "rounding needs %u samples, there are %" PRIu64, PITH_TRAIN_SLICES,
                              pith_data_count(data));
    return PITH_OK;
}

struct pith_round_memory {
    struct row_sensitivity rows;
};

struct pith_round_memory *pith_round_memory_new(void)
{
    return calloc(1, sizeof(struct pith_round_memory));
}

void pith_round_memory_free(struct pith_round_memory *memory)
{
    if (memory)
        pith_row_sensitivity_free(&memory->rows);
    free(memory);
}

static enum pith_status round_weights(struct run *r, struct pith_data *data,
                                      struct pith_round_memory *memory)
{
    const struct tape_opts t = {
        .batch = PITH_TRAIN_SLICES, .threads = r->opts->threads, .training = true};
    struct row_steps steps = {0};
    enum pith_status status = pith_tape_new(r->m, &t, &r->tape, r->err);
    if (status)
        return status;
    pith_tape_share(r->tape);
    if (r->opts->step_init)
        status =
            pith_row_steps_find(r->m, data, r->opts, memory ? &memory->rows : NULL, &steps, r->err);
    if (!status)
        pith_row_scale_apply(&steps.scale, r->m, r->tape);
    r->shrinks = pith_row_steps_differ(&steps);
    if (!status)
        status = pith_optimizer_new(r->m, r->tape, r->opts, 1, &steps, &r->optimizer, r->err);
    pith_row_steps_free(&steps);
    if (!status && r->opts->gptq_samples)
        status = pith_feedback_start(r->m, data, r->opts, r->optimizer, r->err);
    if (status)
        return status;
    pith_tape_store(r->tape, r->m);
    pith_optimizer_store(r->optimizer);
    return r->shrinks && pith_permute_channels(r->m) ? pith_tape_no_memory(r->err) : PITH_OK;
}

enum pith_status pith_train_round(struct pith_model *m, struct pith_data *data,
                                  const struct pith_train_opts *opts,
                                  struct pith_round_memory *memory, struct pith_error *err)
{
    struct pith_train_opts o;
    struct run r = {.m = m, .train = data, .opts = &o, .err = err};
    enum pith_status status = pith_run_take_opts(opts, &o, err);
    if (!status)
        status = check(m, data, &o, err);
    if (!status)
        status = pith_run_check_opts(&r);
    if (!status && pith_snapshot_new(m, &r.before))
        status = pith_tape_no_memory(err);
    if (!status)
        status = round_weights(&r, data, memory);
    if (status && r.before)
        pith_snapshot_restore(r.before, m);
    pith_optimizer_free(r.optimizer);
    pith_tape_free(r.tape);
    pith_snapshot_free(r.before);
    return status;
}
