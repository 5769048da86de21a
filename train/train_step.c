/* SPDX-License-Identifier: MIT */
/* train_step.c - samples, the teacher, forward, loss, backward, optimizer; a step that is not
 * finite ends the run. */
#include "train_run.h"

#include "pith_host.h"
#include "train/state/ranks.h"
#include "schedule.h"
#include "core/tensor.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void loss_of_slice(void *arg, uint32_t slice)
{
    struct run *r = arg;
    const struct pith_train_opts *o = r->opts;
    uint32_t n = o->batch / PITH_TRAIN_SLICES;
    bool squares =
        o->loss == PITH_SQUARED_ERROR; /* of an output, which may be pictures: row-major */
    struct tape_tensor *y =
        squares ? pith_tape_output(r->tape, slice, 0) : pith_tape_value(r->tape, slice, r->scores);
    const float *share = pith_augment_shares(r->augment, slice);
    uint64_t each = shape_elems(&y->shape) / n;
    if (squares) {
        float *target = pith_batch_targets(r->batch, slice);
        if (share)
            pith_mix_pairs(share, n, each, target);
        r->part[slice] = pith_loss_squares(n, each, y->data, target, y->grad);
        return;
    }
    const float *teacher = NULL;
    if (r->teaching.memory)
        teacher = pith_memory_get(r->teaching.memory, r->version,
                                  pith_batch_numbers(r->batch, slice), slice);
    else if (r->teaching.tape)
        teacher = pith_tape_value(r->teaching.tape, slice, r->teaching.scores)->data;
    float kl = o->loss == PITH_DISTILL ? 1.0f : r->teaching.tape ? o->teacher_part : 0.0f;
    const int64_t *label = o->loss == PITH_DISTILL ? NULL : pith_batch_labels(r->batch, slice);
    const uint32_t classes = pith_run_classes(r->m, r->scores), rows = (uint32_t)each / classes;
    const double weight = label ? r->counted.weight : 1 / (double)rows;
    struct class_rows all = {.n = n * rows,
                             .classes = classes,
                             .logits = y->data,
                             .label = label,
                             .weight = weight,
                             .kl = kl,
                             .t = TEACHER_TEMPERATURE,
                             .teacher = teacher};
    r->part[slice] = pith_loss_classes(&all, y->grad);
    all.n = n;
    if (share && label)
        r->part[slice].loss += pith_loss_mixed(&all, share, y->grad);
}

static void copy_input(void *arg, uint32_t slice)
{
    struct run *r = arg;
    struct tape_tensor *from = pith_tape_input(r->tape, slice, 0);
    memcpy(pith_tape_input(r->teaching.tape, slice, 0)->data, from->data,
           shape_elems(&from->shape) * pith_type_bytes(from->type));
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
    pith_memory_put(r->teaching.memory, r->version, pith_batch_numbers(r->batch, slice),
                    pith_tape_value(r->teaching.tape, slice, r->teaching.scores)->data);
}

/* In the order of the data set: a run that goes on later gets the same outputs. */
enum pith_status pith_run_record_teacher(struct run *r)
{
    const struct tape_tensor *y = pith_tape_value(r->tape, 0, r->scores);
    uint64_t n = pith_data_count(r->train);
    uint32_t epochs = r->opts->epochs, shown = r->opts->versions;
    if (!r->teaching.tape || !r->opts->versions || pith_augment_mixes(r->augment))
        return PITH_OK;
    shown = shown < epochs ? shown : epochs;
    const uint32_t per_slice = r->opts->batch / PITH_TRAIN_SLICES;
    r->teaching.memory =
        pith_memory_new(shown, n, per_slice, (uint32_t)(shape_elems(&y->shape) / per_slice));
    if (!r->teaching.memory)
        return pith_tape_no_memory(r->err);
    pith_batch_in_order(r->batch);
    for (r->version = 0; r->version < shown; r->version++)
        for (uint64_t i = 0; i * r->opts->batch < n; i++) {
            enum pith_status status = pith_batch_load(r->batch, r->tape, i, r->err);
            if (status)
                return status;
            if (r->augment)
                pith_tape_slices(r->tape, augment_slice, r);
            pith_tape_slices(r->tape, copy_input, r);
            pith_tape_forward(r->teaching.tape);
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
    if (r->saving.step)
        snprintf(saved, sizeof saved, "; the last checkpoint is of step %" PRIu64, r->saving.step);
    return pith_error_set(r->err, PITH_ERR_GOAL,
                          "%s is not finite at step %" PRIu64 "%s%.100s%s: try a lower rate%s",
                          what, r->step + 1, node ? ", first in node '" : "", node ? node : "",
                          node ? "'" : "", saved);
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
    r->counted.right += (uint64_t)sum[1];
    return sum[0];
}

/* Ranks meet once in a step, behind the gradients: who has no samples goes on with what is there,
 * for the others wait for its part of the sums. */
enum pith_status pith_run_step(struct run *r, uint64_t i)
{
    enum pith_status status = pith_batch_load(r->batch, r->tape, i, r->err);
    if (status && !r->opts->ranks)
        return status;
    const uint64_t counted = pith_batch_counted(r->batch, i);
    r->counted.weight = counted ? (double)r->opts->batch / (double)counted : 0;
    if (r->augment)
        pith_tape_slices(r->tape, augment_slice, r);
    if (r->teaching.tape && !r->teaching.memory) {
        pith_tape_slices(r->tape, copy_input, r);
        pith_tape_forward(r->teaching.tape);
    }
    pith_tape_forward(r->tape);
    pith_tape_slices(r->tape, loss_of_slice, r);
    pith_tape_backward(r->tape);
    status = pith_ranks_agree(r->opts->ranks, status, r->err);
    if (status)
        return status;
    r->should_stop = pith_ranks_any(r->opts->ranks, r->opts->stop && r->opts->stop(r->opts->user));
    double loss = add_losses(r);
    if (!isfinite(loss))
        return not_finite(r, "the loss");
    r->counted.sum += loss;
    double rate = pith_schedule_rate(r->opts, r->step, r->n_steps);
    if (!isfinite(pith_optimizer_step(r->optimizer, rate, r->opts->batch)))
        return not_finite(r, "the gradient");
    r->step++;
    return PITH_OK;
}
