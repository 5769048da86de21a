/* SPDX-License-Identifier: MIT */
/* train_options.c - the defaults, and what is refused before anything is done. */
#include "train_run.h"

#include "pith_train_options.h"
#include "pith_host.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void pith_train_opts_init(struct pith_train_opts *opts, uint32_t size_bytes)
{
    if (!opts || size_bytes < sizeof size_bytes || size_bytes > PITH_MAX_OPTS_BYTES)
        return;
    struct pith_train_opts o = {.size_bytes = size_bytes, .seed = 1};
    pith_option_defaults(&pith_train_options, &o);
    memset(opts, 0, size_bytes);
    memcpy(opts, &o, size_bytes < sizeof o ? size_bytes : sizeof o);
}

/* What a caller of an older version does not know has its default; what one of a newer version
 * sets, and this one does not know, cannot be honoured. */
enum pith_status pith_run_take_opts(const struct pith_train_opts *given,
                                    struct pith_train_opts *opts, struct pith_error *err)
{
    const uint8_t *p = (const uint8_t *)given;
    bool known =
        given->size_bytes >= sizeof given->size_bytes && given->size_bytes <= PITH_MAX_OPTS_BYTES;
    for (uint32_t i = sizeof *given; known && i < given->size_bytes; i++)
        known = known && p[i] == 0;
    if (!known)
        return pith_error_set(err, PITH_ERR_ARGUMENT, "options of another version");
    pith_train_opts_init(opts, sizeof *opts);
    memcpy(opts, given, given->size_bytes < sizeof *opts ? given->size_bytes : sizeof *opts);
    opts->size_bytes = sizeof *opts;
    return PITH_OK;
}

enum pith_status pith_run_keep_weights(const struct run *r, struct pith_train_opts *o)
{
    uint64_t count = 0;
    struct pith_weight_ref *refs = calloc(r->m->n_nodes + 1u, sizeof *refs);
    if (!refs)
        return pith_tape_no_memory(r->err);
    uint32_t n = pith_model_weights(r->m, refs);
    for (uint32_t i = 0; i < n; i++)
        count += refs[i].rows * refs[i].cols;
    free(refs);
    if (o->sparsity > 0)
        return pith_error_set(r->err, PITH_ERR_ARGUMENT, "give sparsity or keep_weights, not both");
    if (o->keep_weights >= count)
        return pith_error_set(r->err, PITH_ERR_ARGUMENT,
                              "%u weights cannot be kept: the model has %llu", o->keep_weights,
                              (unsigned long long)count);
    o->sparsity = 1 - (double)o->keep_weights / (double)count;
    return PITH_OK;
}

static bool share(float v)
{
    return v >= 0 && v <= 1;
}

/* Below 0: as an int, which a caller may have put there, it is above too. */
static bool known(uint32_t value, uint32_t last)
{
    return value <= last;
}

static bool words_known(const struct pith_train_opts *o)
{
    return known(o->optimizer, PITH_NESTEROV) && known(o->schedule, PITH_ONE_CYCLE) &&
           known(o->loss, PITH_DISTILL) && known(o->score, PITH_SCORE_MAGNITUDE) &&
           known(o->norms, PITH_NORMS_FOLD);
}

/* What has a say in which values a weight takes, or in the network's shape, beside its integers. */
static bool shrinks_too(const struct pith_train_opts *o)
{
    return o->levels || o->bias_levels || o->sparsity > 0 || o->remove_dead_channels || o->norms;
}

/* What is wrong with an option, in the order of the groups; NULL: nothing. */
static const char *wrong_loop(const struct run *r)
{
    const struct pith_train_opts *o = r->opts;
    if (!words_known(o))
        return "an optimizer, schedule, loss, score or way with norms that is not known";
    if (o->epochs == 0)
        return "epochs must be at least 1";
    if (o->batch == 0 || o->batch % PITH_TRAIN_SLICES)
        return "the batch must be a multiple of 8";
    if (!(o->rate > 0) || !isfinite(o->rate))
        return "the learning rate must be above 0";
    if (!(o->momentum >= 0 && o->momentum < 1))
        return "momentum must be in 0..1, below 1";
    if (!(o->weight_decay >= 0) || !(o->clip_norm >= 0) || !isfinite(o->weight_decay))
        return "weight decay and gradient norm must not be negative";
    if (!(o->step_factor >= 0) || !isfinite(o->step_factor))
        return "the factor of a schedule of steps must not be negative";
    return NULL;
}

static const char *wrong_loss(const struct run *r)
{
    const struct pith_train_opts *o = r->opts;
    if (!share(o->teacher_part) || !(o->warm_up >= 0 && o->warm_up < 1))
        return "teacher part and warm-up must be in 0..1";
    if (o->loss == PITH_DISTILL && !o->teacher)
        return "distillation needs a teacher";
    if (o->loss == PITH_SQUARED_ERROR && o->teacher)
        return "a teacher is for classes, not for squared error";
    return NULL;
}

static const char *wrong_pruning(const struct run *r)
{
    const struct pith_train_opts *o = r->opts;
    if (!(o->sparsity >= 0 && o->sparsity < 1) || !(o->prune_until > 0 && o->prune_until <= 1))
        return "sparsity must be in 0..1, below 1, and prune_until in 0..1, above 0";
    if (o->prune_every == 0)
        return "prune_every must be above 0";
    return NULL;
}

static const char *wrong_grid(const struct run *r)
{
    const struct pith_train_opts *o = r->opts;
    if (o->levels > 127 || o->bias_levels > 127 || !(o->first_step > 0))
        return "a grid has at most 127 levels, and its first step is above 0";
    if (!share(o->oscillation_damping))
        return "oscillation_damping must be in 0..1";
    return NULL;
}

static const char *wrong_run(const struct run *r)
{
    const struct pith_train_opts *o = r->opts;
    if (o->integers && shrinks_too(o))
        return "quantization-aware training does not go with levels, sparsity, "
               "remove_dead_channels and norms";
    if (o->ranks && (o->ranks->count == 0 || o->ranks->rank >= o->ranks->count ||
                     PITH_TRAIN_SLICES % o->ranks->count))
        return "a batch can be shared by 1, 2, 4 or 8 processes";
    if (o->resume && !o->checkpoint)
        return "going on needs the folder of the checkpoint";
    if ((o->keep_best || o->patience) && !r->val)
        return "keeping the best epoch needs validation data";
    if (isnan(o->enough))
        return "the accuracy that is enough must be a number";
    return NULL;
}

enum pith_status pith_run_check_opts(const struct run *r)
{
    static const char *(*const wrong_of[])(const struct run *r) = {
        wrong_loop, wrong_loss, wrong_pruning, wrong_grid, wrong_run};
    const char *wrong = NULL;
    for (size_t i = 0; i < sizeof wrong_of / sizeof *wrong_of && !wrong; i++)
        wrong = wrong_of[i](r);
    return wrong ? pith_error_set(r->err, PITH_ERR_ARGUMENT, "%s", wrong) : PITH_OK;
}

enum pith_status pith_run_check_scores(const struct run *r, const struct pith_data *train)
{
    const struct pith_value *in = &r->m->values[r->m->inputs[0]], *y = &r->m->values[r->scores];
    const bool ids = in->type == PITH_I64 || in->type == PITH_I32;
    uint64_t elems = 1, outs = 1;
    for (uint32_t i = 0; i < in->rank; i++)
        elems *= in->dim[i];
    for (uint32_t i = 0; i < y->rank; i++)
        outs *= y->dim[i];
    if (r->m->n_inputs != 1 || (in->type != PITH_F32 && !ids))
        return pith_error_set(r->err, PITH_ERR_UNSUPPORTED,
                              "training takes networks with one input, of f32 or of ids");
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
    if ((y->rank != 2 && y->rank != 3) || outs < 2 || outs > UINT32_MAX)
        return pith_error_set(r->err, PITH_ERR_UNSUPPORTED,
                              "output 0 is not a row of classes for each sample or position");
    const uint64_t rows = outs / pith_run_classes(r->m, r->scores);
    if (r->opts->loss == PITH_CROSS_ENTROPY && pith_data_labelled(train) &&
        pith_data_label_count(train) != rows)
        return pith_error_set(r->err, PITH_ERR_ARGUMENT,
                              "samples have %" PRIu64 " labels, output 0 has %" PRIu64
                              " rows of classes",
                              pith_data_label_count(train), rows);
    return PITH_OK;
}
